"""Functions that are made of other functions, and so need no C text of their own.

    relu(v)              max(v, 0)
    hardsigmoid(v)       min(max(v + 3, 0), 6) / 6
    as_u8(f32 v)         as_u8(as_s32(v))

A new function of this kind is a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

from tiling.dtypes.formats import COMPUTED, FLOATS, INTEGERS, WIDENED
from tiling.loops.language import Apply, Number, Value

COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_FLOATS = tuple(name for name in FLOATS if name not in WIDENED)
# Narrow numbers are converted by way of the dtype in which they are computed.
_NARROW = {name: COMPUTED[name].computed_in for name in INTEGERS if COMPUTED[name].computed_in != name}
# Functions that the printed file has for vectors of f32. For f64 they are made of functions of the C library.
_OWN_F32 = frozenset({"sigmoid", "silu", "gelu", "gelu_tanh"})


def defined(function: str, arguments: tuple[Value, ...], dtype: str) -> Value | None:
    """The function made of others; None where it has a C text. Arguments are names or numbers, of this dtype."""
    if function.startswith("as_"):
        return _cast(function.removeprefix("as_"), arguments[0], dtype)
    if dtype == "bool" and function in ("max", "min"):
        return Apply("or" if function == "max" else "and", arguments)
    if dtype == "bool" and function in COMPARISONS:
        return Apply(function, tuple(Apply("as_s32", (argument,)) for argument in arguments))
    if dtype not in _FLOATS and function in ("floor", "ceil", "round"):
        return arguments[0]
    if function in _DEFINED and not (dtype == "f32" and function in _OWN_F32):
        return _DEFINED[function](lambda value: Number(value, dtype), *arguments)
    return None


def _cast(wanted: str, value: Value, dtype: str) -> Value | None:
    """A conversion by way of others; None where C has it."""
    if wanted == dtype:
        return value
    if wanted == "bool" and dtype in _NARROW:
        return Apply("ne", (Apply(f"as_{_NARROW[dtype]}", (value,)), Number(0, _NARROW[dtype])))
    if wanted == "bool":
        return Apply("ne", (value, Number(0, dtype)))
    if wanted in _NARROW and dtype in _FLOATS:
        return Apply(f"as_{wanted}", (Apply(f"as_{_NARROW[wanted]}", (value,)),))
    return None


As = Callable[[float], Number]  # a number of the dtype of the arguments


def _clamp(v: Value, low: Value, high: Value) -> Value:
    return Apply("min", (Apply("max", (v, low)), high))


def _of_six(of: As, v: Value) -> Value:
    return _clamp(Apply("add", (v, of(3))), of(0), of(6))


def _sigmoid(of: As, v: Value) -> Value:
    return Apply("div", (of(1), Apply("add", (of(1), Apply("exp", (Apply("neg", (v,)),))))))


def _gelu(of: As, v: Value) -> Value:
    rest = Apply("add", (of(1), Apply("erf", (Apply("mul", (v, of(sqrt(0.5)))),))))
    return Apply("mul", (Apply("mul", (v, of(0.5))), rest))


def _gelu_tanh(of: As, v: Value) -> Value:
    cubic = Apply("add", (of(2 * sqrt(2 / pi)), Apply("mul", (of(2 * sqrt(2 / pi) * 0.044715), Apply("mul", (v, v))))))
    return Apply("mul", (v, _sigmoid(of, Apply("mul", (cubic, v)))))


_DEFINED: dict[str, Callable[..., Value]] = {
    "relu": lambda of, v: Apply("max", (v, of(0))),
    "relu6": lambda of, v: _clamp(v, of(0), of(6)),
    "clamp": lambda of, v, low, high: _clamp(v, low, high),
    "leaky_relu": lambda of, v, slope: Apply("where", (Apply("gt", (v, of(0))), v, Apply("mul", (v, slope)))),
    "hardsigmoid": lambda of, v: Apply("div", (_of_six(of, v), of(6))),
    "hardswish": lambda of, v: Apply("mul", (v, Apply("div", (_of_six(of, v), of(6))))),
    "sigmoid": _sigmoid,
    "silu": lambda of, v: Apply("mul", (v, _sigmoid(of, v))),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "rsqrt": lambda of, v: Apply("div", (of(1), Apply("sqrt", (v,)))),
    "sign": lambda of, v: Apply(
        "where", (Apply("gt", (v, of(0))), of(1), Apply("where", (Apply("lt", (v, of(0))), of(-1), v)))
    ),
}
