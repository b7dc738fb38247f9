"""Cuts a kernel into launches, which run one after the other: any thread of a launch may read results of earlier ones.

    acc_m[1] in registers                     for block in 0..1, block:
    …                                           acc_m[1] in registers
    for j in 0..9:                              …
      acc_m[0] = max(acc_m[0], x[j])            for j in 0..9:
    m[] = acc_m[0]                      ->        acc_m[0] = max(acc_m[0], x[j])
    for j in 0..9:                              m[] = acc_m[0]
      y[j] = x[j] - m[]                       for j in 0..9:
                                                y[j] = x[j] - m[]

A loop with independent iterations becomes a launch, which later passes bind. Statements that share a register become
one launch of one block.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.reading import touched
from gpu.passes.facts.workers import BLOCK, over
from tiling.loops.facts.nests import independent
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Define, For, Read, Statement


def split_launches(kernel: Kernel) -> Kernel:
    """The kernel as arrays between launches, and launches."""
    between = tuple(s for s in kernel.body if isinstance(s, Alloc) and s.buffer.memory == "global")
    rest = [s for s in kernel.body if s not in between]
    near = {s.buffer.name for s in rest if isinstance(s, Alloc)}
    near |= {s.name for s in rest if isinstance(s, (Read, Define))}
    parts: list[list[Statement]] = []
    for statement in rest:
        here = touched((statement,)) & near
        first = next((n for n, part in enumerate(parts) if here & touched(tuple(part))), len(parts))
        parts[first:] = [[*(s for part in parts[first:] for s in part), statement]]
    return replace(kernel, body=(*between, *map(_launch, parts)))


def _launch(part: list[Statement]) -> For:
    loop = part[0]
    if len(part) == 1 and isinstance(loop, For) and independent(loop):
        return loop
    return over(BLOCK, 1, tuple(part))
