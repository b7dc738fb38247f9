"""Turns the results of operators' functions into steps, views and constants of the graph that is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import onnx

from graph.model.dtypes import DTYPES, OF_NUMPY, stored
from graph.model.language import Step
from graph.model.node import Made, Node, Product, Text, View
from graph.onnx.reading import Reading
from tiling.program.infer import sized
from tiling.program.language import Program
from tiling.program.read import read as read_program


def add(reading: Reading, proto: onnx.NodeProto, node: Node, made: Made) -> None:
    """Adds the result of an operator's function to the graph."""
    if isinstance(made, View):
        reading.view(proto.output[0], proto.input[0], made.shape, made.dtype)
        return
    if isinstance(made, Product):
        problem = made.problem
        # A kernel reads as many numbers as the problem says, so shapes are checked here.
        for place, tensor in zip(made.inputs, (*problem.tensors[:2], *problem.epilogue_arrays), strict=True):
            if prod(node.shape(place)) != tensor.elements:
                raise node.refuse(f"input {place} has shape {node.shape(place)}, and {tensor.elements} are needed")
        shape = problem.output.shape
        reading.array(proto.output[0], "f32", shape, made.shape)
        inputs = tuple(proto.input[place] for place in made.inputs)
        reading.steps.append(Step(node.name, made.problem, inputs, (reading.own(proto.output[0]),), last=node.told))
        return
    _text(reading, proto, node, made)


def _text(reading: Reading, proto: onnx.NodeProto, node: Node, made: Text) -> None:
    """Adds a program."""
    declared = {name: node.dtype(place) for name, place in made.inputs.items()}
    declared |= {name: OF_NUMPY[numbers.dtype.name] for name, numbers in made.made.items()}
    declared |= dict(zip(made.outputs, made.dtypes))
    for name, dtype in declared.items():
        if dtype not in DTYPES.values():
            raise node.refuse(f"its array {name} is made of {dtype}, which is not supported")
    text = "; ".join([*(f"{name}: {stored(dtype)}" for name, dtype in declared.items()), made.text])
    shapes = {name: node.shape(place) for name, place in made.inputs.items()}
    shapes |= {name: numbers.shape for name, numbers in made.made.items()}
    wanted = [(mine, theirs) for mine, theirs in zip(made.outputs, proto.output) if theirs]
    program, wanted = _without_empty(reading, read_program(text), made, wanted, declared)
    if not wanted:
        return
    unread = [name for name in shapes if name not in program.inputs]
    program = replace(program, declarations=tuple(d for d in program.declarations if d.array not in unread))
    shapes = {name: shape for name, shape in shapes.items() if name not in unread}
    extents = {dim: extent for dim, extent in made.extents.items() if dim in program.dims}
    work = sized(program, extents, shapes, outputs=tuple(mine for mine, _ in wanted))
    sources = {name: proto.input[place] for name, place in made.inputs.items()}
    for name, numbers in made.made.items():
        sources[name] = f"\0{proto.output[0]}.{name}"
        reading.know(sources[name], numbers)
    # A kernel writes its outputs in the order in which the program assigns them.
    written = [array for array in work.assigned if array.name in work.outputs]
    outer = dict(wanted)
    given = dict(zip(made.outputs, made.shapes))
    for array in written:
        reading.array(outer[array.name], declared[array.name], array.shape, given.get(array.name, array.shape))
    inputs = tuple(sources[array.name] for array in work.inputs)
    outputs = tuple(reading.own(outer[array.name]) for array in written)
    reading.steps.append(Step(node.name, work, inputs, outputs, last=node.told))


def _without_empty(
    reading: Reading, program: Program, made: Text, wanted: list[tuple[str, str]], dtypes: Mapping[str, str]
) -> tuple[Program, list[tuple[str, str]]]:
    """The program and the outputs without arrays of no elements, which are known already."""
    none = {dim for dim, extent in made.extents.items() if not extent}
    shapes = dict(zip(made.outputs, made.shapes))
    outer, rest = dict(wanted), []
    for statement in program.statements:
        name = statement.array
        if none.isdisjoint(statement.dims):
            rest.append(statement)
        elif name in outer:
            own = shapes.get(name) or tuple(made.extents[dim] for dim in statement.dims)
            reading.empty(outer.pop(name), dtypes[name], own)
    left = {statement.array for statement in rest}
    return replace(program, statements=tuple(rest)), [pair for pair in wanted if pair[0] in left]
