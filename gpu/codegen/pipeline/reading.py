"""Reads a scheme as a GPU pipeline, or says what in the scheme does not fit one."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeVar

from gpu.codegen.pipeline.instructions import DTYPES, Instruction, instructions_for
from gpu.codegen.pipeline.stages import Pipeline
from gpu.limits.hopper import LARGEST_CLUSTER
from tiling.arrays.access import access_of
from tiling.choices import either
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, SchemeError, Specifier, Stage, Tile, Unroll

LARGEST_BLOCK = 1024  # threads, of every device
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


def pipeline_of(scheme: Scheme) -> Pipeline:
    """Reads a scheme. Raises SchemeError, which names the specifier, where it is not a GPU pipeline."""
    problem = scheme.problem
    matrix = scheme.specifiers[-1]
    if not isinstance(matrix, Matrix):
        raise SchemeError(f"{matrix}: a GPU scheme ends with a matrix instruction, such as M(m16n8k16)")
    instruction = _instruction(problem, matrix)
    rows, columns, depth = matrix.factors
    axes, left = (rows, columns, depth), list(scheme.specifiers[:-1])
    parts = _take(left, Tile, lambda s: s.worker == "block" and s.dim == depth)
    parts += _take(left, Tile, lambda s: s.worker == "cluster" and s.dim[0] in problem.reductions)
    blocks = _take(left, Tile, lambda s: s.worker == "cluster" and s.dim[0] not in problem.reductions)
    blocks += _take(left, Tile, lambda s: s.worker == "block" and s.dim != depth)
    takers = _take(left, Tile, lambda s: s.worker == "warpgroup" and s.dim in (rows, columns))
    held = _take(left, Stage, lambda s: s.tensor == problem.output.name and s.depth == 1)
    tma = any(loop.worker == "cluster" for loop in blocks)
    taps = _take(left, Tile, lambda s: tma and s.worker is None and s.dim not in axes)
    loops = _take(left, Tile, lambda s: s.worker is None and s.dim == depth)
    stages = _take(left, Stage, lambda s: s.tensor != problem.output.name)
    warps = _take(left, Tile, lambda s: s.worker == instruction.worker and s.dim in (rows, columns))
    unrolls = _take(left, Unroll, lambda s: s.dim in axes and s.factor is not None)
    if left:
        raise SchemeError(f"{left[0]}: out of place in a GPU pipeline, which reads {ORDER}")
    output = problem.output.name
    if len(held) != 1:
        raise SchemeError(f"S({output}) is missing: it marks where the tile of {output} is held in registers")
    if len(loops) != 1:
        raise SchemeError(
            f"T({axes[2]},steps): a GPU pipeline has one loop over {axes[2]}, this scheme has {len(loops)}"
        )
    if len(stages) != 2:
        names = " and ".join(f"S({t.name}, depth)" for t in problem.tensors if t is not problem.output)
        raise SchemeError(f"a GPU pipeline stages both inputs in shared memory: {names}")
    if stages[0].depth != stages[1].depth or stages[0].depth < 2:
        raise SchemeError(
            f"{stages[0]} {stages[1]}: the inputs share a ring of at least 2 stages: give both the same depth"
        )
    down, across, deep = (prod(u.factor for u in unrolls if u.factor is not None and u.dim == axis) for axis in axes)
    unrolled = (down, across, deep)
    if instruction.a is None:
        _check_asynchronous(stages, unrolled, axes)
    elif unrolled[1] % 2:
        raise SchemeError(
            f"U({axes[1]},{unrolled[1]}): ldmatrix loads two instructions' columns at once: use an even factor"
        )
    steps = loops[0].trips * prod(tap.trips for tap in taps)
    pipeline = Pipeline(scheme, instruction, axes, blocks, steps, stages[0].depth, warps, unrolled, parts, taps, takers)
    if tma:
        _check_tma(pipeline)
    elif takers:
        raise SchemeError(f"{takers[0]}: only the warpgroups of clusters take tiles of their own: loop over clusters")
    elif pipeline.asynchronous and instruction.truncates:
        raise SchemeError(
            f"{matrix}: wgmma cuts {problem.dtype} off where only TMA copies round it: loop over clusters, or use a "
            f"warp's M({axes[0]}16{axes[1]}8{axes[2]}8)"
        )
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
    if pipeline.threads > LARGEST_BLOCK:
        raise SchemeError(f"{pipeline.warps[-1]}: {pipeline.threads} threads; a block has at most {LARGEST_BLOCK}")


def _check_asynchronous(stages: tuple[Stage, ...], unrolled: tuple[int, int, int], axes: tuple[str, str, str]) -> None:
    if stages[0].depth < 3:
        raise SchemeError(f"{stages[0]} {stages[1]}: wgmma still reads one stage while another fills: use at least 3")
    if unrolled[1] != 1 or unrolled[2] != 4:
        raise SchemeError(f"wgmma reads rows of 128 bytes of one tile of columns: use U({axes[2]},4) U({axes[1]},1)")


def _check_tma(pipeline: Pipeline) -> None:
    """Raises SchemeError, which names the specifier, where clusters cannot run the pipeline."""
    matrix = pipeline.scheme.specifiers[-1]
    if not pipeline.asynchronous:
        raise SchemeError(f"{matrix}: clusters multiply by wgmma, such as M(m64n128k16)")
    _check_parts(pipeline)
    _check_takers(pipeline)
    if pipeline.rank_map.workers > LARGEST_CLUSTER:
        blocks = " ".join(str(loop) for loop in pipeline.blocks if loop.worker == "block")
        raise SchemeError(f"{blocks}: a cluster has at most {LARGEST_CLUSTER} blocks")
    looped = {tap.dim for tap in pipeline.taps} | set(pipeline.axes[2])
    missing = [dim for dim in pipeline.problem.reductions if dim not in looped]
    if missing or len(pipeline.axes[2]) > 1:
        wanted = [d for d in pipeline.problem.reductions if d != pipeline.problem.broadcast.indices[-1].terms[-1][0]]
        raise SchemeError(
            f"{matrix}: TMA copies take one tap of a window at a time: loop over {' and '.join(wanted)} by T outside "
            f"the loop over {pipeline.axes[2][-1]}"
        )


def _check_parts(pipeline: Pipeline) -> None:
    """Raises SchemeError where split-K parts belong to blocks rather than clusters, or cut the taps unevenly."""
    for part in pipeline.parts:
        if part.worker != "cluster":
            raise SchemeError(
                f"{part}: clusters, not their blocks, share a tile's reduction: use T({part.dim},{part.trips})@cluster"
            )
        extent = pipeline.problem.extents[part.dim]
        if part.dim != pipeline.axes[2] and extent % part.trips:
            raise SchemeError(f"{part}: {extent} taps along {part.dim} are not shared by {part.trips} evenly")


def _check_takers(pipeline: Pipeline) -> None:
    """Raises SchemeError for ping-pong with split-K."""
    if pipeline.taker_map.workers > 1 and pipeline.parts:
        raise SchemeError(
            f"{pipeline.takers[0]}: warpgroups with tiles of their own cannot share a reduction with other clusters: "
            f"leave out {pipeline.parts[0]}"
        )


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


def _instruction(problem: Problem, matrix: Matrix) -> Instruction:
    axes = tuple(matrix.factors)
    if not is_product(problem):
        raise SchemeError(f"{matrix}: {NO_PRODUCT}")
    known: dict[tuple[int, ...], Instruction] = {
        (i.rows, i.columns, i.depth): i for i in instructions_for(problem.dtype)
    }
    if not known:
        raise SchemeError(f"{matrix}: no matrix instruction reads {problem.dtype}; use {either(DTYPES)}")
    instruction = known.get(tuple(matrix.factors.values()))
    if instruction is None:
        shapes = ", ".join(i.shape for i in known.values())
        raise SchemeError(f"{matrix}: the matrix instructions for {problem.dtype} are {shapes}")
    roles = (
        all(dim in problem.row_dims for dim in axes[0]),
        axes[1] == problem.vector_dim,
        all(dim in problem.reductions for dim in axes[2]),
    )
    if not all(roles):
        raise SchemeError(
            f"{matrix}: names rows ({' '.join(problem.row_dims)}), then columns ({problem.vector_dim}), then what is "
            f"summed over ({' '.join(problem.reductions)})"
        )
    return instruction
