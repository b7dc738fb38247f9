"""Lets warpgroups multiply while threads copy: they wait for the products of a step in the next one.

    for rsc in 0..576 by 64:
      for thread in 0..256, thread:
        wait until 1 groups are pending
      for thread in 0..256, thread:
        if rsc + 128 < 576:
          …
        commit
      for warpgroup in 0..2, warpgroup:
        …
        wgmma_fence()
        …
        wgmma_commit()
        wgmma_wait_0()
        …
    ->
    for rsc in 0..576 by 64:
      for thread in 0..256, thread:
        wait until 1 groups are pending
        fence_proxy_async()
      for warpgroup in 0..2, warpgroup:
        …
        wgmma_fence()
        …
        wgmma_commit()
      for thread in 0..256, thread:
        if rsc + 128 < 576:
          …
        commit
      for warpgroup in 0..2, warpgroup:
        wgmma_wait_1()
    for warpgroup in 0..2, warpgroup:
      wgmma_wait_0()
      …

wgmma reads shared memory by another way than threads write it, so a fence shows it what has come. It still reads the
stage of a step while the next one begins: such rings are filled one step less ahead. Where no stage is filled again, a
step waits for no products. Source: wgmma of CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.registers import is_stored
from gpu.passes.facts.rings import STAGE
from gpu.passes.facts.workers import THREADS_OF_BLOCK, WARPGROUPS_OF_BLOCK
from gpu.passes.warpgroups.instructions import COMMIT, SHOW, wait
from gpu.passes.warpgroups.multiply_warpgroups import do, parts_of_products
from tiling.loops.facts.nests import steps_of
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Statement
from tiling.loops.machines import Wait
from tiling.loops.walk import buffers_of, walk, with_blocks


def multiply_beside(kernel: Kernel) -> Kernel:
    """The kernel, whose warpgroups multiply beside copies."""
    waits = any(isinstance(s, Wait) for s in walk(kernel.body))  # for what they store themselves threads need not wait
    tiles = {name: buffer for name, buffer in buffers_of(kernel).items() if buffer.memory == "shared"}

    stages = max(tile.shape[0] if tile.axes[0] == STAGE else 1 for tile in tiles.values())

    def brings(statement: Statement) -> bool:
        return isinstance(statement, Wait) if waits else is_stored(statement, tiles)

    def body(block: Body) -> Body:
        found: list[Statement] = []
        for statement in block:
            if (
                isinstance(statement, For)
                and statement.kind == THREADS_OF_BLOCK
                and any(map(brings, walk((statement,))))
            ):
                found.append(replace(statement, body=(*statement.body, do(SHOW))))
                continue
            statement = with_blocks(statement, body)
            multiplies = (
                isinstance(statement, For) and statement.kind == "serial" and any(map(_multiplies, statement.body))
            )
            found += _beside(statement, stages) if multiplies else (statement,)  # type: ignore[arg-type]
        return tuple(found)

    return replace(kernel, body=body(kernel.body))


def _multiplies(statement: Statement) -> bool:
    """Whether a statement is the loop over warpgroups that multiply."""
    groups = isinstance(statement, For) and statement.kind == WARPGROUPS_OF_BLOCK
    return groups and any(s == do(COMMIT) for s in walk((statement,)))


def _beside(loop: For, stages: int) -> Body:
    """The loop over steps with what stands around it. stages: how many its ring has."""
    (groups,) = (s for s in loop.body if _multiplies(s))
    assert isinstance(groups, For)
    rest = [s for s in loop.body if s is not groups]
    later = [s for s in rest if isinstance(s, For) and isinstance(s.body[0], If)]
    now = [s for s in rest if s not in later]
    places, begin, products, pins = parts_of_products(groups)
    multiplying = replace(groups, body=(*places, *products))
    again = steps_of(loop) > stages
    waiting = (replace(groups, body=(do(wait(1)),)),) * again
    return (
        replace(groups, body=(begin,)),
        replace(loop, body=(*now, multiplying, *later, *waiting)),
        replace(groups, body=(do(wait(0)), pins)),
    )
