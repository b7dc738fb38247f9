"""The dtypes, their sizes, and their names in other libraries: "float32", numpy.float32 and torch.float32 mean f32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Dtype:
    """A dtype of products.

    bytes: of a number of the inputs. outputs: the dtypes that an output may have, the default first. x, w: the dtypes
    of x (a) and of the weights (b). sum: the dtype that products are summed in. longest: the most products in a sum,
    where more might overflow. names: the names that other libraries give it.
    """

    bytes: int
    outputs: tuple[str, ...]
    x: str
    w: str
    sum: str = "f32"
    longest: int | None = None
    names: tuple[str, ...] = ()


# tf32 is an f32 of which a matrix instruction reads 19 bits. f16 and tf32 are a GPU's, int8 is a CPU's.
# A product of u8 and s8 is at most 255 · 128.
DTYPES = {
    "f32": Dtype(4, ("f32",), "f32", "f32", names=("float32", "fp32")),
    "f16": Dtype(2, ("f16", "f32"), "f16", "f16", names=("float16", "fp16", "half")),
    "bf16": Dtype(2, ("bf16", "f32"), "bf16", "bf16", names=("bfloat16",)),
    "tf32": Dtype(4, ("f32",), "tf32", "tf32", names=("tfloat32",)),
    "int8": Dtype(1, ("s32", "f32", "u8", "s8"), "u8", "s8", "s32", (2**31 - 1) // (255 * 128), ("int8",)),
}
DTYPE_BYTES = {dtype: each.bytes for dtype, each in DTYPES.items()}
OUTPUT_DTYPES = {dtype: each.outputs for dtype, each in DTYPES.items()}
OUTPUT_DTYPE = {dtype: each.outputs[0] for dtype, each in DTYPES.items()}
OPERAND_DTYPES = {dtype: (each.x, each.w) for dtype, each in DTYPES.items()}
SUM_DTYPE = {dtype: each.sum for dtype, each in DTYPES.items()}
# A lane of a vector is a float, a sum of 32 bits, or a word of narrow numbers.
LANE_BYTES = 4
WORD = "word"  # the 32 bits of a lane, whatever they hold
OUTPUT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "s32": 4, "u8": 1, "s8": 1}

_NAMES = {name: dtype for dtype, each in DTYPES.items() for name in each.names}
# For the output, int8 means s8. For the inputs, int8 means that x is u8 and the weights are s8.
_OUTPUT_NAMES = _NAMES | {"int32": "s32", "uint8": "u8", "int8": "s8"}


def dtype_of(value: _Value) -> str | _Value:
    """The dtype of the inputs that `value` names: by our name, by a library's name, or as a library's object.

    A value that names none is returned unchanged, so that the caller can list the supported ones.
    """
    return _NAMES.get(_name(value), value)


def output_dtype_of(value: _Value) -> str | _Value:
    """The dtype of the output that `value` names, by the rules of `dtype_of`."""
    return _OUTPUT_NAMES.get(_name(value), value)


def _name(value: object) -> str:
    """The part after the last dot. A NumPy dtype and a NumPy class have a name, torch.float32 only has a text."""
    if not isinstance(value, str):
        value = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
    return str(value).rpartition(".")[2]
