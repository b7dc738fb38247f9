"""What to compute: an operator as a loop nest over named dims and tensors with affine indices.

A problem says nothing about loop order, tiles or machines; `tiling.arrays.access` says how tiles reach its arrays.
Footprints, data movement and addresses all follow from the index expressions. So a new operator is a new function in
`tiling.operators`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from math import prod

from tiling.canonical import text_of
from tiling.choices import either
from tiling.dtypes.products import DTYPES
from tiling.tensor import FlatPixels, Tensor, Window
from tiling.value import Epilogue

# Whoever reads a problem may go through the positions along a dim, so extents are bounded. A tensor of more elements
# than this (32 GiB of f32) is a mistyped shape.
LARGEST_EXTENT = 1 << 24
LARGEST_TENSOR = 1 << 33


class ProblemError(ValueError):
    """A problem that cannot be computed: which extent or option is wrong, and why."""


class ShapeError(ProblemError):
    """A text that does not name a supported problem: which part of it, and why."""


@dataclass(frozen=True)
class Problem:
    """An operator with its extents. `tiling.operators` builds one; `tiling.epilogue.fused` adds an epilogue.

    tensors: the inputs in the order of a kernel's arguments, then the output. The roles tell the inputs apart, and the
    kinds of dims follow from them:

        vector      the weights, b. `vector_dim` is the last output dim that it moves with, `looped_dims` are the others
        broadcast   x of a convolution, a of a matrix product. It moves with the other output dims, `row_dims`
        output      y, c

    How these are read, and what becomes of the dims, is the matter of `tiling.arrays.access`.

    dot_group: how many numbers of the inputs are one element, whose products with those of another are summed as one
    (`tiling.rewrite.dot_groups`); 0 where each number is an element. origin: the problem with the same arrays before
    axes of them were fused (`tiling.rewrite.pointwise`); else None. flat_pixels: the flattened pixels of an image,
    where w counts them (`tiling.arrays.flat_pixels`); else None.
    """

    op: str
    dims: tuple[tuple[str, int], ...]
    reductions: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    dtype: str = "f32"
    output_dtype: str = "f32"
    epilogue: Epilogue | None = None
    origin: Problem | None = None
    flat_pixels: FlatPixels | None = None
    dot_group: int = 0

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ProblemError(f"dtype {self.dtype!r:.40} is not supported; supported: {', '.join(DTYPES)}")
        outputs, longest = DTYPES[self.dtype].outputs, DTYPES[self.dtype].longest
        if self.output_dtype not in outputs:
            raise ProblemError(f"{self.dtype} gives an output of {' or '.join(outputs)}, not {self.output_dtype!r:.40}")
        if self.epilogue and self.output_dtype == "s32":
            told = either(output for output in outputs if output != "s32")
            raise ProblemError(
                f"the epilogue {self.epilogue} gives floats: with {self.dtype} ask for an output of {told}"
            )
        if longest and self.reduction_length > longest:
            raise ProblemError(
                f"{self.op}: a sum of {self.reduction_length} products of {self.dtype} may not fit 32 bits; {longest} "
                f"at most do"
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

    def __hash__(self) -> int:
        # The hash is kept: problems are keys of many caches, and hashing all tensors takes long.
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, each.name) for each in fields(self)))

    def __getstate__(self) -> dict[str, object]:
        """The state without the hash, which differs from process to process."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @cached_property
    def extents(self) -> dict[str, int]:
        """The extent of every dim. `h` and `w` have the output's sizes."""
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
    def original(self) -> Problem:
        """The problem before its axes were fused. Its arrays are the same, and have the shapes that a user gives."""
        return self.origin or self

    @cached_property
    def epilogue_arrays(self) -> tuple[Tensor, ...]:
        """The arrays that the epilogue names, in the order of first use.

        Their axes are axes of the output. An axis that this problem has fused with the next is left out (`origin`).
        """
        axes = {name: place for place, name in enumerate(self.output_axes)}
        indices, shape = self.output.indices, self.written
        return tuple(
            Tensor(
                array.name,
                "epilogue",
                tuple(indices[axes[name]] for name in array.axes if name in axes),
                tuple(shape[axes[name]] for name in array.axes if name in axes),
            )
            for array in (self.epilogue.arrays if self.epilogue else ())
        )

    def may_be_output(self, array: Tensor) -> bool:
        """Whether an array of the epilogue may be the output itself. It must be f32 and have the output's shape: then
        each element is read just before it is overwritten, where sums are stored once.
        """
        return array.indices == self.output.indices and self.output_dtype == "f32"

    @cached_property
    def written(self) -> tuple[int, ...]:
        """The shape of the part of the output that is written: all of it, unless it lies in a wider array."""
        return self.output.reached(self.extents)

    @cached_property
    def output_axes(self) -> tuple[str, ...]:
        """A name for each axis of the output: the dim that moves along it by single elements."""
        # The channels of a group have the index g·(K/groups) + k. There it is k, which stands last.
        return tuple([dim for dim, step in index.terms if step == 1][-1] for index in self.output.indices)

    @cached_property
    def row_dims(self) -> tuple[str, ...]:
        """The output dims whose points share the vector input: n h w, or m."""
        shared = self.vector.dims
        return tuple(d for d, _ in self.dims if d not in self.reductions and d not in shared)

    @cached_property
    def vector_dim(self) -> str:
        """The last output dim that the vector input moves with: k, or n."""
        return self._unshared[-1]

    @cached_property
    def looped_dims(self) -> tuple[str, ...]:
        """The other output dims that the vector input moves with, such as g: each group has weights of its own."""
        return self._unshared[:-1]

    @cached_property
    def _unshared(self) -> tuple[str, ...]:
        return tuple(d for d, _ in self.dims if d not in self.reductions and d in self.vector.dims)

    @cached_property
    def is_product(self) -> bool:
        """Whether it multiplies matrices: no window slides over an image."""
        return not self.original.windows

    @cached_property
    def layout(self) -> str:
        """The order of the axes of a convolution's x and y, "nhwc" or "nchw"."""
        return "nchw" if self.output_axes[-1] == "w" else "nhwc"

    @cached_property
    def channel_axis(self) -> int:
        """The axis of the channels of a convolution's x and y."""
        return 1 if self.layout == "nchw" else len(self.output.shape) - 1

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
        """The axes of the broadcast tensor that an output dim and a tap index together: padding can lie there."""
        found = []
        for index, extent in zip(self.broadcast.indices, self.broadcast.shape):
            taps = [d for d, _ in index.terms if d in self.reductions]
            rows = [d for d, _ in index.terms if d in self.row_dims]
            if len(taps) == 1 and len(rows) == 1:
                row, tap = rows[0], taps[0]
                found.append(Window(row, tap, index.coefficient(row), index.coefficient(tap), -index.offset, extent))
        return tuple(found)

    def extent(self, dims: str) -> int:
        """The extent of a dim, or the product of the extents where a scheme fuses dims into one, such as `nhw`."""
        return prod(self.extents[dim] for dim in dims)

    @property
    def sum_dtype(self) -> str:
        """The dtype that products are summed in."""
        return DTYPES[self.dtype].sum

    @property
    def sums_are_exact(self) -> bool:
        """Whether all sums are exact: those of whole numbers."""
        return self.sum_dtype != "f32"

    @property
    def keeps_sums(self) -> bool:
        """Whether the output can hold a partial sum."""
        return self.sum_dtype == self.output_dtype

    @property
    def flops(self) -> int:
        """2 · the product of all extents. Padding counts, as other libraries count it too."""
        return 2 * prod(extent for _, extent in self.dims)

    @property
    def inside_fraction(self) -> float:
        """The fraction of all multiplications that reads x and not padding: these must be computed."""
        fraction = 1.0
        for window in self.windows:
            rows, taps = self.extents[window.dim], self.extents[window.tap]
            ranges = (window.rows_inside(0, rows, tap) for tap in range(taps))
            fraction *= sum(high - low for low, high in ranges) / (rows * taps)
        return fraction

    @property
    def reduction_length(self) -> int:
        """How many products are summed into one output: the K of the error bound."""
        return prod(self.extents[d] for d in self.reductions)

    def __str__(self) -> str:
        """The shape as the command line takes it. A problem without one, such as one of dot groups, shows its dims."""
        dims = " ".join(f"{dim}={extent}" for dim, extent in self.dims)
        fused = f" epilogue={self.epilogue}" if self.epilogue else ""
        return f"{self.original.op} {text_of(self.original) or dims + fused}"
