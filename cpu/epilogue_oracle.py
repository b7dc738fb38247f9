"""What an epilogue must give, in float64, and how far float32 may be from it.

Shares nothing with the emitted code: NumPy's and SciPy's functions, and the rules of running error analysis. Every
value comes with a bound of its error: what its operands' errors become, plus one rounding where the exact result is no
float32. Whole numbers that stay small are therefore exact, bound 0, and checked with `==`.
Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tiling.epilogue import Apply, Array, Number, Sum, Value
from tiling.problem import Problem, Tensor

UNIT = np.finfo(np.float32).eps / 2  # the largest relative error of one rounding
TINY = 2.0**-119  # the largest error of a result that comes of an exponential below e^-87, as epilogue.c.j2 states it
# The largest error of a function in units in the last place (at most 2·UNIT of the result), and its largest slope.
_ERRORS = {"exp": 1.1, "tanh": 3.0, "sigmoid": 3.0, "silu": 4.0, "gelu": 8.0, "gelu_tanh": 5.0}
_SLOPES = {"tanh": 1.0, "sigmoid": 0.25, "silu": 1.1, "gelu": 1.13, "gelu_tanh": 1.13}


class Bounded:
    """A float64 array and, element by element, the largest error that the float32 value of it may have."""

    def __init__(self, value, error=0.0):
        self.value = np.asarray(value, np.float64)
        self.error = np.broadcast_to(np.asarray(error, np.float64), self.value.shape)


def finished(problem: Problem, sums: np.ndarray, arrays, error: np.ndarray | float = 0.0) -> Bounded:
    """The epilogue of float64 sums, each off by at most `error`; `arrays` as the problem's `epilogue_arrays`."""
    names = {tensor.name: spread(problem, tensor, array) for tensor, array in zip(problem.epilogue_arrays, arrays)}
    with np.errstate(all="ignore"):
        found = _evaluate(problem.epilogue.value, Bounded(sums, error), names)
    return Bounded(found.value, np.where(np.isnan(found.error), np.inf, found.error))


def spread(problem: Problem, tensor: Tensor, array: np.ndarray) -> np.ndarray:
    """An array with an axis for every axis of the output, 1 long where it has none."""
    axes = zip(problem.output.indices, problem.output.shape)
    shape = tuple(size if index in tensor.indices else 1 for index, size in axes)
    return array.astype(np.float64).reshape(shape)


def _evaluate(value: Value, y: Bounded, names: Mapping[str, np.ndarray]) -> Bounded:
    if isinstance(value, Sum):
        return y
    if isinstance(value, Number):
        return Bounded(np.float32(value.value))
    if isinstance(value, Array):
        return Bounded(names[value.name])
    assert isinstance(value, Apply)
    return _OPERATIONS[value.operation](*(_evaluate(argument, y, names) for argument in value.arguments))


def _rounded(value: np.ndarray, error: np.ndarray) -> Bounded:
    """One rounding more, unless the operands are exact and so is the result."""
    exact = (error == 0) & (value.astype(np.float32) == value)
    return Bounded(value, np.where(exact, 0.0, error + UNIT * (np.abs(value) + error) + 2.0**-150))


def _add(a: Bounded, b: Bounded) -> Bounded:
    return _rounded(a.value + b.value, a.error + b.error)


def _neg(a: Bounded) -> Bounded:
    return Bounded(-a.value, a.error)


def _mul(a: Bounded, b: Bounded) -> Bounded:
    return _rounded(a.value * b.value, np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error)


def _div(a: Bounded, b: Bounded) -> Bounded:
    value = a.value / b.value
    # Where the divisor may be 0, or of either sign, anything may come out.
    least = np.abs(b.value) - b.error
    error = np.where(least > 0, (a.error + np.abs(value) * b.error) / least, np.inf)
    return _rounded(value, np.where((a.error == 0) & (b.error == 0), 0.0, error))


def _max(a: Bounded, b: Bounded) -> Bounded:
    return Bounded(np.maximum(a.value, b.value), np.maximum(a.error, b.error))


def _min(a: Bounded, b: Bounded) -> Bounded:
    return Bounded(np.minimum(a.value, b.value), np.maximum(a.error, b.error))


def _clamp(v: Bounded, low: Bounded, high: Bounded) -> Bounded:
    return _min(_max(v, low), high)


def _relu6(v: Bounded) -> Bounded:
    return _clamp(v, Bounded(0.0), Bounded(6.0))


def _hardsigmoid(v: Bounded) -> Bounded:
    return _mul(_relu6(_add(v, Bounded(3.0))), Bounded(1 / 6, UNIT / 6))


def _leaky_relu(v: Bounded, slope: Bounded) -> Bounded:
    below = _mul(v, slope)
    value = np.where(v.value < 0, below.value, v.value)
    # A sum that may be of either sign may take either branch.
    unsure = np.where(np.abs(v.value) <= v.error, v.error * (2 + np.abs(slope.value) + slope.error), 0.0)
    return Bounded(value, np.where(v.value < 0, below.error, v.error) + unsure)


def _exp(v: Bounded) -> Bounded:
    value = np.exp(v.value)
    return Bounded(value, value * np.expm1(v.error) + 2 * UNIT * _ERRORS["exp"] * value * np.exp(v.error) + TINY)


def _gelu(v: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return v * ndtr(v)


def _inner_tanh(v: np.ndarray) -> np.ndarray:
    """What gelu_tanh is the tanh of."""
    return np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)


def _sigmoid(v: np.ndarray) -> np.ndarray:
    return np.where(v < 0, np.exp(np.minimum(v, 0)), 1.0) / (1 + np.exp(-np.abs(v)))


_CURVES = {
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "silu": lambda v: v * _sigmoid(v),
    "gelu": _gelu,
    "gelu_tanh": lambda v: v * _sigmoid(2 * _inner_tanh(v)),
}


def _curve(name: str):
    def bounded(v: Bounded) -> Bounded:
        value, units = _CURVES[name](v.value), _ERRORS[name]
        if name == "gelu_tanh":
            units = units * (1 + np.abs(_inner_tanh(v.value)))
        carried = _SLOPES[name] * v.error
        own = np.where(value == 0, 0.0, 2 * UNIT * units * (np.abs(value) + carried))
        return Bounded(value, carried + own + TINY)

    return bounded


_OPERATIONS = {
    "add": _add,
    "sub": lambda a, b: _add(a, _neg(b)),
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "abs": lambda v: Bounded(np.abs(v.value), v.error),
    "min": _min,
    "max": _max,
    "clamp": _clamp,
    "relu": lambda v: _max(v, Bounded(0.0)),
    "relu6": _relu6,
    "leaky_relu": _leaky_relu,
    "hardsigmoid": _hardsigmoid,
    "hardswish": lambda v: _mul(v, _hardsigmoid(v)),
    "exp": _exp,
    **{name: _curve(name) for name in _CURVES},
}
