"""What to compute: an operator as a loop nest over named dims and tensors with affine indices.

A problem says nothing about loop order, tiles or machines. Footprints, data movement and the emitted address
arithmetic all follow from the index expressions, so a new operator is a new function in `tiling.operators`, not a new
model.

The three roles name what a register tile does with a tensor:

    broadcast   read one scalar at a time and spread over a vector (x of a convolution, a of a matrix product); or a
                vector at a time where it moves with the vectorised dim (x of a depthwise convolution: `lanewise`)
    vector      read a vector at a time (the weights, b)
    output      kept in registers, written once (y, c)

The second input, the weights or b, is packed ahead of the call, whatever its role: the vector one as a rule. Where
vectors lie along what comes with the call it is spread, and the vector one is read in place (`tiling.pointwise`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiling.epilogue import Epilogue
    from tiling.plane import Plane

# Of the inputs. tf32 is an f32 of which a matrix instruction reads 19 bits; int8 is u8 for what is spread (x, a) and s8
# for the weights. f16 and tf32 are a GPU's, int8 a CPU's. bf16x2 and int8x4 are words of so many numbers,
# bf16x1 and int8x1 of one number and zeros, all beyond them blocks of up to 64 bytes (`tiling.words`).
DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "tf32": 4, "int8": 1}
DTYPE_BYTES |= {"bf16x1": 4, "int8x1": 4}
DTYPE_BYTES |= {f"bf16x{size // 2}": size for size in range(4, 65, 4)}
DTYPE_BYTES |= {f"int8x{size}": size for size in range(4, 65, 4)}
# The dtypes that an output may have, the default first.
OUTPUT_DTYPES = {
    "f32": ("f32",),
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "tf32": ("f32",),
    "int8": ("s32", "f32", "u8", "s8"),
}
OUTPUT_DTYPE = {dtype: outputs[0] for dtype, outputs in OUTPUT_DTYPES.items()}
OUTPUT_DTYPES |= {words: OUTPUT_DTYPES[words.partition("x")[0]] for words in DTYPE_BYTES if "x" in words}
OUTPUT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "s32": 4, "u8": 1, "s8": 1}

# Beyond these nothing here has a use: positions along a dim are enumerated when a kernel is emitted, and a tensor of
# more elements than this (32 GiB of f32) is a mistyped shape on any machine of today.
LARGEST_EXTENT = 1 << 24
LARGEST_TENSOR = 1 << 33
# Products of u8 and s8, at most 255 · 128, whose sum fits 32 bits whatever they are.
LONGEST_INT8 = (2**31 - 1) // (255 * 128)


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
    """A tensor of the problem: its role, the index of each axis, and its shape (row-major, last axis contiguous).

    reach: 0, or how many neighbouring words of 32 bits a point stands for, from its own on; then words are the
    elements, and points may overlap (`tiling.words`).
    """

    name: str
    role: str
    indices: tuple[Affine, ...]
    shape: tuple[int, ...]
    reach: int = 0

    @property
    def called(self) -> str:
        """Its name in a sentence: a product's own b and the b of its epilogue are two arrays."""
        return f"the epilogue's {self.name}" if self.role == "epilogue" else self.name

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
    """An operator with its extents. Build one with `tiling.operators`, and `epilogue.fused` for what follows it.

    tensors: the inputs in the order of a kernel's arguments, and the output. origin: the problem as it was asked for,
    whose arrays have axes that are one to this (`tiling.pointwise`); None where they are the same. plane: what w counts
    where it counts the points of whole images (`tiling.plane`).
    """

    op: str
    dims: tuple[tuple[str, int], ...]
    reductions: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    vector_dim: str
    dtype: str = "f32"
    output_dtype: str = "f32"
    epilogue: Epilogue | None = None
    origin: Problem | None = None
    plane: Plane | None = None

    def __post_init__(self):
        if self.dtype not in DTYPE_BYTES:
            known = ", ".join(dtype for dtype in DTYPE_BYTES if "x" not in dtype)
            raise ProblemError(f"dtype {self.dtype!r:.40} is not supported; supported: {known}")
        outputs = OUTPUT_DTYPES[self.dtype]
        if self.output_dtype not in outputs:
            raise ProblemError(f"{self.dtype} gives an output of {' or '.join(outputs)}, not {self.output_dtype!r:.40}")
        if self.epilogue and self.output_dtype == "s32":
            raise ProblemError(
                f"the epilogue {self.epilogue} gives floats: with int8 ask for an output of f32, u8 or s8"
            )
        if self.dtype == "int8" and self.reduction_length > LONGEST_INT8:
            raise ProblemError(
                f"{self.op}: a sum of {self.reduction_length} products of int8 may not fit 32 bits; {LONGEST_INT8} at "
                f"most do"
            )
        for dim, extent in self.dims:
            if extent < 1:
                raise ProblemError(f"{self.op}: extent {dim}={extent} must be at least 1")
            if extent > LARGEST_EXTENT:
                raise ProblemError(
                    f"{self.op}: extent {dim}={extent} is larger than {LARGEST_EXTENT}, the largest supported"
                )
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

    @property
    def asked(self) -> Problem:
        """The problem as it was asked for: whose arrays a kernel takes, and whose shape names it."""
        return self.origin or self

    @cached_property
    def packed(self) -> Tensor:
        """The input that is packed ahead of the call: the weights, b."""
        return self.tensors[1]

    @cached_property
    def in_place(self) -> bool:
        """Whether vectors are read from what comes with the call, and the packed input is the one that is spread."""
        return self.vector is not self.packed

    @cached_property
    def panel_dim(self) -> str:
        """The output dim that micropanels of the packed input are parts of."""
        return self.row_dims[-1] if self.in_place else self.vector_dim

    @cached_property
    def sharing_dims(self) -> tuple[str, ...]:
        """The output dims whose points share the packed input."""
        return tuple(d for d, _ in self.dims if d not in self.reductions and d not in self.packed.dims)

    @cached_property
    def epilogue_arrays(self) -> tuple[Tensor, ...]:
        """The arrays that the epilogue names, in the order of first use; their axes are axes of the output, but for
        those that are one with the next (`origin`).
        """
        axes = {name: place for place, name in enumerate(self.output_axes)}
        indices, shape = self.output.indices, self.output.shape
        return tuple(
            Tensor(
                array.name,
                "epilogue",
                tuple(indices[axes[name]] for name in array.axes if name in axes),
                tuple(shape[axes[name]] for name in array.axes if name in axes),
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
        """Output dims whose points share the vector input: what a register tile unrolls as rows (n h w, or m)."""
        shared = self.vector.dims
        return tuple(d for d, _ in self.dims if d not in self.reductions and d not in shared)

    @cached_property
    def looped_dims(self) -> tuple[str, ...]:
        """The other output dims but for the vector dim: each point has vectors of its own (weights of a group g), so it
        is only looped.
        """
        return tuple(d for d, _ in self.dims if d not in (*self.reductions, *self.row_dims, self.vector_dim))

    @cached_property
    def lanewise(self) -> bool:
        """Whether every lane has an x of its own, so that x is read by vectors and not spread over one."""
        return self.vector_dim in self.broadcast.dims

    @cached_property
    def as_read(self) -> Problem:
        """The problem of the x that tiles read: where vectors of it, or words of narrow numbers, run over its channels
        (k of a product) and these are not its last axis, that of a copy of x on which they are, which the kernel makes
        first; else itself.
        """
        x, channels = self.broadcast, self.turned_axis
        if channels is None:
            return self
        order = [axis for axis in range(len(x.shape)) if axis != channels] + [channels]
        copy = replace(
            x, indices=tuple(x.indices[axis] for axis in order), shape=tuple(x.shape[axis] for axis in order)
        )
        return replace(self, tensors=tuple(copy if tensor is x else tensor for tensor in self.tensors))

    @cached_property
    def exchange_dim(self) -> str | None:
        """The dim that is summed over the lanes of a vector of x and moves no address: c of grouped2d
        (`tiling.grouped`).
        """
        still = [dim for dim in self.reductions if dim not in self.broadcast.dims]
        return still[0] if self.lanewise and still else None

    @cached_property
    def turned_axis(self) -> int | None:
        """The axis of x that is not last although tiles read it by vectors or words."""
        windows = {window.tap for window in self.windows}
        summed = [d for d in self.reductions if d in self.broadcast.dims and d not in windows]
        narrow = self.bytes_per_element < 4
        read = [self.vector_dim] if self.lanewise else summed if narrow else []
        axes = [
            axis for axis, index in enumerate(self.broadcast.indices) if any(index.coefficient(dim) for dim in read)
        ]
        return axes[0] if axes and axes[0] != len(self.broadcast.indices) - 1 else None

    @cached_property
    def dot_dim(self) -> str | None:
        """The dim whose neighbours are summed and lie side by side in the x that tiles read, one group's beside the
        next's; None where every channel is by itself.
        """
        if self.as_read is not self:
            return self.as_read.dot_dim
        if self.lanewise:
            return self.exchange_dim
        *groups, (dim, step) = self.broadcast.indices[-1].terms
        return dim if step == 1 and dim in self.reductions and all(d in self.looped_dims for d, _ in groups) else None

    @cached_property
    def window_dims(self) -> str | None:
        """`sc`: the taps and channels of a window's row as one dim, where they all lie side by side in the broadcast
        tensor.
        """
        if self.lanewise or self.dot_dim is None or self.as_read is not self or len(self.broadcast.indices) == 1:
            return None
        taps = [d for d, _ in self.broadcast.indices[-2].terms if d in self.reductions and self.extents[d] > 1]
        return taps[0] + self.dot_dim if taps and self.broadcast.stride(taps[0]) == self.extents[self.dot_dim] else None

    @cached_property
    def crosswise(self) -> bool:
        """Whether vectors lie across the contiguous axis of the output, so that a register tile is turned as it is
        stored.
        """
        return self.output.stride(self.vector_dim) != 1

    @property
    def layout(self) -> str:
        """Of a convolution's x and y: the order of their axes, "nhwc" or "nchw"."""
        return "nchw" if self.output_axes[-1] == "w" else "nhwc"

    @cached_property
    def padded_dims(self) -> tuple[str, ...]:
        """The row dims along which some window reaches beyond its axis."""
        return tuple(
            w.dim
            for w in self.windows
            if w.before > 0
            or (self.extents[w.dim] - 1) * w.stride + (self.extents[w.tap] - 1) * w.dilation - w.before >= w.extent
        )

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

    def bytes_of(self, tensor: Tensor) -> int:
        """Of an element of this tensor; an x that is read by vectors lies in numbers, whatever becomes of them in
        lanes.
        """
        if tensor.role == "output":
            return OUTPUT_BYTES[self.output_dtype]
        if tensor.role == "broadcast" and self.lanewise:
            return DTYPE_BYTES[self.dtype.partition("x")[0]]
        return 4 if tensor.reach else self.bytes_per_element

    @property
    def sum_dtype(self) -> str:
        """What products are summed in."""
        return "s32" if self.dtype.startswith("int8") else "f32"

    @cached_property
    def blocked(self) -> bool:
        """Whether its elements are blocks, which matrix instructions multiply, and not what a vector's lane holds."""
        return self.bytes_per_element > 4

    @property
    def keeps_sums(self) -> bool:
        """Whether the output's memory can hold a sum that waits for a later pass."""
        return self.sum_dtype == self.output_dtype

    @property
    def numbers_per_word(self) -> int:
        """How many numbers of an input one element stands for: 1, or those of a word."""
        return int(self.dtype.partition("x")[2] or 1)

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
