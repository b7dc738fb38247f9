"""Binds a scheme's loops over blocks to the blocks of one launch.

for m_2 in 0..128 by 64, block:            for block in 0..4, block:
    for n_1 in 0..128 by 64, block:    ->      m_2 = 64*(block / 2)
      …                                        n_1 = 64*(block % 2)
                                               …
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.workers import BLOCK, BLOCKS, over
from gpu.passes.threads.bind_points import places_of, total
from tiling.loops.index import variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For


def bind_blocks(kernel: Kernel) -> Kernel:
    """The kernel as one launch."""
    loops: list[For] = []
    body: Body = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == BLOCKS:
        loops.append(body[0])
        body = body[0].body
    return replace(kernel, body=(over(BLOCK, total(loops), (*places_of(loops, variable(BLOCK)), *body)),))
