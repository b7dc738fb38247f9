"""Deals four neighbours of a row to a thread in each turn, which `widen` moves in one access.

    for turn in 0..8, unrolled:                         for turn in 0..2, unrolled:
      j = thread + 256*turn                               j = 4*thread + 1024*turn
      y[i, j] = e[thread, turn] * d_inverse[0]    ->      for part in 0..4, vector:
                                                            y[i, j + part] = e[thread, 4*turn + part] * …

Each row has to begin at a multiple of four, and each thread needs four points at least. Loops that keep numbers for
each other in registers are dealt alike or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpu.passes.facts.reading import flat
from gpu.passes.facts.workers import with_launches
from gpu.passes.rows.unroll_turns import TURN, Turns, turns_in
from gpu.passes.threads.bind_points import PART, WIDE, is_aligned
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Choose, Define, For, If, Statement
from tiling.loops.rewrite import operands_of, parts_of, places, substituted
from tiling.loops.walk import buffers_of, walk, with_blocks


def deal_neighbours(kernel: Kernel) -> Kernel:
    """The kernel whose threads take neighbours."""
    buffers = buffers_of(kernel)
    return with_launches(kernel, lambda launch: _dealt(launch, buffers))


def _dealt(launch: For, buffers: Mapping[str, Buffer]) -> For:
    every = list(turns_in(launch.body))
    kept = {name: buffer for name, buffer in buffers.items() if buffer.axes[1:] == (TURN,)}
    wide = [(loop, turns) for loop, turns in every if _is_wide(turns, buffers)]
    others = [turns for loop, turns in every if (loop, turns) not in wide]
    while others:  # a loop finds what another one keeps for it only where both are dealt alike
        single = {name for turns in others for name in _touched(turns, kept)}
        others = [turns for _, turns in wide if not single.isdisjoint(_touched(turns, kept))]
        wide = [(loop, turns) for loop, turns in wide if turns not in others]
    loops = {loop: _neighbours(turns) for loop, turns in wide}
    dealt = {name for _, turns in wide for name in _touched(turns, kept)}

    def body(block: Body) -> Body:
        return tuple(map(changed, block))

    def changed(statement: Statement) -> Statement:
        if isinstance(statement, Alloc) and statement.buffer.name in dealt:
            threads, turns = statement.buffer.shape
            return Alloc(replace(statement.buffer, shape=(threads, -(-turns // WIDE) * WIDE)))
        if isinstance(statement, For) and statement in loops:
            return loops[statement]
        return with_blocks(statement, body)

    return replace(launch, body=body(launch.body))


def _touched(turns: Turns, kept: Mapping[str, Buffer]) -> set[str]:
    """The registers of rows that a loop accesses."""
    return {place.buffer for place in places(turns.body) if place.buffer in kept}


def _neighbours(turns: Turns) -> For:
    """The loop over turns of four neighbours."""
    part = variable(PART)
    by = {turns.name: variable(turns.name) + part, TURN: variable(TURN) * WIDE + part}
    inside = For(PART, ZERO, constant(WIDE), 1, substituted(turns.body, by), "vector", turns.name)
    return replace(turns, each=WIDE, body=(inside,)).loop()


def _is_wide(turns: Turns, buffers: Mapping[str, Buffer]) -> bool:
    """Whether all that moves along a row in memory lies side by side, from a multiple of four on."""
    if turns.points % WIDE or turns.points < WIDE * turns.team.size:
        return False
    if any(isinstance(s, (For, If, Define)) for s in walk(turns.body)):  # points of several dims are defined
        return False
    moving = [place for place in places(turns.body) if any(turns.name in index.names() for index in place.at)]
    tested = {part for s in walk(turns.body) for choice in _choices(s) for part in parts_of(choice)}
    return all(
        buffers[place.buffer].memory == "global"
        and is_aligned(flat(buffers[place.buffer], place.at), turns.name)
        and place not in tested
        for place in moving
    )


def _choices(statement: Statement) -> Iterator[Choose]:
    """The values of a statement that are read only where a test holds."""
    for operand in operands_of(statement):
        yield from (part for part in parts_of(operand) if isinstance(part, Choose))
