"""The schedules worth trying without a matrix instruction, whatever the problem: tiles of blocks, warps and threads.

One dim of the output is columns, the one along which it lies contiguously; the longest other one is rows. Blocks have
one point of each further dim. Last tiles may reach beyond the edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import SchemeError, Specifier, Stage, Tile, Unroll

# Warps, lanes and sums of a thread, along rows and columns. Large tiles reuse more of what they stage; small ones give
# a small problem more blocks. Of 8 x 16 sums NVRTC 13.0 keeps all in 255 registers, with wide rows more words of
# shared memory in one access than with long columns.
_TILES = (
    ((4, 2), (8, 4), (8, 16)),
    ((4, 1), (4, 8), (8, 16)),
    ((2, 2), (8, 4), (8, 16)),
    ((4, 2), (4, 8), (8, 4)),
    ((4, 2), (4, 8), (8, 8)),
    ((2, 4), (8, 4), (8, 8)),
    ((2, 2), (4, 8), (8, 8)),
    ((2, 2), (4, 8), (8, 4)),
    ((2, 2), (8, 4), (4, 8)),
    ((2, 2), (4, 8), (4, 4)),
    ((2, 1), (4, 8), (8, 4)),
    ((1, 2), (4, 8), (4, 4)),
    ((2, 1), (4, 8), (4, 4)),
    ((1, 1), (4, 8), (4, 4)),
    ((1, 1), (2, 16), (4, 4)),
    ((2, 1), (2, 16), (4, 2)),
    ((2, 2), (4, 8), (2, 2)),
    ((1, 1), (4, 8), (2, 2)),
    ((4, 1), (1, 32), (4, 1)),
    ((1, 1), (1, 32), (4, 1)),
    ((1, 1), (1, 32), (1, 1)),
    ((1, 1), (8, 4), (1, 1)),
    ((1, 1), (32, 1), (1, 1)),
)
_STEPS = (4, 8, 16)  # points of the reduction's longest dim that are staged at a time
# Cycles in which a step's copies come from the L2 or from memory. A ring has two stages where a step takes as long to
# multiply, else four: where the number of stages is no power of two, NVRTC 13.0 reads single words of shared memory.
_COPY_CYCLES, _STAGES = 1000, (2, 4)
_PARTITIONS = 4  # of a multiprocessor, each of which multiplies for a warp in a cycle
_MOST_WASTED = 2  # the most points of a tile, as a multiple of its dim's points


@dataclass(frozen=True)
class LoopSchedule:
    """One way to tile a problem: along rows and columns warps, lanes and sums of a thread; points of a step."""

    warps: tuple[int, int]
    lanes: tuple[int, int]
    sums: tuple[int, int]
    step: int

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        rows, columns = (w * n * s for w, n, s in zip(self.warps, self.lanes, self.sums))
        return rows, columns

    def stages(self, taps: int) -> int:
        """Stages of a ring, with so many taps in a step."""
        cycles = prod(self.warps) * prod(self.sums) * self.step * taps // _PARTITIONS
        return _STAGES[cycles < _COPY_CYCLES]


def loop_schedules() -> tuple[LoopSchedule, ...]:
    """All schedules."""
    return tuple(LoopSchedule(*tile, step) for tile in _TILES for step in _STEPS)


def loop_schemes(problem: Problem) -> tuple[Scheme, ...]:
    """Each schedule as a scheme of the problem, without those that would compute mostly beyond its edges."""
    found = {}
    for schedule in loop_schedules():
        if _fits(problem, schedule):
            scheme = scheme_of(problem, schedule)
            found[scheme.text] = scheme
    if not found:
        raise SchemeError(f"{problem}: no tile without matrix instructions fits it; give a scheme")
    return tuple(found.values())


def of_one_stage(scheme: Scheme) -> Scheme:
    """The scheme without its rings, for devices and windows whose tiles do not fit several times."""
    parts = (replace(part, depth=1) if isinstance(part, Stage) else part for part in scheme.specifiers)
    return replace(scheme, specifiers=tuple(parts))


def _sides(problem: Problem) -> tuple[str, str]:
    """The dims of rows and columns."""
    outputs = [index.terms[-1][0] for index in problem.output.indices if index.terms]
    columns = outputs[-1]
    others = [dim for dim in problem.extents if dim not in problem.reductions and dim != columns]
    return max(others, key=lambda dim: problem.extents[dim]), columns


def _fits(problem: Problem, schedule: LoopSchedule) -> bool:
    extents = [problem.extents[dim] for dim in _sides(problem)]
    longest = problem.extents[_summed(problem)[0]]
    small = all(tile <= max(_MOST_WASTED * extent, 1) for tile, extent in zip(schedule.tile, extents))
    return (small or max(schedule.sums) == 1) and (schedule.step <= longest or schedule.step == _STEPS[0])


def _summed(problem: Problem) -> tuple[str, ...]:
    """The summed dims. The first is the dim along which a step takes several points."""
    order = sorted(problem.reductions, key=lambda dim: dim in {w.tap for w in problem.windows})
    return tuple(order)


def scheme_of(problem: Problem, schedule: LoopSchedule) -> Scheme:
    """The scheme: blocks, S(output), steps, what is staged, taps, warps, lanes, sums. Only f32 is copied ahead."""
    sides, (first, *taps) = _sides(problem), _summed(problem)
    others = [dim for dim in problem.extents if dim not in (*problem.reductions, *sides)]
    windows = {window.tap for window in problem.windows}
    step = min(schedule.step, problem.extents[first]) if first not in windows else problem.extents[first]
    found: list[Specifier] = [Tile(dim, problem.extents[dim], "block") for dim in others]
    found += [Tile(dim, -(-problem.extents[dim] // tile), "block") for dim, tile in zip(sides, schedule.tile)]
    steps, passed = -(-problem.extents[first] // step), prod(problem.extents[dim] for dim in taps)
    stages = schedule.stages(passed) if problem.dtype == "f32" and steps > 1 else 1
    found += [Stage(problem.output.name), Tile(first, steps)]
    found += [Stage(tensor.name, stages) for tensor in (problem.broadcast, problem.vector)]
    found += [Tile(dim, problem.extents[dim]) for dim in taps]
    found += [Tile(dim, count, "warp") for dim, count in zip(sides, schedule.warps) if count > 1]
    found += _lanes(sides, schedule.lanes)
    found.append(Unroll(first, step))
    found += [Unroll(dim, count) for dim, count in zip(sides, schedule.sums) if count > 1]
    return Scheme(problem, tuple(found))


def _lanes(sides: tuple[str, str], lanes: tuple[int, int]) -> list[Tile]:
    """Loops over lanes: pairs of lanes have the same columns, so shared memory answers half a warp at once."""
    (rows, columns), (down, across) = sides, lanes
    pair = 2 if down % 2 == 0 and across > 1 else 1
    found = [Tile(rows, down // pair, "lane"), Tile(columns, across, "lane"), Tile(rows, pair, "lane")]
    return [tile for tile in found if tile.trips > 1]
