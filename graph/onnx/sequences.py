"""Sequences and optionals: their structure is known while reading, so that none is left in a compiled model.

An optional with an element is that element. Only positions in sequences must be known; elements are computed in the
call, as other arrays are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import helper

from graph.model.node import Unknown, Unsupported
from graph.onnx.graphs import inlined
from graph.onnx.reading import Reading


def sequence(reading: Reading, proto: onnx.NodeProto, name: str) -> bool:
    """Reads a node that makes, changes or reads a sequence or an optional. False for any other one.

    Raises Unsupported, a sentence that names the node.
    """
    read = _SEQUENCES.get(proto.op_type) if proto.domain in ("", "ai.onnx") else None
    if read is not None:
        read(_Node(reading, proto, name))
        return True
    for place, given in enumerate(proto.input):
        if given in reading.sequences or given in reading.absent:
            kind = "a sequence" if given in reading.sequences else "an optional without an element"
            raise Unsupported(f"node {name} ({proto.op_type}): input {place} is {kind}, and it takes tensors")
    return False


class _Node:
    """A node, and what is known of its inputs."""

    def __init__(self, reading: Reading, proto: onnx.NodeProto, name: str):
        self.reading, self.proto, self.name = reading, proto, name
        self.attributes = {each.name: helper.get_attribute_value(each) for each in proto.attribute}
        self.output = proto.output[0]

    def refuse(self, why: str) -> Unsupported:
        return Unsupported(f"node {self.name} ({self.proto.op_type}): {why}")

    def input(self, place: int) -> str:
        """The name of an input, "" for one that is left out."""
        return self.proto.input[place] if place < len(self.proto.input) else ""

    def elements(self, place: int = 0) -> list[str]:
        """The elements of an input that must be a sequence."""
        found = self.reading.sequences.get(self.input(place))
        if found is None:
            raise self.refuse(f"input {place} is {self.reading.told(self.input(place))}, and must be a sequence")
        return list(found)

    def tensors(self, place: int = 0) -> list[str]:
        """The elements of an input that must be a sequence of tensors."""
        found = self.elements(place)
        if not all(each in self.reading.arrays for each in found):
            raise self.refuse(f"input {place} is {self.reading.told(self.input(place))}, and must hold tensors")
        return found

    def numbers(self, place: int, what: str) -> np.ndarray:
        """An input that must be known now."""
        found = self.reading.constants.get(self.input(place))
        if found is None:
            why = f"{what} (input {place}) is computed when the model runs, and must be constant"
            raise Unknown(str(self.refuse(why)), (place,))
        return found

    def at(self, place: int, count: int, last: int) -> int:
        """The position, from the front, that an input gives in a sequence of `count` elements. last: the largest."""
        number = int(self.numbers(place, "the place").reshape(-1)[0])
        if not -count <= number <= last:
            raise self.refuse(f"there is no place {number} in a sequence of {count}")
        return number + count if number < 0 else number

    def node(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        """Reads one more node."""
        self.reading.node(helper.make_node(kind, inputs, outputs, **attributes), f"{self.name}.{kind}")

    def gives(self, elements: list[str]) -> None:
        self.reading.sequences[self.output] = tuple(elements)


def _insert(node: _Node) -> None:
    elements = node.elements()
    at = node.at(2, len(elements), len(elements)) if node.input(2) else len(elements)
    node.gives([*elements[:at], node.input(1), *elements[at:]])


def _erase(node: _Node) -> None:
    elements = node.elements()
    if not elements:
        raise node.refuse("a sequence without elements has none to erase")
    at = node.at(1, len(elements), len(elements) - 1) if node.input(1) else len(elements) - 1
    node.gives(elements[:at] + elements[at + 1 :])


def _at(node: _Node) -> None:
    elements = node.elements()
    node.reading.alias(node.output, elements[node.at(1, len(elements), len(elements) - 1)])


def _split(node: _Node) -> None:
    """The parts of a tensor along an axis. Each has one element, or all one size, or each a given one."""
    shape = node.reading.arrays[node.input(0)].shape
    axis = node.attributes.get("axis", 0)
    if not -len(shape) <= axis < len(shape):
        raise node.refuse(f"there is no axis {axis} of {len(shape)}")
    axis %= len(shape)
    extent, given = shape[axis], node.numbers(1, "the size of parts") if node.input(1) else np.array(1)
    sizes = given.tolist()
    if given.ndim == 0:
        if sizes < 1:
            raise node.refuse(f"parts of {sizes} elements are none")
        sizes = [min(sizes, extent - begin) for begin in range(0, extent, sizes)]
    if sum(sizes) != extent or min(sizes, default=1) < 0:
        raise node.refuse(f"parts of {sizes} elements are not the {extent} along axis {axis}")
    ends = np.cumsum([0, *sizes]).tolist()
    parts = []
    for number, (begin, end) in enumerate(pairwise(ends)):
        parts.append(f"\0{node.output}.{number}")
        bounds = []
        for what, bound in (("begin", begin), ("end", end), ("axis", axis)):
            bounds.append(f"{parts[-1]}.{what}")
            node.reading.know(bounds[-1], np.array([bound], np.int64))
        node.node("Slice", [node.input(0), *bounds], [parts[-1]])
        if not node.input(1) and not node.attributes.get("keepdims", 1):
            node.reading.view(f"{parts[-1]}.row", parts[-1], (*shape[:axis], *shape[axis + 1 :]))
            parts[-1] += ".row"
    node.gives(parts)


def _joined(node: _Node) -> None:
    """One tensor of all elements, along an axis that is there or a new one."""
    parts, axis = node.tensors(), node.attributes["axis"]
    if not parts:
        raise node.refuse("a sequence without elements is not joined")
    if node.attributes.get("new_axis", 0):
        axes = len(node.reading.arrays[parts[0]].shape) + 1
        if not -axes <= axis < axes:
            raise node.refuse(f"there is no axis {axis} of {axes}")
        rows = []
        for number, part in enumerate(parts):
            shape = node.reading.arrays[part].shape
            rows.append(f"\0{node.output}.{number}")
            node.reading.view(rows[-1], part, (*shape[: axis % axes], 1, *shape[axis % axes :]))
        parts = rows
    node.node("Concat", parts, [node.output], axis=axis)


def _mapped(node: _Node) -> None:
    """Reads a graph for each element, with the element at the same position of other sequences, and whole tensors."""
    reading, body = node.reading, node.attributes["body"]
    count = len(node.elements())
    lengths = {len(reading.sequences[each]) for each in node.proto.input if each in reading.sequences}
    if lengths != {count}:
        raise node.refuse(f"its sequences have {' and '.join(map(str, sorted(lengths)))} elements, and must be alike")
    inside = [value.name for value in body.input]
    if len(inside) != len(node.proto.input):
        raise node.refuse(f"its body has {len(inside)} inputs, and {len(node.proto.input)} are given")
    found: list[list[str]] = [[] for _ in node.proto.output]
    for number in range(count):
        given = {
            mine: reading.sequences[each][number] if each in reading.sequences else each
            for mine, each in zip(inside, node.proto.input)
        }
        results = inlined(reading, body, f"\0{node.output}.{number}.", f"{node.name}.body{number}", given)
        for stack, result in zip(found, results):
            stack.append(result)
    for output, stack in zip(node.proto.output, found):
        if output:
            reading.sequences[output] = tuple(stack)


def _optional(node: _Node) -> None:
    if node.input(0):
        node.reading.alias(node.output, node.input(0))
    else:
        node.reading.absent |= {node.output}


def _has_element(node: _Node) -> None:
    there = bool(node.input(0)) and node.input(0) not in node.reading.absent
    node.reading.know(node.output, np.array(there))


def _element(node: _Node) -> None:
    if node.input(0) in node.reading.absent:
        raise node.refuse("the optional has no element")
    node.reading.alias(node.output, node.input(0))


_SEQUENCES: Mapping[str, Callable[[_Node], None]] = {
    "SequenceEmpty": lambda node: node.gives([]),
    "SequenceConstruct": lambda node: node.gives(list(node.proto.input)),
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": lambda node: node.reading.know(node.output, np.array(len(node.elements()), np.int64)),
    "SequenceMap": _mapped,
    "SplitToSequence": _split,
    "ConcatFromSequence": _joined,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _element,
    "Identity": lambda node: node.reading.alias(node.output, node.input(0)),
}
