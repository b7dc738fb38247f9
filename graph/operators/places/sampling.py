"""Images read at places that are computed: grids, regions, offsets. And the sums of overlapping blocks.

A place between points is a few taps, each a position and a weight along an axis. Both are arrays of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

import numpy as np

from graph.model.node import Made, Node, Text, at
from graph.model.windows import along, groups_of, windows

_CUBIC = (
    "((-0.75 * ({f} + 1) + 3.75) * ({f} + 1) - 6.0) * ({f} + 1) + 3.0",
    "(1.25 * {f} - 2.25) * {f} * {f} + 1",
    "(1.25 * (1 - {f}) - 2.25) * (1 - {f}) * (1 - {f}) + 1",
    "((-0.75 * (2 - {f}) + 3.75) * (2 - {f}) - 6.0) * (2 - {f}) + 3.0",
)


def _grid_sample(node: Node) -> Made:
    shape, grid = node.shape(0), node.shape(1)
    spatial = len(shape) - 2
    mode = node.attribute("mode", b"linear").decode().removeprefix("bi")
    if mode not in _TAPS or grid[-1] != spatial or len(grid) != len(shape):
        raise node.refuse(f"mode {mode} with a grid of shape {grid} for {shape} is not supported")
    padding, corners = node.attribute("padding_mode", b"zeros").decode(), bool(node.attribute("align_corners", 0))
    dims = node.dims(len(shape))
    axes = [
        _Along(axis, length, f"g{at([dims[0], *dims[2:], str(spatial - 1 - axis)])}", dims, mode, padding, corners)
        for axis, length in enumerate(shape[2:])
    ]
    extents = dict(zip(dims, (*shape[:2], *grid[1:-1]))) | {each.tap: _TAPS[mode] for each in axes}
    text = [statement for each in axes for statement in each.statements()]
    element = f"(x{at([*dims[:2], *(each.index for each in axes)])} else 0)"
    product = " * ".join([*(each.weight for each in axes if mode != "nearest"), element])
    text.append(f"y{at(dims)} = sum{at([each.tap for each in axes])} {product}")
    return Text("; ".join(text), {"x": 0, "g": 1}, extents, (node.dtype(),))


_TAPS = {"nearest": 1, "linear": 2, "cubic": 4}  # by mode, along an axis


@dataclass(frozen=True)
class _Along:
    """One axis of an image that a grid reads. where: the element of the grid, from -1 to 1. dims: those of the output.

    In the program q is the place on the axis, n the tap's number there, v that number folded into the image, and f the
    weight of the tap.
    """

    axis: int
    length: int
    where: str
    dims: Sequence[str]
    mode: str
    padding: str
    corners: bool

    @property
    def tap(self) -> str:
        return f"tap{self.axis}"

    @property
    def index(self) -> str:
        """The number of a tap's element along the axis."""
        return self._of_tap("v" if self.padding == "reflection" else "n")

    @property
    def weight(self) -> str:
        return self._of_tap("f")

    def _of_point(self, name: str) -> str:
        """An array with a number for each point of the grid."""
        return f"{name}{self.axis}{at([self.dims[0], *self.dims[2:]])}"

    def _of_tap(self, name: str) -> str:
        """An array with a number for each tap of each point."""
        return f"{name}{self.axis}{at([self.dims[0], *self.dims[2:], self.tap])}"

    def statements(self) -> list[str]:
        """The statements that compute the index and the weight of each tap."""
        weights = [] if self.mode == "nearest" else [f"{self.weight} = {self._weight()}"]
        return [*self._place(), *self._indices(), *weights]

    def _place(self) -> Iterator[str]:
        """The place of each point on the axis, in elements."""
        where, length, p, q = self.where, self.length, self._of_point("p"), self._of_point("q")
        place = f"({where} + 1) / 2.0 * {length - 1}" if self.corners else f"(({where} + 1) * {length} - 1) / 2.0"
        yield f"{p} = {f'round({place})' if self.mode == 'nearest' else place}"
        low, reach = (0.0, length - 1.0) if self.corners else (-0.5, float(length))
        if self.padding == "border":
            yield f"{q} = clamp({p}, 0, {length - 1})"
        elif self.padding == "reflection" and reach > 0:
            m = self._of_point("m")
            yield f"{m} = ({p} - {low!r}) % {2 * reach!r}; {q} = {_folded(m, low, reach)}"
        elif self.padding == "reflection":
            yield f"{q} = {p} * 0"
        else:
            yield f"{q} = {p}"

    def _indices(self) -> Iterator[str]:
        """The number of each tap's element."""
        length, n = self.length, self._of_tap("n")
        begin = {"nearest": "", "linear": f" + {self.tap}", "cubic": f" + {self.tap} - 1"}[self.mode]
        first = f"s64(floor({self._of_point('q')})){begin}"
        if self.padding == "border":
            first = f"clamp({first}, 0, {length - 1})"
        yield f"n{self.axis}: s64; {n} = {first}"
        if self.padding == "reflection":
            wrapped = f"({n} % {2 * (length - self.corners) or 1})"
            end = 2 * (length - 1) if self.corners else 2 * length - 1
            yield f"v{self.axis}: s64; {self.index} = where({wrapped} < {length}, {wrapped}, {end} - {wrapped})"

    def _weight(self) -> str:
        q, tap = self._of_point("q"), self.tap
        part = f"({q} - floor({q}))"
        if self.mode == "linear":
            return f"where({tap} == 0, 1 - {part}, {part})"
        first, second, third, fourth = (one.format(f=part) for one in _CUBIC)
        last = f"where({tap} == 2, {third}, {fourth})"
        return f"where({tap} == 0, {first}, where({tap} == 1, {second}, {last}))"


