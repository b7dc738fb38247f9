"""The dtypes of a model's arrays: their names in ONNX, and how dtypes are stored that programs cannot compute with.

Numbers of 2, 4 and 8 bits lie in bytes, one in each, as NumPy has them. Programs read and write these bytes; only casts
(`graph.operators.points.casts`) know what they mean.
"""

from __future__ import annotations

# By the numbers of `onnx.TensorProto`.
DTYPES = {
    **{1: "f32", 2: "u8", 3: "s8", 4: "u16", 5: "s16", 6: "s32", 7: "s64", 9: "bool", 10: "f16", 11: "f64"},
    **{12: "u32", 13: "u64", 16: "bf16", 17: "f8e4m3fn", 18: "f8e4m3fnuz", 19: "f8e5m2", 20: "f8e5m2fnuz"},
    **{21: "u4", 22: "s4", 23: "f4e2m1", 24: "f8e8m0", 25: "u2", 26: "s2"},
}
# By NumPy's names, and by the names of ml_dtypes for dtypes that NumPy lacks.
OF_NUMPY = {
    **{"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool"},
    **{f"int{bits}": f"s{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{"float8_e4m3fn": "f8e4m3fn", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2": "f8e5m2"},
    **{"float8_e5m2fnuz": "f8e5m2fnuz", "float8_e8m0fnu": "f8e8m0", "float4_e2m1fn": "f4e2m1"},
}
FLOATS_OF_BITS = ("f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1")
# The least and the largest whole number.
SHORT = {"s4": (-8, 7), "u4": (0, 15), "s2": (-2, 1), "u2": (0, 3)}
_STORED = dict.fromkeys((*FLOATS_OF_BITS, "u4", "u2"), "u8") | dict.fromkeys(("s4", "s2"), "s8")


def stored(dtype: str) -> str:
    """The dtype as which programs read and write an array."""
    return _STORED.get(dtype, dtype)


def is_computed(dtype: str) -> bool:
    """Whether programs compute with numbers of a dtype."""
    return dtype not in _STORED
