"""The dtypes of products, and their names in other libraries: "float32", numpy.float32 and torch.float32 mean f32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from tiling.dtypes.formats import FORMATS, format_of, last_name

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Dtype:
    """A dtype of products.

    x, w: the formats of x (a) and of the weights (b). outputs: those that an output may have, the default first. sum:
    the one that products are summed in. longest: the most products in a sum, where more might overflow. names: the
    names that other libraries give it. cpu: whether an instruction set of a CPU multiplies it (a row of
    `microkernels.tile.isa`). matrices: whether matrix instructions of a GPU do.
    """

    x: str
    w: str
    outputs: tuple[str, ...]
    sum: str = "f32"
    longest: int | None = None
    names: tuple[str, ...] = ()
    cpu: bool = False
    matrices: bool = False

    @property
    def bytes(self) -> int:
        """Bytes that a number of x takes."""
        return FORMATS[self.x].bytes


# A product of u8 and s8 is at most 255 · 128.
DTYPES = {
    "f32": Dtype("f32", "f32", ("f32",), names=("float32", "fp32"), cpu=True),
    "f16": Dtype("f16", "f16", ("f16", "f32"), names=("float16", "fp16", "half"), matrices=True),
    "bf16": Dtype("bf16", "bf16", ("bf16", "f32"), names=("bfloat16",), cpu=True, matrices=True),
    "tf32": Dtype("tf32", "tf32", ("f32",), names=("tfloat32",), matrices=True),
    "int8": Dtype("u8", "s8", ("s32", "f32", "u8", "s8"), "s32", (2**31 - 1) // (255 * 128), names=("int8",), cpu=True),
}
DTYPE_BYTES = {dtype: each.bytes for dtype, each in DTYPES.items()}
OUTPUT_DTYPES = {dtype: each.outputs for dtype, each in DTYPES.items()}
OUTPUT_DTYPE = {dtype: each.outputs[0] for dtype, each in DTYPES.items()}
OPERAND_DTYPES = {dtype: (each.x, each.w) for dtype, each in DTYPES.items()}
SUM_DTYPE = {dtype: each.sum for dtype, each in DTYPES.items()}
OUTPUT_BYTES = {output: FORMATS[output].bytes for each in DTYPES.values() for output in each.outputs}
CPU_DTYPES = {(each.x, each.w): dtype for dtype, each in DTYPES.items() if each.cpu}  # by those of x and w
GPU_DTYPES = tuple(dtype for dtype, each in DTYPES.items() if each.matrices)
# A lane of a vector is a float, a sum of 32 bits, or a word of narrow numbers.
LANE_BYTES = 4
WORD = "word"  # the 32 bits of a lane, whatever they hold


def word_of(dtype: str, numbers: int) -> str:
    """The name of a word of so many numbers."""
    return f"{dtype}x{numbers}"


_NAMES = {name: dtype for dtype, each in DTYPES.items() for name in each.names}


def dtype_of(value: _Value) -> str | _Value:
    """The dtype of the inputs that `value` names: by our name, by a library's name, or as a library's object.

    A value that names none is returned unchanged, so that the caller can list the supported ones.
    """
    return _NAMES.get(last_name(value), value)


def output_dtype_of(value: _Value) -> str | _Value:
    """The dtype of the output that `value` names, by the rules of `dtype_of`.

    For the output int8 means s8. For the inputs it means that x is u8 and the weights are s8.
    """
    return format_of(value)
