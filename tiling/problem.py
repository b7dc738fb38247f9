"""What to compute: an operator as a loop nest over named dims and tensors with affine indices.

A problem says nothing about loop order, tiles or machines. Footprints, data movement and the emitted address
arithmetic all follow from the index expressions, so a new operator is a new function here, not a new model.

The three roles name what a register tile does with a tensor:

    broadcast   read one scalar at a time and spread over a vector (x of a convolution, a of a matrix product); or a
                vector at a time where it moves with the vectorised dim (x of a depthwise convolution: `lanewise`)
    vector      read a vector at a time, packed ahead of the call (the weights, b)
    output      kept in registers, written once (y, c)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import index as whole_number
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiling.epilogue import Epilogue

# Of the inputs. What f16 and bf16 products are summed in is f32, and tf32 is an f32 of which a matrix instruction reads
# 19 bits; only a GPU computes with these three.
DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "tf32": 4}
OUTPUT_DTYPE = {"f32": "f32", "f16": "f16", "bf16": "bf16", "tf32": "f32"}

# Beyond these nothing here has a use: positions along a dim are enumerated when a kernel is emitted, and a tensor of
# more elements than this (32 GiB of f32) is a mistyped shape on any machine of today.
LARGEST_EXTENT = 1 << 24
LARGEST_TENSOR = 1 << 33


class ProblemError(ValueError):
    """A problem that cannot be computed: which extent or option is wrong, and why."""


class ShapeError(ProblemError):
    """A text that names no problem we can compute: which part of it, and why."""


@dataclass(frozen=True)
class Affine:
    """One index: Σ coefficient·dim + offset, e.g. `2*h + r - 1`."""

    terms: tuple[tuple[str, int], ...]
    offset: int = 0

    def at(self, point: dict[str, int]) -> int:
        """The index value at a point of the iteration space."""
        return sum(coefficient * point[dim] for dim, coefficient in self.terms) + self.offset

    def coefficient(self, dim: str) -> int:
        """The coefficient of `dim`, 0 where the index does not depend on it."""
        return dict(self.terms).get(dim, 0)

    def __str__(self) -> str:
        parts = [dim if c == 1 else f"{c}*{dim}" for dim, c in self.terms]
        text = " + ".join(parts) or "0"
        if self.offset:
            text += f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}"
        return text


@dataclass(frozen=True)
class Tensor:
    """A tensor of the problem: its role, the index of each axis, and its shape (row-major, last axis contiguous)."""

    name: str
    role: str
    indices: tuple[Affine, ...]
    shape: tuple[int, ...]

    @property
    def dims(self) -> frozenset[str]:
        """The dims that the tensor's address depends on; a loop over any other dim re-uses it."""
        return frozenset(dim for index in self.indices for dim, _ in index.terms)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each axis."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def stride(self, dim: str) -> int:
        """Elements the address moves when `dim` grows by one."""
        return sum(index.coefficient(dim) * s for index, s in zip(self.indices, self.strides))

    @property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Window:
    """An axis of the broadcast tensor that an output dim and a reduction dim index together.

    The point `stride*dim + dilation*tap - before` is on the tensor only where it lies in [0, extent): elsewhere
    the tap falls on padding and is left out.
    """

    dim: str
    tap: str
    stride: int
    dilation: int
    before: int
    extent: int

    def rows_inside(self, first: int, count: int, tap: int) -> tuple[int, int]:
        """Of the outputs first … first+count-1, the half-open range (0-based) whose `tap` falls on the tensor."""
        shift = tap * self.dilation - self.before
        low = max(0, -((shift + first * self.stride) // self.stride))
        high = min(count, (self.extent - shift + self.stride - 1) // self.stride - first)
        return min(low, count), max(min(low, count), high)


@dataclass(frozen=True)
class Problem:
    """An operator with its extents. Build one with `conv2d` or `matmul`, and `epilogue.fused` for what follows it."""

    op: str
    dims: tuple[tuple[str, int], ...]
    reductions: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    vector_dim: str
    dtype: str = "f32"
    output_dtype: str = "f32"
    epilogue: Epilogue | None = None

    def __post_init__(self):
        if self.dtype not in DTYPE_BYTES:
            raise ProblemError(f"dtype {self.dtype!r} is not supported; supported: {', '.join(DTYPE_BYTES)}")
        if self.output_dtype not in {"f32", OUTPUT_DTYPE[self.dtype]}:
            given = OUTPUT_DTYPE[self.dtype]
            raise ProblemError(f"{self.dtype} gives an output of f32 or {given}, not {self.output_dtype!r}")
        for dim, extent in self.dims:
            if extent < 1:
                raise ProblemError(f"{self.op}: extent {dim}={extent} must be at least 1")
            if extent > LARGEST_EXTENT:
                raise ProblemError(f"{self.op}: extent {dim}={extent} is larger than {LARGEST_EXTENT}, the largest supported")
        for tensor in self.tensors:
            if tensor.elements > LARGEST_TENSOR:
                raise ProblemError(
                    f"{self.op}: {tensor.name} of {' x '.join(map(str, tensor.shape))} has more than {LARGEST_TENSOR} "
                    "elements, the most supported"
                )

    @cached_property
    def extents(self) -> dict[str, int]:
        """Extent of every dim, output sizes for `h` and `w`."""
        return dict(self.dims)

    @cached_property
    def broadcast(self) -> Tensor:
        return self._role("broadcast")

    @cached_property
    def vector(self) -> Tensor:
        return self._role("vector")

    @cached_property
    def output(self) -> Tensor:
        return self._role("output")

    def _role(self, role: str) -> Tensor:
        return next(tensor for tensor in self.tensors if tensor.role == role)

    def tensor(self, name: str) -> Tensor:
        """The tensor called `name`; KeyError where there is none."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(name)

    @cached_property
    def epilogue_arrays(self) -> tuple[Tensor, ...]:
        """The arrays that the epilogue names, in the order of first use; their axes are axes of the output."""
        axes = {name: place for place, name in enumerate(self.output_axes)}
        indices, shape = self.output.indices, self.output.shape
        return tuple(
            Tensor(
                array.name,
                "epilogue",
                tuple(indices[axes[name]] for name in array.axes),
                tuple(shape[axes[name]] for name in array.axes),
            )
            for array in (self.epilogue.arrays if self.epilogue else ())
        )

    @property
    def output_axes(self) -> tuple[str, ...]:
        """A name for each axis of the output: the dim that moves along it by single elements."""
        # Of a group's channels, g·(K/groups) + k, that is k: it stands last.
        return tuple([dim for dim, step in index.terms if step == 1][-1] for index in self.output.indices)

    @cached_property
    def row_dims(self) -> tuple[str, ...]:
        """Output dims whose points share the weights: what a register tile unrolls as rows (n h w, or m)."""
        shared = self.vector.dims
        return tuple(d for d, _ in self.dims if d not in self.reductions and d not in shared)

    @cached_property
    def looped_dims(self) -> tuple[str, ...]:
        """The other output dims but for the vector dim: each point has weights of its own (g), so it is only looped."""
        return tuple(d for d, _ in self.dims if d not in (*self.reductions, *self.row_dims, self.vector_dim))

    @cached_property
    def lanewise(self) -> bool:
        """Whether every lane has an x of its own, so that x is read by vectors and not spread over one."""
        return self.vector_dim in self.broadcast.dims

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The axes of the broadcast tensor whose index can leave it, i.e. where padding is."""
        found = []
        for index, extent in zip(self.broadcast.indices, self.broadcast.shape):
            taps = [d for d, _ in index.terms if d in self.reductions]
            rows = [d for d, _ in index.terms if d in self.row_dims]
            if len(taps) == 1 and len(rows) == 1:
                row, tap = rows[0], taps[0]
                found.append(Window(row, tap, index.coefficient(row), index.coefficient(tap), -index.offset, extent))
        return tuple(found)

    def extent(self, dims: str) -> int:
        """The extent of a dim, or of several that a scheme fuses into one, `nhw`: their product."""
        return prod(self.extents[dim] for dim in dims)

    @property
    def bytes_per_element(self) -> int:
        """Of the inputs."""
        return DTYPE_BYTES[self.dtype]

    @property
    def flops(self) -> int:
        """2 · product of all extents: padding counts, as everyone counts it."""
        return 2 * prod(extent for _, extent in self.dims)

    @property
    def inside_fraction(self) -> float:
        """Of all multiplications the fraction that reads the tensor and not padding: what a kernel must compute."""
        fraction = 1.0
        for window in self.windows:
            rows, taps = self.extents[window.dim], self.extents[window.tap]
            ranges = (window.rows_inside(0, rows, tap) for tap in range(taps))
            fraction *= sum(high - low for low, high in ranges) / (rows * taps)
        return fraction

    @property
    def reduction_length(self) -> int:
        """K of the error bound: how many products are summed into one output."""
        return prod(self.extents[d] for d in self.reductions)

    def __str__(self) -> str:
        fused = f" epilogue={self.epilogue}" if self.epilogue else ""
        return f"{self.op} " + " ".join(f"{dim}={extent}" for dim, extent in self.dims) + fused


def conv2d(
    *,
    n: int = 1,
    c: int,
    h: int | None = None,
    w: int,
    k: int,
    r: int | None = None,
    s: int,
    stride: int | tuple[int, int] = 1,
    padding: int | str | tuple[int, int] | tuple[tuple[int, int], tuple[int, int]] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    dtype: str = "f32",
    output_dtype: str | None = None,
    filters: str = "kcrs",
) -> Problem:
    """A 2-D convolution, channels last: x (N,H,W,C), weights (K,C/groups,R,S), y (N,OH,OW,K).

    Group g reads the g-th part of the channels and writes the g-th part of the outputs; where there are several, g is a
    dim of the problem, and its dims `c` and `k` are those of one group. With groups = c = k each channel is by itself:
    that is the operator depthwise2d, vectorised over c and without g and k.

    `filters="krsc"` has the weights channels last as well, (K,R,S,C/groups). y is of `output_dtype`, by default what
    OUTPUT_DTYPE gives. `h` and `w` are the input's extents; the problem's dims `h` and `w` are the output's.
    `padding` is one number, one per axis, ((top, bottom), (left, right)), "valid" (none) or "same": as much as gives
    ⌈size / stride⌉ outputs, an odd point after. That is TensorFlow's rule, and at stride 1, where alone PyTorch takes
    it, PyTorch's. `dilation` counts from 1. With neither `h` nor `r` the convolution is one-dimensional: both are 1,
    and `stride`, `padding` (also as (left, right)) and `dilation` are those along w. Raises ProblemError.
    """
    if (h is None) != (r is None):
        missing = "h" if h is None else "r"
        raise ProblemError(f"conv2d: {missing} is missing: give h and r, or neither for one dimension, along w")
    if h is None:
        h, r, stride, padding, dilation = 1, 1, (1, stride), (0, padding), (1, dilation)
    given = {"n": n, "c": c, "h": h, "w": w, "k": k, "r": r, "s": s}
    given = {name: _positive("conv2d", name, value) for name, value in given.items()}
    n, c, h, w, k, r, s = given.values()
    groups = _groups(groups, c, k)
    stride_h, stride_w = _pair("stride", stride)
    dilation_h, dilation_w = _pair("dilation", dilation)
    vertical, horizontal = _padding(padding)
    top, bottom = _sides(vertical, h, r, stride_h, dilation_h)
    left, right = _sides(horizontal, w, s, stride_w, dilation_w)
    if filters not in ("kcrs", "krsc"):
        raise ProblemError(f"conv2d: filters={filters!r} must be 'kcrs' or 'krsc'")
    out = {}
    for axis, size, taps, step, dil, before, after in (
        ("h", h, r, stride_h, dilation_h, top, bottom),
        ("w", w, s, stride_w, dilation_w, left, right),
    ):
        reach = (taps - 1) * dil + 1
        if reach > size + before + after:
            raise ProblemError(
                f"conv2d: the kernel reaches over {reach} points along {axis}, the padded input has only "
                f"{size + before + after} ({axis}={size}, padding {before}+{after})"
            )
        out[axis] = (size + before + after - reach) // step + 1
    channels = _channels(groups, c, k)
    n_index, h_index, w_index, r_index, s_index = (Affine(((d, 1),)) for d in "nhwrs")
    window_h = Affine((("h", stride_h), ("r", dilation_h)), -top)
    window_w = Affine((("w", stride_w), ("s", dilation_w)), -left)
    x = Tensor("x", "broadcast", (n_index, window_h, window_w, channels.x), (n, h, w, c))
    axes = dict(zip("kcrs", (*channels.w, r_index, s_index)))
    sizes = given | {"c": c // groups}
    weights = Tensor("w", "vector", tuple(axes[d] for d in filters), tuple(sizes[d] for d in filters))
    y = Tensor("y", "output", (n_index, h_index, w_index, channels.y), (n, out["h"], out["w"], k))
    dims = (("n", n), *channels.dims, ("h", out["h"]), ("w", out["w"]), ("r", r), ("s", s))
    dtypes = dtype, _output_dtype(dtype, output_dtype)
    return Problem(channels.op, dims, (*channels.summed, "r", "s"), (x, weights, y), channels.vector_dim, *dtypes)


@dataclass(frozen=True)
class _Channels:
    """The channel dims of a convolution, which of them are summed over, and the channel index of x, w (two) and y."""

    op: str
    dims: tuple[tuple[str, int], ...]
    summed: tuple[str, ...]
    vector_dim: str
    x: Affine
    w: tuple[Affine, Affine]
    y: Affine


def _channels(groups: int, c: int, k: int) -> _Channels:
    c_index, k_index = Affine((("c", 1),)), Affine((("k", 1),))
    if groups == 1:
        return _Channels("conv2d", (("k", k), ("c", c)), ("c",), "k", c_index, (k_index, c_index), k_index)
    if groups == c == k:
        return _Channels("depthwise2d", (("c", c),), (), "c", c_index, (c_index, Affine(())), c_index)
    c, k = c // groups, k // groups
    x_index, y_index = Affine((("g", c), ("c", 1))), Affine((("g", k), ("k", 1)))
    return _Channels("conv2d", (("g", groups), ("k", k), ("c", c)), ("c",), "k", x_index, (y_index, c_index), y_index)


def matmul(
    *,
    m: int,
    n: int,
    k: int,
    dtype: str = "f32",
    output_dtype: str | None = None,
    batch: int = 1,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Problem:
    """A matrix product c (M,N) = a (M,K) · b (K,N), all row-major. Raises ProblemError.

    With `transpose_a` a lies as (K,M), with `transpose_b` b as (N,K). `batch` products of one shape, dim `l`, lie one
    after the other: a (L,M,K), b (L,K,N), c (L,M,N); with batch 1 there is no such axis.
    """
    given = {"m": m, "n": n, "k": k, "l": batch}
    extents = {name: _positive("matmul", name, value) for name, value in given.items()}

    def tensor(name: str, role: str, dims: str) -> Tensor:
        dims = dims if extents["l"] == 1 else "l" + dims
        return Tensor(name, role, tuple(Affine(((d, 1),)) for d in dims), tuple(extents[d] for d in dims))

    a = tensor("a", "broadcast", "km" if transpose_a else "mk")
    b = tensor("b", "vector", "nk" if transpose_b else "kn")
    dims = tuple((d, extents[d]) for d in ("mnk" if extents["l"] == 1 else "lmnk"))
    tensors = (a, b, tensor("c", "output", "mn"))
    return Problem("matmul", dims, ("k",), tensors, "n", dtype, _output_dtype(dtype, output_dtype))


def _output_dtype(dtype: str, chosen: str | None) -> str:
    return OUTPUT_DTYPE.get(dtype, dtype) if chosen is None else chosen


def _groups(groups, c: int, k: int) -> int:
    groups = _positive("conv2d", "groups", groups)
    for name, channels in (("c", c), ("k", k)):
        if channels % groups:
            raise ProblemError(f"conv2d: groups={groups} do not divide {name}={channels}: all groups have equally many")
    return groups


def _whole(op: str, name: str, value) -> int:
    """`value` as an int, whatever whole-number type it has (NumPy's too); a bool is a mistake."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return whole_number(value)
    except TypeError:
        raise ProblemError(f"{op}: {name}={value!r} must be a whole number") from None


def _positive(op: str, name: str, value) -> int:
    value = _whole(op, name, value)
    if value < 1:
        raise ProblemError(f"{op}: {name}={value} must be at least 1")
    return value


def _pair(name: str, value) -> tuple[int, int]:
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ProblemError(f"conv2d: {name}={value!r} must be one number or one per axis (h, w)")
    return tuple(_positive("conv2d", name, part) for part in pair)


def _padding(value) -> tuple:
    """What is asked for along h and along w: "same", "valid", or numbers before and after."""
    axes = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    sides = tuple(side if isinstance(side, (tuple, list, str)) else (side, side) for side in axes)
    named = [side for side in sides if isinstance(side, str)]
    pairs = [side for side in sides if not isinstance(side, str)]
    if len(sides) != 2 or any(side not in ("same", "valid") for side in named) or any(len(pair) != 2 for pair in pairs):
        raise ProblemError(
            f'conv2d: padding={value!r} must be p, (ph, pw), ((top, bottom), (left, right)), "same" or "valid"'
        )
    numbers = [_whole("conv2d", "padding", part) for pair in pairs for part in pair]
    if min(numbers, default=0) < 0:
        raise ProblemError(f"conv2d: padding={value!r} must be at least 0")
    return sides


def _sides(padding, size: int, taps: int, stride: int, dilation: int) -> tuple[int, int]:
    """Padding before and after along one axis."""
    if padding == "valid":
        return 0, 0
    if padding == "same":
        total = max(0, (-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size)
        return total // 2, total - total // 2
    before, after = padding
    return whole_number(before), whole_number(after)
