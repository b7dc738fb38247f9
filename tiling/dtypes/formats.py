"""The formats of numbers. A new one is a row of `FORMATS`.

Programs compute with f32, f64 and so on. Only matrix instructions read tf32. What stands below it is stored and cast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

_Value = TypeVar("_Value")
FLOAT, SIGNED, UNSIGNED, TRUTH = "float", "signed", "unsigned", "truth"


@dataclass(frozen=True)
class Format:
    """How a number is stored.

    bits: how many it has, without those that fill up a byte. kind: FLOAT, SIGNED, UNSIGNED or TRUTH. computed_in: the
    format in which programs compute with it; "" where they do not. c, cuda: the types of an element in C and in CUDA.
    numpy: NumPy's dtype of an element. named: what other libraries call a format that NumPy lacks; then an element
    holds its bits. onnx: its number in `onnx.TensorProto`, 0 where it has none. digits: the bits of a float's
    significand, with the first one, which is not stored.
    """

    bits: int
    kind: str
    computed_in: str
    c: str
    cuda: str
    numpy: str
    named: str = ""
    onnx: int = 0
    digits: int = 0

    @property
    def bytes(self) -> int:
        """Bytes that an element takes in memory. A number of fewer bits than a byte takes a whole one."""
        return -(-self.bits // 8)

    @property
    def elsewhere(self) -> str:
        """What other libraries call it."""
        return self.named or self.numpy

    @property
    def whole(self) -> bool:
        return self.kind in (SIGNED, UNSIGNED)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest whole number, or truth. Raises ValueError for floats, which have no such ends."""
        if self.kind == FLOAT:
            raise ValueError(f"a float of {self.bits} bits has no ends: ask of whole numbers and truths alone")
        if self.kind == SIGNED:
            return -(1 << self.bits - 1), (1 << self.bits - 1) - 1
        return 0, 1 if self.kind == TRUTH else (1 << self.bits) - 1


FORMATS = {
    "f32": Format(32, FLOAT, "f32", "float", "float", "float32", onnx=1, digits=24),
    "f64": Format(64, FLOAT, "f64", "double", "double", "float64", onnx=11, digits=53),
    "f16": Format(16, FLOAT, "f32", "_Float16", "unsigned short", "float16", onnx=10, digits=11),
    "bf16": Format(16, FLOAT, "f32", "uint16_t", "unsigned short", "uint16", "bfloat16", 16, 8),
    "s64": Format(64, SIGNED, "s64", "int64_t", "long long", "int64", onnx=7),
    "u64": Format(64, UNSIGNED, "u64", "uint64_t", "unsigned long long", "uint64", onnx=13),
    "s32": Format(32, SIGNED, "s32", "int32_t", "int", "int32", onnx=6),
    "u32": Format(32, UNSIGNED, "s64", "uint32_t", "unsigned", "uint32", onnx=12),
    "s16": Format(16, SIGNED, "s32", "int16_t", "short", "int16", onnx=5),
    "u16": Format(16, UNSIGNED, "s32", "uint16_t", "unsigned short", "uint16", onnx=4),
    "s8": Format(8, SIGNED, "s32", "int8_t", "signed char", "int8", onnx=3),
    "u8": Format(8, UNSIGNED, "s32", "uint8_t", "unsigned char", "uint8", onnx=2),
    "bool": Format(8, TRUTH, "bool", "uint8_t", "unsigned char", "bool", onnx=9),
    # An f32 of which a matrix instruction reads 19 bits.
    "tf32": Format(32, FLOAT, "", "float", "float", "float32", digits=11),
    "f8e4m3fn": Format(8, FLOAT, "", "uint8_t", "unsigned char", "uint8", "float8_e4m3fn", 17, 4),
    "f8e4m3fnuz": Format(8, FLOAT, "", "uint8_t", "unsigned char", "uint8", "float8_e4m3fnuz", 18, 4),
    "f8e5m2": Format(8, FLOAT, "", "uint8_t", "unsigned char", "uint8", "float8_e5m2", 19, 3),
    "f8e5m2fnuz": Format(8, FLOAT, "", "uint8_t", "unsigned char", "uint8", "float8_e5m2fnuz", 20, 3),
    "f8e8m0": Format(8, FLOAT, "", "uint8_t", "unsigned char", "uint8", "float8_e8m0fnu", 24, 1),
    "f4e2m1": Format(4, FLOAT, "", "uint8_t", "unsigned char", "uint8", "float4_e2m1fn", 23, 2),
    "u4": Format(4, UNSIGNED, "", "uint8_t", "unsigned char", "uint8", "uint4", 21),
    "s4": Format(4, SIGNED, "", "int8_t", "signed char", "int8", "int4", 22),
    "u2": Format(2, UNSIGNED, "", "uint8_t", "unsigned char", "uint8", "uint2", 25),
    "s2": Format(2, SIGNED, "", "int8_t", "signed char", "int8", "int2", 26),
}
# Those that programs compute with; of them the floats, and the whole numbers.
COMPUTED = {name: each for name, each in FORMATS.items() if each.computed_in}
FLOATS = tuple(name for name, each in COMPUTED.items() if each.kind == FLOAT)
INTEGERS = tuple(name for name, each in COMPUTED.items() if each.whole)
# Floats that are computed in f32, and the function of the loop language that makes an f32 of one.
WIDENED = {
    name: f"from_{name}" if FORMATS[name].named else "as_f32" for name in FLOATS if COMPUTED[name].computed_in != name
}
_NAMES = {each.elsewhere: name for name, each in COMPUTED.items()}
_NAMES |= {"fp32": "f32", "fp16": "f16", "half": "f16", "double": "f64", "bool_": "bool"}


def format_of(value: _Value) -> str | _Value:
    """The format that a value names: by our name, by a library's name such as "float32", or as a library's object.

    A value that names none is returned unchanged, so that the caller can list the supported ones.
    """
    return _NAMES.get(last_name(value), value)


def last_name(value: object) -> str:
    """The part after the last dot. A NumPy dtype and a NumPy class have a name, torch.float32 only has a text."""
    if not isinstance(value, str):
        value = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
    return str(value).rpartition(".")[2]
