"""What the stores of an anchor can compute too: the maps that follow it, as an epilogue (`tiling.epilogue`).

    y[i,j] = sum[k] a[i,k] * b[k,j]; z[i,j] = relu(y[i,j] + v[j])      relu(y + v[n]), which gives z

A map may also see y in another shape, as long as its elements keep their order: a reshape costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import prod

from tiling.epilogue import FUNCTIONS, RESERVED, EpilogueError, parse
from tiling.loops.index import Index, constant, variable
from tiling.problem import Problem
from tiling.program.anchors.anchor import Anchor
from tiling.program.indices import affine
from tiling.program.infer import Sized
from tiling.program.language import Access, Dim, Expression, Number, Reduce, Statement
from tiling.value import Applied, Constant, EpilogueArray, Sum, Value

_OPERATORS = ("add", "sub", "mul", "div", "neg")


@dataclass(frozen=True)
class Stores:
    """What an anchor stores. output: the array that it writes. arrays: the array of the program for each array of the
    epilogue. fused: the output, and the arrays before it that are never in memory. stopped: why the next statement is
    not fused.
    """

    problem: Problem
    output: str
    arrays: tuple[tuple[str, str], ...]
    fused: tuple[str, ...]
    stopped: tuple[str, ...]


class _StoppedError(Exception):
    """Why a statement is no part of an epilogue."""


@dataclass
class _Chain:
    """The maps that follow an anchor, as values of its sum, and the arrays that they read."""

    program: Sized
    anchor: Anchor
    values: dict[str, Value]
    names: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def value(self, part: Expression, here: Statement) -> Value:
        if isinstance(part, Number):
            return Constant(float(part.value))
        if isinstance(part, Dim):
            raise _StoppedError(f"it depends on the position {part}")
        if isinstance(part, Access):
            return self.element(part, here)
        if part.function == "f32":
            return self.value(part.arguments[0], here)
        if part.function not in (*FUNCTIONS, *_OPERATORS):
            raise _StoppedError(f"stores do not compute {part.function}")
        return Applied(part.function, tuple(self.value(argument, here) for argument in part.arguments))

    def element(self, access: Access, here: Statement) -> Value:
        if access.array in self.values:
            if not self.in_order(access, here):
                raise _StoppedError(f"{access} has the elements in another order")
            return self.values[access.array]
        array = self.program.array(access.array)
        dims = tuple(index.name for index in access.at if isinstance(index, Dim))
        shape = tuple(self.program.extents[dim] for dim in dims)
        whole = shape == array.shape and access.outside is None and dims == tuple(d for d in here.dims if d in dims)
        if array.dtype != "f32" or not whole:
            raise _StoppedError(f"{access} is no f32 over dims of {here.array}, in their order")
        axes = self.axes(dims, here)
        if not axes:
            raise _StoppedError(f"{access} is one number for all of {here.array}")
        name = array.name
        taken = {other: key for key, other in self.names.items()}
        while name in (*FUNCTIONS, *RESERVED) or taken.get(name, (array.name, axes)) != (array.name, axes):
            name += "_"
        self.names[array.name, axes] = name
        return EpilogueArray(name, axes)

    def in_order(self, access: Access, here: Statement) -> bool:
        """Whether element i of the array is read for element i of the statement."""
        shape = self.program.array(access.array).shape
        mine = tuple(self.program.extents[dim] for dim in here.dims)
        indices = [affine(index) for index in access.at]
        if prod(shape) != prod(mine) or None in indices or access.outside is not None:
            return False
        read = _place([index for index in indices if index is not None], shape)
        own = _place([variable(dim) for dim in here.dims], mine)
        one = {dim: constant(0) for dim in here.dims if self.program.extents[dim] == 1}
        return read.replaced(one) == own.replaced(one)

    def axes(self, dims: tuple[str, ...], here: Statement) -> tuple[str, ...]:
        """The axes of the problem's output that these dims walk. Each is walked whole or not at all."""
        extents = self.program.extents
        spans = dict(zip(here.dims, _spans(tuple(extents[dim] for dim in here.dims))))
        output = self.anchor.problem.output
        places = dict(zip(self.anchor.problem.output_axes, _spans(output.shape)))
        found = tuple(axis for axis, span in places.items() if any(_meet(span, spans[dim]) for dim in dims))
        for dim in here.dims:
            if dim not in dims and any(_meet(places[axis], spans[dim]) for axis in found):
                raise _StoppedError(f"an array moves with {' '.join(dims)} and not with {dim}, one axis for the kernel")
        return found


