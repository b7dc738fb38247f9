"""Operators that choose, place or order numbers by indices: gathers and scatters, the largest numbers, sequences.

A scatter is told from the output's side, since a program gives each point one value: which update, if any, lies here.
So it takes as many comparisons as points times updates along the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from graph.model.node import Made, Node, Text, at
from tiling.dtypes.formats import FLOATS


def _gather_nd(node: Node) -> Made:
    shape, indices = node.shape(0), node.shape(1)
    batch, depth = node.attribute("batch_dims", 0), node.shape(1)[-1]
    if batch + depth > len(shape):
        raise node.refuse(f"indices of {depth} numbers are too long for {len(shape)} axes")
    out = node.dims(len(indices) - 1 + len(shape) - batch - depth)
    places, rest = out[: len(indices) - 1], out[len(indices) - 1 :]
    text = []
    for number in range(depth):
        extent = shape[batch + number]
        read = f"t{at([*places, str(number)])}"
        text.append(f"n{number}: s64; n{number}{at(places)} = {read} + where({read} < 0, {extent}, 0)")
    found = [f"n{number}{at(places)}" for number in range(depth)]
    text.append(f"y{at(out)} = x{at([*places[:batch], *found, *rest])}")
    extents = dict(zip(out, (*indices[:-1], *shape[batch + depth :])))
    return Text("; ".join(text), {"x": 0, "t": 1}, extents, (node.dtype(),))


# How updates at one place are combined: a reduction, its value without an update, and the function of both.
_REDUCTIONS = {
    "add": ("sum", "0", "{} + {}"),
    "mul": ("prod", "1", "{} * {}"),
    "max": ("max", "{x}", "max({}, {})"),
    "min": ("min", "{x}", "min({}, {})"),
}


def _scattered(node: Node, dims: list[str], over: list[str], hit: str, flat: str, update: str, found: str) -> str:
    """The statements of a scatter. hit: whether update `over` lies here, flat: its number. found: the update `last`."""
    here, kind = at(dims), node.attribute("reduction", b"none").decode()
    if kind == "none":  # of several updates the last one stays
        text = f"last: s64; last{here} = max{at(over)} where({hit}, {flat}, -1); "
        return text + f"y{here} = where(last{here} >= 0, {found}, x{here})"
    if kind not in _REDUCTIONS:
        raise node.refuse(f"reduction {kind} is not supported")
    reduce, neutral, both = _REDUCTIONS[kind]
    text = f"total{here} = {reduce}{at(over)} where({hit}, {update}, {neutral.format(x=f'x{here}')}); "
    return text + f"y{here} = {both.format(f'x{here}', f'total{here}')}"


def _scatter_elements(node: Node) -> Made:
    shape, indices = node.shape(0), node.shape(1)
    if len(indices) != len(shape) or node.shape(2) != indices:
        raise node.refuse(f"updates {node.shape(2)} and indices {indices} do not fit {shape}")
    axis = node.axis(node.attribute("axis", 0), len(shape))
    dims = node.dims(len(shape))
    # Beside the indices' own extents there is no update.
    near = ["m" if number == axis else dim for number, dim in enumerate(dims)]
    where = [
        f"{dim} < {e}" for number, (dim, e) in enumerate(zip(dims, indices)) if number != axis and e < shape[number]
    ]
    text = f"n: s64; n{at(near)} = t{at(near)} + where(t{at(near)} < 0, {shape[axis]}, 0); "
    hit = " and ".join([*where, f"(n{at(near)} else -1) == {dims[axis]}"])
    there = ["last" + at(dims) if number == axis else dim for number, dim in enumerate(dims)]
    text += _scattered(node, dims, ["m"], hit, "m", f"(u{at(near)} else 0)", f"(u{at(there)} else 0)")
    small = {f"o{number}": e for number, e in enumerate(indices)}
    own = ["m" if number == axis else f"o{number}" for number in range(len(dims))]
    first, _, rest = text.partition("; n[")
    wrapped, _, rest = rest.partition("; ")
    wrapped = f"n{at(own)} = t{at(own)} + where(t{at(own)} < 0, {shape[axis]}, 0)"
    extents = dict(zip(dims, shape)) | {"m": indices[axis]} | small
    return Text(f"{first}; {wrapped}; {rest}", {"x": 0, "t": 1, "u": 2}, extents, (node.dtype(),))


def _scatter_nd(node: Node) -> Made:
    shape, indices = node.shape(0), node.shape(1)
    depth, counts = indices[-1], indices[:-1]
    if depth > len(shape) or node.shape(2) != (*counts, *shape[depth:]):
        raise node.refuse(f"updates {node.shape(2)} and indices {indices} do not fit {shape}")
    dims, over = node.dims(len(shape)), [f"m{number}" for number in range(len(counts))]
    if not counts:
        over, counts = ["m0"], (1,)
    read = over if len(indices) > 1 else []
    tests = [
        f"(t{at([*read, str(number)])} == {dim} or t{at([*read, str(number)])} == {dim} - {extent})"
        for number, (dim, extent) in enumerate(zip(dims[:depth], shape))
    ]
    steps = [prod(counts[number + 1 :]) for number in range(len(counts))]
    flat = " + ".join(f"{step}*{dim}" for dim, step in zip(over, steps))
    last = f"last{at(dims)}"
    there = [f"{last} // {step} % {count}" for step, count in zip(steps, counts)] if read else []
    update, found = f"u{at([*read, *dims[depth:]])}", f"(u{at([*there, *dims[depth:]])} else 0)"
    text = _scattered(node, dims, over, " and ".join(tests), flat, update, found)
    extents = dict(zip(dims, shape)) | dict(zip(over, counts))
    return Text(text, {"x": 0, "t": 1, "u": 2}, extents, (node.dtype(),))


def _tensor_scatter(node: Node) -> Made:
    shape, update = node.shape(0), node.shape(1)
    axis = node.axis(node.attribute("axis", -2), len(shape))
    dims = node.dims(len(shape))
    first = f"w[{dims[0]}]" if node.has(2) else "0"
    place = f"{dims[axis]} - {first}"
    if node.attribute("mode", b"linear") == b"circular":
        place = f"({place}) % {shape[axis]}"
    text = f"n: s64; n[{dims[0]},{dims[axis]}] = {place}; "
    near = f"n[{dims[0]},{dims[axis]}]"
    read = at([near if number == axis else dim for number, dim in enumerate(dims)])
    text += f"y{at(dims)} = where({near} >= 0 and {near} < {update[axis]}, u{read} else 0, x{at(dims)})"
    inputs = {"x": 0, "u": 1} | ({"w": 2} if node.has(2) else {})
    return Text(text, inputs, dict(zip(dims, shape)), (node.dtype(),))


def _top_k(node: Node) -> Made:
    """Each number's place in the order is the number of those before it."""
    shape = node.shape()
    count = node.whole(1, "the number of elements")[0] if node.has(1) else node.attribute("k")
    axis = node.axis(node.attribute("axis", -1), len(shape))
    if count > shape[axis]:
        raise node.refuse(f"there are not {count} of {shape[axis]} elements")
    dims = node.dims(len(shape))
    here = at(dims)
    other = at(["o" if number == axis else dim for number, dim in enumerate(dims)])
    out = at(["place" if number == axis else dim for number, dim in enumerate(dims)])
    better = ">" if node.attribute("largest", 1) else "<"
    before = f"x{other} {better} x{here} or x{other} == x{here} and o < {dims[axis]}"
    if node.dtype() in FLOATS:  # NaN counts as the largest
        one, two = f"x{other} != x{other}", f"x{here} != x{here}"
        mine = f"({one}) and x{here} == x{here}" if better == ">" else f"({two}) and x{other} == x{other}"
        before += f" or {mine} or {one} and {two} and o < {dims[axis]}"
    from_ = at([f"z{out}" if number == axis else dim for number, dim in enumerate(dims)])
    text = f"r{here} = sum[o] {before}; z{out} = sum[{dims[axis]}] where(r{here} == place, {dims[axis]}, 0); "
    extents = dict(zip(dims, shape)) | {"o": shape[axis], "place": count}
    return Text(f"{text}y{out} = x{from_}", {"x": 0}, extents, (node.dtype(), "s64"), outputs=("y", "z"))


