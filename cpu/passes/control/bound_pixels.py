"""Stores the pixels of a tile that runs on over the ends of image rows: by the bounds of loops over lines and columns.

    for w_u in 0..16, unrolled:                      for line in (w / 9)..min(7, (w + 15) / 9 + 1):
      if (w + w_u) % 9 < 7 and (w + w_u) / 9 < 7:      for w_u in max(0, 9*line - w)..min(16, 9*line - w + 7):
        Y[(w + w_u) / 9 * 7 + (w + w_u) % 9]    ->       Y[7*line + w + w_u - 9*line]
          = acc[w_u]                                       = acc[w_u]

Tiles compute all flattened pixels of an image (`tiling.arrays.flat_pixels`). What lies in the gaps between rows is
no output.
"""

from __future__ import annotations

from dataclasses import replace

from cpu.passes.control.unroll import decided
from tiling.loops.index import ZERO, Index, Part, applied, constant, variable
from tiling.loops.language import (
    Block,
    Body,
    Condition,
    Define,
    For,
    If,
    Inside,
    Kernel,
    Statement,
    Store,
)
from tiling.loops.rewrite import conditions_of, with_conditions, with_indices
from tiling.loops.walk import with_blocks
from tiling.tensor import FlatPixels

DIM = "w"  # counts the points
LINE, ROW = "line", "w_u"  # the row of y, and the row of a tile


def bound_pixels(kernel: Kernel, flat: FlatPixels) -> Kernel:
    """The kernel with such loops bounded. The point that a tile begins with is defined in front of it."""
    return replace(kernel, body=_tiles(kernel.body, flat))


def _tiles(body: Body, flat: FlatPixels) -> Body:
    found: list[Statement] = []
    names: dict[Index, str] = {}  # of the points of all tiles here: several side by side are the branches of a λ
    for statement in body:
        if not isinstance(statement, Block):
            found.append(with_blocks(statement, lambda block: _tiles(block, flat)))
            continue
        tested = next(filter(None, (_point(test, flat) for test in conditions_of(statement.body))), None)
        if tested is None:  # the only point of a tile whose place is a number
            found.append(replace(statement, body=with_conditions(statement.body, decided)))
            continue
        first = tested.replaced({ROW: ZERO})
        if not first.is_constant:
            if first not in names:
                names[first] = "_".join(("point", *(["too"] * len(names))))
                found.append(Define(names[first], first))
            first = variable(names[first])
        found.append(with_blocks(statement, lambda block, first=first: _of_tile(block, first, flat)))
    return tuple(found)


def _of_tile(body: Body, first: Index, flat: FlatPixels) -> Body:
    """The block with its nests of outputs bounded. first: the point that the tile begins with."""
    found: list[Statement] = []
    for statement in body:
        loops, choice = _unnested(statement)
        point = next(filter(None, (_point(test, flat) for test in choice.conditions)), None) if choice else None
        if choice and point:
            found += _bounded(loops, choice, point, first, flat)
        else:
            found.append(with_blocks(statement, lambda block: _of_tile(block, first, flat)))
    return tuple(found)


def _bounded(loops: tuple[For, ...], choice: If, point: Index, first: Index, flat: FlatPixels) -> Body:
    """The nest of one store with its points bounded."""
    left = tuple(test for test in choice.conditions if _point(test, flat) is None)
    kept = (replace(choice, conditions=left),) if left else choice.body
    place = next((place for place, loop in enumerate(loops) if loop.name == ROW), None)
    outside, inside = ((), loops) if place is None else (loops[:place], loops[place + 1 :])
    count = 1 if place is None else loops[place].stop.offset
    columns = _around(inside, tuple(with_indices(s, lambda index: _by_line(index, point, flat)) for s in kept))
    here = variable(LINE) * flat.pitch - first
    begin, end = applied("max", ZERO, here), applied("min", constant(count), here + flat.columns)
    last = applied("/", first + (count - 1), constant(flat.pitch)) + 1
    start, stop = applied("/", first, constant(flat.pitch)), applied("min", constant(flat.rows), last)
    by_line = For(LINE, start, stop, 1, (For(ROW, begin, end, 1, columns),))
    # What is no output gets its value before.
    others = _around(loops, choice.otherwise) if choice.otherwise else ()
    return (*others, *_around(outside, (by_line,)))


def _unnested(statement: Statement) -> tuple[tuple[For, ...], If | None]:
    """The loops of a tile around a test, and the test; None where there is no such test."""
    loops: list[For] = []
    while isinstance(statement, For) and statement.kind in ("unrolled", "vector") and len(statement.body) == 1:
        loops.append(statement)
        (statement,) = statement.body
    tests = isinstance(statement, If) and all(isinstance(s, Store) for s in statement.body)
    return tuple(loops), statement if tests and isinstance(statement, If) else None


def _around(loops: tuple[For, ...], body: Body) -> Body:
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body


def _point(test: Condition, flat: FlatPixels) -> Index | None:
    """The point that a test asks about; None for any other test."""
    for term, _ in test.index.terms if isinstance(test, Inside) else ():
        by_pitch = isinstance(term, Part) and term.operation in ("/", "%") and term.right == constant(flat.pitch)
        # What is prefetched every so many steps may count as many taps or channels.
        if by_pitch and all(name.partition("_")[0] == DIM for name in term.left.names()):
            return term.left
    return None


def _by_line(index: Index, point: Index, flat: FlatPixels) -> Index:
    """An index with the line and column of a point by the loops' variables. Without a loop over rows, `w_u` counts
    from the tile's only point.
    """
    here = point if ROW in point.names() else point + variable(ROW)
    found = constant(index.offset)
    for term, coefficient in index.terms:
        value = Index(((term, 1),))
        if isinstance(term, Part) and term.left == point:
            value = variable(LINE) if term.operation == "/" else here - variable(LINE) * flat.pitch
        found = found + value * coefficient
    return found
