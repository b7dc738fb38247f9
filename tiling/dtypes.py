"""The dtypes, their sizes, and their names in other libraries: "float32", numpy.float32 and torch.float32 mean f32."""

from __future__ import annotations

from typing import TypeVar

_Value = TypeVar("_Value")

# Bytes of an element of the inputs. tf32 is an f32 of which a matrix instruction reads 19 bits. int8 is u8 for the
# input that is broadcast (x, a) and s8 for the weights. f16 and tf32 are a GPU's, int8 is a CPU's.
DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "tf32": 4, "int8": 1}
# The dtypes of the output that each dtype of the inputs allows, the default first.
OUTPUT_DTYPES = {
    "f32": ("f32",),
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "tf32": ("f32",),
    "int8": ("s32", "f32", "u8", "s8"),
}
OUTPUT_DTYPE = {dtype: outputs[0] for dtype, outputs in OUTPUT_DTYPES.items()}
# The dtype of a number of x (a), the dtype of a number of the weights (b), and the dtype of a sum of their products.
OPERAND_DTYPES = {dtype: ("u8", "s8") if dtype == "int8" else (dtype, dtype) for dtype in DTYPE_BYTES}
SUM_DTYPE = dict.fromkeys(DTYPE_BYTES, "f32") | {"int8": "s32"}
# A lane of a vector is a float, a sum of 32 bits, or a word of narrow numbers.
LANE_BYTES = 4
WORD = "word"  # the 32 bits of a lane, whatever they hold
OUTPUT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "s32": 4, "u8": 1, "s8": 1}

_NAMES = {
    "float32": "f32",
    "fp32": "f32",
    "float16": "f16",
    "fp16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "tfloat32": "tf32",
    "int8": "int8",
}
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
