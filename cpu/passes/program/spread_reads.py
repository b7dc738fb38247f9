"""Swaps two loops around a copy, where neighbouring reads would meet in one set of the first cache.

    for i in 0..128:                       for h in 0..12:
      for h in 0..12:               ->       for i in 0..128:
        for c in 0..64:                        for c in 0..64:
          y[i, h, c] = x[h, i, c]                y[i, h, c] = x[h, i, c]

Here x[h] and x[h + 1] lie 32 KiB apart. Lines whose addresses differ by pages share a set, which holds few of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import chain
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, Load, Store
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import buffers_of, with_blocks
from tiling.program.dtypes import WIDTH

PAGE = 4096  # bytes: a first cache has 64 sets of lines of 64 bytes on all CPUs of today, as it finds sets by a page


def spread_reads(kernel: Kernel) -> Kernel:
    """The kernel whose copies do not read from page to page, if they need not."""
    return replace(kernel, body=_spread(kernel.body, buffers_of(kernel)))


def _spread(body: Body, buffers: Mapping[str, Buffer]) -> Body:
    return tuple(
        _swapped(statement, buffers) or with_blocks(statement, lambda block: _spread(block, buffers))
        if isinstance(statement, For)
        else statement
        for statement in body
    )


def _swapped(outer: For, buffers: Mapping[str, Buffer]) -> For | None:
    """Two loops around one over neighbours the other way round; None where there is nothing to gain."""
    loops, body = chain(outer)
    if len(loops) != 3 or len(body) != 1 or not isinstance(body[0], Store):
        return None
    _, inner, run = loops
    if not all(each.start.is_constant and each.stop.is_constant for each in loops):
        return None
    store = body[0]
    loads = {part for operand in operands_of(store) for part in parts_of(operand) if isinstance(part, Load)}
    if len(loads) != 1:
        return None
    (load,) = loads
    width = WIDTH[buffers[load.buffer].dtype], WIDTH[buffers[store.buffer].dtype]
    if [_apart(place, run, buffers) for place in (load, store)] != [1, 1]:
        return None
    reads, writes = _apart(load, inner, buffers) * width[0], _apart(store, outer, buffers) * width[1]
    if reads == 0 or reads % PAGE or writes % PAGE == 0:
        return None
    return replace(inner, body=(replace(outer, body=(run,)),))


def _apart(place: Load | Store, loop: For, buffers: Mapping[str, Buffer]) -> int:
    """Elements between the places of two neighbouring iterations of a loop."""
    strides = buffers[place.buffer].strides
    return sum(index.coefficient(loop.name) * stride for index, stride in zip(place.at, strides, strict=True))
