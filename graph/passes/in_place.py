"""Has the parts of a concatenation written to their places in its output, so that the concatenation copies nothing.

    a = conv(x); b = conv(z)                a, b = the first and the second half of y, or of each row of y
    y = concat(a, b) along c        ->      a = conv(x); b = conv(z)

A part may have other readers: it stays in its place as long as the output lives. A part that already has another place
is copied. A join of parts that already lie side by side in a larger array is a view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from graph.model.dtypes import stored
from graph.model.language import Copy, Model, Step
from graph.passes.joins import Join, joins_of
from graph.passes.memory import ALIGNMENT
from tiling.operators import in_wider as product_in_wider
from tiling.problem import Problem
from tiling.program.dtypes import WIDTH
from tiling.program.infer import Array, Sized, sized
from tiling.program.language import Program
from tiling.program.read import read
from tiling.program.rewrite.wider import in_wider


@dataclass(frozen=True)
class Part:
    """An array that is joined: its name in the model, the element where it begins, and the program's own array."""

    name: str
    begin: int
    array: Array


def joined_in_place(model: Model) -> Model:
    """The model whose concatenations are parts of their outputs, where all of that is known to be safe."""
    waiting = [(step.outputs, join) for step in model.steps for join in _joins(step)]
    known = {(outputs, join.array.name) for outputs, join in waiting}
    while waiting:
        # Larger outputs first: a smaller one may be a part of them. Equal ones stay in order.
        outputs, join = found = max(waiting, key=lambda each: prod(each[1].array.shape))
        waiting.remove(found)
        before = next(step for step in model.steps if step.outputs == outputs)
        model = _joined(model, before, join)
        for step in model.steps:
            if step.outputs == outputs and step is not before:  # what it joins may be an input only now
                more = [each for each in _joins(step) if (outputs, each.array.name) not in known]
                waiting += [(outputs, each) for each in more]
                known |= {(outputs, each.array.name) for each in more}
    return _as_arrays_lie(model)


def _joins(step: Step) -> tuple[Join, ...]:
    return tuple(joins_of(step.work)) if isinstance(step.work, Sized) else ()


def _joined(model: Model, step: Step, join: Join) -> Model:
    """The model with one join in place; the same model where that cannot be."""
    work = step.work
    assert isinstance(work, Sized)
    alone = len(work.program.statements) == 1
    if join.array.name in work.outputs and not alone:
        return model
    sources = dict(zip((array.name for array in work.inputs), step.inputs))
    parts = [Part(_itself(model, sources[name], join.columns), begin, work.array(name)) for name, begin in join.parts]
    output = step.outputs[0] if alone else _fresh(model, f"{step.outputs[0]}, joined")
    grown = model if alone else replace(model, arrays={**model.arrays, output: replace(join.array, name=output)})
    seen = _seen_where_it_lies(grown, step, parts, output, join.columns)
    if seen is not None:
        return _without(seen, step, join, output, ())
    placed = _placed(grown, step, parts, output, join.columns)
    if placed is None or not (alone or len(placed[1]) == 0):
        return model
    return _without(placed[0], step, join, output, placed[1])


def _itself(model: Model, name: str, columns: bool) -> str:
    """The array that a name is another name of. columns: in the same shape."""
    while name in model.views and name not in model.begins and name not in model.slices:
        viewed = model.views[name]
        if columns and model.arrays[viewed].shape != model.arrays[name].shape:
            break
        name = viewed
    return name


def _without(model: Model, step: Step, join: Join, output: str, copies: tuple[Step, ...]) -> Model:
    """The model with copies in place of a join, and of its step if that does nothing else."""
    work, at = step.work, model.steps.index(step)
    assert isinstance(work, Sized)
    left = tuple(each for each in work.program.statements if each.array != join.array.name)
    if not left:
        return replace(model, steps=(*model.steps[:at], *copies, *model.steps[at + 1 :]))
    program = Program(left, work.program.declarations)
    arrays = {array.name: array for array in (*work.inputs, join.array)}
    sources = {**dict(zip((array.name for array in work.inputs), step.inputs)), join.array.name: output}
    program = replace(program, declarations=tuple(d for d in program.declarations if d.array in _names(program)))
    extents = work.extents
    kept = replace(
        work,
        program=program,
        dims=tuple((dim, extents[dim]) for dim in program.dims),
        inputs=tuple(arrays[name] for name in program.inputs),
        assigned=tuple(array for array in work.assigned if array.name != join.array.name),
    )
    reads = replace(step, work=kept, inputs=tuple(sources[name] for name in program.inputs))
    return replace(model, steps=(*model.steps[:at], *copies, reads, *model.steps[at + 1 :]))


def _names(program: Program) -> set[str]:
    return {*program.inputs, *(statement.array for statement in program.statements)}


def _fresh(model: Model, name: str) -> str:
    """A name like this one that no array of the model has."""
    while name in model.arrays:
        name += "'"
    return name


# ---- where parts lie


