"""Reads a scheme as a GPU pipeline, or says what in the scheme does not fit one."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import TypeVar

from gpu.codegen.pipeline.instructions import MatrixInstruction, instructions_for
from gpu.codegen.pipeline.stages import Pipeline
from gpu.passes.check_scheme import check_scheme
from gpu.passes.warpgroups.kinds import copied, has_clusters, in_blocks
from tiling.arrays.access import access_of
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, SchemeError, Specifier, Stage, Tile, Unroll

# Points of an axis, including those past its edge, and blocks of a grid: kernels count them in 32 bits.
_MOST_POINTS = 1 << 31
# The pipeline of mma.sync. Each block keeps its tile of c in registers while it loops over k. A ring of 3 stages in
# shared memory holds the tiles of a and b, one stage a step. Warps share the block's tile.
#     T(m,8)@block T(n,4)@block S(c) T(k,16) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(k,2) U(m,4) U(n,8) M(m16n8k16)
# The same with wgmma:
#     … T(m,2)@warpgroup U(k,4) U(m,1) U(n,1) M(m64n256k16)
# Split-K: T(k,4)@block outermost gives each of four blocks a part of k. The last of them to finish adds up their sums.
#
# Loops over clusters make it Hopper's TMA pipeline. As many clusters as the device runs at once take the tiles in
# turns, the @block loops are the blocks of a cluster, and an extra warp copies by tensor maps.
#     T(m,8)@cluster T(n,16)@cluster T(m,4)@cluster T(m,2)@block S(c) T(k,64) S(a, 4) S(b, 4) T(m,2)@warpgroup …
# Split-K is T(k,4)@cluster outermost there, or T(r,3)@cluster for parts of a window. With @warpgroup loops outside S(c)
# it is ping-pong: each warpgroup has a tile of its own, and they take turns.
#     T(m,4)@cluster T(n,16)@cluster T(m,4)@cluster T(m,2)@block T(m,2)@warpgroup S(c) T(k,64) S(a, 4) S(b, 4) …
#
# In a convolution m is nhw, n is k and k is rsc, the tensors are x, w and y, and a TMA pipeline also loops over r and
# s.
ORDER = (
    "T(reduction)@block or T(reduction)@cluster … T@cluster … T@block … T@warpgroup … S(output) T(reduction) "
    "S(a, depth) S(b, depth) T@warp or T@warpgroup … U … M"
)


@lru_cache(1024)  # a search asks several times for each of some 200 schemes
def pipeline_of(scheme: Scheme) -> Pipeline:
    """Reads a scheme. Raises SchemeError, which names the specifier, where it has no kernel or is no GPU pipeline."""
    copies, scheme = copied(scheme), in_blocks(scheme)
    problem = scheme.problem
    matrix = scheme.specifiers[-1]
    if not isinstance(matrix, Matrix):
        raise SchemeError(f"{matrix}: a GPU scheme ends with a matrix instruction, such as M(m16n8k16)")
    if not is_product(problem):
        raise SchemeError(f"{matrix}: {NO_PRODUCT}")
    check_scheme(scheme)
    instruction = _instruction(matrix, problem.dtype)
    rows, columns, depth = matrix.factors
    axes, left = (rows, columns, depth), list(scheme.specifiers[:-1])
    parts = _take(left, Tile, lambda s: s.worker == "block" and s.dim == depth)
    parts += _take(left, Tile, lambda s: s.worker == "cluster" and s.dim[0] in problem.reductions)
    blocks = _take(left, Tile, lambda s: s.worker == "cluster" and s.dim[0] not in problem.reductions)
    blocks += _take(left, Tile, lambda s: s.worker == "block" and s.dim != depth)
    takers = _take(left, Tile, lambda s: s.worker == "warpgroup" and s.dim in (rows, columns))
    _take(left, Stage, lambda s: s.tensor == problem.output.name and s.depth == 1)
    taps = _take(left, Tile, lambda s: s.worker is None and s.dim not in axes and has_clusters(scheme))
    loops = _take(left, Tile, lambda s: s.worker is None and s.dim == depth)
    stages = _take(left, Stage, lambda s: s.tensor != problem.output.name)
    warps = _take(left, Tile, lambda s: s.worker == instruction.worker and s.dim in (rows, columns))
    unrolls = _take(left, Unroll, lambda s: s.dim in axes and s.factor is not None)
    if left:
        raise SchemeError(f"{left[0]}: out of place in a GPU pipeline, which reads {ORDER}")
    if len(loops) != 1:
        raise SchemeError(
            f"T({axes[2]},steps): a GPU pipeline has one loop over {axes[2]}, this scheme has {len(loops)}"
        )
    if stages[0].depth < 2:
        raise SchemeError(f"{stages[0]} {stages[1]}: a GPU pipeline has a ring of at least 2 stages")
    down, across, deep = (prod(u.factor for u in unrolls if u.factor is not None and u.dim == axis) for axis in axes)
    unrolled = (down, across, deep)
    steps = loops[0].trips * prod(tap.trips for tap in taps)
    sizes = (blocks, steps, stages[0].depth, warps, unrolled, parts, taps, takers)
    pipeline = Pipeline(scheme, instruction, axes, *sizes, copies)
    if pipeline.asynchronous and not pipeline.tma and (pipeline.depth < 3 or instruction.truncates):
        raise SchemeError(f"{matrix}: a GPU pipeline of wgmma without clusters has 3 stages or more, of 16-bit numbers")
    _check_counts(pipeline)
    return pipeline


def is_pipeline(scheme: Scheme) -> bool:
    """Whether a scheme reads as a pipeline, by which the model knows it."""
    try:
        pipeline_of(scheme)
    except SchemeError:
        return False
    return True


def _check_counts(pipeline: Pipeline) -> None:
    counts = {axis: pipeline.covered(axis) for axis in pipeline.axes} | {"the grid": pipeline.grid}
    for what, count in counts.items():
        if count >= _MOST_POINTS:
            matrix = pipeline.scheme.specifiers[-1]
            raise SchemeError(f"{matrix}: {what} counts {count}, a GPU kernel up to {_MOST_POINTS - 1}")


_Kind = TypeVar("_Kind", Tile, Stage, Unroll)


def _take(left: list[Specifier], kind: type[_Kind], fits: Callable[[_Kind], bool]) -> tuple[_Kind, ...]:
    """Removes and returns the specifiers at the front of `left` that are of a kind and fit."""
    taken = []
    while left and isinstance(first := left[0], kind) and fits(first):
        taken.append(first)
        left.pop(0)
    return tuple(taken)


NO_PRODUCT = "groups make no single matrix product, which matrix instructions need"


def is_product(problem: Problem) -> bool:
    """Whether the problem is a matrix product or a batch of them (l), without groups and without lanewise channels."""
    return not access_of(problem).lanewise and "g" not in problem.extents


def _instruction(matrix: Matrix, dtype: str) -> MatrixInstruction:
    """The matrix instruction that a kernel has."""
    shape = tuple(matrix.factors.values())
    return next(i for i in instructions_for(dtype) if (i.rows, i.columns, i.depth) == shape)