def _reverse_sequence(node: Node) -> Made:
    shape = node.shape()
    dims = node.dims(len(shape))
    batch, time = dims[node.attribute("batch_axis", 1)], dims[node.attribute("time_axis", 0)]
    read = at([f"n[{batch},{time}]" if dim == time else dim for dim in dims])
    text = f"n: s64; n[{batch},{time}] = where({time} < w[{batch}], w[{batch}] - 1 - {time}, {time}); "
    return Text(f"{text}y{at(dims)} = x{read}", {"x": 0, "w": 1}, dict(zip(dims, shape)), (node.dtype(),))


def _compress(node: Node) -> Made:
    kept = np.flatnonzero(node.constant(1, "what is kept"))
    shape = node.shape()
    dims = node.dims(len(shape))
    axis = node.attribute("axis")
    if axis is not None:
        axis = node.axis(axis, len(shape))
        read = at(["kept[o]" if number == axis else dim for number, dim in enumerate(dims)])
        out = at(["o" if number == axis else dim for number, dim in enumerate(dims)])
    else:  # of the elements in order
        steps = [prod(shape[number + 1 :]) for number in range(len(shape))]
        read, out = at([f"kept[o] // {step} % {extent}" for step, extent in zip(steps, shape)]), "[o]"
    extents = dict(zip(dims, shape)) | {"o": len(kept)}
    made = {"kept": kept.astype(np.int64)} if len(kept) else {}
    return Text(f"y{out} = x{read}", {"x": 0}, extents, (node.dtype(),), made=made)


def _features(node: Node) -> Made:
    """Chosen elements of the last axis."""
    shape, count = node.shape(), prod(node.shape(1))
    dims = node.dims(len(shape))
    index = f"t{at(['0'] * (len(node.shape(1)) - 1) + ['o'])}"
    text = f"y{at([*dims[:-1], 'o'])} = x{at([*dims[:-1], index])}"
    own = (1, count) if len(shape) == 1 else (*shape[:-1], count)
    return Text(text, {"x": 0, "t": 1}, dict(zip(dims[:-1], shape)) | {"o": count}, (node.dtype(),), (own,))


SELECTION: dict[str, Callable[[Node], Made]] = {
    "GatherND": _gather_nd,
    "ScatterElements": _scatter_elements,
    "Scatter": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
    "TopK": _top_k,
    "ReverseSequence": _reverse_sequence,
    "Compress": _compress,
    "ai.onnx.ml.ArrayFeatureExtractor": _features,
}
