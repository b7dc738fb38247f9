"""Lets the copy engine fetch the maps of arrays before the first copy of a box needs them.

    for thread in 0..1, thread:
      open full for 1 arrivals
      …
    ->
    for thread in 0..1, thread:
      prefetch_map(X)
      prefetch_map(W)
      prefetch_map(Y)
      open full for 1 arrivals
      …

A map is a parameter of the kernel, in global memory. Blocks wait for each other meanwhile. Source: the prologues of
CUTLASS's kernels.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.workers import with_launches
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Body, Do, For, Instruction, Invoke, Statement
from tiling.loops.machines import CopyBox, Open, StoreBox
from tiling.loops.walk import walk, with_blocks


def map_of(array: str) -> str:
    """The name of an array's tensor map."""
    return f"{array}_map"


PREFETCH = Instruction("prefetch_map", f"prefetch_map(&{map_of('{array}')})", ())


def prefetch_maps(kernel: Kernel) -> Kernel:
    """The kernel, whose maps are prefetched where it opens its mbarriers."""

    def changed(launch: For) -> For:
        boxes = [s for s in walk(launch.body) if isinstance(s, (CopyBox, StoreBox))]
        names = {s.source.buffer if isinstance(s, CopyBox) else s.target.buffer for s in boxes}
        fetched = tuple(_prefetch(array) for array in kernel.arrays if array.name in names)
        return replace(launch, body=_before_opening(launch.body, fetched))

    return with_launches(kernel, changed)


def _prefetch(array: Buffer) -> Do:
    return Do(Invoke(PREFETCH, (("array", Address(array.name, (ZERO,) * len(array.shape))),)))


def _before_opening(body: Body, fetched: Body) -> Body:
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For) and any(isinstance(s, Open) for s in statement.body):
            found.append(replace(statement, body=(*fetched, *statement.body)))
        else:
            found.append(with_blocks(statement, lambda inside: _before_opening(inside, fetched)))
    return tuple(found)
