"""The functions of the loop language, on NumPy scalars and vectors: what `Apply` means.

Names and definitions are those of epilogues (`tiling.epilogue`), which are PyTorch's. `narrow` has those of narrow
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erf, inf, sqrt

import numpy as np

from tiling.dtypes.formats import COMPUTED, FLOAT, FORMATS
from tiling.loops.meaning.narrow import NARROW, Number


def _as(v: Number, number: int) -> Number:
    """A number of the dtype of v."""
    return np.asarray(v).dtype.type(number)


def _clamp(v: Number, low: Number, high: Number) -> Number:
    return np.minimum(np.maximum(v, low), high)


def _sigmoid(v: Number) -> Number:
    return 1 / (1 + np.exp(-v))


def round_mul(a: Number, b: Number) -> Number:
    """The whole number nearest to a * b, ties to even; a zero is +0. A product of f32 is exact in f64.

    Where |a * b| is at least 2^22, kernels give numbers within 2 ulp of a * b.
    """
    return (np.rint(np.asarray(a, np.float64) * b) + 0.0).astype(np.asarray(a).dtype)[()]


def scale(p: Number, n: Number) -> Number:
    """p times 2 to the power of n rounded down, rounded once."""
    # Beyond 600 the product is infinite or zero whatever n is, and its factors are exact in f64 up to there.
    power = np.floor(np.where(np.isinf(n), n, np.clip(np.asarray(n, np.float64), -600, 600)))
    return (np.asarray(p, np.float64) * np.exp2(power)).astype(np.float32)[()]


def bits(v: Number) -> Number:
    """The bits of an f32 as a u32."""
    return np.asarray(v, np.float32).view(np.uint32)[()]


def _cast(dtype: str) -> Callable[[Number], Number]:
    """The cast of a scalar. A float becomes a whole number towards zero."""
    kind = np.dtype(FORMATS[dtype].numpy).type
    return (lambda v: np.asarray(v).astype(kind)[()]) if FORMATS[dtype].whole else kind


_CASTS = {name: _cast(name) for name, each in COMPUTED.items() if not each.named}


def _bits(v: Number) -> int:
    """How many bits a number has."""
    return 8 * np.asarray(v).dtype.itemsize


def _shl(a: Number, b: Number) -> Number:
    """a shifted left by b bits. 0 where b is below 0, or at least the number of bits of a."""
    return np.where((b >= 0) & (b < _bits(a)), a << (b & _as(b, _bits(a) - 1)), _as(a, 0))[()]


def _shr(a: Number, b: Number) -> Number:
    """a shifted right by b bits. 0 or -1, by its sign, where b is below 0, or at least the number of bits of a."""
    most = _as(b, _bits(a) - 1)
    return np.where((b < 0) | (b > most), a >> most >> _as(b, 1), a >> (b & most))[()]


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda v: -v,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "relu": lambda v: np.maximum(v, _as(v, 0)),
    "relu6": lambda v: _clamp(v, _as(v, 0), _as(v, 6)),
    "leaky_relu": lambda v, slope: np.where(v > 0, v, v * slope),
    "hardsigmoid": lambda v: _clamp(v + 3, _as(v, 0), _as(v, 6)) / 6,
    "hardswish": lambda v: v * (_clamp(v + 3, _as(v, 0), _as(v, 6)) / 6),
    "clamp": _clamp,
    "round_mul": round_mul,
    "exp": np.exp,
    "tanh": np.tanh,
    **{name: getattr(np, name) for name in ("expm1", "log1p", "tan", "sinh", "cosh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "bitnot": np.invert},
    **{"shl": _shl, "shr": _shr},
    "sigmoid": _sigmoid,
    "silu": lambda v: v * _sigmoid(v),
    "gelu": lambda v: v / 2 * (1 + np.vectorize(erf)(v / sqrt(2))),
    "gelu_tanh": lambda v: v * _sigmoid(2 * sqrt(2 / np.pi) * (v + 0.044715 * v**3)),
    **{"floordiv": np.floor_divide, "mod": np.mod, "where": np.where, "sign": np.sign},
    **{
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    },
    **{"and": np.logical_and, "or": np.logical_or, "not": np.logical_not},
    **{
        "floor": np.floor,
        "ceil": np.ceil,
        "round": np.rint,
        "log": np.log,
        "sqrt": np.sqrt,
        "sin": np.sin,
        "cos": np.cos,
    },
    **{"pow": np.power, "rsqrt": lambda v: 1 / np.sqrt(v), "erf": lambda v: np.vectorize(erf, otypes=[v.dtype])(v)[()]},
    **{f"as_{dtype}": cast for dtype, cast in _CASTS.items()},
    "scale": scale,
    "bits": bits,
    **NARROW,
}

# What a step of a sum adds.
PRODUCTS = frozenset({"mul", "dot_bf16", "dot_int8"})


# What reductions take one more value in by. They take values in any order, but for the rounding of floats, and each has
# a neutral number.
REDUCTIONS = frozenset({"add", "mul", "max", "min", "and", "or"})


def neutral(function: str, dtype: str) -> float:
    """The neutral number of a function, with which sums, products, `max`, `min`, `or` and `and` begin."""
    if function not in ("max", "min"):
        return 1 if function in ("mul", "and") else 0
    form = FORMATS.get(dtype)  # none of the floats that lie several in a word, such as bf16x2
    least, most = (-inf, inf) if form is None or form.kind == FLOAT else form.ends
    return least if function == "max" else most
