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
The products of Winograd's algorithm are of this kind, and read V from beyond L2 (docs/decisions/055).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from cpu.passes.memory.prefetch_addresses import unrolled
from tiling.arrays.access import access_of
from tiling.loops.index import variable
from tiling.loops.language import LINE, Address, Block, Body, For, If, Kernel, Load, Prefetch, Statement
from tiling.loops.lowering import prefetch as planned
from tiling.loops.lowering.nest import Around, Loop, nest_of, position, tiles
from tiling.loops.rewrite import places
from tiling.loops.walk import with_blocks
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class _NextRows:
    """The rows of x that the next iteration of `loop` is the first to read: `rows` of `lines` cache lines each.

    `step` is the loop over the steps of a tile. in_line: the elements of a line.
    """

    loop: Loop
    step: Loop
    rows: int
    lines: int
    in_line: int


def prefetch_rows(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel of a scheme, whose tiles prefetch the rows of the next tile."""
    return replace(kernel, body=_body(kernel.body, scheme.problem, tiles(nest_of(scheme))))


def _body(body: Body, problem: Problem, around: Iterator[Around]) -> Body:
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, (Block, If)):  # an If chooses between the kinds of one tile
            following = _next_rows(problem, next(around))
            found.append(_tile(statement, following) if following else statement)
        elif isinstance(statement, For):
            found.append(replace(statement, body=_body(statement.body, problem, around)))
        else:
            found.append(statement)
    return tuple(found)


def _next_rows(problem: Problem, tile: Around) -> _NextRows | None:
    """What a tile prefetches. None where another tile reads the same rows, or where L1 keeps x."""
    access, x, extents = access_of(problem), problem.broadcast, tile.register.extents
    if access.by_matrix or access.lanewise or access.weights_broadcast:
        return None
    if extents[problem.vector_dim] < problem.extents[problem.vector_dim]:
        return None  # tiles of other columns read these rows too
    loops, steps = ([loop for loop in part if loop.trips > 1] for part in (tile.outer, tile.inner))
    if not loops or loops[-1].worker or len(steps) != 1 or tile.shared is not None:
        return None
    loop, step, size = loops[-1], steps[0], access.bytes_of(x)
    if step.step > 1 or step.trips < problem.reduction_length or x.stride(step.dim) != 1:
        return None  # rows overlap, a part of each is read, or they have gaps
    if loop.dim not in x.dims or loop.step != extents[loop.dim]:
        return None  # the next tile has other rows than those beside this one's
    if loop.step * loop.trips * step.trips * size <= planned.LARGEST_L1:
        return None
    in_line = LINE // size
    return _NextRows(loop, step, loop.step, ceil(step.trips / in_line), in_line)


def _tile(statement: Statement, following: _NextRows) -> Statement:
    """A tile, or kinds of it, with the prefetches in front of each step."""
    if isinstance(statement, For) and statement.name == position(following.step):
        return replace(statement, body=(*_prefetches(statement.body, following), *statement.body))
    return with_blocks(statement, lambda block: tuple(_tile(inside, following) for inside in block))


def _prefetches(step: Body, following: _NextRows) -> Body:
    """The lines that one step asks for. All steps ask for as many lines, which may be fewer than one each."""
    load = next(place for place in places(step) if isinstance(place, Load) and place.buffer == "X")
    count = variable(position(following.step))
    lines, trips = following.rows * following.lines, following.step.trips
    found = []
    for first in range(ceil(lines / trips)):
        line = count * lines // trips if lines < trips else count * ceil(lines / trips) + first
        row, at_line = line // following.lines, line % following.lines
        there = {
            position(following.loop): variable(position(following.loop)) + following.loop.step + row,
            position(following.step): at_line * following.in_line,
        }
        found.append(Prefetch(Address("X", tuple(at.replaced(unrolled(step) | there) for at in load.at)), 1))
    return tuple(found)