def _seen_where_it_lies(model: Model, step: Step, parts: list[Part], output: str, columns: bool) -> Model | None:
    """The model where the output is a view of the array in which all parts lie in this order; None where none is."""
    whole = model.views.get(parts[0].name, "")
    if not all(model.views.get(part.name) == whole and part.name in model.begins for part in parts):
        return None
    begin = model.begins[parts[0].name]
    if any(model.begins[part.name] != begin + part.begin for part in parts):
        return None
    shape = model.arrays[output].shape
    if columns and model.arrays[whole].shape[:-1] != shape[:-1]:
        return None
    if not columns and model.memory(whole) != model.arrays[whole].shape:
        return None
    if output in step.outputs and not _may_move(model, step, output, columns, writers=False):
        return None
    views, begins = {**model.views, output: whole}, {**model.begins, output: begin}
    return replace(model, views=views, begins=begins)


def _placed(
    model: Model, step: Step, parts: list[Part], output: str, columns: bool
) -> tuple[Model, tuple[Step, ...]] | None:
    """The model where parts lie in the output, with copies of the parts that cannot; None where no part can."""
    lying = [output, *(part.name for part in parts)]
    if not columns and any(model.memory(name) != model.arrays[name].shape for name in lying):
        return None  # what lies in longer rows is not whole
    arrays, views, begins = dict(model.arrays), dict(model.views), dict(model.begins)
    copies, placed = [], 0
    for number, part in enumerate(parts):
        aligned = part.begin * WIDTH[stored(part.array.dtype)] % ALIGNMENT == 0
        if aligned and part.name not in views and _may_move(model, step, part.name, columns):
            views[part.name], begins[part.name] = output, part.begin
            placed += 1
            continue
        name = _fresh(replace(model, arrays=arrays), f"{output}, part {number}")
        arrays[name] = replace(part.array, name=name, dtype=arrays[part.name].dtype)
        views[name], begins[name] = output, part.begin
        copies.append(Step(step.node, _copy(part.array) if columns else Copy(), (part.name,), (name,)))
    return (replace(model, arrays=arrays, views=views, begins=begins), tuple(copies)) if placed else None


def _copy(array: Array) -> Sized:
    """The program that copies an array."""
    dims = ",".join("ijklpqtu"[: len(array.shape)])
    dtype = stored(array.dtype)
    program = read(f"x: {dtype}; y: {dtype}; y[{dims}] = x[{dims}]")
    return sized(program, {}, {"x": array.shape}, outputs=("y",))


def _may_move(model: Model, join: Step, name: str, columns: bool, writers: bool = True) -> bool:
    """Whether an array may be placed in another one. No caller may hand over its memory, and no region may write it.

    columns: it becomes columns of the other array, so every step that touches it must support that. writers: whether
    some step must write it.
    """
    *_, root = chain = model.chain(name)
    others = () if name in join.outputs else join.outputs
    kept = {*model.inputs, *model.constants, *map(model.root, (*model.outputs, *others))}
    if root in kept or any(each in model.begins or each in model.slices for each in chain):
        return False
    names = [each for each in (root, *model.views) if model.root(each) == root]
    if columns and any(model.memory(each) != model.arrays[root].shape for each in names):
        return False
    writing = [step for step in model.steps if root in map(model.root, step.outputs)]
    touching = [step for step in model.steps if step is not join and set(names) & {*step.inputs, *step.outputs}]
    if columns and not all(_takes_columns(model, step, set(names)) for step in touching):
        return False
    return not writers or (bool(writing) and all(isinstance(step.work, (Problem, Sized, Copy)) for step in writing))


def _takes_columns(model: Model, step: Step, names: set[str]) -> bool:
    """Whether a step reads and writes arrays of these names wherever their rows lie."""
    work = step.work
    if isinstance(work, Problem):
        of_images = len(work.windows) == 2 and work.layout == "nhwc"
        if not of_images or work.dtype != "f32" or names & set(step.inputs[1:]):
            return False
        pairs = [(work.broadcast.shape, step.inputs[0]), (work.output.shape, step.outputs[0])]
    elif isinstance(work, Sized):
        pairs = [(array.shape, name) for array, name in _arrays(work, step)]
    else:
        return False
    return all(shape == model.arrays[name].shape for shape, name in pairs if name in names)


def _arrays(work: Sized, step: Step) -> list[tuple[Array, str]]:
    """The arrays of a program that a step reads and writes, and their names in the model."""
    mine = [*work.inputs, *(array for array in work.assigned if array.name in work.outputs)]
    return list(zip(mine, (*step.inputs, *step.outputs), strict=True))


def _as_arrays_lie(model: Model) -> Model:
    """The model with the work of each step told in which memory its arrays lie."""
    return replace(model, steps=tuple(_as_they_lie(model, step) for step in model.steps))


def _as_they_lie(model: Model, step: Step) -> Step:
    work = step.work
    wider = {name for name in (*step.inputs, *step.outputs) if model.memory(name) != model.arrays[name].shape}
    if not wider:
        return step
    if isinstance(work, Problem):
        x, y = ((model.memory(name)[-1] if name in wider else None) for name in (step.inputs[0], step.outputs[0]))
        return replace(step, work=product_in_wider(work, x, y))
    assert isinstance(work, Sized)
    shapes = {array.name: model.memory(name) for array, name in _arrays(work, step) if name in wider}
    return replace(step, work=in_wider(work, shapes))