def _folded(place: str, low: float, reach: float) -> str:
    """A distance from a border, below two periods, folded at the other border."""
    return f"where({place} <= {reach!r}, {place}, {2 * reach!r} - {place}) + {low!r}"


@dataclass(frozen=True)
class _Side:
    """One axis of regions. name: what it is called within names. out: the dim of outputs. length: the extent of the
    image. outs, samples: how many outputs, and samples of each. ends: where a region's numbers have begin and end.
    """

    name: str
    out: str
    length: int
    outs: int
    samples: int
    ends: tuple[int, int]


def _region_taps(side: _Side, half: bool, scale: float) -> str:
    """Positions and weights of both neighbours of each sample of region i along an axis."""
    name, out, last, offset = side.name, side.out, side.length - 1, 0.5 if half else 0.0
    begin, step, here = f"b{name}[i]", f"s{name}[i]", f"[i,{out},t{name}]"
    size = f"rois[i,{side.ends[1]}] * {scale!r} - {offset!r} - {begin}"
    place, near, both = f"a{name}{here}", f"l{name}{here}", f"[i,{out},t{name},e{name}]"
    part = f"where({near} >= {last}, 0.0, max({place}, 0.0) - {near})"
    inside = f"{place} >= -1.0 and {place} <= {side.length}"
    return (
        f"{begin} = rois[i,{side.ends[0]}] * {scale!r} - {offset!r}; "
        f"{step} = ({size if half else f'max({size}, 1.0)'}) / {side.outs}; "
        f"{place} = {begin} + {out} * {step} + (t{name} + 0.5) * {step} / {side.samples}; "
        f"l{name}: s64; {near} = min(s64(max({place}, 0.0)), {last}); "
        f"n{name}: s64; n{name}{both} = min({near} + e{name}, {last}); "
        f"f{name}{both} = where({inside}, where(e{name} == 0, 1 - {part}, {part}), 0.0); "
    )


def _roi_align(node: Node) -> Made:
    _, c, h, w = node.shape()
    rows, columns = node.attribute("output_height", 1), node.attribute("output_width", 1)
    samples, scale = node.attribute("sampling_ratio", 0), node.attribute("spatial_scale", 1.0)
    default = b"half_pixel" if node.version >= 16 else b"output_half_pixel"
    half = node.attribute("coordinate_transformation_mode", default) == b"half_pixel"
    if samples < 1:
        raise node.refuse("sampling_ratio=0 takes another number of samples for each region, which is not supported")
    text = _region_taps(_Side("h", "k", h, rows, samples, (1, 3)), half, scale)
    text += _region_taps(_Side("w", "l", w, columns, samples, (0, 2)), half, scale)
    taps, over = "fh[i,k,th,eh] * fw[i,l,tw,ew]", "th,tw,eh,ew"
    product = f"{taps} * x[batch[i],j,nh[i,k,th,eh],nw[i,l,tw,ew]]"
    if node.attribute("mode", b"avg") == b"max":
        text += f"y[i,j,k,l] = max[{over}] {product}"
    else:
        text += f"z[i,j,k,l] = sum[{over}] {product}; y[i,j,k,l] = z[i,j,k,l] / {samples * samples}"
    extents = {"i": node.shape(1)[0], "j": c, "k": rows, "l": columns}
    extents |= {"th": samples, "tw": samples, "eh": 2, "ew": 2}
    return Text(text, {"x": 0, "rois": 1, "batch": 2}, extents, (node.dtype(),))


