"""Bounds the loops that store flattened pixels, so that a tile stores no points in the gaps between image rows.

    tile 16wx16k:
      …
      for w_u in 0..16, unrolled:
        for lane in 0..16, vector:
          if (w + w_u) % 8 < 7 and (w + w_u) / 8 < 7:
            Y[n, 7*((w + w_u) / 8) + (w + w_u) % 8, lane] = …
    ->
    point = w
    tile 16wx16k:
      …
      for line in point / 8..min(7, (point + 15) / 8 + 1):
        for w_u in max(0, 8*line - point)..min(16, …):
          for lane in 0..16, vector:
            Y[n, -line + w + w_u, lane] = …

Tiles compute all flattened pixels of an image (`tiling.arrays.flat_pixels`). Points in the gaps between rows are not
outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from cpu.passes.control.unroll import decided
from tiling.loops.conditions import conditions_of, with_conditions
from tiling.loops.index import ZERO, Index, Operation, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, Condition, Define, For, If, Inside, Statement, Store
from tiling.loops.lowering.nest import counter
from tiling.loops.rewrite import with_indices
from tiling.loops.walk import walk, with_blocks
from tiling.problem import Problem
from tiling.tensor import FlatPixels

LINE = "line"  # counts the rows of y


def bound_pixels(kernel: Kernel, problem: Problem) -> Kernel:
    """The kernel with such loops bounded. The point that a tile begins with is defined in front of it."""
    dims = {s.name: s.dim for s in walk(kernel.body) if isinstance(s, For)}
    flat = problem.flat_pixels
    assert flat is not None
    return replace(kernel, body=_Bounder(flat, dims).tiles(kernel.body))


@dataclass(frozen=True)
class _Bounder:
    """dims: the dim that each loop walks, by its variable."""

    flat: FlatPixels
    dims: Mapping[str, str]

    @property
    def row(self) -> str:
        """The variable that counts the points of a tile."""
        return counter(self.flat.dim)

    def tiles(self, body: Body) -> Body:
        """The block with the stores of all its tiles bounded."""
        found: list[Statement] = []
        names: dict[Index, str] = {}  # the points of all tiles in this block; several tiles are the branches of a λ
        for statement in body:
            if not isinstance(statement, Block):
                found.append(with_blocks(statement, self.tiles))
                continue
            tested = next(filter(None, map(self.point, conditions_of(statement.body))), None)
            if tested is None:  # the only point of a tile whose place is a number
                found.append(replace(statement, body=with_conditions(statement.body, decided)))
                continue
            first = tested.replaced({self.row: ZERO})
            if not first.is_constant:
                if first not in names:
                    names[first] = "_".join(("point", *(["too"] * len(names))))
                    found.append(Define(names[first], first))
                first = variable(names[first])
            found.append(with_blocks(statement, partial(self.of_tile, first=first)))
        return tuple(found)

    def of_tile(self, body: Body, first: Index) -> Body:
        """The block with its nests of outputs bounded. first: the point that the tile begins with."""
        found: list[Statement] = []
        for statement in body:
            loops, choice = _unnested(statement)
            point = next(filter(None, map(self.point, choice.conditions)), None) if choice else None
            if choice and point:
                found += self.bounded(loops, choice, point, first)
            else:
                found.append(with_blocks(statement, lambda block: self.of_tile(block, first)))
        return tuple(found)

    def bounded(self, loops: tuple[For, ...], choice: If, point: Index, first: Index) -> Body:
        """The nest of one store with its points bounded."""
        flat = self.flat
        left = tuple(test for test in choice.conditions if self.point(test) is None)
        kept = (replace(choice, conditions=left),) if left else choice.body
        place = next((place for place, loop in enumerate(loops) if loop.name == self.row), None)
        outside, inside = ((), loops) if place is None else (loops[:place], loops[place + 1 :])
        count = 1 if place is None else loops[place].stop.offset
        columns = _around(inside, tuple(with_indices(s, lambda index: self.by_line(index, point)) for s in kept))
        here = variable(LINE) * flat.pitch - first
        begin, end = applied("max", ZERO, here), applied("min", constant(count), here + flat.columns)
        last = applied("/", first + (count - 1), constant(flat.pitch)) + 1
        start, stop = applied("/", first, constant(flat.pitch)), applied("min", constant(flat.rows), last)
        by_line = For(LINE, start, stop, 1, (For(self.row, begin, end, 1, columns),))
        # The values of points that are not outputs are stored first.
        others = _around(loops, choice.otherwise) if choice.otherwise else ()
        return (*others, *_around(outside, (by_line,)))

    def point(self, test: Condition) -> Index | None:
        """The point that a test asks about; None for any other test."""
        for term, _ in test.index.terms if isinstance(test, Inside) else ():
            if not isinstance(term, Operation) or term.operation not in ("/", "%"):
                continue
            by_pitch = term.right == constant(self.flat.pitch)
            # Prefetches every so many steps may count as many taps or channels.
            if by_pitch and all(self.dims[name] == self.flat.dim for name in term.left.names()):
                return term.left
        return None

    def by_line(self, index: Index, point: Index) -> Index:
        """An index with the line and column of a point by the loops' variables. Without a loop over the points of a
        tile, its variable counts from the tile's only point.
        """
        here = point if self.row in point.names() else point + variable(self.row)
        found = constant(index.offset)
        for term, coefficient in index.terms:
            value = Index(((term, 1),))
            if isinstance(term, Operation) and term.left == point:
                value = variable(LINE) if term.operation == "/" else here - variable(LINE) * self.flat.pitch
            found = found + value * coefficient
        return found


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
