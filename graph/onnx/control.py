"""Control flow: If, Loop and Scan become regions, blocks of steps inside branches and loops.

A branch whose condition is known is its nodes alone. A loop of a known number of turns is written out where its arrays
change their shapes from turn to turn, or where a shape depends on the number of the turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import onnx
from onnx import helper

from graph.model.language import Branch, Copy, Loop, ModelError, Slice, Step
from graph.model.node import Shape, Unsupported
from graph.model.regions import needed, region
from graph.onnx.standard import weight
from tiling.program.infer import Array

# Turns that are written out at most: each has kernels' calls of its own in the text.
MOST_UNROLLED = 64


class Reading(Protocol):
    """What is known of a graph so far, and a way to read one more node."""

    arrays: dict[str, Array]
    constants: dict[str, np.ndarray]
    views: dict[str, str]
    slices: dict[str, Slice]
    steps: list[Step]

    @property
    def version(self) -> int:
        """The version of the set of operators."""

    def node(self, proto: onnx.NodeProto, name: str) -> None:
        """Reads a node."""

    def know(self, name: str, numbers: np.ndarray) -> None:
        """An array whose numbers are known."""

    def view(self, name: str, of: str, shape: Shape) -> None:
        """An array in another shape."""


def control(reading: Reading, proto: onnx.NodeProto, name: str) -> bool:
    """Reads a node of control flow. False for any other one. Raises Unsupported, a sentence that names the node."""
    read = _CONTROL.get(proto.op_type)
    if read is None:
        return False
    try:
        read(reading, proto, name)
    except _Varying as error:
        raise _refused(proto, name, str(error)) from None
    return True


class _Varying(Exception):
    """What varies from call to call or from turn to turn, and must not."""


def _refused(proto: onnx.NodeProto, name: str, why: str) -> Unsupported:
    return Unsupported(f"node {name} ({proto.op_type}): {why}")


def _graph(proto: onnx.NodeProto, name: str) -> onnx.GraphProto:
    found: onnx.GraphProto = next(attribute.g for attribute in proto.attribute if attribute.name == name)
    return found


def _if(reading: Reading, proto: onnx.NodeProto, name: str) -> None:
    condition = proto.input[0]
    array = reading.arrays[condition]
    if array.dtype != "bool" or np.prod(array.shape, dtype=int) != 1:
        raise _refused(proto, name, f"its condition is {array.dtype}{list(array.shape)}, and one bool is needed")
    scope = f"\0{next(filter(None, proto.output), name)}"
    sides = ("then", "else")
    known = reading.constants.get(condition)
    if known is not None:
        side = sides[0] if known.reshape(-1)[0] else sides[1]
        found = _inlined(reading, _graph(proto, f"{side}_branch"), f"{scope}.{side}.", f"{name}.{side}", {})
        for outer, inner in zip(proto.output, found):
            _alias(reading, outer, inner)
        return
    made = [
        _block(reading, _graph(proto, f"{side}_branch"), f"{scope}.{side}.", f"{name}.{side}", {}) for side in sides
    ]
    for number, outer in enumerate(proto.output):
        kinds = [reading.arrays[results[number]] for _, results in made]
        told = [f"{kind.dtype}{list(kind.shape)}" for kind in kinds]
        if told[0] != told[1]:
            raise _Varying(f"its output {number} is {told[0]} or {told[1]}, and the condition is computed in the call")
        if outer:
            reading.arrays[outer] = Array(outer, kinds[0].dtype, kinds[0].shape)
            for steps, results in made:
                steps.append(_copy(name, results[number], outer))
    (then, _), (otherwise, _) = made
    reading.steps.append(region(name, Branch(condition, tuple(then), tuple(otherwise))))


@dataclass(frozen=True)
class _Turns:
    """A Loop or a Scan.

    counter, going: inputs of the body, "" where it has none. turns: their number where it is known, or the array that
    says it. start: the array of the condition, or "". ends: whether the body's first output is the condition.
    states: for each, the input of the body and the array before the first turn. parts: for each input that is taken
    apart along its first axis: the input of the body, the array, and whether from its end. results, stacked: names of
    outputs, "" where one is not wanted. backward: for each stacked output.
    """

    proto: onnx.NodeProto
    name: str
    body: onnx.GraphProto
    counter: str
    going: str
    turns: int | str
    start: str
    ends: bool
    states: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str, bool], ...]
    results: tuple[str, ...]
    stacked: tuple[str, ...]
    backward: tuple[bool, ...]

    @property
    def scope(self) -> str:
        return f"\0{next(filter(None, self.proto.output), self.name)}"


def _loop(reading: Reading, proto: onnx.NodeProto, name: str) -> None:
    body = _graph(proto, "body")
    limit, start, *carried = (*proto.input, "", "")[: max(2, len(proto.input))]
    inside = [value.name for value in body.input]
    if len(inside) != 2 + len(carried):
        raise _refused(proto, name, f"its body has {len(inside)} inputs, and {2 + len(carried)} are given")
    known = reading.constants.get(limit) if limit else np.array(2**63 - 1)
    turns = limit if known is None else max(0, int(known.reshape(-1)[0]))
    begins = reading.constants.get(start)
    if begins is not None:
        start, turns = "", turns if begins.reshape(-1)[0] else 0
    _repeat(
        reading,
        _Turns(
            proto,
            name,
            body,
            inside[0],
            inside[1],
            turns,
            start,
            True,
            tuple(zip(inside[2:], carried)),
            (),
            tuple(proto.output[: len(carried)]),
            tuple(proto.output[len(carried) :]),
            (False,) * (len(proto.output) - len(carried)),
        ),
    )


def _scan(reading: Reading, proto: onnx.NodeProto, name: str) -> None:
    if reading.version < 9:
        raise _refused(proto, name, "a Scan of version 8 is not supported")
    scan(reading, proto, name)


def scan(reading: Reading, proto: onnx.NodeProto, name: str) -> None:
    """Reads a Scan of version 9 or later."""
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in proto.attribute}
    body, count = given["body"], given["num_scan_inputs"]
    states = len(proto.input) - count
    outputs = len(proto.output) - states
    axes, back = given.get("scan_input_axes", [0] * count), given.get("scan_input_directions", [0] * count)
    out_axes, out_back = given.get("scan_output_axes"), given.get("scan_output_directions", [0] * outputs)
    parts = []
    for place, (array, axis) in enumerate(zip(proto.input[states:], axes)):
        parts.append(_moved(reading, array, f"\0{proto.output[0]}.part{place}", axis, 0))
    lengths = {reading.arrays[part].shape[0] for part in parts}
    if len(lengths) != 1:
        raise _refused(proto, name, f"its inputs are {', '.join(map(str, sorted(lengths)))} long, and must be alike")
    inside = [value.name for value in body.input]
    stacked = list(proto.output[states:])
    if out_axes:
        stacked = [f"\0{output}.stacked" if axis else output for output, axis in zip(stacked, out_axes)]
    _repeat(
        reading,
        _Turns(
            proto,
            name,
            body,
            "",
            "",
            lengths.pop(),
            "",
            False,
            tuple(zip(inside, proto.input[:states])),
            tuple((mine, part, bool(b)) for mine, part, b in zip(inside[states:], parts, back)),
            tuple(proto.output[:states]),
            tuple(stacked),
            tuple(map(bool, out_back)),
        ),
    )
    for output, array, axis in zip(proto.output[states:], stacked, out_axes or ()):
        if array != output:
            _moved(reading, array, output, 0, axis)


_CONTROL: Mapping[str, Callable[[Reading, onnx.NodeProto, str], None]] = {"If": _if, "Loop": _loop, "Scan": _scan}


def _repeat(reading: Reading, loop: _Turns) -> None:
    """The turns as a loop; written out where there is one, or where a loop will not do."""
    few = isinstance(loop.turns, int) and loop.turns <= MOST_UNROLLED and not loop.start
    if few and isinstance(loop.turns, int) and loop.turns <= 1:
        _written_out(reading, loop)
        return
    before = len(reading.steps)
    try:
        _looped(reading, loop)
    except (_Varying, Unsupported):
        if not few:
            raise
        del reading.steps[before:]
        _written_out(reading, loop)


def _looped(reading: Reading, loop: _Turns) -> None:
    """A loop. Every state has memory, which a turn reads and then writes."""
    scope, name = loop.scope, loop.name
    given: dict[str, str] = {}
    buffers = []
    for (inside, initial), result in zip(loop.states, loop.results):
        first = reading.arrays[initial]
        given[inside] = result or f"{scope}.state.{inside}"
        buffers.append(Array(given[inside], first.dtype, first.shape))
    for (inside, array, backward), place in zip(loop.parts, range(len(loop.parts))):
        whole = reading.arrays[array]
        given[inside] = _sliced(reading, scope, f"{scope}.turn.part{place}", whole, backward)
    for buffer in buffers:
        reading.arrays[buffer.name] = buffer
    counter = ""
    if loop.counter:
        counter = given[loop.counter] = f"{scope}.turn.number"
        reading.arrays[counter] = Array(counter, "s64", ())
    if loop.going:  # a turn begins only where this is true
        given[loop.going] = f"{scope}.turn.going"
        reading.know(given[loop.going], np.array(True))
    steps, found = _block(reading, loop.body, f"{scope}.turn.", f"{name}.body", given)
    going, tail = "", []
    initial_copies = [_copy(name, initial, buffer.name) for (_, initial), buffer in zip(loop.states, buffers)]
    if loop.ends:
        ended, *found = found
        known = reading.constants.get(ended)
        if loop.start or known is None or not known.reshape(-1)[0]:
            going = f"{scope}.going"
            reading.arrays[going] = Array(going, "bool", ())
            start = loop.start or f"{scope}.turn.going"
            initial_copies.append(_copy(name, start, going))
            tail.append((ended, going))
    stacks = []
    for value, output, backward in zip(found[len(buffers) :], loop.stacked, loop.backward):
        if not isinstance(loop.turns, int) or going:
            raise _Varying("how many turns it makes is computed in the call, and an output has a row for each")
        part = reading.arrays[value]
        stack = output or f"{scope}.stack.{value}"
        reading.arrays[stack] = Array(stack, part.dtype, (loop.turns, *part.shape))
        target = _sliced(reading, scope, f"\0{stack}.part", reading.arrays[stack], backward)
        steps.append(_copy(name, value, target))
        stacks.append(stack)
    names = {buffer.name for buffer in buffers}
    for value, buffer in zip(found, buffers):
        after = reading.arrays[value]
        if (after.dtype, after.shape) != (buffer.dtype, buffer.shape):
            told = [f"{each.dtype}{list(each.shape)}" for each in (buffer, after)]
            raise _Varying(f"a state is {told[0]} before a turn and {told[1]} after it")
        root = _root(reading, value)
        if root == buffer.name:
            continue
        if root in names:  # another state, which is written in this turn too
            kept = f"{scope}.turn.kept.{buffer.name}"
            reading.arrays[kept] = Array(kept, after.dtype, after.shape)
            steps.append(_copy(name, value, kept))
            value = kept
        tail.append((value, buffer.name))
    steps += [_copy(name, value, target) for value, target in tail]
    kept_arrays = (*(buffer.name for buffer in buffers), *stacks, *([going] if going else []))
    read = any(counter in step.inputs for step in steps)
    work = Loop(scope, tuple(steps), loop.turns, going, counter if read else "", kept_arrays)
    reading.steps += [*initial_copies, region(name, work)]


def _written_out(reading: Reading, loop: _Turns) -> None:
    """The nodes of every turn, one turn after the other."""
    assert isinstance(loop.turns, int)
    state = [initial for _, initial in loop.states]
    stacks: list[list[str]] = [[] for _ in loop.stacked]
    for turn in range(loop.turns):
        scope = f"{loop.scope}.turn{turn}."
        given = dict(zip((inside for inside, _ in loop.states), state))
        for place, (inside, array, backward) in enumerate(loop.parts):
            at = loop.turns - 1 - turn if backward else turn
            given[inside] = _part(reading, array, f"{scope}part{place}", at)
        for inside, number in ((loop.counter, np.array(turn, np.int64)), (loop.going, np.array(True))):
            if inside:
                given[inside] = f"{scope}input.{inside}"
                reading.know(given[inside], number)
        found = _inlined(reading, loop.body, scope, f"{loop.name}.body{turn}", given)
        going = np.array(True)
        if loop.ends:
            ended, *found = found
            if ended not in reading.constants:
                raise _Varying("whether another turn begins is computed in the call, and shapes depend on it")
            going = reading.constants[ended]
        state = found[: len(state)]
        for stack, value in zip(stacks, found[len(state) :]):
            stack.append(value)
        if not going.reshape(-1)[0]:
            break
    for outer, inner in zip(loop.results, state):
        _alias(reading, outer, inner)
    for outer, stack, backward in zip(loop.stacked, stacks, loop.backward):
        if not outer:
            continue
        if not stack:
            raise _Varying("it makes no turn, so that an output has no elements")
        rows = []
        for inner in reversed(stack) if backward else stack:
            rows.append(f"{inner}.row" if inner.startswith("\0") else f"\0{inner}.row")
            reading.view(rows[-1], inner, (1, *reading.arrays[inner].shape))
        reading.node(helper.make_node("Concat", rows, [outer], axis=0), f"{loop.name}.stack")


def _inlined(reading: Reading, graph: onnx.GraphProto, scope: str, name: str, given: Mapping[str, str]) -> list[str]:
    """Reads a graph's nodes in the place of another one. Returns the names of its outputs."""
    if graph.sparse_initializer:
        raise ModelError(f"{graph.sparse_initializer[0].values.name}: sparse weights are not supported")
    names = {each: f"{scope}{each}" for each in _own(graph)} | dict(given)
    for tensor in graph.initializer:
        if tensor.name not in given:
            reading.know(names[tensor.name], weight(tensor))
    for number, node in enumerate(graph.node):
        reading.node(renamed(node, names), f"{name}.{node.name or number}")
    found = [names.get(value.name, value.name) for value in graph.output]
    for each in found:
        if each not in reading.arrays:
            raise ModelError(f"node {name}: output {each} of its graph is computed by no node")
    return found