def _deform_conv(node: Node) -> Made:
    x, w = node.shape(0), node.shape(1)
    if len(x) != 4:
        raise node.refuse(f"images of {len(x) - 2} axes are not supported")
    group, groups = groups_of(node), node.attribute("offset_group", 1)
    if groups < 1 or x[1] != w[1] * group or w[0] % group or x[1] % groups:
        raise node.refuse(f"{x[1]} channels, {w[0]} filters of {w[1]}, {group} and {groups} groups do not fit together")
    found = windows(node, w[2:], x[2:])
    rows, columns = w[2:]
    each = x[1] // groups
    text = ""
    for axis, (dim, tap) in enumerate((("k", "r"), ("l", "s"))):
        here, both = "[i,o,r,s,k,l]", f"[i,o,r,s,k,l,e{axis}]"
        base = f"{found.strides[axis]}*{dim} + {found.dilations[axis]}*{tap} - {found.before[axis]}"
        text += f"p{axis}{here} = off[i,{2 * rows * columns}*o + {2 * columns}*r + 2*s + {axis},k,l] + ({base}); "
        part = f"(p{axis}{here} - floor(p{axis}{here}))"
        text += f"n{axis}: s64; n{axis}{both} = s64(floor(p{axis}{here})) + e{axis}; "
        text += f"f{axis}{both} = where(e{axis} == 0, 1 - {part}, {part}); "
    at_ = [f"[i,c//{each},r,s,k,l,e{axis}]" for axis in (0, 1)]
    element = f"(x[i,c,n0{at_[0]},n1{at_[1]}] else 0)"
    text += f"v[i,c,r,s,k,l] = sum[e0,e1] f0{at_[0]} * f1{at_[1]} * {element}; "
    value = "v[i,c,r,s,k,l]"
    if node.has(4):
        text += f"z[i,c,r,s,k,l] = v[i,c,r,s,k,l] * mask[i,{rows * columns}*(c//{each}) + {columns}*r + s,k,l]; "
        value = "z[i,c,r,s,k,l]"
    channel = "g" if group == 1 else f"{w[1]}*(j // {w[0] // group}) + g"
    value = value.replace("i,c,", f"i,{channel},")
    text += f"a[i,j,k,l] = sum[g,r,s] {value} * w_[j,g,r,s]; y[i,j,k,l] = a[i,j,k,l]"
    text += " + b[j]" if node.has(3) else ""
    inputs = {"x": 0, "w_": 1, "off": 2} | ({"b": 3} if node.has(3) else {}) | ({"mask": 4} if node.has(4) else {})
    extents = {"i": x[0], "j": w[0], "k": found.outputs[0], "l": found.outputs[1], "o": groups, "c": x[1]}
    extents |= {"g": w[1], "r": rows, "s": columns, "e0": 2, "e1": 2}
    return Text(text, inputs, extents, (node.dtype(),))


def _col2im(node: Node) -> Made:
    """Each point gathers the blocks that cover it."""
    shape = node.shape()
    image, block = node.whole(1, "the shape of the image"), node.whole(2, "the shape of a block")
    axes = len(image)
    ones, pads = (1,) * axes, along(node, "pads", (0,) * (2 * axes))
    strides, dilations = along(node, "strides", ones, 1), along(node, "dilations", ones, 1)
    counts = [
        (e + pads[a] + pads[a + axes] - d * (k - 1) - 1) // s + 1
        for a, (e, k, d, s) in enumerate(zip(image, block, dilations, strides))
    ]
    channels, left = divmod(shape[1], prod(block))
    if left or shape[2] != prod(counts):
        raise node.refuse(f"{shape[1:]} numbers are no {counts} blocks of {block}")
    dims, taps = node.dims(2 + axes), [f"tap{a}" for a in range(axes)]
    steps = [prod(block[a + 1 :]) for a in range(axes)]
    tap = " + ".join([f"{prod(block)}*{dims[1]}", *(f"{step}*{t}" for step, t in zip(steps, taps))])
    hits, column = [], []
    for a, dim in enumerate(dims[2:]):
        position = f"({dim} + {pads[a]} - {dilations[a]}*{taps[a]})"
        hits += [f"{position} % {strides[a]} == 0"] * (strides[a] > 1)
        hits.append(f"{position} >= 0 and {position} < {strides[a] * counts[a]}")
        column.append(f"{prod(counts[a + 1 :])}*({position} // {strides[a]})")
    element = f"x[{dims[0]}, {tap}, {' + '.join(column)}] else 0"
    text = f"y{at(dims)} = sum{at(taps)} where({' and '.join(hits)}, {element}, 0)"
    extents = dict(zip(dims, (shape[0], channels, *image))) | dict(zip(taps, block))
    return Text(text, {"x": 0}, extents, (node.dtype(),))


