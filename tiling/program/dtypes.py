"""The dtypes of programs: the dtype in which values meet, and the dtype that a statement gives.

f16 and bf16, and whole numbers below 32 bits, are how numbers are stored: they are computed in f32, and in s32; u32 is
computed in s64. A truth is bool; arithmetic takes it for 0 or 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from tiling.dtypes.formats import COMPUTED, FLOATS
from tiling.program.functions import FUNCTIONS, REAL, SAME, TRUTH
from tiling.program.language import Access, Dim, Expression, Number, Reduce, Statement

WIDTH = {name: each.bytes for name, each in COMPUTED.items()}  # bytes
WHOLE, FRACTION = "whole", "fraction"  # of numbers in the text, which take the dtype of what they meet


def given_by(statement: Statement, dtypes: Mapping[str, str]) -> str:
    """The dtype of the array that a statement assigns, if it declares none. dtypes: those of all arrays it reads."""
    found = dtype_in(statement.expression, dtypes)
    if isinstance(statement.value, Reduce):
        found = _reduced(statement.value.kind, found)
    return {WHOLE: "s64", FRACTION: "f32"}.get(found, found)


def dtype_in(value: Expression, dtypes: Mapping[str, str]) -> str:
    """The dtype of a value; WHOLE or FRACTION for what is made of numbers alone."""
    if isinstance(value, Number):
        return WHOLE if isinstance(value.value, int) else FRACTION
    if isinstance(value, Dim):
        return WHOLE
    if isinstance(value, Access):
        return dtypes[value.array]
    function = FUNCTIONS[value.function]
    met = dtype_in(value.arguments[function.choice], dtypes)
    for argument in value.arguments[function.choice + 1 :]:
        met = promoted(met, dtype_in(argument, dtypes))
    if function.gives == REAL:
        return real(met)
    if met == "bool" and not function.choice:
        met = "s64"
    return {SAME: met, TRUTH: "bool"}.get(function.gives, function.gives)


def promoted(left: str, right: str) -> str:
    """The dtype in which two values meet. A float wins over whole numbers, the wider over the narrower."""
    for one, other in ((left, right), (right, left)):
        if one == other:
            return one
        if one == WHOLE:
            return "s64" if other == "bool" else other
        if one == FRACTION:
            return other if other in FLOATS else FRACTION if other in (WHOLE, "bool") else "f32"
        if one == "bool":
            return "s64" if other == WHOLE else other
    floats = [dtype for dtype in (left, right) if dtype in FLOATS]
    if len(floats) == 1:
        return floats[0]
    if floats:
        return "f32" if WIDTH[left] == WIDTH[right] else max(floats, key=WIDTH.__getitem__)
    if WIDTH[left] == WIDTH[right]:
        return "s64" if WIDTH[left] >= WIDTH["s32"] else "s32"
    return max(left, right, key=WIDTH.__getitem__)


def real(dtype: str) -> str:
    """The dtype that a function of real numbers gives. A number of the text takes the dtype of what it meets."""
    if dtype in (WHOLE, FRACTION):
        return FRACTION
    return dtype if dtype in FLOATS else "f32"


def computed_in(dtype: str) -> str:
    """The dtype in which a value of a stored dtype is computed."""
    return COMPUTED[dtype].computed_in if dtype in COMPUTED else dtype


def summed_in(kind: str, met: str) -> str:
    """The dtype in which a reduction of values of a computed dtype is computed: 64 bits for whole numbers."""
    if kind in ("any", "all"):
        return "bool"
    if kind == "mean":
        return real(met)
    return "s64" if kind in ("sum", "prod") and met not in (*FLOATS, "u64") else met


def _reduced(kind: str, dtype: str) -> str:
    if kind in ("any", "all"):
        return "bool"
    if kind in ("argmax", "argmin"):
        return "s64"
    if kind == "mean":
        return real(dtype)
    return "s64" if kind in ("sum", "prod") and dtype not in (*FLOATS, FRACTION, "u64") else dtype


def met_in(value: Expression, dtypes: Mapping[str, str], wanted: str) -> str:
    """The dtype in which a value for an array of dtype `wanted` is computed. dtypes: the dtype of each array."""
    found = dtype_in(value, dtypes)
    if found == FRACTION and wanted == "f64":
        return "f64"
    return computed_in({WHOLE: "s64", FRACTION: "f32"}.get(found, found))


def is_unrounded(statement: Statement, dtypes: Mapping[str, str]) -> bool:
    """Whether an array has the dtype in which its values are computed."""
    return met_in(statement.expression, dtypes, dtypes[statement.array]) == dtypes[statement.array]
