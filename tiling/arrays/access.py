"""How register tiles reach the arrays of a problem: the order of the axes of x, what a vector of x holds, and whether
tiles are transposed before they are stored.

    access_of(problem) -> Access          the one answer that passes, the check of schemes, model and search ask for

A tile unrolls points of `row_dims` as its rows. All rows share each vector that is loaded from the vector input. The
vectors lie along `vector_dim`. `looped_dims` are loops, since each of their points has vectors of its own. The
broadcast input is loaded one number at a time and broadcast, unless its index moves with `vector_dim`.
"""

#     conv2d nhwc        x (N,H,W,C)   y (N,H,W,K)   broadcasts x[…, c]; vectors along k; stores y as it lies
#     conv2d nchw        x (N,C,H,W)   y (N,K,H,W)   the same, and a tile is transposed as it is stored
#     depthwise nchw     x (N,C,H,W)                 reads vectors of x along its channels, of a copy (N,H,W,C)
#     conv2d nchw bf16   x (N,C,H,W)                 broadcasts dot groups of 2 channels, of a copy (N,H,W,C)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tiling.dtypes.products import DTYPE_BYTES, LANE_BYTES, OUTPUT_BYTES
from tiling.problem import Problem
from tiling.tensor import Tensor


@dataclass(frozen=True)
class TileAccess:
    """How tiles reach the arrays of a problem.

    as_read: the problem with x as tiles read it: as it lies, or the copy that the kernel transposes first.
    transposed_axis: the axis of x that comes last in that copy; None where tiles read x as it lies.
    lanewise: every lane has an x of its own, so tiles read x by vectors and do not broadcast it.
    exchange_dim: the dim that is summed by exchanging the lanes of a vector of x, and that moves no address: c of
        grouped2d (`tiling.rewrite.grouped`). None where no lanes are exchanged.
    dot_dim: the dim that dot groups may run along: summed over, its points neighbours in the x that tiles read. None
        where every channel is by itself.
    window_dims: `sc`, the taps and channels of a window's row as one dim, where all of them are neighbours in x.
    transposed_output: the output's contiguous axis is not the vectorised dim, so tiles are transposed as they are
        stored.
    packed: the input that is packed before the call: the weights, or b.
    sharing_dims: the output dims whose points share the packed input.
    weights_broadcast: tiles read vectors of the first input where it lies, and broadcast the packed input.
    panel_dim: the output dim that the packed input is cut into micropanels along.
    by_matrix: an element is a dot group of a matrix instruction, which is longer than a vector's lane.
    element_bytes: bytes of an element of the inputs, which is a number, or a dot group of at least a lane.
    x_bytes, output_bytes: bytes of an element of x and of the output in memory.
    """

    as_read: Problem
    transposed_axis: int | None
    lanewise: bool
    exchange_dim: str | None
    dot_dim: str | None
    window_dims: str | None
    transposed_output: bool
    packed: Tensor
    sharing_dims: tuple[str, ...]
    weights_broadcast: bool
    panel_dim: str
    by_matrix: bool
    element_bytes: int
    x_bytes: int
    output_bytes: int

    @property
    def transposes_x(self) -> bool:
        """Whether the kernel makes a transposed copy of x before it computes."""
        return self.transposed_axis is not None

    def bytes_of(self, tensor: Tensor) -> int:
        """Bytes of an element of a tensor of the problem in memory."""
        if tensor.role == "output":
            return self.output_bytes
        return self.x_bytes if tensor.role == "broadcast" else self.element_bytes


@lru_cache(maxsize=4096)
def access_of(problem: Problem) -> TileAccess:
    """How tiles reach the arrays of `problem`."""
    x, number = problem.broadcast, DTYPE_BYTES[problem.dtype]
    element = max(LANE_BYTES, number * problem.dot_group) if problem.dot_group else number
    lanewise = problem.vector_dim in x.dims
    axis = _transposed_axis(problem, lanewise, element < LANE_BYTES)
    as_read = problem if axis is None else with_axis_last(problem, axis)
    exchange = next((dim for dim in problem.reductions if lanewise and dim not in x.dims), None)
    dot = exchange if lanewise else _dot_dim(as_read)
    # x that is read by vectors keeps its narrow numbers in memory, although they fill lanes in registers.
    x_bytes = number if lanewise else element // (x.reach or 1)
    _, packed, _ = problem.tensors
    weights_broadcast = problem.vector is not packed
    outputs = tuple(dim for dim, _ in problem.dims if dim not in problem.reductions)
    return TileAccess(
        as_read=as_read,
        transposed_axis=axis,
        lanewise=lanewise,
        exchange_dim=exchange,
        dot_dim=dot,
        window_dims=None if lanewise or axis is not None or dot is None else _window_dims(problem, dot),
        transposed_output=problem.output.stride(problem.vector_dim) != 1,
        packed=packed,
        sharing_dims=tuple(dim for dim in outputs if dim not in packed.dims),
        weights_broadcast=weights_broadcast,
        panel_dim=problem.row_dims[-1] if weights_broadcast else problem.vector_dim,
        by_matrix=element > LANE_BYTES,
        element_bytes=element,
        x_bytes=x_bytes,
        output_bytes=OUTPUT_BYTES[problem.output_dtype],
    )


def _transposed_axis(problem: Problem, lanewise: bool, narrow: bool) -> int | None:
    """The axis of x that tiles read by vectors or dot groups, although it is not the last one; else None."""
    x, taps = problem.broadcast, {window.tap for window in problem.windows}
    summed = [dim for dim in problem.reductions if dim in x.dims and dim not in taps]
    read = [problem.vector_dim] if lanewise else summed if narrow else []
    return axis_before_last(x, read)


def axis_before_last(tensor: Tensor, dims: Sequence[str]) -> int | None:
    """The first axis that moves with one of the dims; None where that is the last axis, or there is none."""
    axes = (axis for axis, index in enumerate(tensor.indices) if any(map(index.coefficient, dims)))
    axis = next(axes, None)
    return None if axis == len(tensor.indices) - 1 else axis


def with_axis_last(problem: Problem, channels: int) -> Problem:
    """The problem of the copy of x whose channels (k of a product), on this axis of x, come last."""
    x = problem.broadcast
    order = [axis for axis in range(len(x.shape)) if axis != channels] + [channels]
    copy = replace(x, indices=tuple(x.indices[axis] for axis in order), shape=tuple(x.shape[axis] for axis in order))
    return replace(problem, tensors=tuple(copy if tensor is x else tensor for tensor in problem.tensors))


def _dot_dim(problem: Problem) -> str | None:
    """The summed dim whose points are neighbours in x. Groups of channels follow each other."""
    terms = problem.broadcast.indices[-1].terms
    if not terms:
        return None
    *groups, (dim, step) = terms
    return dim if step == 1 and dim in problem.reductions and all(d in problem.looped_dims for d, _ in groups) else None


def _window_dims(problem: Problem, channel: str) -> str | None:
    """The taps along a row of x, then `channel`, where the channels of a pixel follow those of the pixel before."""
    x = problem.broadcast
    if len(x.indices) == 1:
        return None
    taps = [dim for dim, _ in x.indices[-2].terms if dim in problem.reductions and problem.extents[dim] > 1]
    return taps[0] + channel if taps and x.stride(taps[0]) == problem.extents[channel] else None
