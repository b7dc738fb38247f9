"""Fills tiles some steps before their turn: each tile has several stages, which steps take in turns.

    for k in 0..256 by 32:
      X_tile[128, 32] of f16 in shared memory
      …
      for thread in 0..128, thread:
        for element in 8*thread..4096 by 1024:
          copy 8 elements to X_tile[element / 32, element % 32] from X[m_1 + element / 32, k + element % 32]
        …
        commit
        wait
      …
    ->
    X_tile[3, 128, 32] of f16 in shared memory
    …
    for thread in 0..128, thread:
      for ahead in 0..64 by 32:
        for element in 8*thread..4096 by 1024:
          copy 8 elements to X_tile[ahead / 32 % 3, …] from X[m_1 + element / 32, ahead + element % 32]
        …
        commit
    for k in 0..256 by 32:
      for thread in 0..128, thread:
        wait until 1 groups are pending
      for thread in 0..128, thread:
        if k + 64 < 256:
          for element in 8*thread..4096 by 1024:
            copy 8 elements to X_tile[(k + 64) / 32 % 3, …] from X[m_1 + element / 32, k + element % 32 + 64]
          …
        commit
      …
            acc[…] += as_f32(X_tile[k / 32 % 3, …]) * …

So copies run while other steps are multiplied. The group of a step beyond the last is empty. A ring has no more stages
than there are steps: with a stage for each and one to spare, all are filled before the first. Source: rings of stages,
as in CUTLASS and Triton.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.accesses import moved
from gpu.passes.facts.rings import STAGE, stage_of
from gpu.passes.matrices.copy_asynchronously import fills
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, For, If, Inside, Statement
from tiling.loops.machines import Commit, Copy, Wait
from tiling.loops.rewrite import substituted
from tiling.loops.walk import walk, with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Stage

AHEAD = "ahead"  # counts the steps that are filled before the first one


def fill_ahead(kernel: Kernel, scheme: Scheme, kept: int = 1) -> Kernel:
    """The kernel with rings of as many stages as the scheme says. kept: stages that are still read meanwhile."""
    names = dict(zip((tensor.name for tensor in scheme.problem.tensors), "XWY"))
    depths = {names[s.tensor]: s.depth for s in scheme.specifiers if isinstance(s, Stage)}

    def body(block: Body) -> Body:
        found: list[Statement] = []
        for statement in block:
            statement = with_blocks(statement, body)
            serial = isinstance(statement, For) and statement.kind == "serial"
            found += _ring(statement, depths, kept) if serial else (statement,)  # type: ignore[arg-type]
        return tuple(found)

    return replace(kernel, body=body(kernel.body))


def _ring(loop: For, depths: dict[str, int], kept: int) -> Body:
    """The loop with what comes before it; the loop alone where it fills no tile of several stages."""
    found = (s for s in loop.body if isinstance(s, Alloc) and s.buffer.memory == "shared")
    tiles = [tile for tile in found if tile.buffer.axes[0] != STAGE]  # those of a loop inside have theirs
    depth = max((depths[tile.buffer.name.partition("_")[0]] for tile in tiles), default=1)
    if depth == 1:
        return (loop,)
    steps = steps_of(loop)
    stages, first = min(depth, steps), min(max(depth - kept, 1), steps)
    names = {tile.buffer.name for tile in tiles}
    filling = [s for s in loop.body if fills(s)]
    rest = tuple(s for s in loop.body if s not in tiles and s not in filling)
    each = filling[0]
    assert isinstance(each, For) and (loop.stop - loop.start).is_constant
    copies = tuple(s for fill in filling for s in _copies(fill))

    def filled(at: Index, stage: Index) -> Body:
        """What fills a stage with the tiles of the step at a place."""
        return _staged(substituted(copies, {loop.name: at}), names, stage)

    before = replace(loop, name=AHEAD, stop=loop.start + first * loop.step, dim="")
    begin = filled(variable(AHEAD), stage_of(before, stages))
    more: Body = ()
    if first < steps:
        later = variable(loop.name) + first * loop.step
        more = (If((_is_before(later, loop.stop),), filled(later, stage_of(loop, stages, first))),)
    wait: Body = ()
    if any(isinstance(s, Copy) for s in walk(copies)):
        begin, more, wait = (*begin, Commit()), (*more, Commit()), (replace(each, body=(Wait(first - 1),)),)
    fill = (replace(each, body=more),) if more else ()
    body = (*wait, *fill, *_staged(rest, names, stage_of(loop, stages)))
    ring = (Alloc(_of_ring(tile.buffer, stages)) for tile in tiles)
    return (*ring, replace(each, body=(replace(before, body=begin),)), replace(loop, body=body))


def _is_before(place: Index, stop: Index) -> Inside:
    """The condition that a place lies before the end of a loop."""
    return Inside(place, None, stop.offset) if stop.is_constant else Inside(place - stop, None, 0)


def _copies(fill: Statement) -> Body:
    """The statements that fill tiles, without the commit of the group of copies."""
    assert isinstance(fill, For)
    return tuple(s for s in fill.body if not isinstance(s, (Commit, Wait)))


def _of_ring(buffer: Buffer, stages: int) -> Buffer:
    """The tile with so many stages."""
    return replace(buffer, shape=(stages, *buffer.shape), axes=(STAGE, *buffer.axes))


def _staged(body: Body, tiles: set[str], stage: Index) -> Body:
    """The block, which works with one stage of the tiles."""
    return moved(body, tiles, lambda at: (stage, *at))
