"""How many units of each dim there are to cover, and how many a scheme's specifiers cover.

A unit is a vector for the dim of V, a dot group for the dim of D, else a point.
"""

from __future__ import annotations

from math import prod

from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import PIXELS, flat_pixels_of
from tiling.arrays.pixel_blocks import blocked_extents
from tiling.dtypes.products import LANE_BYTES
from tiling.problem import Problem
from tiling.scheme.specifiers import DotGroup, Lambda, Matrix, PixelBlock, Specifiers, Tile, Unroll, Vector, dim_of


def extents_of(problem: Problem, specifiers: Specifiers) -> dict[str, int]:
    """The extent of every dim that specifiers may stand on: fused dims first, then the others."""
    named = [dim for s in specifiers if (dim := dim_of(s))]
    named += [dim for s in specifiers if isinstance(s, Matrix) for dim in s.factors]
    fused = list(dict.fromkeys(dim for dim in named if len(dim) > 1))
    alone = [dim for dim in problem.extents if not any(dim in dims for dims in fused)]
    return {dim: _fused_extent(problem, specifiers, dim) for dim in fused + alone}


def _fused_extent(problem: Problem, specifiers: Specifiers, dims: str) -> int:
    if dims == PIXELS and not isinstance(specifiers[-1], Matrix):
        return flat_pixels_of(problem).points
    first = specifiers[0]
    seen = blocked_extents(problem, first.high, first.wide) if isinstance(first, PixelBlock) else problem.extents
    return prod(seen[dim] for dim in dims)


def units_of(problem: Problem, specifiers: Specifiers) -> dict[str, int]:
    """The units of every such dim."""
    units = extents_of(problem, specifiers)
    for s in specifiers:
        if isinstance(s, Vector):
            units[s.dim] = -(-units[s.dim] // s.lanes)
        elif isinstance(s, DotGroup):
            units[s.dim] = groups_of(problem, s)
    return units


def groups_of(problem: Problem, dot: DotGroup) -> int:
    """How many dot groups a dim has. The last one may be partly used.

    A matrix instruction may take the row of a window, `sc`. Then every pixel is filled up to whole words of 32 bits,
    so that the windows of neighbouring columns can overlap in memory. The groups hold exactly the words of a window.
    """
    per_lane = LANE_BYTES // access_of(problem).element_bytes
    if dot.points > per_lane and dot.dim == access_of(problem).window_dims:
        return dot_groups_of_window(problem) * per_lane // dot.points
    return -(-problem.extent(dot.dim) // dot.points)


def dot_groups_of_window(problem: Problem) -> int:
    """Words of 32 bits in the row of a window, every pixel filled up to whole words."""
    tap, channel = tap_and_channel(problem)
    return problem.extents[tap] * -(-problem.extents[channel] * access_of(problem).element_bytes // LANE_BYTES)


def tap_and_channel(problem: Problem) -> tuple[str, str]:
    """The two dims of `Access.window_dims`, for callers that know that there are two."""
    dims = access_of(problem).window_dims
    assert dims is not None, f"the windows of {problem} do not lie side by side"
    tap, channel = tuple(dims)
    return tap, channel


def covered_by(specifiers: Specifiers, dim: str) -> int:
    """Units of `dim` that its specifiers cover together, R excepted: the product of factors, an L being a sum."""
    covered = 1
    for s in specifiers:
        if isinstance(s, Matrix):
            covered *= s.factors.get(dim, 1)
        if dim_of(s) != dim:
            continue
        if isinstance(s, Tile):
            covered *= s.trips
        elif isinstance(s, Unroll) and s.factor is not None:
            covered *= s.factor
        elif isinstance(s, Lambda):
            covered *= s.units
    return covered
