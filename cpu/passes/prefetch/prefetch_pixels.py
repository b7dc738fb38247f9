"""Brings what the next tile of a depthwise convolution reads into L1, where that tile has other pixels.

    for h in 0..14 by 2:
      …
          tile0_2hx7wx16cx3rx3s(X + [0, 2*h - 1, 2*w - 1, 0], …
    …
    tile0_2hx7wx16cx3rx3s(x, w, y):
      …
      { x_11 = load(x + [0, 0, 11, 0]); …
    ->
      …
      prefetch x[0, 5, 0, 0] to L1
      { x_11 = load(x + [0, 0, 11, 0]); …

The next tile lies 4 rows further down and reads 5, so 4 rows are new. Their lines have their turn among the products of
this tile, but for the first ones, which wait for lines of their own. The hardware brings the second of two lines side
by side. `tiling.loops.lowering.prefetch.pixels` decides (docs/decisions/060).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from operator import mul

from tiling.loops.index import constant
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import LINE, Address, Block, Body, Call, If, Let, Prefetch, Statement
from tiling.loops.lowering.nest import position
from tiling.loops.lowering.prefetch.pixels import NextPixels
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import buffers_of, inside, walk, with_blocks

X = "X"
Place = tuple[int, ...]  # indices into x, seen from where a tile begins


def prefetch_pixels(kernel: Kernel, plans: tuple[PrefetchPlan, ...], size: int) -> Kernel:
    """The kernel, whose tiles prefetch pixels of the next tile. size: the bytes of a number of x.

    The calls of tiles come in the order of `plans`, where several call kinds of one tile one after the other.
    """
    if not any(plan.next_pixels for plan in plans):
        return kernel
    strides = tuple(stride * size for stride in buffers_of(kernel)[X].strides)
    moves = dict(_moves(kernel.body, iter(plans)))
    made = (_prefetching(f, moves[f.name], strides) if f.name in moves else f for f in kernel.functions)
    return replace(kernel, functions=tuple(made))


def _moves(body: Body, plans: Iterator[PrefetchPlan]) -> Iterator[tuple[str, Place]]:
    """The functions of tiles that prefetch, each with how far the next tile's x lies from its own."""
    for statement in body:
        if isinstance(statement, (Call, If)):  # an If chooses between the kinds of one tile
            following = next(plans).next_pixels
            yield from _of_kinds(statement, following) if following else ()
        else:
            for block in inside(statement):
                yield from _moves(block, plans)


def _of_kinds(tile: Statement, following: NextPixels) -> Iterator[tuple[str, Place]]:
    """The same for the kinds of a tile."""
    name, step = position(following.loop), following.loop.step
    for call in (s for s in walk((tile,)) if isinstance(s, Call)):
        for x in (view for view in call.views if view.buffer == X):  # none where all taps are on padding
            yield call.function, tuple(index.coefficient(name) * step for index in x.at)


def _prefetching(function: Function, move: Place, strides: Place) -> Function:
    """The function with its prefetches, if the next tile has lines of its own. strides: those of x, in bytes."""
    (view,) = (name for name, array in function.views if array == X)
    reads = [place for s in walk(function.body) if (place := _read(s, view))]
    places = _first_of_lines(reads, move, strides)
    if not places:
        return function
    every = len(reads) // len(places)
    before = dict(zip(range(len(reads) - every * len(places), len(reads), every), places))
    number = count()

    def among(body: Body) -> Body:
        """The block with each prefetch in front of the product whose turn it has."""
        found: list[Statement] = []
        for statement in body:
            if _read(statement, view) is None:
                found.append(with_blocks(statement, among))
                continue
            place = before.get(next(number))
            found += [Prefetch(Address(view, tuple(map(constant, place))), 1)] if place else []
            found.append(statement)
        return tuple(found)

    return replace(function, body=among(function.body))


def _read(statement: Statement, view: str) -> Place | None:
    """Where a product of a step reads x; None for other statements."""
    first = statement.body[0] if isinstance(statement, Block) and statement.body else None
    if not isinstance(first, Let) or first.value is None:
        return None
    found = [part.at for part in parts_of(first.value) if isinstance(part, Address) and part.buffer == view]
    return tuple(index.offset for index in found[0]) if found and all(i.is_constant for i in found[0]) else None


def _first_of_lines(reads: list[Place], move: Place, strides: Place) -> list[Place]:
    """Where the next tile reads lines that this one does not, one of each two side by side."""
    own = {_line(place, strides) for place in reads}
    found: dict[int, Place] = {}
    for place in dict.fromkeys(reads):
        moved = tuple(map(sum, zip(place, move)))
        line = _line(moved, strides)
        if line not in own and line - 1 not in found:
            found.setdefault(line, moved)
    return list(found.values())


def _line(place: Place, strides: Place) -> int:
    at: int = sum(map(mul, place, strides))
    return at // LINE
