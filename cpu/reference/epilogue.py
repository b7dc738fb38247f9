"""What an epilogue must compute, in float64, and how far float32 may be from it.

It shares nothing with the emitted code: it uses NumPy's and SciPy's functions and running error analysis. Every value
has a bound of its error: the propagated errors of the operands, plus one rounding if the exact result is no float32. So
small whole numbers are exact: bound 0. Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiling.problem import Problem
from tiling.tensor import Tensor
from tiling.value import Applied, Constant, EpilogueArray, Sum, Value

UNIT = np.finfo(np.float32).eps / 2  # the largest relative error of one rounding
TINY = 2.0**-119  # the largest error of a result made from an exponential below about e^-87, as the emitted text states
Doubles = NDArray[np.float64]
# The largest error of each function, in units in the last place (at most 2·UNIT of the result), and its largest slope.
_ERRORS = {"exp": 1.1, "tanh": 3.0, "sigmoid": 3.0, "silu": 4.0, "gelu": 8.0, "gelu_tanh": 5.0}
_SLOPES = {"tanh": 1.0, "sigmoid": 0.25, "silu": 1.1, "gelu": 1.13, "gelu_tanh": 1.13}


class Bounded:
    """A float64 array and, for each element, the largest error that its float32 value may have."""

    def __init__(self, value: ArrayLike, error: ArrayLike = 0.0) -> None:
        self.value: Doubles = np.asarray(value, np.float64)
        self.error: Doubles = np.broadcast_to(np.asarray(error, np.float64), self.value.shape)


def finished(
    problem: Problem, sums: np.ndarray, arrays: Sequence[np.ndarray], error: np.ndarray | float = 0.0
) -> Bounded:
    """Applies the problem's epilogue to float64 sums.

    error: how far each sum may be off. arrays: the epilogue's arrays, in the order of `epilogue_arrays`.
    """
    names = {tensor.name: broadcast(problem, tensor, array) for tensor, array in zip(problem.epilogue_arrays, arrays)}
    assert problem.epilogue is not None  # only a problem that has one is asked for its result
    with np.errstate(all="ignore"):
        found = _evaluate(problem.epilogue.value, Bounded(sums, error), names)
    return Bounded(found.value, np.where(np.isnan(found.error), np.inf, found.error))


def broadcast(problem: Problem, tensor: Tensor, array: np.ndarray) -> np.ndarray:
    """An array of the epilogue, broadcast: with an axis for every axis of the output, of length 1 if it lacks it."""
    axes = zip(problem.output.indices, problem.written)
    shape = tuple(size if index in tensor.indices else 1 for index, size in axes)
    return array.astype(np.float64).reshape(shape)


def _evaluate(value: Value, y: Bounded, names: Mapping[str, np.ndarray]) -> Bounded:
    if isinstance(value, Sum):
        return y
    if isinstance(value, Constant):
        return Bounded(np.float32(value.value))
    if isinstance(value, EpilogueArray):
        return Bounded(names[value.name])
    assert isinstance(value, Applied)
    return _OPERATIONS[value.operation](*(_evaluate(argument, y, names) for argument in value.arguments))


def _rounded(value: np.ndarray, error: np.ndarray) -> Bounded:
    """Adds one rounding to the error, unless the operands and the result are exact."""
    exact = (error == 0) & (value.astype(np.float32) == value)
    return Bounded(value, np.where(exact, 0.0, error + UNIT * (np.abs(value) + error) + 2.0**-150))


def _add(a: Bounded, b: Bounded) -> Bounded:
    return _rounded(a.value + b.value, a.error + b.error)


def _neg(a: Bounded) -> Bounded:
    return Bounded(-a.value, a.error)


def _mul(a: Bounded, b: Bounded) -> Bounded:
    return _rounded(a.value * b.value, np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error)


def _round_mul(a: Bounded, b: Bounded) -> Bounded:
    product = _mul(a, b)
    exact = (a.error == 0) & (b.error == 0) & (np.abs(product.value) < 2.0**22)
    # Else kernels may be off by 2 ulp of the product, and round it to the next whole number.
    error = product.error + 4 * UNIT * np.abs(product.value) + 1
    return Bounded(np.rint(product.value) + 0.0, np.where(exact, 0.0, error))


def _div(a: Bounded, b: Bounded) -> Bounded:
    value = a.value / b.value
    # If the divisor may be 0 or of either sign, the result may be anything.
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
    # A value that may have either sign may take either branch.
    unsure = np.where(np.abs(v.value) <= v.error, v.error * (2 + np.abs(slope.value) + slope.error), 0.0)
    return Bounded(value, np.where(v.value < 0, below.error, v.error) + unsure)


def _exp(v: Bounded) -> Bounded:
    value = np.exp(v.value)
    return Bounded(value, value * np.expm1(v.error) + 2 * UNIT * _ERRORS["exp"] * value * np.exp(v.error) + TINY)


def _gelu(v: Doubles) -> Doubles:
    from scipy.special import ndtr

    below: Doubles = ndtr(v)
    return v * below


def _inner_tanh(v: Doubles) -> Doubles:
    """The argument of the tanh in gelu_tanh."""
    inner: Doubles = np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)
    return inner


def _sigmoid(v: Doubles) -> Doubles:
    result: Doubles = np.where(v < 0, np.exp(np.minimum(v, 0)), 1.0) / (1 + np.exp(-np.abs(v)))
    return result


_CURVES: dict[str, Callable[[Doubles], Doubles]] = {
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "silu": lambda v: v * _sigmoid(v),
    "gelu": _gelu,
    "gelu_tanh": lambda v: v * _sigmoid(2 * _inner_tanh(v)),
}


def _curve(name: str) -> Callable[[Bounded], Bounded]:
    def bounded(v: Bounded) -> Bounded:
        value, units = _CURVES[name](v.value), np.asarray(_ERRORS[name])
        if name == "gelu_tanh":
            units = units * (1 + np.abs(_inner_tanh(v.value)))
        carried = _SLOPES[name] * v.error
        own = np.where(value == 0, 0.0, 2 * UNIT * units * (np.abs(value) + carried))
        return Bounded(value, carried + own + TINY)

    return bounded


_OPERATIONS: dict[str, Callable[..., Bounded]] = {
    "add": _add,
    "sub": lambda a, b: _add(a, _neg(b)),
    "mul": _mul,
    "div": _div,
    "round_mul": _round_mul,
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
