"""Graphs inside nodes: their nodes are read in place of the outer node, or as a block of their own."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from graph.model.language import Copy, ModelError, Step
from graph.model.regions import needed
from graph.onnx.reading import Reading
from graph.onnx.standard import weight


def inlined(reading: Reading, graph: onnx.GraphProto, scope: str, name: str, given: Mapping[str, str]) -> list[str]:
    """Reads a graph's nodes in place of the outer node. Returns the names of its outputs."""
    if graph.sparse_initializer:
        raise ModelError(f"{graph.sparse_initializer[0].values.name}: sparse weights are not supported")
    names = {each: f"{scope}{each}" for each in own_names(graph)} | dict(given)
    for tensor in graph.initializer:
        if tensor.name not in given:
            reading.know(names[tensor.name], weight(tensor))
    for number, node in enumerate(graph.node):
        reading.node(renamed(node, names), f"{name}.{node.name or number}")
    found = [names.get(value.name, value.name) for value in graph.output]
    for each in found:
        if not reading.has(each):
            raise ModelError(f"node {name}: output {each} of its graph is computed by no node")
    return found


def block(
    reading: Reading, graph: onnx.GraphProto, scope: str, name: str, given: Mapping[str, str]
) -> tuple[list[Step], list[str]]:
    """A graph's steps by themselves, and the names of its outputs."""
    outer, reading.steps = reading.steps, []
    try:
        found = inlined(reading, graph, scope, name, given)
        leaves = [leaf for each in found for leaf in reading.leaves(each)]
        return list(needed(reading.steps, leaves, lambda array: reading.root(array))), found
    finally:
        reading.steps = outer


def own_names(graph: onnx.GraphProto) -> set[str]:
    """The names that a graph gives to arrays."""
    names = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    return names | {output for node in graph.node for output in node.output if output}


def renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """The node with other names of arrays, also inside its graphs, except for names that a graph defines itself."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for side in (copy.input, copy.output):
        found = [names.get(each, each) for each in side]
        del side[:]
        side.extend(found)
    for attribute in copy.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            own = own_names(attribute.g)
            outer = {name: new for name, new in names.items() if name not in own}
            nodes = [renamed(each, outer) for each in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(nodes)
            for value in attribute.g.output:
                value.name = outer.get(value.name, value.name)
    return copy


def copy_step(name: str, source: str, target: str) -> Step:
    """The step that copies an array into another one's memory. name: the node that it stands for."""
    return Step(name, Copy(), (source,), (target,))
