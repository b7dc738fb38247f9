"""A second reference of programs: PyTorch computes every point, and how wrong a kernel may be there.

It shares nothing with what writes kernels nor with `cpu.reference.programs`. Floats are computed in float64. Beside
each stands a bound on its error in f32: the error of its parts, as far as the function may magnify it, and one rounding
more (Higham's running error analysis). Where an error could decide otherwise, as in a comparison of two values that are
nearly the same, the bound is infinite. For whole numbers all bounds are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from tiling.program.functions import FUNCTIONS
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Reduce, Statement

U = 2.0**-24  # half of the distance of 1 from the next f32
TINY = 2.0**-120  # numbers below it may be rounded to 0 by functions
FLOATS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float64, "f64": torch.float64}


@dataclass(frozen=True)
class Known:
    """Values, and bounds on the errors of a kernel there."""

    value: Tensor
    error: Tensor

    @property
    def exact(self) -> bool:
        return not bool(self.error.any())


def evaluate(program: Sized, inputs: Mapping[str, Any], exact: bool) -> dict[str, Known]:
    """Every assigned array. exact: all values are whole numbers or halves that every dtype holds."""
    arrays: dict[str, Known] = {}
    for array in program.inputs:
        arrays[array.name] = _plain(_stored(torch.as_tensor(inputs[array.name]), array.dtype))
    for statement, array in zip(program.program.statements, program.assigned):
        found = _Points(program.extents, statement, arrays, 0.0 if exact else U).whole()
        value = _stored(found.value.expand(array.shape), array.dtype)
        arrays[array.name] = Known(value, found.error.expand(array.shape))
    return {array.name: arrays[array.name] for array in program.assigned}


def _stored(values: Tensor, dtype: str) -> Tensor:
    """Numbers as an array of a dtype holds them: floats as float64, whole numbers as int64."""
    if dtype in FLOATS:
        return values.to(torch.float64).to(FLOATS[dtype]).to(torch.float64)
    if dtype == "bool":
        return values != 0
    whole, bits = values.to(torch.int64), int(dtype[1:])
    if bits == 64:
        return whole
    low = 0 if dtype[0] == "u" else 1 << (bits - 1)
    return torch.remainder(whole + low, 1 << bits) - low


def _plain(values: Tensor) -> Known:
    return Known(values, torch.zeros((), dtype=torch.float64))


class _Points:
    """The points of one statement: an axis for each dim of its array, then for each that it reduces over."""

    def __init__(self, extents: Mapping[str, int], statement: Statement, arrays: Mapping[str, Known], u: float):
        self.statement, self.arrays, self.u = statement, arrays, u
        self.names = (*statement.dims, *statement.reduced)
        self.shape = tuple(extents[dim] for dim in self.names)

    def whole(self) -> Known:
        found = self.at(self.statement.expression)
        if not isinstance(self.statement.value, Reduce):
            return found
        value = found.value.expand(self.shape)
        error = found.error.expand(self.shape)
        first = len(self.statement.dims)
        kept = self.shape[:first]
        return self.reduced(self.statement.value.kind, value.reshape(*kept, -1), error.reshape(*kept, -1))

    def reduced(self, kind: str, value: Tensor, error: Tensor) -> Known:
        """A reduction of the last axis."""
        points = value.shape[-1]
        if kind in ("any", "all"):
            truths = value != 0
            found = truths.any(-1) if kind == "any" else truths.all(-1)
            # One that is sure decides.
            sure = (truths == (kind == "any")) & (error == 0)
            return Known(found, torch.where(sure.any(-1), 0.0, _infinite(error).amax(-1)))
        numbers = value.to(torch.int64) if value.dtype == torch.bool else value
        if kind in ("argmax", "argmin"):
            # PyTorch promises no order among equal values.
            none = torch.isnan(numbers) if numbers.is_floating_point() else torch.zeros_like(numbers, dtype=torch.bool)
            best = (numbers.amax(-1) if kind == "argmax" else numbers.amin(-1)).unsqueeze(-1)
            hits = torch.where(none.any(-1, keepdim=True), none, numbers == best)
            found = torch.where(hits, torch.arange(points), points).amin(-1)
            return Known(found, _infinite(error).amax(-1))
        if kind in ("max", "min"):
            return Known(numbers.amax(-1) if kind == "max" else numbers.amin(-1), error.amax(-1))
        if kind == "sum" and not numbers.is_floating_point():
            return Known(numbers.to(torch.int64).sum(-1), error.sum(-1))
        total = numbers.to(torch.float64)
        most = error.sum(-1) + points * self.u * (total.abs() + error).sum(-1)
        if kind == "sum":
            return Known(total.sum(-1), most)
        assert kind == "mean"
        return Known(total.mean(-1), most / points + self.u * total.mean(-1).abs())

    def at(self, value: Expression) -> Known:
        if isinstance(value, Number):
            number = torch.tensor(value.value, dtype=torch.int64 if isinstance(value.value, int) else torch.float64)
            return Known(number, (number.double().abs() * self.u).nan_to_num(posinf=0))
        if isinstance(value, Dim):
            axis = self.names.index(value.name)
            view = [-1 if i == axis else 1 for i in range(len(self.shape))]
            return _plain(torch.arange(self.shape[axis]).reshape(view))
        if isinstance(value, Access):
            return self.element(value)
        return self.applied(value)

    def element(self, access: Access) -> Known:
        array = self.arrays[access.array]
        if not access.at:
            return array
        at = [self.at(index).value.to(torch.int64) for index in access.at]
        shape = torch.broadcast_shapes(*(index.shape for index in at))
        at = [index.expand(shape) for index in at]
        error = array.error.expand(array.value.shape)
        inside = torch.ones(shape, dtype=torch.bool)
        for index, extent in zip(at, array.value.shape):
            inside = inside & (index >= 0) & (index < extent)
        near = tuple(index.clamp(0, extent - 1) for index, extent in zip(at, array.value.shape))
        if access.outside is None:
            assert bool(inside.all())
            return Known(array.value[near], error[near])
        outside = torch.tensor(access.outside, dtype=array.value.dtype)
        return Known(torch.where(inside, array.value[near], outside), torch.where(inside, error[near], 0.0))

    def applied(self, value: Apply) -> Known:
        name = value.function
        given = [self.at(argument) for argument in value.arguments]
        if name == "where":
            condition, one, other = given
            chosen = condition.value != 0
            found = torch.where(chosen, *_alike(one.value, other.value))
            error = torch.where(chosen, one.error, other.error)
            either = torch.maximum(one.error, other.error) + (_number(one) - _number(other)).abs()
            return Known(found, torch.where(condition.error > 0, either, error))
        if name in _COMPARED:
            return self.compared(name, *given)
        if name in ("and", "or", "not"):
            truths = [one.value != 0 for one in given]
            unsure = [_infinite(one.error) for one in given]
            return Known(_LOGIC[name](*truths), sum(unsure[1:], unsure[0]))
        if FUNCTIONS[name].gives == name:
            return self.cast(name, given[0])
        arithmetic = [one.value.to(torch.int64) if one.value.dtype != torch.float64 else one.value for one in given]
        if name in _STEPS:
            return self.step(name, Known(arithmetic[0], given[0].error))
        if name in _MEANING:
            found = _MEANING[name](*_alike(*arithmetic))
            return Known(found, self.error_of(name, [Known(v, g.error) for v, g in zip(arithmetic, given)], found))
        function, slope = _REAL[name]
        number, error = arithmetic[0].double(), given[0].error
        found = function(number)
        if isinstance(slope, float):
            most = slope * error
        else:  # it moves as far as at one of both ends
            ends = (function(number - error), function(number + error))
            most = torch.stack([(end - found).abs() for end in torch.broadcast_tensors(*ends)]).amax(0)
            most = torch.where(torch.isnan(most) & (error > 0), torch.inf, most.nan_to_num(nan=0.0, posinf=torch.inf))
        return Known(found, most + (_PLACES * self.u * found.abs()).nan_to_num(nan=0.0) + (TINY if self.u else 0.0))

    def error_of(self, name: str, given: list[Known], found: Tensor) -> Tensor:
        errors = [one.error for one in given]
        rounding = (self.u * found.double().abs()).nan_to_num(nan=0.0, posinf=0.0)
        if name in ("max", "min"):
            return torch.maximum(*errors)
        if name == "clamp":
            return torch.stack(torch.broadcast_tensors(*errors)).amax(0)
        if name in ("add", "sub"):
            return errors[0] + errors[1] + rounding
        if name == "mul":
            a, b = (_number(one).abs() for one in given)
            product = a * errors[1] + b * errors[0] + errors[0] * errors[1]
            return product.nan_to_num(nan=torch.inf, posinf=torch.inf) + rounding
        if name == "div":
            bottom = _number(given[1]).abs()
            rest = bottom - errors[1]
            moved = (errors[0] + found.abs() * errors[1]) / rest
            moved = torch.where((errors[0] == 0) & (errors[1] == 0), 0.0, moved)
            # Which sign a 0 has is left open where values meet, and with it that of an infinity.
            sure = (rest > 0) | (self.u == 0)
            return torch.where(sure, moved, torch.inf).nan_to_num(nan=torch.inf, posinf=torch.inf) + rounding
        if name in ("floordiv", "mod"):  # of indices
            return errors[0] + errors[1]
        assert name in ("neg", "abs", "relu"), name
        return errors[0]

    def compared(self, name: str, one: Known, other: Known) -> Known:
        left, right = _alike(_integer(one.value), _integer(other.value))
        apart, error = (left.double() - right.double()).abs(), one.error + other.error
        return Known(_COMPARED[name](left, right), torch.where((error > 0) & (apart <= error), torch.inf, 0.0))

    def step(self, name: str, given: Known) -> Known:
        """A function with steps, whose value is sure unless an error crosses one."""
        if not given.value.is_floating_point() and name != "sign":
            return given
        low, high = (_STEPS[name](given.value.double() + side * given.error) for side in (-1, 1))
        return Known(_STEPS[name](given.value), torch.where(low == high, 0.0, torch.inf) * (given.error > 0))

    def cast(self, dtype: str, given: Known) -> Known:
        if dtype in ("f32", "f64"):
            return Known(given.value.double(), given.error)
        assert given.exact, f"a cast to {dtype} of what is not exact"
        return _plain(_stored(given.value, dtype))


def _number(known: Known) -> Tensor:
    return known.value.double()


def _integer(value: Tensor) -> Tensor:
    return value if value.is_floating_point() else value.to(torch.int64)


def _alike(*values: Tensor) -> tuple[Tensor, ...]:
    """Values of one type: floats where one is."""
    if any(value.is_floating_point() for value in values):
        return tuple(value.double() for value in values)
    return tuple(value.to(torch.int64) for value in values)


def _infinite(error: Tensor) -> Tensor:
    """Infinite where there is any error."""
    return torch.where(error > 0, torch.inf, 0.0)


_LOGIC: dict[str, Callable[..., Tensor]] = {
    "and": torch.logical_and,
    "or": torch.logical_or,
    "not": torch.logical_not,
}
_COMPARED: dict[str, Callable[..., Tensor]] = {
    **{"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}
}
_STEPS: dict[str, Callable[..., Tensor]] = {
    **{"floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "sign": torch.sign}
}
_MEANING: dict[str, Callable[..., Tensor]] = {
    **{"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": lambda a, b: a.double() / b.double()},
    **{"min": torch.minimum, "max": torch.maximum, "neg": torch.neg, "abs": torch.abs, "relu": torch.relu},
    "clamp": lambda v, low, high: torch.minimum(torch.maximum(v, low), high),
    **{"floordiv": lambda a, b: torch.div(a, b, rounding_mode="floor"), "mod": torch.remainder},
}
_PLACES = 8  # roundings of one function, more than any text in C states but for the tails of GELU
# Functions of one real number; how much they magnify an error at most, or None where both ends say it.
_REAL: dict[str, tuple[Callable[..., Tensor], float | None]] = {
    **{"exp": (torch.exp, None), "log": (torch.log, None), "sqrt": (torch.sqrt, None), "rsqrt": (torch.rsqrt, None)},
    **{"tanh": (torch.tanh, 1.0), "erf": (torch.erf, 1.2), "sigmoid": (torch.sigmoid, 0.25)},
    **{"sin": (torch.sin, 1.0), "cos": (torch.cos, 1.0), "silu": (torch.nn.functional.silu, 1.1)},
    "hardsigmoid": (torch.nn.functional.hardsigmoid, 0.2),
    "hardswish": (torch.nn.functional.hardswish, 1.5),
    "relu6": (torch.nn.functional.relu6, 1.0),
    "gelu": (lambda v: v / 2 * (1 + torch.erf(v / sqrt(2))), 1.2),
}
REAL = tuple(_REAL)
