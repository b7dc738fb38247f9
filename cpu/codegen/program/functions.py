"""The functions of the language in C, by the dtype of their arguments.

    exp of f32       exp_of           vectors, as in epilogues (`vector_functions`)
    sqrt of f64      sqrt_f64         lane by lane, from the C library
    max of s32       max_s32          an expression of vectors
    as_f32 of s64    f32_of_s64       a conversion

A new function is a row in one of the tables here, unless `cpu.passes.program.lanes.definitions` makes it of others.
`definitions` beside this file makes C functions of the rows.
"""

from __future__ import annotations

from tiling.dtypes.formats import COMPUTED
from tiling.program.dtypes import WIDTH

# Elements of arrays, and of vectors, in C. A truth is an int of a lane: 0, or all bits.
ELEMENT = {name: each.c for name, each in COMPUTED.items()} | {"bool": "int", "s32": "int"}
LANE = WIDTH | {"bool": 4}  # bytes of a lane

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|"}
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
BEFORE = {"neg": "-", "not": "~"}
# The functions that have a vector form of their own in f32.
SHARED = frozenset({"max", "min", "abs", "exp", "expm1", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "erf", "log"})
SHARED |= {"log1p", "round_mul"}

# Lane by lane: the expression of a lane a, or of two, a and b. {f} is the suffix of the C library for floats.
LANE_BY_LANE = {name: f"__builtin_{name}{{f}}(a)" for name in ("sqrt", "floor", "ceil")}
LANE_BY_LANE |= {"round": "__builtin_rint{f}(a)", "pow": "pow{f}(a, b)", "round_mul": "__builtin_rint{f}(a * b) + 0"}
LANE_BY_LANE |= {name: f"{name}{{f}}(a)" for name in ("exp", "expm1", "log", "log1p", "tanh", "erf")}
LANE_BY_LANE |= {name: f"{name}{{f}}(a)" for name in ("sin", "cos", "tan", "asin", "acos", "atan")}
LANE_BY_LANE |= {name: f"{name}{{f}}(a)" for name in ("sinh", "cosh", "asinh", "acosh", "atanh")}
LANE_BY_LANE |= {"floordiv": "quotient_{dtype}(a, b)", "mod": "remainder_{dtype}(a, b)"}
# Expressions of vectors a and b. NaN stays NaN. A comparison has a name, since one of 64 bits is a function.
EXPRESSION = {
    "max": "{where}({gt}, a, b)",
    "min": "{where}({lt}, a, b)",
    "abs": "{where}({negative}, -a, a)",
}
EXPRESSION |= {"bitand": "a & b", "bitor": "a | b", "bitxor": "a ^ b", "bitnot": "~a"}
# Shifts leave nothing, or the sign alone, where the count is below 0 or as many bits as a has.
EXPRESSION |= {"shl": "{where}({beyond} | {below}, {zero}, a << (b & {most}))"}
EXPRESSION |= {"shr": "a >> {where}({beyond} | {below}, {most}, b)"}
UNSIGNED_EXPRESSION = {"shl": "{where}({beyond}, {zero}, a << (b & {most}))"}
UNSIGNED_EXPRESSION |= {"shr": "{where}({beyond}, {zero}, a >> (b & {most}))"}
FLOAT_EXPRESSION = {"max": "{where}({gt} | {none}, a, b)", "min": "{where}({lt} | {none}, a, b)"}

_SCALARS = {
    "quotient": """\
/* a / b rounded down; 0 where b is 0. */
static inline {e} quotient_{dtype}({e} a, {e} b)
{{
    if (b == 0 || b == -1)
        return b * a; /* a / -1 may not fit: it wraps around, as other sums do */
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}}""",
    "remainder": """\
/* What a / b rounded down leaves, of the sign of b; 0 where b is 0. */
static inline {e} remainder_{dtype}({e} a, {e} b)
{{
    if (b == 0 || b == -1)
        return 0;
    const {e} rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}}""",
}
_UNSIGNED_SCALARS = {
    "quotient": """\
/* a / b rounded down; 0 where b is 0. */
static inline {e} quotient_{dtype}({e} a, {e} b) {{ return b ? a / b : 0; }}""",
    "remainder": """\
/* What a / b rounded down leaves; 0 where b is 0. */
static inline {e} remainder_{dtype}({e} a, {e} b) {{ return b ? a % b : 0; }}""",
}
_FLOAT_SCALARS = {
    "quotient": """\
/* a / b rounded down. The remainder is exact, so the quotient is a whole number but for its own rounding. */
static inline {e} quotient_{dtype}({e} a, {e} b)
{{
    if (b == 0)
        return a / b;
    const {e} rest = fmod{f}(a, b), whole = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0));
    return rint{f}(whole);
}}""",
    "remainder": """\
/* What a / b rounded down leaves, of the sign of b. */
static inline {e} remainder_{dtype}({e} a, {e} b)
{{
    const {e} rest = fmod{f}(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}}""",
}


def c_name(function: str, dtype: str) -> str:
    """The C function of a function of the language, for arguments of this dtype."""
    if function.startswith("as_") or function == "from_bf16":
        wanted = "f32" if function == "from_bf16" else function.removeprefix("as_")
        return f"{wanted}_of_{'bf16' if function == 'from_bf16' else dtype}"
    if dtype == "f32" and function == "where":
        return "choose"
    if dtype == "f32" and (function in SHARED or function in LANE_BY_LANE):
        return f"{function}_of"
    return f"{function}_{dtype}"


def vector_type(dtype: str, floats: str) -> str:
    """The C type of a vector of a dtype. floats: that of f32."""
    return {"f32": floats, "bool": "truths"}.get(dtype, f"{dtype}s")


def comparison(function: str, left: str, right: str, dtype: str) -> str:
    """What compares two vectors lane by lane and gives truths: an operator of C, or a call where lanes are wider."""
    if LANE[dtype] == 4:
        return f"({left} {COMPARED[function]} {right})"
    return f"{c_name(function, dtype)}({left}, {right})"


def expression(function: str, dtype: str) -> str:
    """The expression of vectors that a function is, with the names of what it compares and chooses by in braces."""
    return (EXPRESSION | {"f64": FLOAT_EXPRESSION, "u64": UNSIGNED_EXPRESSION}.get(dtype, {}))[function]


def scalar(name: str, dtype: str) -> str:
    """The C function of single numbers that `quotient` or `remainder` is; empty for any other name."""
    tables = {"f32": _FLOAT_SCALARS, "f64": _FLOAT_SCALARS, "u64": _UNSIGNED_SCALARS}
    text = tables.get(dtype, _SCALARS).get(name, "")
    return text.format(e=ELEMENT[dtype], dtype=dtype, f="f" if dtype == "f32" else "")
