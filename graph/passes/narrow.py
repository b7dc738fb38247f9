"""Products of narrow dtypes: a program with one becomes what comes before it, the product, and what comes after it.

    sums[i,j] = sum[c] a[i,c] * factor[c,j]; y[i,j] = sums[i,j] - total[j]      a of u8, factor of s8

sums is a product of int8, which has microkernels, and y the program that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from graph.model.language import Model, Step
from tiling.program.anchors.anchor import Operand
from tiling.program.infer import Sized
from tiling.program.rewrite.anchored import Anchored


def with_narrow_products(model: Model, read: Callable[[Sized, frozenset[str]], Anchored | str]) -> Model:
    """The model with a product in place of each sum of products in another dtype than f32. Blocks stay as they are.

    read: gives a program around its anchor, or why it has none, for the names of inputs with known numbers.
    """
    steps: list[Step] = []
    for step in model.steps:
        found: Anchored | str = ""
        if isinstance(step.work, Sized):
            given = zip(step.work.inputs, step.inputs)
            found = read(step.work, frozenset(a.name for a, name in given if model.known(name) is not None))
        split = None if isinstance(found, str) or found.stores.problem.dtype == "f32" else _split(model, step, found)
        if split is None:
            steps.append(step)
        else:
            model, parts = split
            steps += parts
    return replace(model, steps=tuple(steps))


def _split(model: Model, step: Step, found: Anchored) -> tuple[Model, list[Step]] | None:
    """The parts of a step, in a model with their arrays; None where computed weights lie in another order."""
    assert isinstance(step.work, Sized)
    anchor, stores = found.anchor, found.stores
    outputs = (array.name for array in step.work.assigned if array.name in step.work.outputs)
    names = dict(zip((array.name for array in step.work.inputs), step.inputs)) | dict(zip(outputs, step.outputs))
    # No array of a file has a name that begins so.
    between = {a.name: f"\0{step.outputs[0]}: {a.name}" for a in found.program.assigned if a.name not in names}
    made = {between[a.name]: replace(a, name=between[a.name]) for a in found.program.assigned if a.name in between}
    names |= between
    weights, constants = names[anchor.w.array], dict(model.constants)
    if not _lies(anchor.w):
        numbers = model.known(weights)
        if numbers is None:
            return None
        laid = numbers.reshape(anchor.w.split).transpose(anchor.w.order).reshape(anchor.w.shape)
        # Another product may want the same weights in the same shape and another order.
        name = f"\0{weights}: axes {anchor.w.order} of {anchor.w.split}, as {anchor.w.shape}"
        made[name] = replace(model.arrays[weights], name=name, shape=anchor.w.shape)
        weights, constants[name] = name, np.ascontiguousarray(laid)
    more = dict(stores.arrays)
    epilogue = (names[more[tensor.name]] for tensor in stores.problem.epilogue_arrays)
    inputs = names[anchor.x.array], weights, *epilogue
    parts = [_program(step, found.before, names)] if found.before else []
    parts.append(Step(step.node, stores.problem, inputs, (names[stores.output],), "; ".join(stores.stopped), step.last))
    parts += [_program(step, found.after, names)] if found.after else []
    used = {name for part in parts for name in (*part.inputs, *part.outputs)}
    arrays = {**model.arrays, **{name: array for name, array in made.items() if name in used}}
    return replace(model, arrays=arrays, constants=constants), parts


def _lies(operand: Operand) -> bool:
    """Whether an array lies as the problem has it."""
    return tuple(axis for axis in operand.order if operand.split[axis] > 1) == tuple(
        axis for axis, extent in enumerate(operand.split) if extent > 1
    )


def _program(step: Step, part: Sized, names: Mapping[str, str]) -> Step:
    written = (array.name for array in part.assigned if array.name in part.outputs)
    return Step(
        step.node,
        part,
        tuple(names[array.name] for array in part.inputs),
        tuple(names[name] for name in written),
        last=step.last,
    )
