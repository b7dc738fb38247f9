"""Groups maps with the programs that read them, so that nothing lies between in memory.

    a = exp(x);  y = softmax(a)        one program: the rules of programs decide where a is computed

A map joins the program that is its only reader and reads it in the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graph.model.language import Model, Step
from tiling.problem import ProblemError
from tiling.program.infer import Sized, sized
from tiling.program.language import Declaration, Program, Reduce
from tiling.program.rewrite.rename import renamed

# The most statements of a program. A larger kernel is slow to compile, and its loops share too few rows to gain.
MOST_STATEMENTS = 16


def grouped_maps(model: Model, readers: Callable[[Step], bool] = lambda step: True) -> Model:
    """The model with maps joined to their readers. readers: which steps may take maps."""
    steps = list(model.steps)
    place = len(steps) - 1
    while place >= 0:
        joined = _joined(model, steps, place) if readers(steps[place]) else None
        if joined is None:
            place -= 1
        else:
            place, steps = joined
    return replace(model, steps=tuple(steps))


def _joined(model: Model, steps: list[Step], place: int) -> tuple[int, list[Step]] | None:
    """The steps after one map that step `place` reads is joined to it, and the new place of that step."""
    reader = steps[place]
    if not isinstance(reader.work, Sized):
        return None
    for number in range(place):
        writer = steps[number]
        if not is_map(writer) or writer.outputs[0] not in reader.inputs:
            continue
        readers = [step for step in steps if _reads(model, step, writer.outputs[0])]
        wanted = any(model.root(name) == writer.outputs[0] for name in model.outputs)
        if readers != [reader] or wanted:
            continue
        # Another view of the array would need other indices.
        if sum(model.root(name) == writer.outputs[0] for name in reader.inputs) > 1:
            continue
        made = _together(writer, reader)
        if made is not None:
            return place - 1, [*steps[:number], *steps[number + 1 : place], made, *steps[place + 1 :]]
    return None


def is_map(step: Step) -> bool:
    """Whether a step is a program of maps alone, with one output."""
    if not isinstance(step.work, Sized):
        return False
    statements = step.work.program.statements
    return len(step.outputs) == 1 and not any(isinstance(each.value, Reduce) for each in statements)


def _reads(model: Model, step: Step, array: str) -> bool:
    return any(model.root(name) == array for name in step.inputs)


def _together(writer: Step, reader: Step) -> Step | None:
    """One step for both; None where they are too large together."""
    first, second = writer.work, reader.work
    assert isinstance(first, Sized) and isinstance(second, Sized)
    if len(first.program.statements) + len(second.program.statements) > MOST_STATEMENTS:
        return None
    between = next(a.name for a, name in zip(second.inputs, reader.inputs) if name == writer.outputs[0])
    taken = {*_names(second)}
    arrays = {a.name: _fresh(a.name, taken) for a in (*first.inputs, *first.assigned)}
    arrays[first.outputs[0]] = between
    dims = {dim: _fresh(dim, taken) for dim, _ in first.dims}
    first = renamed(first, arrays, dims)
    both = (*first.program.declarations, *second.program.declarations)
    # What was an output is still rounded to the dtype in which it was stored.
    declared = (Declaration(between, first.assigned[-1].dtype, None), *(d for d in both if d.array != between))
    program = Program((*first.program.statements, *second.program.statements), declared)
    sources = dict(zip((a.name for a in first.inputs), writer.inputs))
    sources |= {a.name: name for a, name in zip(second.inputs, reader.inputs) if a.name != between}
    shapes = {a.name: a.shape for a in (*first.inputs, *second.inputs) if a.name != between}
    try:
        work = sized(program, dict((*first.dims, *second.dims)), shapes, outputs=second.outputs)
    except ProblemError:
        return None
    inputs = tuple(sources[a.name] for a in work.inputs)
    return Step(f"{writer.node}, {reader.node}", work, inputs, reader.outputs, last=reader.last)


def _names(program: Sized) -> list[str]:
    return [*(a.name for a in (*program.inputs, *program.assigned)), *(dim for dim, _ in program.dims)]


def _fresh(name: str, taken: set[str]) -> str:
    """A new name like this one, which counts as taken from now on."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name.rstrip('0123456789_')}_{number}", number + 1
    taken.add(found)
    return found
