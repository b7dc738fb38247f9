"""Makes a function of each kind of register tile.

    for m in 0..100 by 10:                                for m in 0..100 by 10:
      for n in 0..80 by 16:                                 for n in 0..80 by 16:
        tile 10mx16n:                                         tile0_10mx16n(X + [m, 0], W + [60*n], Y + [m, n])
          …                                         ->    …
          acc[m_u, 0, lane] += X[m + m_u, k] * …          tile0_10mx16n(x, w, y):
                                                            …
                                                            acc[m_u, 0, lane] += x[m_u, k] * …

A tile gets pointers to its own first x, panel and y, and the views that it begins with. So all tiles of a kind share
their code, which fits the instruction cache. Tests that depend on the position alone become flags, and bounds of loops
become arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tiling.loops.index import Index
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Block,
    Body,
    Call,
    Define,
    Flag,
    For,
    If,
    Load,
    Operand,
    Statement,
    Store,
    View,
)
from tiling.loops.lowering.tile import FIRST, LAST
from tiling.loops.machines import Advance
from tiling.loops.rewrite import places, with_values
from tiling.loops.walk import buffers, walk, with_blocks

Parameters = tuple[tuple[str, str], ...]

# What the comment of a tile says of its flags.
_MEANS = {FIRST: "first: y holds no sums yet", LAST: "last: nothing is added after it"}


def outline(kernel: Kernel, word: str = "tile", describe: Callable[[Block], str] | None = None) -> Kernel:
    """The kernel with a call in place of each tile. Tiles with equal code share a function.

    word: the first part of functions' names. describe: gives the comment of a function, by default of a tile of sums.
    """
    return _Outliner(kernel, word, describe or _comment).whole()


class _Outliner:
    def __init__(self, kernel: Kernel, word: str, describe: Callable[[Block], str]):
        self.kernel, self.word, self.describe = kernel, word, describe
        # A parameter is named as its array, in small letters: x shows X, and e_b the array E_b.
        self.views: Parameters = tuple(
            (buffer.name[0].lower() + buffer.name[1:], buffer.name) for buffer in buffers(kernel)
        )
        self.found: dict[tuple[Body, tuple[str, ...], tuple[str, ...]], Function] = {}
        self.sizes: dict[str, int] = {}

    def whole(self) -> Kernel:
        body = self.body(self.kernel.body)
        return replace(self.kernel, body=body, functions=(*self.kernel.functions, *self.found.values()))

    def body(self, body: Body) -> Body:
        return tuple(
            self.call(statement) if isinstance(statement, Block) else with_blocks(statement, self.body)
            for statement in body
        )

    def call(self, tile: Block) -> Call:
        """The call in place of a tile, of its own function or of that of an earlier tile with equal code."""
        own, given = _defined(tile.body), [s for s in tile.body if isinstance(s, View)]
        body = tuple(s for s in tile.body if s not in given)
        moved, origins = _moved(body, own, dict((array, view) for view, array in self.views))
        views = tuple((view, array) for view, array in self.views if array in origins)
        views += tuple((view.name, view.address.buffer) for view in given)
        numbers = tuple(dict.fromkeys(name for name in _bounds(moved) if name not in own))
        flags = tuple(dict.fromkeys(_flags(moved)))
        key = moved, numbers, flags
        if key not in self.found:
            name = self.named(tile)
            cursors = tuple(dict.fromkeys(s.cursor for s in walk(moved) if isinstance(s, Advance)))
            self.found[key] = Function(name, views, numbers, flags, moved, cursors, self.describe(tile))
        places = [origins[array] for _, array in self.views if array in origins]
        places += [view.address for view in given]
        return Call(self.found[key].name, tuple(places), tuple(Index(((n, 1),)) for n in numbers), flags)

    def named(self, tile: Block) -> str:
        """`tile0_7wx32k` for the first kind of this size, then `tile0_7wx32k_1` …"""
        first = self.sizes.setdefault(tile.name, 0)
        self.sizes[tile.name] += 1
        number = list(self.sizes).index(tile.name)
        return f"{self.word}{number}_{tile.name}" + (f"_{first}" if first else "")


def _comment(tile: Block) -> str:
    """`14 rows x 2 vectors, summed over c from 0 to 64 by 8, s from 0 to 3; w >= 42; first: y holds no sums yet`."""
    rows, vectors, _ = next(s.buffer.shape for s in tile.body if isinstance(s, Alloc))
    loops = [s for s in walk(tile.body) if isinstance(s, For) and s.kind == "serial" and s.dim]
    steps = ", ".join(dict.fromkeys(map(_steps, loops)))
    flags = [_MEANS[flag] for flag in dict.fromkeys(_flags(tile.body))]
    return "; ".join([f"{rows} rows x {vectors} vectors, summed over {steps or 'one step'}", *tile.notes, *flags])


def _steps(loop: For) -> str:
    """What a loop goes over: `s from 1 to 3`, `c from 0 to 64 by 8`."""
    return f"{loop.dim} from {loop.start} to {loop.stop}" + (f" by {loop.step}" if loop.step != 1 else "")


def _moved(body: Body, own: set[str], views: dict[str, str]) -> tuple[Body, dict[str, Address]]:
    """The block with the views in place of the arrays, and where in its array each view begins.

    A view begins at the smallest offset that the block reads, so that no offset inside is negative.
    """
    origins: dict[str, Address] = {}
    for place in places(body):
        if place.buffer not in views:
            continue
        outer = tuple(_outer(index, own) for index in place.at)
        known = origins.get(place.buffer)
        if known:
            outer = tuple([Index(o.terms, min(o.offset, k.offset)) for o, k in zip(outer, known.at)])
        origins[place.buffer] = Address(place.buffer, outer)

    def inner(buffer: str, at: tuple[Index, ...]) -> tuple[Index, ...]:
        return tuple(index - start for index, start in zip(at, origins[buffer].at))

    def change(operand: Operand) -> Operand | None:
        if isinstance(operand, (Load, Address)) and operand.buffer in views:
            return type(operand)(views[operand.buffer], inner(operand.buffer, operand.at))
        return None

    def stores(statement: Statement) -> Statement:
        if isinstance(statement, Store) and statement.buffer in views:
            return replace(statement, buffer=views[statement.buffer], at=inner(statement.buffer, statement.at))
        return with_blocks(statement, lambda block: tuple(map(stores, block)))

    return tuple(stores(with_values(statement, change)) for statement in body), origins


def _outer(index: Index, own: set[str]) -> Index:
    """The part of an index that does not change inside the tile."""
    terms = [(t, c) for t, c in index.terms if (t not in own if isinstance(t, str) else own.isdisjoint(t.names()))]
    return Index(tuple(terms), index.offset)


def _defined(body: Body) -> set[str]:
    """The variables that a block defines itself."""
    return {s.name for s in walk(body) if isinstance(s, (For, Define))}


def _bounds(body: Body) -> list[str]:
    """The variables in the bounds of loops."""
    loops = (s for s in walk(body) if isinstance(s, For))
    return [name for loop in loops for name in (*loop.start.names(), *loop.stop.names())]


def _flags(body: Body) -> list[str]:
    """The flags that a block asks for."""
    choices = (s for s in walk(body) if isinstance(s, If))
    return [condition.name for choice in choices for condition in choice.conditions if isinstance(condition, Flag)]
