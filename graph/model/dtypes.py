"""The dtypes of a model's arrays: their names in ONNX, and how dtypes are stored that programs cannot compute with.

Numbers of 2, 4 and 8 bits lie in bytes, one in each, as NumPy has them. Programs read and write these bytes; only casts
(`graph.operators.points.casts`) know what they mean.
"""

from __future__ import annotations

from tiling.dtypes.formats import COMPUTED, FLOAT, FORMATS, SIGNED

# By the numbers of `onnx.TensorProto`.
DTYPES = {each.onnx: name for name, each in FORMATS.items() if each.onnx}
# By NumPy's names, and by the names of ml_dtypes for dtypes that NumPy lacks.
OF_NUMPY = {FORMATS[name].elsewhere: name for name in DTYPES.values()}
_UNCOMPUTED = {name: FORMATS[name] for name in DTYPES.values() if name not in COMPUTED}
FLOATS_OF_BITS = tuple(name for name, each in _UNCOMPUTED.items() if each.kind == FLOAT)
# The least and the largest whole number.
SHORT = {name: each.ends for name, each in _UNCOMPUTED.items() if each.whole}
_STORED = {name: "s8" if each.kind == SIGNED else "u8" for name, each in _UNCOMPUTED.items()}


def stored(dtype: str) -> str:
    """The dtype as which programs read and write an array."""
    return _STORED.get(dtype, dtype)


def is_computed(dtype: str) -> bool:
    """Whether programs compute with numbers of a dtype."""
    return dtype not in _STORED
