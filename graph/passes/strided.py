"""Has matrix products read and write arrays where they lie, so that no step splits, transposes or scales them first.

    q[l,m,k] = 0.1 * x[m, 64*l + k]
    s[l,m,n] = sum[k] q[l,m,k] * b[l,k,n]         ->      s[l,m,n] = 0.1 * sum[k] x[m, 64*l + k] * b[l,k,n]

The points of an axis lie a stride apart: so many elements from one to the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from graph.model.language import Model, Step
from graph.model.regions import needed
from tiling.epilogue import EpilogueError, parse
from tiling.operators import in_order
from tiling.problem import Problem
from tiling.program.indices import affine
from tiling.program.infer import Array, Sized, sized
from tiling.program.language import Access, Apply, Expression, Number
from tiling.program.read import read
from tiling.program.rewrite.wider import in_wider
from tiling.value import Applied, Constant, Epilogue, EpilogueArray, Sum, Value, parts

Strides = Mapping[str, int]  # of each axis of a product's array


@dataclass(frozen=True)
class Lying:
    """Where the numbers of a product's factor lie: in `array`, the first at element `begin`.

    factor: the number by which they are multiplied.
    """

    array: str
    begin: int
    strides: Strides
    factor: float


def read_where_they_lie(model: Model) -> Model:
    """The model whose products read and write strided arrays, without the steps that nobody needs then."""
    changed = model
    for step in model.steps:
        if isinstance(step.work, Problem) and step.work.is_product and step.work.dtype == "f32":
            changed = _writing(_reading(changed, step), step.outputs)
    return changed if changed is model else replace(changed, steps=needed(changed.steps, changed.outputs, changed.root))


# ---- what a product reads


def _reading(model: Model, step: Step) -> Model:
    """The model whose step reads its factors where they lie."""
    assert isinstance(step.work, Problem)
    for place, tensor in enumerate(step.work.tensors[:2]):
        own = {index.terms[0][0]: stride for index, stride in zip(tensor.indices, tensor.strides)}
        chain = _chain(model, Lying(step.inputs[place], 0, own, 1.0), step.work.extents)
        orders = [_order(lying.strides, step.work.extents) for lying in chain]
        # A kernel that reads and packs along another axis than before would be slower.
        near = max(at for at, order in enumerate(orders) if _last(order) == _last(orders[0]))
        far = max(at for at, order in enumerate(orders) if order)
        if far > near + 1:  # one program moves what several did
            model, step = _from(model, step, place, chain[far], _moving(step.work, orders[0], orders[far]))
        elif near:
            model, step = _from(model, step, place, chain[near], orders[near])
    return model


def _from(model: Model, step: Step, place: int, lying: Lying, how: str | Sized | None) -> tuple[Model, Step]:
    """The model whose step reads a factor from elsewhere. how: the order of its axes there, or what moves it first."""
    work = step.work
    assert isinstance(work, Problem)
    tensor, arrays, views, begins = work.tensors[place], dict(model.arrays), dict(model.views), dict(model.begins)
    scaled = _times(in_order(work, {tensor.name: how}) if isinstance(how, str) else work, lying.factor)
    if scaled is None or how is None:
        return model, step
    source, moves = lying.array, []
    if lying.begin:
        last = sum((work.extents[axis] - 1) * stride for axis, stride in lying.strides.items())
        source = f"{lying.array} from {lying.begin} to {lying.begin + last}"
        arrays[source] = Array(source, "f32", (last + 1,))
        views[source], begins[source] = lying.array, lying.begin
    if isinstance(how, Sized):
        moved = f"{step.outputs[0]}, {tensor.name}"
        arrays[moved] = Array(moved, "f32", how.assigned[0].shape)
        moves.append(Step(step.node, how, (source,), (moved,), last=step.last))
        source = moved
    inputs = (*step.inputs[:place], source, *step.inputs[place + 1 :])
    after = replace(step, work=scaled, inputs=inputs)
    steps = [new for old in model.steps for new in ((*moves, after) if old is step else (old,))]
    return replace(model, arrays=arrays, views=views, begins=begins, steps=tuple(steps)), after


def _moving(work: Problem, to: str | None, order: str | None) -> Sized | None:
    """The program that moves a factor of a product from one order of its axes to another."""
    if not to or not order:
        return None
    sizes, letters = re.findall("([a-z])([0-9]*)", order), re.findall("[a-z]", to)
    target, source = ",".join(letters), ",".join(axis for axis, _ in sizes)
    program = read(f"x: f32; y: f32; y[{target}] = x[{source}]")
    plain = sized(program, {}, {"x": tuple(work.extents[axis] for axis, _ in sizes)}, outputs=("y",))
    return in_wider(plain, {"x": tuple(int(count or work.extents[axis]) for axis, count in sizes)})


def _chain(model: Model, lying: Lying, extents: Mapping[str, int]) -> list[Lying]:
    """Where the numbers lie now, and before that in each array from which a program has moved or scaled them."""
    nearer = _one_back(model, lying, extents)
    return [lying, *(_chain(model, nearer, extents) if nearer else ())]


def _last(order: str | None) -> str:
    """The last axis of an order."""
    return (order or "").rstrip("0123456789")[-1:]


def _one_back(model: Model, lying: Lying, extents: Mapping[str, int]) -> Lying | None:
    """The same points in the array that a program reads them from; None where it computes them."""
    root = _whole(model, lying.array)
    writers = [step for step in model.steps if root in map(model.root, step.outputs)]
    if not root or len(writers) != 1 or not isinstance(writers[0].work, Sized):
        return None
    (step,), work = writers, writers[0].work
    written = [array.name for array in work.assigned if array.name in work.outputs]
    name = next(mine for mine, theirs in zip(written, step.outputs) if model.root(theirs) == root)
    sources = dict(zip((array.name for array in work.inputs), step.inputs))
    statement = next(each for each in work.program.statements if each.array == name)
    moved = _moved(model, sources, statement.value)
    if moved is None or work.array(name).dtype != "f32":
        return None
    access, factor = moved
    source = sources.get(access.array, "")
    memory = _whole(model, source) if source else ""
    again = sum(memory in map(model.root, each.outputs) for each in model.steps) > 1
    if not memory or memory in model.constants or again or work.array(access.array).dtype != "f32":
        return None
    steps = _steps(work, access)
    if steps is None:
        return None
    first, walked = steps
    dims = list(zip(statement.dims, _flat(work.array(name).shape)))
    at, rest = {}, lying.begin
    for dim, stride in dims:
        at[dim], rest = divmod(rest, stride)
    begin = first + sum(point * walked.get(dim, 0) for dim, point in at.items())
    strides, reached = {}, dict(at)  # several axes may go along one dim, and the last points of all must lie inside
    for axis, stride in lying.strides.items():
        if extents[axis] == 1:
            strides[axis] = 0
            continue
        if stride <= 0:  # the same number for every point, or backwards
            return None
        dim, one = max(
            ((dim, one) for dim, one in dims if one <= stride and work.extents[dim] > 1), key=lambda each: each[1]
        )
        points, left = divmod(stride, one)
        reached[dim] += (extents[axis] - 1) * points
        if left or reached[dim] >= work.extents[dim]:
            return None
        strides[axis] = points * walked.get(dim, 0)
    return Lying(source, begin, strides, lying.factor * factor)


def _whole(model: Model, name: str) -> str:
    """The array whose whole memory this array is; "" where it is a part of another array."""
    *_, root = chain = model.chain(name)
    return "" if any(each in model.begins or each in model.slices for each in chain) else root


def _moved(model: Model, sources: Mapping[str, str], value: object) -> tuple[Access, float] | None:
    """The access whose array a value only moves, and the number by which it multiplies; None for any other value."""
    if isinstance(value, Access):
        return (value, 1.0) if value.outside is None else None
    if not isinstance(value, Apply) or value.function not in ("mul", "div") or len(value.arguments) != 2:
        return None
    left, right = value.arguments
    numbers = [_number(model, sources, part) for part in (left, right)]
    if numbers[1] and isinstance(left, Access) and left.outside is None:
        return left, numbers[1] if value.function == "mul" else 1 / numbers[1]
    if numbers[0] and isinstance(right, Access) and right.outside is None and value.function == "mul":
        return right, numbers[0]
    return None


def _number(model: Model, sources: Mapping[str, str], part: Expression) -> float | None:
    """The number that a value has at every point; None where it varies or is not known."""
    if isinstance(part, Number):
        return float(part.value)
    if not isinstance(part, Access) or part.array not in sources:
        return None
    known = model.known(sources[part.array])
    return float(known.reshape(-1)[0]) if known is not None and known.size == 1 else None


def _steps(work: Sized, access: Access) -> tuple[int, dict[str, int]] | None:
    """The element of an array that an access reads first, and how far it moves with each dim; None if unevenly."""
    first = 0
    found: dict[str, int] = {}
    for place, stride in zip(access.at, _flat(work.array(access.array).shape)):
        index = affine(place)
        if index is None or any(not isinstance(term, str) for term, _ in index.terms):
            return None
        first += index.offset * stride
        for dim in index.names():
            found[dim] = found.get(dim, 0) + index.coefficient(dim) * stride
    return first, found


def _flat(shape: tuple[int, ...]) -> list[int]:
    """The stride of each axis of a contiguous array."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _order(strides: Strides, extents: Mapping[str, int]) -> str | None:
    """The order and the lengths in memory of axes with these strides; None where there are none."""
    if not all(strides[axis] for axis in strides if extents[axis] > 1):
        return None
    order = sorted(strides, key=lambda axis: (extents[axis] > 1, -strides[axis]))
    text, around = "", 0
    for axis in order:
        stride = strides[axis] if extents[axis] > 1 else around
        if around and (around % stride or around // stride < extents[axis]):
            return None
        wide = around // stride if around else extents[axis]
        text += axis if wide == extents[axis] else f"{axis}{wide}"
        around = stride
    return text if around in (0, 1) else None


def _times(problem: Problem, factor: float) -> Problem | None:
    """The product with its sums multiplied by a number; None where its epilogue does not allow it."""
    if factor == 1:
        return problem
    value: Value = problem.epilogue.value if problem.epilogue else Sum()
    try:
        epilogue = parse(replace(problem, epilogue=None), str(Epilogue(_scaled(value, factor))))
    except EpilogueError:
        return None
    return replace(problem, epilogue=epilogue)


def _scaled(value: Value, factor: float) -> Value:
    """The value with so many times the sum in place of the sum."""
    if isinstance(value, Sum):
        return Applied("mul", (value, Constant(factor)))
    if isinstance(value, Applied):
        return Applied(value.operation, tuple(_scaled(part, factor) for part in value.arguments))
    return value


# ---- what a product writes


def _writing(model: Model, outputs: tuple[str, ...]) -> Model:
    """The model whose product of these outputs writes its numbers where its only reader would move them."""
    step = next(each for each in model.steps if each.outputs == outputs)
    work, root = step.work, _whole(model, step.outputs[0])
    assert isinstance(work, Problem)
    readers = [each for each in model.steps if root in map(model.root, each.inputs)]
    if not root or root in map(model.root, model.outputs) or len(readers) != 1:
        return model
    (reader,), values = readers, parts(work.epilogue.value) if work.epilogue else ()
    if any(isinstance(value, EpilogueArray) and len(value.axes) > 1 for value in values):
        return model
    if not isinstance(reader.work, Sized) or len(reader.work.program.statements) != 1 or len(reader.inputs) != 1:
        return model
    (statement,), (result,) = reader.work.program.statements, reader.work.assigned
    access = statement.value
    if not isinstance(access, Access) or access.outside is not None or result.dtype != "f32":
        return model
    if prod(result.shape) != work.output.elements:
        return model
    walked = _steps(reader.work, access)
    if walked is None or walked[0]:
        return model
    strides = {}
    for index, stride in zip(work.output.indices, work.output.strides):
        axis = index.terms[0][0]
        dims = [dim for dim in statement.dims if walked[1].get(dim) == stride and reader.work.extents[dim] > 1]
        if work.extents[axis] > 1 and (len(dims) != 1 or reader.work.extents[dims[0]] != work.extents[axis]):
            return model
        places = dict(zip(statement.dims, _flat(result.shape)))
        strides[axis] = places[dims[0]] if work.extents[axis] > 1 else 0
    order = _order(strides, work.extents)
    if order is None or _last(order) != work.vector_dim:
        return model
    after = replace(step, work=in_order(work, {work.output.name: order}), outputs=reader.outputs)
    return replace(model, steps=tuple(after if each is step else each for each in model.steps if each is not reader))
