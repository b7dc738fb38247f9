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
by side. Only tiles whose lines serve few products wait for L2: those of stride 2. Here their taps are unrolled;
`prefetch` is for loops over taps. The loops say all of this, so no plan has it (docs/decisions/060).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from operator import mul

from tiling.loops.index import constant
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import LINE, Address, Block, Body, Call, Define, For, If, Let, Prefetch, Statement, Store
from tiling.loops.lowering.prefetch import limits
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import buffers_of, is_core, walk, with_blocks

X = "X"
# Bytes of the largest x whose lines are prefetched: L2 holds it. A larger one comes from too far away, and its lines in
# too many streams at once: MobileNet-V2's D2, channels first on two threads, 4.7 MB, took 1.07 times as long.
MOST_BYTES = 1 << 20
Place = tuple[int, ...]  # indices into x, seen from where a tile begins


def prefetch_pixels(kernel: Kernel, size: int) -> Kernel:
    """The kernel whose tiles prefetch for the next iteration of the loop around them. size: the bytes of a number of x.

    A kernel whose x fits L1, or leaves L2, stays as it is.
    """
    x = buffers_of(kernel)[X]
    strides = tuple(stride * size for stride in x.strides)
    if not limits.LARGEST_L1 < x.shape[0] * strides[0] <= MOST_BYTES:
        return kernel
    moves = dict(_moves(kernel.body))
    made = (_prefetching(f, moves[f.name], strides) if f.name in moves else f for f in kernel.functions)
    return replace(kernel, functions=tuple(made))


def _moves(body: Body) -> Iterator[tuple[str, Place]]:
    """The functions that loops call for one tile in an iteration, each with how far the next iteration moves its x."""
    for statement in body:
        if isinstance(statement, For):
            tile = [inside for inside in statement.body if not isinstance(inside, Define)]
            if len(tile) == 1 and not is_core(statement):
                yield from _of_kinds(tile[0], statement)
            yield from _moves(statement.body)


def _of_kinds(tile: Statement, loop: For) -> Iterator[tuple[str, Place]]:
    """The same for a tile, whose kinds are chosen by tests."""
    if isinstance(tile, If):
        for kind in (*tile.body, *tile.otherwise):
            yield from _of_kinds(kind, loop)
    elif isinstance(tile, Call):
        for view in (view for view in tile.views if view.buffer == X):
            yield tile.function, tuple(index.coefficient(loop.name) * loop.step for index in view.at)


def _prefetching(function: Function, move: Place, strides: Place) -> Function:
    """The function with its prefetches, if it needs any. strides: those of x, in bytes."""
    views = [name for name, array in function.views if array == X]
    if len(views) != 1 or any(_is_loop(statement) for statement in walk(function.body)):
        return function
    (view,) = views
    uses = [(s, place) for s in walk(function.body) if (place := _read(s, view))]
    own = {_line(place, strides) for _, place in uses}
    products = sum(isinstance(s, Store) for use, _ in uses for s in walk((use,)))
    places = _first_of_lines([place for _, place in uses], own, move, strides)
    # Channels beside these: the hardware follows each load by itself (decision 059).
    if not places or move[-1] or products > limits.MOST_A_LINE_OF_LANES * len(own):
        return function
    every = len(uses) // len(places)
    before = dict(zip(range(len(uses) - every * len(places), len(uses), every), places))
    number = count()

    def among(body: Body) -> Body:
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


def _is_loop(statement: Statement) -> bool:
    return isinstance(statement, For) and statement.kind != "unrolled"


def _read(statement: Statement, view: str) -> Place | None:
    """Where a product of a step reads x; None for other statements."""
    first = statement.body[0] if isinstance(statement, Block) and statement.body else None
    if not isinstance(first, Let) or first.value is None:
        return None
    found = [part.at for part in parts_of(first.value) if isinstance(part, Address) and part.buffer == view]
    return tuple(index.offset for index in found[0]) if found and all(i.is_constant for i in found[0]) else None


def _first_of_lines(reads: list[Place], own: set[int], move: Place, strides: Place) -> list[Place]:
    """Where the next tile reads lines that this one does not, one of each two side by side. own: this tile's lines."""
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
