"""Which kind of kernel a scheme has that ends with a warpgroup's matrix instruction.

    is_of_warpgroups(scheme) -> bool     whether it ends with one
    has_clusters(scheme) -> bool         whether clusters of blocks take its tiles in turns
    in_blocks(scheme) -> Scheme          the scheme of what is read where the image is read in blocks of pixels
    as_read(scheme) -> Scheme            the scheme of what the copy engine reads
    copied(scheme) -> (Copied, …)        the copies of inputs that it reads, which are made before
    threads_copy(scheme) -> bool         whether all threads copy its tiles, not a warp by boxes
    stores_boxes(scheme) -> bool         whether warps leave their sums in boxes that the copy engine stores
    residual_of(scheme) -> Tensor, None  what the copy engine brings to these boxes, z in `relu(y + b + z)`
    loads_points(scheme) -> bool         whether threads load a number of some other array at each point of a box
    moves_registers(scheme) -> bool      whether those who multiply take registers of those who copy

The list of passes asks these, and the model.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TypeGuard

from gpu.limits.hopper import LOAD_REGISTERS, OTHER_REGISTERS, registers_taken
from gpu.limits.multiprocessor import blocks_for_registers
from gpu.passes.facts.workers import WARP_SIZE, WARPS_OF_GROUP
from gpu.passes.warpgroups.instructions import CHUNK_BYTES, ROWS
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.rewrite.aligned import copies_of, with_aligned_rows
from tiling.rewrite.blocked import block_copies, blocked
from tiling.rewrite.copied import Copied
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, PixelBlock, Specifier, Tile, Unroll
from tiling.tensor import Affine, Tensor


def is_of_warpgroups(scheme: Scheme) -> bool:
    """Whether a scheme ends with the matrix instruction of a warpgroup."""
    last = scheme.specifiers[-1]
    return isinstance(last, Matrix) and next(iter(last.factors.values())) == ROWS


def has_clusters(scheme: Scheme) -> bool:
    """Whether clusters of blocks take its tiles in turns."""
    return any(loops(s, "cluster") for s in scheme.specifiers)


def blocks_of_cluster(scheme: Scheme) -> int:
    """The blocks of a cluster, where clusters take the tiles."""
    return prod(s.trips for s in scheme.specifiers if loops(s, "block"))


def in_blocks(scheme: Scheme) -> Scheme:
    """The scheme of the problem that reads blocks of pixels, where it names such; else the same."""
    first, *rest = scheme.specifiers
    if not isinstance(first, PixelBlock):
        return scheme
    return Scheme(blocked(scheme.problem, first.high, first.wide), tuple(rest))


def as_read(scheme: Scheme) -> Scheme:
    """The scheme of the problem whose inputs are those that the copy engine reads: copies, where it has to be so."""
    if not (is_of_warpgroups(scheme) and has_clusters(scheme)):
        return scheme
    scheme = in_blocks(scheme)
    problem = with_aligned_rows(scheme.problem)
    return scheme if problem == scheme.problem else replace(scheme, problem=problem)


def copied(scheme: Scheme) -> tuple[Copied, ...]:
    """The copies that a kernel reads in the place of inputs: rows that the copy engine finds, or blocks of pixels."""
    if not has_clusters(scheme):
        return ()
    first = scheme.specifiers[0]
    if isinstance(first, PixelBlock):
        return block_copies(scheme.problem, first.high, first.wide)
    return copies_of(scheme.problem)


def threads_copy(scheme: Scheme) -> bool:
    """Whether all threads copy the tiles: pixels, rows that are no boxes, and where blocks share sums."""
    problem, matrix = scheme.problem, scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    rows, columns, depth = matrix.factors
    boxes = _are_pixels(problem, rows, depth) or _is_of_boxes(problem.broadcast, rows, depth, problem.dtype)
    boxes = boxes and _is_of_boxes(problem.vector, columns, depth, problem.dtype)
    return not boxes or any(loops(s, "block") and s.dim in problem.reductions for s in scheme.specifiers)


def stores_boxes(scheme: Scheme) -> bool:
    """Whether warps store boxes: blocks go on with another tile, and the copy engine stores such rows."""
    problem = scheme.problem
    return is_of_warpgroups(scheme) and has_clusters(scheme) and _is_aligned(problem.output, problem.output_dtype)


def residual_of(scheme: Scheme) -> Tensor | None:
    """The first array of the epilogue that lies as the output does: the copy engine brings it to where boxes are stored
    from. Threads load the others.
    """
    problem = scheme.problem
    alike = (array for array in problem.epilogue_arrays if array.indices == problem.output.indices)
    return next(alike, None) if stores_boxes(scheme) else None


def loads_points(scheme: Scheme) -> bool:
    """Whether threads load a number of some array at each point that they leave in a box."""
    problem, residual = scheme.problem, residual_of(scheme)
    rows = set(problem.row_dims)
    others = (array for array in problem.epilogue_arrays if array != residual)
    return stores_boxes(scheme) and any(problem.vector_dim in a.dims and a.dims & rows for a in others)


def moves_registers(scheme: Scheme) -> bool:
    """Whether there are too few registers for all threads of clusters, and enough where those who copy give theirs."""
    if not has_clusters(scheme):
        return False
    outside, inside = scheme.specifiers[: scheme.accumulators_at], scheme.specifiers[scheme.accumulators_at :]
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    rows, columns, _ = matrix.factors
    sums = prod(s.factor or 1 for s in inside if isinstance(s, Unroll) and s.dim in (rows, columns))
    # Tiles of two instructions that warpgroups take in turns spill all the same: 8 bytes, by NVRTC 13.5, not by 13.0.
    if sums > 1 and any(loops(s, "warpgroup") for s in outside):
        return False
    threads = WARPS_OF_GROUP * WARP_SIZE
    sums *= matrix.factors[rows] * matrix.factors[columns] // threads
    multiplying = threads * prod(s.trips for s in scheme.specifiers if loops(s, "warpgroup"))
    needed = sums + OTHER_REGISTERS + LOAD_REGISTERS * loads_points(scheme)
    few = not blocks_for_registers(multiplying + WARP_SIZE, needed)
    # Three warpgroups with 96 sums that load points need all of 152, by this count, and spilled 24 bytes of one kernel.
    return few and needed < registers_taken(multiplying, threads)


def _is_of_boxes(tensor: Tensor, dim: str, depth: str, dtype: str) -> bool:
    """Whether tiles of an array are boxes, in rows that the copy engine copies."""
    plain = all(index == Affine(((of, 1),)) for index in tensor.indices for of, _ in index.terms[:1])
    plain = plain and len(dim) == len(depth) == 1 and {dim, depth} <= {*tensor.dims}
    return plain and _is_aligned(tensor, dtype)


def _are_pixels(problem: Problem, rows: str, depth: str) -> bool:
    """Whether rows of tiles are pixels, a tap at a time, that the copy engine brings in the order of the output."""
    image, *pixel, channel = problem.broadcast.indices
    output = "".join(dim for index in problem.output.indices[:-1] for dim, _ in index.terms)
    images = [dim for dim, _ in image.terms] + [window.dim for window in problem.windows]
    in_order = all(index.coefficient(window.tap) for index, window in zip(pixel, problem.windows))
    found = len(pixel) == len(problem.windows) > 0 and in_order and [*rows] == images and rows == output
    return found and channel == Affine(((depth, 1),)) and _is_aligned(problem.broadcast, problem.dtype)


def _is_aligned(tensor: Tensor, dtype: str) -> bool:
    """Whether the copy engine finds the rows of an array."""
    return tensor.shape[-1] * DTYPE_BYTES[dtype] % CHUNK_BYTES == 0


def loops(specifier: Specifier, worker: str | None) -> TypeGuard[Tile]:
    """Whether a specifier is a loop that such workers share; None: that each does alone."""
    return isinstance(specifier, Tile) and specifier.worker == worker
