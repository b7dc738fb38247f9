"""Checks that passes can make a GPU kernel of a valid scheme."""

from __future__ import annotations

from math import prod

from gpu.passes.facts.workers import WARP_SIZE, takers_of
from gpu.passes.matrices.check_matrix import check_matrix
from gpu.passes.warpgroups.check_warpgroup import check_warpgroup
from gpu.passes.warpgroups.kinds import as_read, is_of_warpgroups
from tiling.dtypes.formats import FLOATS
from tiling.dtypes.products import DTYPES
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import DotGroup, Lambda, Matrix, Rest, SchemeError, Stage, Tile, Vector

_MULTIPLIED = tuple(name for name, each in DTYPES.items() if each.x in FLOATS)  # by threads alone
_COPIED = "f32"  # to shared memory as it is; other numbers are converted on the way
MOST_THREADS = 1024  # of a block
_THREADS = ("warp", "lane", "warpgroup")
_BLOCKS = ("cluster", "block")  # outermost
_WORKERS = (*_BLOCKS, *_THREADS)


def check_scheme(scheme: Scheme) -> None:
    """Raises SchemeError, which names the specifier, where a scheme is no kernel of a GPU's blocks and threads."""
    scheme = as_read(scheme)
    problem, output = scheme.problem, scheme.problem.output.name
    of_matrices = isinstance(scheme.specifiers[-1], Matrix)
    for s in scheme.specifiers:
        if isinstance(s, Stage) and s.depth > 1 and s.tensor == output:
            raise SchemeError(f"{s}: several stages are for inputs; use S({s.tensor})")
    if is_of_warpgroups(scheme):
        check_warpgroup(scheme)
    elif of_matrices:
        check_matrix(scheme)
    elif problem.dtype not in _MULTIPLIED:
        raise SchemeError(
            f"{problem.dtype} is multiplied by matrix instructions alone, with channels last and without groups; a "
            f"scheme without M is of {', '.join(_MULTIPLIED[:-1])} or {_MULTIPLIED[-1]}"
        )
    if not any(isinstance(s, Stage) and s.tensor == output for s in scheme.specifiers):
        raise SchemeError(f"S({output}) is missing: it marks where the register tile of {output} is held")
    sums = scheme.accumulators_at
    takers = takers_of(scheme) if is_of_warpgroups(scheme) else ()
    for place, s in enumerate(scheme.specifiers):
        if isinstance(s, (Vector, DotGroup)):
            raise SchemeError(f"{s}: vectors are a CPU's; a GPU's scheme without M ends with U")
        shared = of_matrices and isinstance(s, Tile) and s.worker in _BLOCKS
        if isinstance(s, (Rest, Tile)) and place < sums and s.dim[0] in problem.reductions and not shared:
            raise SchemeError(f"{s}: {s.dim} is summed over, so on a GPU it loops inside S({output})")
        if isinstance(s, Lambda) and s.dim in problem.reductions:
            raise SchemeError(f"{s}: {s.dim} is summed over; compose output dims instead")
        if isinstance(s, Stage) and s.depth > 1 and not of_matrices and problem.dtype != _COPIED:
            raise SchemeError(f"{s}: without M only {_COPIED} is copied ahead of its turn; use S({s.tensor})")
        outside = [t for t in scheme.specifiers[: min(place, sums)] if isinstance(t, Tile) and t.worker in _THREADS]
        outside = [t for t in outside if t not in takers]
        if isinstance(s, Stage) and s.tensor != output and outside:
            raise SchemeError(f"{s}: all threads of a block stage together, so {outside[0]} stands inside S({output})")
        if isinstance(s, Tile) and s.worker:
            _check_worker(scheme, place, s)
    lanes, warps = (prod(s.trips for s in _bound(scheme, worker)) for worker in ("lane", "warp"))
    if of_matrices:
        lanes = WARP_SIZE
    if lanes != WARP_SIZE:
        named = " ".join(map(str, _bound(scheme, "lane"))) or "no T(…)@lane"
        raise SchemeError(f"{named}: a warp of a GPU has {WARP_SIZE} lanes, so their product must be {WARP_SIZE}")
    if warps * lanes > MOST_THREADS:
        named = " ".join(map(str, _bound(scheme, "warp")))
        raise SchemeError(f"{named}: a block has at most {MOST_THREADS // WARP_SIZE} warps")


def _bound(scheme: Scheme, worker: str) -> list[Tile]:
    return [s for s in scheme.specifiers if isinstance(s, Tile) and s.worker == worker]


def _check_worker(scheme: Scheme, place: int, tile: Tile) -> None:
    """Checks that blocks stand outermost, and warps and lanes around the register tile."""
    last = scheme.specifiers[-1]
    if tile.worker == "cluster" and isinstance(last, Matrix) and not is_of_warpgroups(scheme):
        raise SchemeError(f"{last}: clusters multiply by wgmma, such as M(m64n128k16)")
    if tile.worker not in _WORKERS or (tile.worker == "cluster" and not is_of_warpgroups(scheme)):
        raise SchemeError(f"{tile}: workers of a scheme without M are {', '.join(_WORKERS[1:])} on a GPU")
    before = scheme.specifiers[:place]
    outputs = [s for s in before if isinstance(s, Tile) and s.dim[0] not in scheme.problem.reductions]
    if tile.worker in _BLOCKS and tile.dim[0] in scheme.problem.reductions and outputs:
        raise SchemeError(
            f"{tile}: {tile.worker}s that share a sum stand outside those that share outputs, such as {outputs[0]}"
        )
    if tile.worker in _BLOCKS and tile.dim[0] in scheme.problem.reductions:
        _check_shared_sum(scheme, tile)
    if tile.worker == "block" and not all(isinstance(s, Tile) and s.worker in _BLOCKS for s in before):
        raise SchemeError(f"{tile}: blocks stand outermost, together: put it first")
    inside = [s for s in scheme.specifiers[place + 1 :] if isinstance(s, (Rest, Tile, Lambda))]
    alone = [s for s in inside if not (isinstance(s, Tile) and s.worker) and s.dim not in scheme.problem.reductions]
    if tile.worker not in _BLOCKS and alone:
        raise SchemeError(
            f"{tile}: {alone[0]} loops over outputs inside it; on a GPU it stands outside warps and lanes"
        )


def _check_shared_sum(scheme: Scheme, tile: Tile) -> None:
    """Checks that several blocks or clusters share the sum, and that each has one register tile of it."""
    if tile.trips == 1:
        raise SchemeError(f"{tile}: one {tile.worker} shares no sum; leave it out, or share the sum among 2 or more")
    between = [
        s
        for s in scheme.specifiers[: scheme.accumulators_at]
        if not (isinstance(s, Tile) and (s.worker in _BLOCKS or s.dim[0] in scheme.problem.reductions))
    ]
    if between:
        output = scheme.problem.output.name
        raise SchemeError(f"{between[0]}: where {tile.worker}s share a sum ({tile}), it stands inside S({output})")
