"""Brings the rows of x that the next tile multiplies into L1, where every tile is the first to read its own.

    for k in 0..64:
      …
            acc[m_u, n_u, lane] += X[m + m_u, k] * …
    ->
    for k in 0..64:
      prefetch X[m + 56*k / 64 / 4 + 14, 16*(56*k / 64 % 4)] to L1
      …
            acc[m_u, n_u, lane] += X[m + m_u, k] * …

Such a tile has all columns, so no other tile has brought its rows. Here the next 14 rows have 56 lines, for 64 steps.
Products of Winograd's algorithm are of this kind, and read V from beyond L2 (docs/decisions/055).
`tiling.loops.lowering.prefetch.rows` decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cpu.passes.prefetch.addresses import unrolled
from tiling.loops.index import variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Block, Body, For, If, Load, Prefetch, Statement
from tiling.loops.lowering.nest import position
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.loops.lowering.prefetch.rows import NextRows
from tiling.loops.rewrite import places
from tiling.loops.walk import with_blocks


def prefetch_rows(kernel: Kernel, plans: tuple[PrefetchPlan, ...]) -> Kernel:
    """The kernel, whose tiles prefetch the rows of the next tile. They come in the order of `plans`."""
    return replace(kernel, body=_body(kernel.body, iter(plans)))


def _body(body: Body, plans: Iterator[PrefetchPlan]) -> Body:
    """The block with prefetches in its tiles. plans: those of the tiles that are still to come."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, (Block, If)):  # an If chooses between the kinds of one tile
            following = next(plans).next_rows
            found.append(_tile(statement, following) if following else statement)
        elif isinstance(statement, For):
            found.append(replace(statement, body=_body(statement.body, plans)))
        else:
            found.append(statement)
    return tuple(found)


def _tile(statement: Statement, following: NextRows) -> Statement:
    """A tile, or kinds of it, with the prefetch in front of each step."""
    if isinstance(statement, For) and statement.name == position(following.step):
        return replace(statement, body=(_prefetch(statement.body, following), *statement.body))
    return with_blocks(statement, lambda block: tuple(_tile(inside, following) for inside in block))


def _prefetch(step: Body, following: NextRows) -> Statement:
    """The line that a step prefetches. Where there are fewer lines than steps, some steps prefetch the same one as the
    step before.
    """
    load = next(place for place in places(step) if isinstance(place, Load) and place.buffer == "X")
    lines, trips = following.rows * following.lines, following.step.trips
    count = variable(position(following.step))
    line = count if lines == trips else count * lines // trips
    row, at_line = line // following.lines, line % following.lines
    there = {
        position(following.loop): variable(position(following.loop)) + following.loop.step + row,
        position(following.step): at_line * following.in_line,
    }
    return Prefetch(Address("X", tuple(at.replaced(unrolled(step) | there) for at in load.at)), 1)