def _max_unpool(node: Node) -> Made:
    shape = node.shape()
    axes = len(shape) - 2
    ones, pads = (1,) * axes, along(node, "pads", (0,) * (2 * axes))
    kernel, strides = along(node, "kernel_shape", ones, 1), along(node, "strides", ones, 1)
    own = [(e - 1) * s - pads[a] - pads[a + axes] + k for a, (e, s, k) in enumerate(zip(shape[2:], strides, kernel))]
    whole = node.whole(2, "the shape of the output") if node.has(2) else (*shape[:2], *own)
    dims, over = node.dims(len(shape)), [f"m{a}" for a in range(axes)]
    flat = dims[0]
    for dim, extent in zip(dims[1:], (shape[1], *own)):
        flat = f"({flat}) * {extent} + {dim}"
    steps = [prod(shape[3 + a :]) for a in range(axes)]
    number = " + ".join(f"{step}*{dim}" for step, dim in zip(steps, over))
    inside = "".join(f" and {dim} < {extent}" for dim, extent in zip(dims[2:], own))
    last = f"last{at(dims)}"
    text = f"last: s64; {last} = max{at(over)} where(t{at([*dims[:2], *over])} == {flat}{inside}, {number}, -1); "
    there = [f"{last} // {step} % {extent}" for step, extent in zip(steps, shape[2:])]
    text += f"y{at(dims)} = where({last} >= 0, x{at([*dims[:2], *there])} else 0, 0)"
    return Text(text, {"x": 0, "t": 1}, dict(zip(dims, whole)) | dict(zip(over, shape[2:])), (node.dtype(),))


def _max_roi_pool(node: Node) -> Made:
    """Regions are known, so which rows and columns each output takes is known too."""
    _, c, h, w = node.shape()
    rois = np.asarray(node.constant(1, "the regions"), np.float64)
    rows, columns = node.attribute("pooled_shape")
    scale = node.attribute("spatial_scale", 1.0)
    ends: list[list[list[list[int]]]] = [[], []]
    for roi in rois:
        for axis, (low, high, outs, length) in enumerate(((2, 4, rows, h), (1, 3, columns, w))):
            first, last = (int(np.floor(roi[side] * scale + 0.5)) for side in (low, high))
            size = max(last - first + 1, 1) / outs
            begin = [min(max(int(np.floor(o * size)) + first, 0), length) for o in range(outs)]
            end = [min(max(ceil((o + 1) * size) + first, 0), length) for o in range(outs)]
            ends[axis].append([begin, end])
    made = {name: np.asarray(values, np.int64) for name, values in zip(("rows", "columns"), ends)}
    made["batch"] = rois[:, 0].astype(np.int64)
    inside = "r >= rows[i,0,k] and r < rows[i,1,k] and s >= columns[i,0,l] and s < columns[i,1,l]"
    text = f"m[i,j,k,l] = max[r,s] where({inside}, x[batch[i],j,r,s], -inf); "
    text += "y[i,j,k,l] = where(rows[i,0,k] < rows[i,1,k] and columns[i,0,l] < columns[i,1,l], m[i,j,k,l], 0)"
    extents = {"i": len(rois), "j": c, "k": rows, "l": columns, "r": h, "s": w}
    return Text(text, {"x": 0}, extents, (node.dtype(),), made=made)


SAMPLING: dict[str, Callable[[Node], Made]] = {
    "GridSample": _grid_sample,
    "RoiAlign": _roi_align,
    "MaxRoiPool": _max_roi_pool,
    "DeformConv": _deform_conv,
    "Col2Im": _col2im,
    "MaxUnpool": _max_unpool,
}
