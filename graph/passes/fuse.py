"""Fuses the maps after a product into its stores, where they can be written as an epilogue.

y = conv(x, w) + b;  z = y + residual;  a = relu(z)        a = conv(x, w) with the epilogue relu(y + b + z)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from graph.model.language import Model, Step
from graph.passes.idioms import shortened
from tiling.epilogue import FUNCTIONS, MOST_ARRAYS, EpilogueError, parse
from tiling.problem import Problem
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Reduce, Statement
from tiling.program.rewrite.inline import substituted
from tiling.tokens import LARGEST_NUMBER
from tiling.value import Applied, Constant, Epilogue, EpilogueArray, Sum, Value

_SYMBOLS = ("add", "sub", "mul", "div", "neg")
_BYTES = {"u8": (0, 255), "s8": (-128, 127)}


@dataclass(frozen=True)
class Stopped:
    """Why a map was not fused."""

    why: str


def fused_maps(model: Model, of: Callable[[Problem], bool] = lambda problem: True) -> Model:
    """The model with every map fused that can be, products in order. of: which products."""
    place = 0
    while place < len(model.steps):
        step = model.steps[place]
        if isinstance(step.work, Problem) and of(step.work):
            found = _with_consumer(model, place)
            if isinstance(found, Model):
                model = found
                # The product now stands where its map stood; what came after it moved up by one.
                continue
            steps = (*model.steps[:place], replace(step, unfused=found.why), *model.steps[place + 1 :])
            model = replace(model, steps=steps)
        place += 1
    return model


def _with_consumer(model: Model, place: int) -> Model | Stopped:
    """The model where the only reader of a product's output is part of the product."""
    step = model.steps[place]
    (output,) = step.outputs
    root = model.root(output)
    readers = [n for n, other in enumerate(model.steps) if root in map(model.root, other.inputs)]
    if root in map(model.root, model.outputs):
        return Stopped("its output is one of the model's")
    if len(readers) != 1:
        return Stopped(f"{len(readers)} steps read its output")
    reader = model.steps[readers[0]]
    if not isinstance(reader.work, Sized):
        reading = "product" if isinstance(reader.work, Problem) else type(reader.work).__name__.lower()
        return Stopped(f"a {reading} reads its output")
    assert isinstance(step.work, Problem)
    found = _epilogue(model, step, reader)
    if isinstance(found, Stopped):
        return found
    problem, arrays = found
    fused = Step(f"{step.node}, {reader.node}", problem, (*step.inputs[:2], *arrays), reader.outputs, last=reader.last)
    # Inputs of the map may be computed after the product: so the product moves to the map.
    steps = list(model.steps)
    steps[readers[0]] = fused
    del steps[place]
    return replace(model, steps=tuple(steps))


def _epilogue(model: Model, step: Step, reader: Step) -> tuple[Problem, tuple[str, ...]] | Stopped:
    """The product with the reader's map as the rest of its epilogue, and the epilogue's arrays."""
    problem, program = step.work, reader.work
    assert isinstance(problem, Problem) and isinstance(program, Sized)
    if problem.output_dtype not in (problem.sum_dtype, "f32"):
        # The map reads rounded and saturated numbers, but an epilogue reads the sums before that.
        return Stopped(f"its stores round to {problem.output_dtype}")
    statement, result = _one_map(program), program.assigned[-1]
    if statement is None:
        return Stopped(f"{reader.told} is no map")
    rounds = problem.sum_dtype != "f32" and result.dtype in _BYTES
    expression = _before_rounding(statement, result.dtype) if rounds else statement.expression
    if expression is None or not (rounds or result.dtype == "f32"):
        return Stopped(f"{reader.told} gives {result.dtype}")
    if np.prod(result.shape, dtype=object) != problem.output.elements:
        return Stopped(f"{reader.told} repeats what the product gives")
    arrays = dict(zip(_names(problem), step.inputs[2:]))
    reading = _Reading(model, step, reader, statement, arrays)
    value = reading.value(expression)
    if isinstance(value, Stopped):
        return Stopped(f"{reader.told}: {value.why}")
    before: Value = problem.epilogue.value if problem.epilogue else Sum()
    whole = Epilogue(shortened(_with_sum(value, before)))
    strange = [name for name in whole.operations if name not in (*_SYMBOLS, *FUNCTIONS)]
    if strange:
        return Stopped(f"{reader.told}: an epilogue has no {strange[0]}")
    text = str(whole)
    if len(reading.arrays) > MOST_ARRAYS:
        return Stopped(f"{reader.told}: {len(reading.arrays)} arrays are more than an epilogue takes")
    try:
        epilogue = parse(replace(problem, epilogue=None), text)
    except EpilogueError as error:
        return Stopped(f"{reader.told}: {error}")
    fused = replace(problem, epilogue=epilogue, output_dtype=result.dtype)
    return fused, tuple(reading.arrays[name] for name in _names(fused))


