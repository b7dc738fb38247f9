"""The functions of programs: a table with a row for each. A new function is a row here and its meaning where it is run.

Names and definitions are PyTorch's. `//` and `%` round down, so a remainder has the sign of the divisor.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.dtypes.formats import COMPUTED

# What a function gives. "same": the dtype in which its arguments meet. "real": a float, f32 for whole numbers. "truth":
# bool. Any other text is the dtype itself.
SAME, REAL, TRUTH = "same", "real", "truth"


@dataclass(frozen=True)
class FunctionRow:
    """How many arguments a function takes, and what it gives. choice: the first argument is a condition."""

    arguments: int
    gives: str = SAME
    choice: bool = False


_UNARY = ("neg", "abs", "sign", "floor", "ceil", "round", "relu", "relu6")
_REAL = (
    *("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "erf"),
    *("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
    *("sigmoid", "silu", "gelu", "gelu_tanh", "hardsigmoid", "hardswish"),
)

# These take whole numbers alone. A shift by less than 0, or by all bits, leaves 0, or the sign of what is shifted down.
BITWISE = ("bitand", "bitor", "bitxor", "bitnot", "shl", "shr")
_CASTS = tuple(COMPUTED)

FUNCTIONS = {
    **{name: FunctionRow(2) for name in ("add", "sub", "mul", "floordiv", "mod", "min", "max")},
    **{name: FunctionRow(1 if name == "bitnot" else 2) for name in BITWISE},
    **{name: FunctionRow(2, TRUTH) for name in ("eq", "ne", "lt", "le", "gt", "ge", "and", "or")},
    **{name: FunctionRow(1) for name in _UNARY},
    **{name: FunctionRow(1, REAL) for name in _REAL},
    **{name: FunctionRow(2, REAL) for name in ("div", "pow", "leaky_relu", "round_mul")},
    "not": FunctionRow(1, TRUTH),
    "clamp": FunctionRow(3),
    "where": FunctionRow(3, choice=True),
    # A cast rounds to the nearest number, and a float to a whole number towards zero. bool is whether it is not 0.
    **{name: FunctionRow(1, name) for name in _CASTS},
}

# Operators as they are written, and how tightly each binds.
SYMBOLS = {
    **{"or": "or", "and": "and", "not": "not "},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "neg": "-"},
}
BINDING = {
    **{"or": 1, "and": 2, "not": 3},
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), 4),
    **dict.fromkeys(("add", "sub"), 5),
    **dict.fromkeys(("mul", "div", "floordiv", "mod"), 6),
    "neg": 7,
}
# Those that are called by name; the others have symbols alone.
NAMED = tuple(name for name in FUNCTIONS if name not in SYMBOLS)

# How a reduction takes one more value in: a function of `tiling.loops.meaning.functions`.
COMBINE = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min", "any": "or", "all": "and"}
