"""Operators that move numbers and compute none: reshapes, transposes, slices, gathers."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from graph.model.node import Made, Node, Shape, Text, View, at, broadcast


def _reshape(node: Node) -> Made:
    shape = node.shape()
    given = node.given(1, "shape", "the shape")
    if given is None:
        raise node.refuse("the shape is missing")
    wanted = [
        shape[axis] if extent == 0 and not node.attribute("allowzero", 0) else extent
        for axis, extent in enumerate(given)
    ]
    if -1 in wanted:
        rest = prod(extent for extent in wanted if extent != -1)
        wanted[wanted.index(-1)] = prod(shape) // rest if rest else 0
    if prod(wanted) != prod(shape):
        raise node.refuse(f"{prod(shape)} elements cannot have the shape {tuple(given)}")
    return View(tuple(wanted))


def _flatten(node: Node) -> Made:
    shape = node.shape()
    axis = node.attribute("axis", 1)
    axis += len(shape) if axis < 0 else 0
    return View((prod(shape[:axis]), prod(shape[axis:])))


def _squeeze(node: Node) -> Made:
    shape = node.shape()
    given = node.given(1, "axes", "the axes")
    axes = (
        [a for a, extent in enumerate(shape) if extent == 1]
        if given is None
        else [node.axis(a, len(shape)) for a in given]
    )
    return View(tuple(extent for axis, extent in enumerate(shape) if axis not in axes))


def _unsqueeze(node: Node) -> Made:
    given = node.given(1, "axes", "the axes") or ()
    axes = [node.axis(a, len(node.shape()) + len(given)) for a in given]
    rest = iter(node.shape())
    return View(tuple(1 if axis in axes else next(rest) for axis in range(len(node.shape()) + len(axes))))


def _transpose(node: Node) -> Made:
    shape = node.shape()
    order = node.attribute("perm", list(reversed(range(len(shape)))))
    # An axis of one element may go anywhere: no number moves.
    if [axis for axis in order if shape[axis] > 1] == [axis for axis in range(len(shape)) if shape[axis] > 1]:
        return View(tuple(shape[axis] for axis in order))
    dims = node.dims(len(shape))
    return Text(f"y{at([dims[axis] for axis in order])} = x{at(dims)}", {"x": 0}, {}, (node.dtype(),))


def _concat(node: Node) -> Made:
    axes = len(node.shape())
    axis = node.axis(node.attribute("axis", 0), axes)
    dims = node.dims(axes)
    # An array without elements adds nothing.
    places = [place for place in range(len(node.inputs)) if node.shape(place)[axis]]
    begins, parts = [0], []
    for place in places:
        if any(e != o for a, (e, o) in enumerate(zip(node.shape(place), node.shape(), strict=True)) if a != axis):
            raise node.refuse(f"shapes {node.shape()} and {node.shape(place)} differ along more than axis {axis}")
        begin = begins[-1]
        read = at([f"{dim} - {begin}" if number == axis and begin else dim for number, dim in enumerate(dims)])
        parts.append(f"x{place}{read} else 0")
        begins.append(begin + node.shape(place)[axis])
    if len(node.inputs) == 1:
        return View(node.shape())
    extents = dict(zip(dims, node.shape())) | {dims[axis]: begins[-1]}
    inputs = {f"x{place}": place for place in places}
    return Text(f"y{at(dims)} = {_one_of(parts, begins, dims[axis])}", inputs, extents, (node.dtype(),))


def _one_of(parts: list[str], begins: list[int], dim: str) -> str:
    """The part that a dim is in, found by halves, so that many parts need few nested brackets. begins: where each part
    begins.
    """
    if len(parts) < 2:
        return "".join(parts)
    half = len(parts) // 2
    low, high = _one_of(parts[:half], begins[:half], dim), _one_of(parts[half:], begins[half:], dim)
    return f"where({dim} < {begins[half]}, {low}, {high})"


def _split(node: Node) -> Made:
    shape = node.shape()
    axis = node.axis(node.attribute("axis", 0), len(shape))
    count = len(node.outputs)
    sizes = node.given(1, "split", "the sizes")
    if sizes is None:
        size = -(-shape[axis] // count)
        sizes = tuple(min(size, shape[axis] - size * part) for part in range(count))
    text, begin, names, shapes = [], 0, [], []
    dims = node.dims(len(shape))
    extents = dict(zip(dims, shape))
    for part, size in enumerate(sizes):
        mine = [f"d{part}" if number == axis else dim for number, dim in enumerate(dims)]
        read = [f"d{part} + {begin}" if number == axis else dim for number, dim in enumerate(dims)]
        text.append(f"y{part}{at(mine)} = x{at(read)}")
        extents[f"d{part}"] = size
        names.append(f"y{part}")
        shapes.append((*shape[:axis], size, *shape[axis + 1 :]))
        begin += size
    extents.pop(dims[axis])
    dtypes = (node.dtype(),) * count
    return Text("; ".join(text), {"x": 0}, extents, dtypes, tuple(shapes), tuple(names))


def _slice(node: Node) -> Made:
    shape = node.shape()
    starts, ends = node.given(1, "starts", "the starts"), node.given(2, "ends", "the ends")
    if starts is None or ends is None:
        raise node.refuse("starts and ends are missing")
    axes = node.given(3, "axes", "the axes") or tuple(range(len(starts)))
    steps = node.whole(4, "the steps") if node.has(4) else (1,) * len(starts)
    dims = node.dims(len(shape))
    read, extents = list(dims), dict(zip(dims, shape))
    for start, end, axis, step in zip(starts, ends, axes, steps):
        axis = node.axis(axis, len(shape))
        first, last, stride = slice(start, end, step).indices(shape[axis])
        extent = len(range(first, last, stride))
        if (first, stride, extent) == (0, 1, shape[axis]):
            continue
        read[axis] = f"{first} + {stride}*{dims[axis]}" if stride > 0 else f"{first} - {-stride}*{dims[axis]}"
        extents[dims[axis]] = extent
    if read == dims:
        return View(shape)
    return Text(f"y{at(dims)} = x{at(read)}", {"x": 0}, extents, (node.dtype(),))


def _pad(node: Node) -> Made:
    shape = node.shape()
    pads = node.given(1, "pads", "the widths")
    if pads is None:
        raise node.refuse("the widths are missing")
    axes = node.whole(3, "the axes") if node.has(3) else tuple(range(len(shape)))
    axes = tuple(node.axis(axis, len(shape)) for axis in axes)
    if not any(pads):
        return View(shape)
    before, after = dict(zip(axes, pads)), dict(zip(axes, pads[len(axes) :]))
    dims = node.dims(len(shape))
    lows = [before.get(axis, 0) for axis in range(len(shape))]
    outs = [lows[axis] + extent + after.get(axis, 0) for axis, extent in enumerate(shape)]
    read = [f"{dim} - {low}" if low >= 0 else f"{dim} + {-low}" for dim, low in zip(dims, lows)]
    mode = node.attribute("mode", b"constant").decode()
    inputs = {"x": 0}
    if mode == "constant":
        value = node.attribute("value", 0.0)
        known = node.known[2] if node.has(2) else np.asarray(value)
        if known is None:  # it is computed when the model runs
            inside = [f"{i} >= 0 and {i} < {e}" for i, e in zip(read, shape)]
            text = f"where({' and '.join(inside)}, x{at(read)} else 0, v{at(['0'] * len(node.shape(2)))})"
            inputs["v"] = 2
        else:
            text = f"x{at(read)} else {known.reshape(()).item()!r}"
    else:
        # An axis without padding is read as it is.
        moved = [low or out != extent for low, out, extent in zip(lows, outs, shape)]
        if mode == "edge":
            read = [f"min(max({i}, 0), {e - 1})" if m else i for i, e, m in zip(read, shape, moved)]
        elif mode == "reflect":
            read = [f"max({i}, {low} - {dim})" if m else i for i, low, dim, m in zip(read, lows, dims, moved)]
            read = [f"min({i}, {2 * e - 2} - {i})" if m else i for i, e, m in zip(read, shape, moved)]
        elif mode == "wrap":
            read = [f"({i} + {e * (low // e + 1)}) % {e}" if m else i for i, e, low, m in zip(read, shape, lows, moved)]
        else:
            raise node.refuse(f"mode {mode} is not supported")
        text = f"x{at(read)}"
    return Text(f"y{at(dims)} = {text}", inputs, dict(zip(dims, outs)), (node.dtype(),))


def _expand(node: Node) -> Made:
    return _broadcast_to(node, np.broadcast_shapes(node.shape(), node.whole(1, "the shape")))


def _broadcast_to(node: Node, whole: Shape) -> Made:
    if whole == node.shape():
        return View(whole)
    dims = node.dims(len(whole))
    text = f"y{at(dims)} = x{broadcast(node, node.shape(), whole)}"
    return Text(text, {"x": 0}, dict(zip(dims, whole)), (node.dtype(),))


def _tile(node: Node) -> Made:
    shape, repeats = node.shape(), node.whole(1, "the repeats")
    dims = node.dims(len(shape))
    read = [f"{dim} % {extent}" if times > 1 else dim for dim, extent, times in zip(dims, shape, repeats)]
    extents = {dim: extent * times for dim, extent, times in zip(dims, shape, repeats)}
    return Text(f"y{at(dims)} = x{at(read)}", {"x": 0}, extents, (node.dtype(),))


def _wrapped(node: Node, place: int, extent: int) -> tuple[str, str]:
    """A statement that lets indices of an input count from the front, and the array that it gives."""
    known = node.known[place]
    if known is not None and (known >= 0).all():
        return "", "t"
    dims = at(node.dims(len(node.shape(place))))
    return f"u: s64; u{dims} = t{dims} + where(t{dims} < 0, {extent}, 0); ", "u"


def _gather(node: Node) -> Made:
    shape, indices = node.shape(), node.shape(1)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    dims = node.dims(len(shape) + len(indices) - 1)
    before, inner, after = dims[:axis], dims[axis : axis + len(indices)], dims[axis + len(indices) :]
    known = node.known[1]
    if known is not None and known.size == 1:
        position = int(known.reshape(()))
        if not -shape[axis] <= position < shape[axis]:
            raise node.refuse(f"index {position} lies outside of axis {axis} of {shape[axis]}")
        position %= shape[axis]
        text = f"y{at([*before, *inner, *after])} = x{at([*before, str(position), *after])}"
        extents = dict(zip([*before, *after], (*shape[:axis], *shape[axis + 1 :]))) | dict.fromkeys(inner, 1)
        return Text(text, {"x": 0}, extents, (node.dtype(),))
    first, name = _wrapped(node, 1, shape[axis])
    read = at([*before, f"{name}{at(inner)}", *after])
    text = f"{first}y{at(dims)} = x{read}"
    extents = dict(zip(dims, (*shape[:axis], *indices, *shape[axis + 1 :])))
    extents |= dict(zip(node.dims(len(indices)), indices)) if first and len(indices) > len(dims) else {}
    return _own_dims(node, text, first, indices, extents, inner)


def _own_dims(node: Node, text: str, first: str, indices: Shape, extents: dict[str, int], inner: list[str]) -> Text:
    """A statement that wraps indices gets the same dims as the indices in the gather, so that extents agree."""
    if first:
        mine, theirs = at(node.dims(len(indices))), at(inner)
        text = first.replace(mine, theirs) + text.removeprefix(first)
    return Text(text, {"x": 0, "t": 1}, extents, (node.dtype(),))


def _gather_elements(node: Node) -> Made:
    shape, indices = node.shape(), node.shape(1)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    dims = node.dims(len(shape))
    first, name = _wrapped(node, 1, shape[axis])
    read = at([f"{name}{at(dims)}" if number == axis else dim for number, dim in enumerate(dims)])
    return Text(f"{first}y{at(dims)} = x{read}", {"x": 0, "t": 1}, dict(zip(dims, indices)), (node.dtype(),))


def _one_hot(node: Node) -> Made:
    depth = node.whole(1, "the depth")[0]
    shape = node.shape()
    axis = node.axis(node.attribute("axis", -1), len(shape) + 1)
    dims = node.dims(len(shape))
    out = [*dims[:axis], "depth", *dims[axis:]]
    index = f"s64(t{at(dims)})"
    hit = f"({index} == depth or {index} == depth - {depth})"
    text = f"y{at(out)} = where({hit}, v[1], v[0])"
    return Text(text, {"t": 0, "v": 2}, {"depth": depth, **dict(zip(dims, shape))}, (node.dtype(2),))


def _depth_to_space(node: Node) -> Made:
    n, c, h, w = node.shape()
    block = node.attribute("blocksize")
    depth = c // (block * block)
    # Six dims instead of remainders of four: 6.5 MB by 2 x 2 in 0.28 ms, not in 1.31 (Zen 5, channels first).
    channel = f"{block * depth}*p + {depth}*q + j"
    if node.attribute("mode", b"DCR") == b"CRD":
        channel = f"{block * block}*j + {block}*p + q"
    extents = {"i": n, "j": depth, "k": h, "p": block, "l": w, "q": block}
    text = f"y[i,j,k,p,l,q] = x[i,{channel},k,l]"
    return Text(text, {"x": 0}, extents, (node.dtype(),), ((n, depth, h * block, w * block),))


def _space_to_depth(node: Node) -> Made:
    n, c, h, w = node.shape()
    block = node.attribute("blocksize")
    channel, row, column = f"j % {c}", f"j // {c * block}", f"j // {c} % {block}"
    if node.attribute("mode", b"DCR") == b"CRD":
        channel, row, column = f"j // {block * block}", f"j // {block} % {block}", f"j % {block}"
    text = f"y[i,j,k,l] = x[i, {channel}, {block}*k + {row}, {block}*l + {column}]"
    extents = {"i": n, "j": c * block * block, "k": h // block, "l": w // block}
    return Text(text, {"x": 0}, extents, (node.dtype(),))


def _triangle(node: Node) -> Made:
    shape = node.shape()
    dims = node.dims(len(shape))
    k = node.whole(1, "the diagonal")[0] if node.has(1) else 0
    kept = f"{dims[-1]} - {dims[-2]} {'>=' if node.attribute('upper', 1) else '<='} {k}"
    return Text(f"y{at(dims)} = where({kept}, x{at(dims)}, 0)", {"x": 0}, {}, (node.dtype(),))


MOVES: dict[str, Callable[[Node], Made]] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    "Expand": _expand,
    "Tile": _tile,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "OneHot": _one_hot,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Trilu": _triangle,
}