def _one_map(program: Sized) -> Statement | None:
    """The one statement of a program of maps, after each is computed where it is read; None for any other program."""
    statements = list(program.program.statements)
    if len(program.outputs) != 1 or any(isinstance(each.value, Reduce) for each in statements):
        return None
    # An epilogue computes intermediate values in f32.
    if any(array.dtype != "f32" for array in program.assigned if array.name not in program.outputs):
        return None
    while len(statements) > 1:
        inner, *rest = statements
        if inner.array == program.outputs[0]:
            return None
        statements = [substituted(each, inner, inner.expression, program) for each in rest]
    return statements[0]


def _before_rounding(statement: Statement, dtype: str) -> Expression | None:
    """The value that a product's byte stores round in the same way: y in u8(clamp(round(y), 0, 255)); else None."""
    match statement.expression:
        case Apply(cast, (Apply("clamp", (Apply("round", (value,)), Number(low), Number(high))),)):
            return value if cast == dtype and (low, high) == _BYTES.get(dtype) else None
    return None


def _names(problem: Problem) -> list[str]:
    return [array.name for array in problem.epilogue_arrays]


def _with_sum(value: Value, before: Value) -> Value:
    """The value with what was computed before in place of the sum."""
    if isinstance(value, Sum):
        return before
    if isinstance(value, Applied):
        return Applied(value.operation, tuple(_with_sum(v, before) for v in value.arguments))
    return value


class _Reading:
    """Turns a program's expression into an epilogue's. arrays: the epilogue's arrays, by name."""

    def __init__(self, model: Model, step: Step, reader: Step, statement: Statement, arrays: Mapping[str, str]):
        problem, program = step.work, reader.work
        assert isinstance(problem, Problem) and isinstance(program, Sized)
        self.model, self.problem, self.product = model, problem, model.root(step.outputs[0])
        self.sources = dict(zip((array.name for array in program.inputs), reader.inputs))
        self.given = {array.name: array for array in program.inputs}
        self.extents = dict(zip(statement.dims, program.assigned[-1].shape))
        self.arrays = dict(arrays)
        axes = zip(problem.output_axes, problem.output.shape)
        self.axes = [(axis, extent) for axis, extent in axes if extent > 1]

    def value(self, part: Expression) -> Value | Stopped:
        if isinstance(part, Number):
            return (
                Constant(float(part.value)) if abs(part.value) <= LARGEST_NUMBER else Stopped(f"{part.value} is no f32")
            )
        if isinstance(part, Access):
            return self.access(part)
        if isinstance(part, Dim):
            return Stopped(f"it reads the position {part.name}")
        if part.function == "f32" and isinstance(part.arguments[0], Access):
            return self.access(part.arguments[0], as_f32=True)
        if part.function == "max" and part.arguments[1] == Number(0):
            # relu is one instruction fewer.
            part = Apply("relu", part.arguments[:1])
        arguments = []
        for argument in part.arguments:
            found = self.value(argument)
            if isinstance(found, Stopped):
                return found
            arguments.append(found)
        return Applied(part.function, tuple(arguments))

    def access(self, part: Access, as_f32: bool = False) -> Value | Stopped:
        """An element as a value of the epilogue. as_f32: whether it is read as f32, whatever its dtype is."""
        name, given = self.sources[part.array], self.given[part.array]
        walks = (self.extents[i.name] if isinstance(i, Dim) else 1 if i == Number(0) else 0 for i in part.at)
        if part.outside is not None or tuple(walks) != given.shape:
            return Stopped(f"{part} is read at other places than it is stored")
        read = [i.name for i in part.at if isinstance(i, Dim)]
        walked = [dim for dim, extent in self.extents.items() if extent > 1]
        read = [dim for dim in read if self.extents[dim] > 1]
        if self.model.root(name) == self.product:
            if given.dtype != "f32" and not as_f32:
                return Stopped(f"{part} is {given.dtype}")
            return Sum() if read == walked else Stopped(f"{part} is read at other places than it is stored")
        if given.dtype != "f32":
            return Stopped(f"{part.array} is {given.dtype}")
        axes = self.axes_of(read, walked)
        if axes is None:
            return Stopped(f"{part} lies along other axes than the product")
        if not axes:
            known = self.model.known(name)
            return Stopped(f"{part} is one computed number") if known is None else Constant(float(known.reshape(-1)[0]))
        return EpilogueArray(self.named(name), axes)

    def axes_of(self, read: list[str], walked: list[str]) -> tuple[str, ...] | None:
        """The axes of the product's output that dims of the map walk."""
        names = [axis for axis, _ in self.axes]
        if read == walked:
            return tuple(self.problem.output_axes)
        if [extent for _, extent in self.axes] == [self.extents[dim] for dim in walked]:
            found = [names[walked.index(dim)] for dim in read]
            return tuple(found) if found == [name for name in names if name in found] else None
        # Rows of several axes are one axis of a product: only the columns are the same.
        if not read:
            return ()
        columns = self.axes[-1][1] if self.axes else 1
        return tuple(names[-1:]) if read == walked[-1:] and columns == self.extents[walked[-1]] else None

    def named(self, array: str) -> str:
        """A name in the epilogue for an array of the model."""
        for name, known in self.arrays.items():
            if known == array:
                return name
        name = f"e{len(self.arrays)}"
        self.arrays[name] = array
        return name
