"""Where a scheme may copy x strip by strip, S(x), with flattened pixels (`tiling.rewrite.copies.laid_out`).

All loops inside read the strip, so S(x) stands outside the loops over k, right inside loops over pixels. Neighbouring
strips overlap by the reach of a window, so strips are long; a cache must hold each.
"""

from __future__ import annotations

from collections.abc import Iterator

from tiling.arrays.flat_pixels import PIXELS
from tiling.rewrite.copies.strips import copies_flat_pixels, strip_bytes, unsupported_reason
from tiling.scheme.compose import divisors
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import SchemeError, Specifier, Stage, Tile


def with_strips(scheme: Scheme, largest: float) -> tuple[Scheme, ...]:
    """The scheme with the longest strips of at most `largest` bytes, and with the longest of at most half of that.

    There is none where the scheme does not copy flattened pixels, or where the problem has groups.
    """
    if not copies_flat_pixels(scheme) or scheme.problem.looped_dims:
        return ()
    found = sorted(_staged(scheme), key=strip_bytes)
    fitting = ([s for s in found if strip_bytes(s) <= size] for size in (largest, largest / 2))
    return tuple(dict.fromkeys(schemes[-1] for schemes in fitting if schemes))


def _staged(scheme: Scheme) -> Iterator[Scheme]:
    """The scheme with S(x) inside its outermost loops over images and pixels. The last of these loops may be split."""
    problem, specifiers = scheme.problem, scheme.specifiers
    outside = (problem.row_dims[0], PIXELS)
    before: list[Tile] = []
    for specifier in specifiers:
        if not (isinstance(specifier, Tile) and specifier.dim in outside):
            break
        before.append(specifier)
    inside = specifiers[len(before) :]
    if all(tile.dim != PIXELS for tile in before):
        return
    stage, last = Stage(problem.broadcast.name), before[-1]
    parts: list[tuple[Specifier, ...]] = [(*before, stage, *inside)]
    if last.worker is None and last.dim == PIXELS:
        for trips in divisors(last.trips)[1:-1]:
            split = Tile(PIXELS, last.trips // trips), stage, Tile(PIXELS, trips)
            parts.append((*before[:-1], *split, *inside))
    for part in parts:
        try:
            staged = Scheme(problem, part)
        except SchemeError:
            continue  # loops for cores over k are among what is inside
        if unsupported_reason(staged) is None:
            yield staged
