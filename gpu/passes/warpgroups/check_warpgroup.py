"""Checks that passes can make a GPU kernel of a valid scheme that ends with a warpgroup's matrix instruction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod

from gpu.limits.hopper import LARGEST_BOX, LARGEST_CLUSTER
from gpu.passes.facts.registers import fit
from gpu.passes.facts.workers import WARP_SIZE, WARPS_OF_GROUP, takers_of
from gpu.passes.matrices.check_matrix import check_roles
from gpu.passes.warpgroups.instructions import CHUNK_BYTES, COLUMNS, DEPTHS, ROWS, row_points
from gpu.passes.warpgroups.kinds import blocks_of_cluster, has_clusters, loops, threads_copy
from tiling.choices import either
from tiling.dtypes.products import DTYPE_BYTES
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, SchemeError, Specifier, Stage, Tile, Unroll

_ORDER = (
    "T(reduction)@block or T(reduction)@cluster … T@cluster … T@block … T@warpgroup … S(output) T(tap) … "
    "T(reduction) S(a, depth) S(b, depth) T@warpgroup … U … M"
)
_MOST_WARPS = 32  # of a block


def check_warpgroup(scheme: Scheme) -> None:
    """Raises SchemeError, which names the specifier, where a scheme is no kernel of warpgroups."""
    problem, matrix = scheme.problem, scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    if problem.dtype not in DEPTHS:
        raise SchemeError(f"{matrix}: no wgmma reads {problem.dtype}; use {either(DEPTHS)}")
    rows, columns, depth = matrix.factors
    if matrix.factors[columns] not in COLUMNS or matrix.factors[depth] != DEPTHS[problem.dtype]:
        shapes = either([f"m{ROWS}n{count}k{DEPTHS[problem.dtype]}" for count in COLUMNS])
        raise SchemeError(f"{matrix}: a warpgroup's matrix instruction for {problem.dtype} is {shapes}")
    check_roles(problem, matrix)
    _check_order(scheme, (rows, columns, depth))
    _check_takers(scheme)
    for tensor in (problem.broadcast, problem.vector):
        across = tensor.indices[-1].terms[0][0] not in depth
        if across and DTYPE_BYTES[problem.dtype] > 2:
            raise SchemeError(
                f"S({tensor.name}, …): wgmma reads {problem.dtype} only where {tensor.name} lies along {depth}: give "
                f"it transposed"
            )
    threads = threads_copy(scheme)
    if has_clusters(scheme):
        _check_clusters(scheme, depth, threads)
    if threads and problem.dtype == "tf32":
        raise SchemeError(
            f"{matrix}: wgmma cuts tf32 off where only TMA copies round it, which copy no such tiles: loop over "
            f"clusters, or use a warp's M({rows}16{columns}8{depth}8)"
        )
    steps = prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and not s.worker and s.dim == depth)
    # wgmma still reads one stage while threads fill another. A third step is the first that needs a stage again.
    least = 3 if threads and steps > 2 else 2
    for s in scheme.specifiers:
        if isinstance(s, Stage) and s.tensor != problem.output.name and s.depth < least:
            raise SchemeError(
                f"{s}: threads copy these tiles, and wgmma still reads one while another fills: use {least}"
            )
    _check_sizes(scheme, (rows, columns, depth), threads)


def _check_clusters(scheme: Scheme, depth: str, threads: bool) -> None:
    """Raises SchemeError where clusters cannot take the tiles."""
    if blocks_of_cluster(scheme) > LARGEST_CLUSTER:
        blocks = [s for s in scheme.specifiers if loops(s, "block")]
        raise SchemeError(f"{' '.join(map(str, blocks))}: a cluster has at most {LARGEST_CLUSTER} blocks")
    if threads and len(depth) > 1:
        taps, channels = depth[:-1], depth[-1]
        raise SchemeError(
            f"{scheme.specifiers[-1]}: TMA copies take one tap of a window at a time: loop over {' and '.join(taps)} "
            f"by T outside the loop over {channels}"
        )
    if threads:
        raise SchemeError(f"{scheme.text}: clusters copy boxes alone")


def _check_order(scheme: Scheme, axes: tuple[str, str, str]) -> None:
    """Raises SchemeError where the specifiers do not stand in the order of a kernel of warpgroups."""
    problem, depth = scheme.problem, axes[2]
    output = problem.output.name
    taps = [dim for dim in problem.reductions if dim not in depth]
    kinds: tuple[tuple[str, Callable[[Specifier], bool], range], ...] = (
        ("T@cluster", lambda s: loops(s, "cluster") and not _loops_over(s, problem.reductions), range(99)),
        ("T@block", lambda s: loops(s, "block") and not _loops_over(s, problem.reductions), range(99)),
        ("T@warpgroup", lambda s: loops(s, "warpgroup") and _loops_over(s, axes[:2]), range(99)),
        (f"S({output})", lambda s: isinstance(s, Stage) and s.tensor == output and s.depth == 1, range(1, 2)),
        ("T of a tap", lambda s: loops(s, None) and _loops_over(s, taps), range(99)),
        (f"T({depth},steps)", lambda s: loops(s, None) and _loops_over(s, axes[2:]), range(1, 2)),
        ("S of both inputs", lambda s: isinstance(s, Stage) and s.tensor != output, range(2, 3)),
        ("T@warpgroup", lambda s: loops(s, "warpgroup") and _loops_over(s, axes[:2]), range(1, 99)),
        ("U", lambda s: isinstance(s, Unroll) and s.dim in axes and s.factor is not None, range(99)),
    )
    if taps and threads_copy(scheme):
        raise SchemeError(
            f"{scheme.specifiers[-1]}: threads copy these tiles, with all taps of a row: name {problem.reductions} as "
            f"what is summed over, since the copy engine takes rows of {CHUNK_BYTES} bytes with channels last"
        )
    left = list(scheme.specifiers[:-1])
    while left and _shares(left[0], scheme, axes[2]):
        left.pop(0)
    for name, fits, counts in kinds:
        count = 0
        while left and fits(left[0]):
            left.pop(0)
            count += 1
        if count not in counts:
            parts = [s for s in left if loops(s, "cluster") and _loops_over(s, problem.reductions)]
            if parts:
                raise SchemeError(f"{parts[0]}: out of place in a kernel of warpgroups, which reads {_ORDER}")
            raise SchemeError(f"{scheme.text}: {name} is missing: a kernel of warpgroups reads {_ORDER}")
    if left:
        raise SchemeError(f"{left[0]}: out of place in a kernel of warpgroups, which reads {_ORDER}")
    stages = [s for s in scheme.specifiers if isinstance(s, Stage) and s.tensor != output]
    if stages[0].depth != stages[1].depth or stages[0].depth < 2:
        raise SchemeError(
            f"{stages[0]} {stages[1]}: a warp copies ahead into a ring: give both inputs the same 2 or more stages"
        )


def _shares(specifier: Specifier, scheme: Scheme, depth: str) -> bool:
    """Whether a loop hands parts of a sum to blocks or, where there are any, to clusters.

    Raises SchemeError for parts that they cannot have.
    """
    if not has_clusters(scheme):
        return loops(specifier, "block") and _loops_over(specifier, (depth,))
    if not _loops_over(specifier, scheme.problem.reductions):
        return False
    assert isinstance(specifier, Tile)
    dim, trips = specifier.dim, specifier.trips
    if specifier.worker == "block":
        raise SchemeError(
            f"{specifier}: clusters, not their blocks, share a tile's reduction: use T({dim},{trips})@cluster"
        )
    if dim != depth and scheme.problem.extents[dim] % trips:
        raise SchemeError(
            f"{specifier}: {scheme.problem.extents[dim]} taps along {dim} are not shared by {trips} evenly"
        )
    return specifier.worker == "cluster"


def _loops_over(specifier: Specifier, dims: Collection[str]) -> bool:
    return isinstance(specifier, Tile) and specifier.dim in dims


def _check_takers(scheme: Scheme) -> None:
    """Raises SchemeError where warpgroups cannot have tiles of their own."""
    takers = takers_of(scheme)
    if not takers:
        return
    if not has_clusters(scheme):
        raise SchemeError(f"{takers[0]}: only the warpgroups of clusters take tiles of their own: loop over clusters")
    inside = [s for s in scheme.specifiers[scheme.accumulators_at :] if loops(s, "warpgroup")]
    together = [s for s in inside if isinstance(s, Tile) and s.trips > 1]
    if together:
        raise SchemeError(f"{together[0]}: a warpgroup with tiles of its own ({takers[0]}) shares none with another")
    parts = [s for s in scheme.specifiers if loops(s, "cluster") and _loops_over(s, scheme.problem.reductions)]
    if parts:
        raise SchemeError(
            f"{takers[0]}: warpgroups with tiles of their own cannot share a reduction with other clusters: leave out "
            f"{parts[0]}"
        )


def _check_sizes(scheme: Scheme, axes: tuple[str, str, str], threads: bool) -> None:
    """Raises SchemeError where tiles have other rows than wgmma reads, or too many for a copy or for registers."""
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)

    *_, depth = axes
    unrolled, groups = dict.fromkeys(axes, 1), dict.fromkeys(axes, 1)
    takers = takers_of(scheme)
    for s in scheme.specifiers[scheme.accumulators_at :]:
        if isinstance(s, Unroll):
            unrolled[s.dim] *= s.factor or 1
        elif isinstance(s, Tile) and s.worker == "warpgroup":
            groups[s.dim] *= s.trips
    points = row_points(scheme.problem.dtype)
    if unrolled[depth] * matrix.factors[depth] != points:
        wanted = points // matrix.factors[depth]
        raise SchemeError(
            f"{matrix}: a step has rows of 128 bytes, {points} points of {depth}: use U({depth},{wanted})"
        )
    warps = prod((*groups.values(), *(loop.trips for loop in takers))) * WARPS_OF_GROUP + (not threads)
    if warps > _MOST_WARPS:
        named = " ".join(str(s) for s in scheme.specifiers if isinstance(s, Tile) and s.worker == "warpgroup")
        beside = "" if threads else "with a warp that copies "
        raise SchemeError(f"{named}: {beside}these are {warps} warps; a block has at most {_MOST_WARPS}")
    for dim in axes[:2]:
        tile = unrolled[dim] * groups[dim] * matrix.factors[dim]
        if tile > LARGEST_BOX and not threads:
            raise SchemeError(f"{matrix}: {tile} points of {dim} in a tile, the copy engine takes {LARGEST_BOX}")
    sums = prod(unrolled[dim] * matrix.factors[dim] for dim in axes[:2]) // (WARP_SIZE * WARPS_OF_GROUP)
    if not fit(sums, warps * WARP_SIZE):
        raise SchemeError(f"{matrix}: {sums} sums a thread leave no registers for {warps} warps; use smaller tiles")
