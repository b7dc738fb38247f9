"""Replaces activations that a model spells out by the one function that they compute.

    y * sigmoid(y)                                    silu(y)
    0.5 * y * (1 + erf(y / 1.41421356))               gelu(y)

A kernel computes the function in fewer operations, and an epilogue's text stays short.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, pi, sqrt

from tiling.value import Applied, Constant, Value

# Models give the numbers of these formulas in f32, or rounded by hand: 0.7978845608 is sqrt(2 / pi).
_NEAR = 1e-6


class _Any:
    """Any value, the same one wherever it stands in a pattern."""


_Y = _Any()

_TANH = ("tanh", ("mul", Constant(sqrt(2 / pi)), ("add", _Y, ("mul", Constant(0.044715), _Y, _Y, _Y))))
_ERF = ("erf", ("mul", _Y, Constant(sqrt(0.5))))

# Factors stand in any order, grouped in any way; the two terms of a sum in any order.
_IDIOMS: tuple[tuple[tuple[object, ...], str], ...] = (
    (("mul", _Y, ("sigmoid", _Y)), "silu"),
    (("mul", _Y, ("hardsigmoid", _Y)), "hardswish"),
    (("mul", Constant(0.5), _Y, ("add", Constant(1.0), _TANH)), "gelu_tanh"),
    (("mul", Constant(0.5), _Y, ("add", Constant(1.0), _ERF)), "gelu"),
)


def shortened(value: Value) -> Value:
    """The value with every activation that is spelled out as its function."""
    if not isinstance(value, Applied):
        return value
    value = Applied(value.operation, tuple(map(shortened, value.arguments)))
    for pattern, function in _IDIOMS:
        for found in _matches(pattern, value, None):
            return Applied(function, (found,))
    return value


def _matches(pattern: object, value: Value, y: Value | None) -> Iterator[Value]:
    """The values of _Y with which the value has this form. y: the value that _Y must have, if that is decided."""
    if isinstance(pattern, _Any):
        if y is None or y == value:
            yield value
        return
    if isinstance(pattern, Constant):
        if isinstance(value, Constant) and isclose(pattern.value, value.value, rel_tol=_NEAR) and y is not None:
            yield y
        return
    assert isinstance(pattern, tuple)
    operation, *wanted = pattern
    if operation == "mul":
        given = list(_factors(value))
    elif isinstance(value, Applied) and value.operation == operation:
        given = list(value.arguments)
    else:
        return
    if len(given) == len(wanted):
        yield from _unordered(wanted, given, y)


def _unordered(wanted: list[object], given: list[Value], y: Value | None) -> Iterator[Value]:
    """The ways in which each value can be one of the wanted ones. All functions here of several values commute."""
    if not wanted:
        assert y is not None
        yield y
        return
    # A number does not decide what y is, so it comes last.
    first = next((place for place, part in enumerate(wanted) if not isinstance(part, Constant)), 0)
    for place, value in enumerate(given):
        for found in _matches(wanted[first], value, y):
            yield from _unordered(wanted[:first] + wanted[first + 1 :], given[:place] + given[place + 1 :], found)


def _factors(value: Value) -> Iterator[Value]:
    """The factors of a product. Division by a number is a product with its inverse."""
    if not isinstance(value, Applied) or value.operation not in ("mul", "div"):
        yield value
        return
    left, right = value.arguments
    if value.operation == "mul":
        yield from _factors(left)
        yield from _factors(right)
    elif isinstance(right, Constant) and right.value:
        yield from _factors(left)
        yield Constant(1 / right.value)
    else:
        yield value