def _block(
    reading: Reading, graph: onnx.GraphProto, scope: str, name: str, given: Mapping[str, str]
) -> tuple[list[Step], list[str]]:
    """A graph's steps by themselves, and the names of its outputs."""
    outer, reading.steps = reading.steps, []
    try:
        found = _inlined(reading, graph, scope, name, given)
        return list(needed(reading.steps, found, lambda array: _root(reading, array))), found
    finally:
        reading.steps = outer


def _own(graph: onnx.GraphProto) -> set[str]:
    """The names that a graph gives to arrays."""
    names = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    return names | {output for node in graph.node for output in node.output if output}


def renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """The node with other names of arrays, in its graphs too where they are not the graph's own."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for side in (copy.input, copy.output):
        found = [names.get(each, each) for each in side]
        del side[:]
        side.extend(found)
    for attribute in copy.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            own = _own(attribute.g)
            outer = {name: new for name, new in names.items() if name not in own}
            nodes = [renamed(each, outer) for each in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(nodes)
            for value in attribute.g.output:
                value.name = outer.get(value.name, value.name)
    return copy


def _alias(reading: Reading, outer: str, inner: str) -> None:
    if outer:
        reading.view(outer, inner, reading.arrays[inner].shape)


def _root(reading: Reading, name: str) -> str:
    while name in reading.views:
        name = reading.views[name]
    return name


def _copy(name: str, source: str, target: str) -> Step:
    return Step(name, Copy(), (source,), (target,))


def _sliced(reading: Reading, turn: str, name: str, whole: Array, backward: bool) -> str:
    """The part of an array that belongs to the turn of a loop."""
    reading.arrays[name] = Array(name, whole.dtype, whole.shape[1:])
    reading.views[name] = whole.name
    reading.slices[name] = Slice(turn, whole.shape[0], backward)
    return name


def _part(reading: Reading, array: str, name: str, at: int) -> str:
    """One part of an array along its first axis."""
    shape = reading.arrays[array].shape
    if shape[0] == 1:
        reading.view(name, array, shape[1:])
        return name
    reading.know(f"{name}.at", np.array(at, np.int64))
    reading.node(helper.make_node("Gather", [array, f"{name}.at"], [name], axis=0), name.strip("\0"))
    return name


def _moved(reading: Reading, array: str, name: str, source: int, target: int) -> str:
    """An array with one axis moved to another place; the array itself where it is there."""
    axes = len(reading.arrays[array].shape)
    order = list(range(axes))
    order.insert(target % axes, order.pop(source % axes))
    if order == list(range(axes)):
        return array
    reading.node(helper.make_node("Transpose", [array], [name], perm=order), name.strip("\0"))
    return name
