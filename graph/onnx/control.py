"""Control flow: If, Loop and Scan become regions, blocks of steps inside branches and loops.

If a condition is known, the nodes of its branch are read in place of the If.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper

from graph.model.language import Branch
from graph.model.node import Unknown, Unsupported
from graph.model.regions import region
from graph.onnx.graphs import block, copy_step, inlined
from graph.onnx.iterations import MOST_UNROLLED, Iterations, Varying, part_of, repeat, stack_rows
from graph.onnx.reading import Reading


def control(reading: Reading, proto: onnx.NodeProto, name: str) -> bool:
    """Reads a node of control flow. False for any other one. Raises Unsupported, a sentence that names the node."""
    read = _CONTROL.get(proto.op_type)
    if read is None:
        return False
    try:
        read(reading, proto, name)
    except Varying as error:
        raise Unknown(str(_refused(proto, name, str(error))), error.places) from None
    return True


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
        found = inlined(reading, _graph(proto, f"{side}_branch"), f"{scope}.{side}.", f"{name}.{side}", {})
        for outer, inner in zip(proto.output, found):
            reading.alias(outer, inner)
        return
    made = [block(reading, _graph(proto, f"{side}_branch"), f"{scope}.{side}.", f"{name}.{side}", {}) for side in sides]
    for number, outer in enumerate(proto.output):
        if not outer:
            continue
        told = [reading.told(results[number]) for _, results in made]
        if told[0] != told[1]:
            why = f"its output {number} is {told[0]} or {told[1]}, and the condition is computed in the call"
            raise Varying(why, (0,))
        targets = _places(reading, outer, made[0][1][number])
        for steps, results in made:
            leaves = reading.leaves(results[number])
            steps += [copy_step(name, leaf, target) for leaf, target in zip(leaves, targets)]
    (then, _), (otherwise, _) = made
    reading.steps.append(region(name, Branch(condition, tuple(then), tuple(otherwise))))


def _places(reading: Reading, name: str, like: str) -> list[str]:
    """Makes a value of the same structure as another one, with new arrays. Returns the names of the arrays."""
    if like in reading.sequences:
        elements = {f"\0{name}[{place}]": each for place, each in enumerate(reading.sequences[like])}
        reading.sequences[name] = tuple(elements)
        return [leaf for mine, each in elements.items() for leaf in _places(reading, mine, each)]
    if like in reading.absent:
        reading.absent |= {name}
        return []
    reading.arrays[name] = replace(reading.arrays[like], name=name)
    return [name]


def _loop(reading: Reading, proto: onnx.NodeProto, name: str) -> None:
    body = _graph(proto, "body")
    limit, start, *carried = (*proto.input, "", "")[: max(2, len(proto.input))]
    inside = [value.name for value in body.input]
    if len(inside) != 2 + len(carried):
        raise _refused(proto, name, f"its body has {len(inside)} inputs, and {2 + len(carried)} are given")
    known = reading.constants.get(limit) if limit else np.array(2**63 - 1)
    iterations = limit if known is None else max(0, int(known.reshape(-1)[0]))
    begins = reading.constants.get(start)
    if begins is not None:
        start, iterations = "", iterations if begins.reshape(-1)[0] else 0
    repeat(
        reading,
        Iterations(
            proto=proto,
            name=name,
            body=body,
            counter=inside[0],
            going=inside[1],
            iterations=iterations,
            start=start,
            ends=True,
            states=tuple(zip(inside[2:], carried)),
            parts=(),
            results=tuple(proto.output[: len(carried)]),
            stacked=tuple(proto.output[len(carried) :]),
            backward=(False,) * (len(proto.output) - len(carried)),
        ),
    )


def _scan(reading: Reading, proto: onnx.NodeProto, name: str) -> None:
    if reading.version >= 9:
        scan(reading, proto, name)
    else:
        _scans(reading, proto, name)


def _scans(reading: Reading, proto: onnx.NodeProto, name: str) -> None:
    """Reads a Scan of version 8: one Scan for each element of the batch, the first axis of all its arrays."""
    lengths, *arrays = proto.input
    if lengths:
        raise _refused(proto, name, "a Scan of version 8 with lengths of sequences is not supported")
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in proto.attribute}
    batches = {reading.arrays[array].shape[:1] for array in arrays}
    if len(batches) != 1 or batches <= {(), (0,)}:
        raise _refused(proto, name, f"its inputs have batches of {sorted(batches)}, and one length is needed")
    ((batch,),) = batches
    if batch > MOST_UNROLLED:
        raise _refused(proto, name, f"it is written out for each of {batch} images, and at most {MOST_UNROLLED} are")
    found: list[list[str]] = [[] for _ in proto.output]
    for number in range(batch):
        scope = f"\0{proto.output[0]}.{number}."
        parts = [part_of(reading, array, f"{scope}in{place}", number) for place, array in enumerate(arrays)]
        outputs = [f"{scope}out{place}" if output else "" for place, output in enumerate(proto.output)]
        one = helper.make_node("Scan", parts, outputs, body=given["body"], num_scan_inputs=given["num_scan_inputs"])
        if "directions" in given:
            one.attribute.append(helper.make_attribute("scan_input_directions", given["directions"]))
        scan(reading, one, f"{name}.{number}")
        for stack, output in zip(found, outputs):
            stack.append(output)
    for output, stack in zip(proto.output, found):
        if output:
            stack_rows(reading, stack, output, name)


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
    repeat(
        reading,
        Iterations(
            proto=proto,
            name=name,
            body=body,
            counter="",
            going="",
            iterations=lengths.pop(),
            start="",
            ends=False,
            states=tuple(zip(inside, proto.input[:states])),
            parts=tuple((mine, part, bool(b)) for mine, part, b in zip(inside[states:], parts, back)),
            results=tuple(proto.output[:states]),
            stacked=tuple(stacked),
            backward=tuple(map(bool, out_back)),
        ),
    )
    for output, array, axis in zip(proto.output[states:], stacked, out_axes or ()):
        if array != output:
            _moved(reading, array, output, 0, axis)


_CONTROL: Mapping[str, Callable[[Reading, onnx.NodeProto, str], None]] = {"If": _if, "Loop": _loop, "Scan": _scan}


def _moved(reading: Reading, array: str, name: str, source: int, target: int) -> str:
    """An array with one axis moved to another place; the array itself where the axis is there already."""
    axes = len(reading.arrays[array].shape)
    order = list(range(axes))
    order.insert(target % axes, order.pop(source % axes))
    if order == list(range(axes)):
        return array
    reading.node(helper.make_node("Transpose", [array], [name], perm=order), name.strip("\0"))
    return name
