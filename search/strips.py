"""Where a scheme may copy x strip by strip, S(x), as planes whose pixels are one dim (`cpu.planes`).

Every strip is read by all that follows inside, so it stands outside the loops over k, right inside loops over pixels; a
strip repeats what its last windows reach, so it is long, and a cache must hold it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tiling.compose import divisors
from tiling.plane import PIXELS
from tiling.scheme import Scheme, SchemeError, Specifier, Stage, Tile
from tiling.strips import copies_planes, refusal
from tiling.words import scheme_in_words


def with_strips(scheme: Scheme, largest: float) -> tuple[Scheme, ...]:
    """The scheme with strips of at most so many bytes: the longest there are, and the longest of half of that; none
    where it makes no planes, nor, so far, for groups.
    """
    if not copies_planes(scheme) or scheme.problem.looped_dims:
        return ()
    found = sorted(_staged(scheme), key=_bytes)
    fitting = ([s for s in found if _bytes(s) <= size] for size in (largest, largest / 2))
    return tuple(dict.fromkeys(schemes[-1] for schemes in fitting if schemes))


def _staged(scheme: Scheme) -> Iterator[Scheme]:
    """With S(x) inside the loops over images and pixels that stand outermost, the last of them in two."""
    problem, specifiers = scheme.problem, scheme.specifiers
    outside = (problem.row_dims[0], PIXELS)
    place = next(i for i, s in enumerate(specifiers) if not (isinstance(s, Tile) and s.dim in outside))
    before, inside = specifiers[:place], specifiers[place:]
    if all(s.dim != PIXELS for s in before):
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
        if refusal(staged) is None:
            yield staged


def _bytes(scheme: Scheme) -> int:
    """Of a strip."""
    words = scheme_in_words(scheme).problem
    return words.broadcast.elements * words.bytes_of(words.broadcast)