def stores_of(program: Sized, anchor: Anchor) -> Stores:
    """What the stores of an anchor do, as much as they can."""
    chain, reasons = _Chain(program, anchor, {anchor.array: Sum()}), {}
    states = {anchor.array: (anchor.problem, dict(chain.names))}
    needs: dict[str, set[str]] = {anchor.array: {anchor.array}}
    for statement in _after(program, anchor.array):
        read = {access.array for access in statement.accesses}
        mine = read & set(chain.values)
        if not mine:
            continue
        before = dict(chain.names)
        try:
            value = _converted(chain, statement)
            problem = _with_epilogue(anchor.problem, value)
        except (_StoppedError, EpilogueError) as why:
            chain.names = before
            reasons[statement.array] = str(why)
            continue
        chain.values[statement.array] = value
        needs[statement.array] = {statement.array}.union(*(needs[array] for array in mine))
        states[statement.array] = problem, dict(chain.names)
    output = next(array for array in reversed(chain.values) if _ends(program, needs[array], array))
    problem, names = states[output]
    used = {array.name for array in problem.epilogue.arrays} if problem.epilogue else set()
    arrays = tuple((name, array) for (array, _), name in names.items() if name in used)
    fused = tuple(array for array in chain.values if array in needs[output])
    return Stores(problem, output, arrays, fused, tuple(_stopped(program, fused, output, reasons)))


def _converted(chain: _Chain, statement: Statement) -> Value:
    anchor, dtype = chain.anchor, chain.program.array(statement.array).dtype
    if isinstance(statement.value, Reduce):
        raise _StoppedError("it is a reduction")
    if anchor.problem.sum_dtype != "f32" or anchor.problem.output_dtype != "f32" or dtype != "f32":
        raise _StoppedError("it is not computed in f32 from a sum of f32")
    if prod(chain.program.array(statement.array).shape) != anchor.problem.output.elements:
        raise _StoppedError("it has another number of elements")
    return chain.value(statement.value, statement)


def _with_epilogue(problem: Problem, value: Value) -> Problem:
    return problem if value == Sum() else replace(problem, epilogue=parse(problem, str(value)))


def _after(program: Sized, array: str) -> tuple[Statement, ...]:
    statements = program.program.statements
    return statements[next(n for n, s in enumerate(statements) if s.array == array) + 1 :]


def _ends(program: Sized, needs: set[str], output: str) -> bool:
    """Whether only the statements of `needs` read the intermediate arrays up to the output."""
    inner = needs - {output}
    readers = (s for s in program.program.statements if s.array not in needs)
    return inner.isdisjoint(program.outputs) and not any(a.array in inner for s in readers for a in s.accesses)


def _stopped(program: Sized, fused: tuple[str, ...], output: str, reasons: dict[str, str]) -> list[str]:
    found = []
    for statement in program.program.statements:
        if statement.array in fused or output not in {access.array for access in statement.accesses}:
            continue
        why = reasons.get(statement.array, f"{output} is read elsewhere too, or is an output")
        found.append(f"{statement.array} is no part of the stores of {output}: {why}")
    return found


def _place(indices: list[Index], shape: tuple[int, ...]) -> Index:
    """The place in memory of an element."""
    total = constant(0)
    for index, (step, _) in zip(indices, _spans(shape)):
        total = total + index * step
    return total


def _spans(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """For each axis the elements between neighbours, and between the whole axis and the next."""
    ends = [*accumulate(reversed(shape), int.__mul__)]
    return list(zip([1, *ends][: len(shape)], ends))[::-1]


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])
