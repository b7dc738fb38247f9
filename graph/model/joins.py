"""Has what is joined written where it belongs: a concatenation whose parts lie whole in its output copies nothing.

    a = conv(x); b = conv(z)                a, b = the first and the second half of y
    y = concat(a, b) along c        ->      a = conv(x); b = conv(z)

A part lies whole in the output where no axis before the joined one has more than one position. It may have other
readers: its numbers stay where they are as long as the output lives. A part that has its place already is copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from graph.model.dtypes import stored
from graph.model.language import Copy, Model, Step
from graph.model.memory import ALIGNMENT
from tiling.problem import Problem
from tiling.program.dtypes import WIDTH
from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number


def joined_in_place(model: Model) -> Model:
    """The model whose concatenations are parts of their outputs, where all of that is known to be safe."""
    for step in model.steps:
        model = _joined(model, step)
    return model


def _joined(model: Model, step: Step) -> Model:
    parts = parts_of(step.work) if isinstance(step.work, Sized) else None
    if parts is None:
        return model
    (output,) = step.outputs
    arrays, views, begins = dict(model.arrays), dict(model.views), dict(model.begins)
    copies, placed = [], 0
    for number, (name, begin) in enumerate(zip(step.inputs, parts)):
        root = model.root(name)
        aligned = begin * WIDTH[stored(arrays[name].dtype)] % ALIGNMENT == 0
        if aligned and root not in views and _may_move(model, step, name):
            views[root], begins[root] = output, begin
            placed += 1
            continue
        part = f"{output}, part {number}"
        while part in arrays:
            part += "'"
        arrays[part] = Array(part, arrays[name].dtype, arrays[name].shape)
        views[part], begins[part] = output, begin
        copies.append(Step(step.node, Copy(), (name,), (part,)))
    if not placed:
        return model
    at = model.steps.index(step)
    steps = (*model.steps[:at], *copies, *model.steps[at + 1 :])
    return replace(model, arrays=arrays, views=views, begins=begins, steps=steps)


def _may_move(model: Model, join: Step, name: str) -> bool:
    """Whether an array is all of its memory, which no caller hands over, and is written outside of any region."""
    *_, root = chain = model.chain(name)
    kept = {*model.inputs, *model.constants, *map(model.root, (*model.outputs, *join.outputs))}
    if root in kept or any(each in model.begins or each in model.slices for each in chain):
        return False
    writers = [step for step in model.steps if root in map(model.root, step.outputs)]
    return bool(writers) and all(isinstance(step.work, (Problem, Sized, Copy)) for step in writers)


def parts_of(work: Sized) -> list[int] | None:
    """The element of the output where each input begins, if a program joins its inputs so that each lies whole in it.

    None for any other program.
    """
    (statement, *others), (output, *_) = work.program.statements, work.assigned
    arrays = {array.name: array for array in work.inputs}
    pieces = _pieces(statement.value) if isinstance(statement.value, (Access, Apply)) else None
    if others or pieces is None or [access.array for access, _ in pieces] != list(arrays):
        return None
    axes = [axis for axis, dim in enumerate(statement.dims) if any(dim == tested for _, tested, _ in _ends(pieces))]
    if len(axes) != 1 or prod(output.shape[: axes[0]]) != 1:
        return None
    (axis,), found, begin = axes, [], 0
    inner = prod(output.shape[axis + 1 :])
    for access, end in pieces:
        array = arrays[access.array]
        wanted = [Dim(dim) for dim in statement.dims]
        moved = Apply("sub", (wanted[axis], Number(begin))) if begin else wanted[axis]
        size = array.shape[axis]
        whole = (*output.shape[:axis], size, *output.shape[axis + 1 :])
        if list(access.at) != [*wanted[:axis], moved, *wanted[axis + 1 :]] or array.shape != whole:
            return None
        if array.dtype != output.dtype or (end is not None and end != (statement.dims[axis], begin + size)):
            return None
        found.append(begin * inner)
        begin += size
    return found if begin == output.shape[axis] else None


Pieces = list[tuple[Access, tuple[str, int] | None]]  # each array, and the dim and the position before which it is read


def _pieces(value: Expression) -> Pieces | None:
    """`where(i < 5, where(i < 3, a[…], b[…]), c[…])` as its arrays, nested in any way; None for another value."""
    if isinstance(value, Access):
        return [(value, None)]
    if not isinstance(value, Apply) or value.function != "where":
        return None
    test, first, rest = value.arguments
    if not isinstance(test, Apply) or test.function != "lt":
        return None
    dim, end = test.arguments
    before, after = _pieces(first), _pieces(rest)
    if before is None or after is None or not isinstance(dim, Dim) or not isinstance(end, Number):
        return None
    # Where a half ends, its last array does.
    (last, _) = before[-1]
    return [*before[:-1], (last, (dim.name, int(end.value))), *after]


def _ends(pieces: Pieces) -> Iterable[tuple[Access, str, int]]:
    return [(access, *end) for access, end in pieces if end is not None]
