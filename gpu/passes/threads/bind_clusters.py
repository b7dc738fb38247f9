"""Binds a scheme's loops over clusters to a launch whose clusters take the tiles in turns.

    for m_2 in 0..512 by 256, cluster:
      for n in 0..384 by 128, cluster:
        for m_1 in m_2..(m_2 + 256) by 128, block:
          …
    ->
    for cluster in 0..blocks by 2, cluster:
      for block in cluster..(cluster + 2), block:
        rank = block % 2
        for turn in 0..(blocks / 2 - block / 2 + 5) / (blocks / 2):
          tile = block / 2 + blocks / 2 * turn
          m_2 = 256*(tile / 3)
          n = 128*(tile % 3)
          m_1 = 128*rank + m_2
          …

As many blocks are launched as the device runs at once, so `blocks` is a number of the call. Where groups of rows take
turns with columns and the last group has fewer rows, there are no tiles beyond the edge. Without several blocks in a
cluster there is no loop over clusters. Where warpgroups have tiles of their own (`T(m,2)@warpgroup` outside `S(c)`), a
turn is one of these. Source: persistent kernels and grouped order of Triton, clusters of CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.rings import TURN
from gpu.passes.facts.workers import (
    BLOCK,
    BLOCKS,
    CLUSTER,
    CLUSTERS,
    LAUNCHED,
    RANK,
    TILE,
    WARPGROUPS_OF_BLOCK,
    over,
    takers_of,
)
from gpu.passes.threads.bind_points import places_of, total
from tiling.loops.facts.nests import trips
from tiling.loops.index import ZERO, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Define, For
from tiling.scheme.scheme import Scheme


def bind_clusters(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel as one launch."""
    loops: list[For] = []
    body: Body = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind in (CLUSTERS, BLOCKS):
        loops.append(body[0])
        body = body[0].body
    clusters, blocks = ([loop for loop in loops if loop.kind == kind] for kind in (CLUSTERS, BLOCKS))
    size = total(blocks).offset
    takers: list[For] = []
    for _ in takers_of(scheme):
        (loop,) = body
        assert isinstance(loop, For) and loop.kind == WARPGROUPS_OF_BLOCK
        takers.append(loop)
        body = loop.body
    each = total(takers).offset
    number, count = variable(BLOCK) // size, variable(LAUNCHED) // size
    tiles, places = _tiles(clusters, scheme.extents)
    turns = applied("/", count + (tiles - 1) - number, count) * each
    tile = Define(TILE, number + applied("*", variable(TURN) // each, count))
    several = {place.name: place for place in places_of([s for s in blocks if trips(s).offset > 1], variable(RANK))}
    places = (tile, *places, *(several.get(loop.name, Define(loop.name, loop.start)) for loop in blocks))
    places += places_of(takers, variable(TURN) % each)
    launch = over(BLOCK, variable(LAUNCHED), (For(TURN, ZERO, turns, 1, (*places, *body)),))
    if size > 1:
        launch = replace(launch, body=(Define(RANK, variable(BLOCK) % size), *launch.body))
        first = variable(CLUSTER)
        launch = replace(over(CLUSTER, launch.stop, (replace(launch, start=first, stop=first + size),)), step=size)
    return replace(kernel, body=(launch,), numbers=((LAUNCHED, tiles * size),))


def _tiles(loops: list[For], extents: dict[str, int]) -> tuple[int, Body]:
    """How many tiles the clusters take, and where a tile is."""
    outer = next((n for n, loop in enumerate(loops) if loop.dim == loops[-1].dim), len(loops) - 1)
    rows = -(-extents[loops[-1].dim] // loops[-1].step)
    group = trips(loops[-1]).offset
    if outer == len(loops) - 1 or any(loop.dim == loops[-1].dim for loop in loops[outer + 1 : -1]) or not rows % group:
        return total(loops).offset, places_of(loops, variable(TILE))
    before, between, each = loops[:outer], loops[outer + 1 : -1], total(loops[outer + 1 : -1]).offset
    of_batch, within = variable(TILE) % (rows * each), variable(TILE) % (rows * each) % (group * each)
    first = Define(loops[outer].name, of_batch // (group * each) * loops[outer].step)
    left = applied("min", constant(group), constant(rows) - of_batch // (group * each) * group)
    row = Define(loops[-1].name, variable(first.name) + applied("%", within, left) * loops[-1].step)
    places = (*places_of(before, variable(TILE) // (rows * each)), first)
    places += (*places_of(between, applied("/", within, left)), row)
    return total(before).offset * rows * each, places
