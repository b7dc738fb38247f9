"""Lets warpgroups that take turns leave out the products and copies of tiles beyond an edge.

    for turn in warpgroup..2*((blocks - block + 3) / blocks) by 2:
      …
      m_1 = 64*(turn % 2) + m_2
      …
      for k in 0..256 by 64:
        wait for phase …
        …
        for k_u in 0..64 by 16, unrolled:
          …
    ->
    for turn in warpgroup..2*((blocks - block + 3) / blocks) by 2:
      …
      m_1 = 64*(turn % 2) + m_2
      …
      for k in 0..256 by 64:
        wait for phase …
        …
        if m_1 < 192:
          …
          for k_u in 0..64 by 16, unrolled:
            …

The warp that copies says that such stages are full though nothing came, since the ring counts all turns. Where blocks
of a cluster share copies, they leave out what lies beyond the edge for the first of them.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpu.passes.facts.rings import is_turn
from gpu.passes.facts.workers import BLOCKS, RANK, WARPGROUPS_OF_BLOCK, takers_of
from tiling.loops.index import Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Condition, Define, For, If, Inside, Statement
from tiling.loops.machines import Arrive, CopyBox
from tiling.loops.walk import with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, Tile, Unroll


def skip_turns(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose warpgroups leave out tiles beyond the edges."""
    dims = tuple(dict.fromkeys(loop.dim for loop in takers_of(scheme) if _has_turns_beyond(scheme, loop.dim)))
    return replace(kernel, body=_skipping(kernel.body, {dim: scheme.extents[dim] for dim in dims})) if dims else kernel


def _has_turns_beyond(scheme: Scheme, dim: str) -> bool:
    """Whether a tile of the first block of a cluster lies beyond the edge, and another one of it does not."""
    matrix, inside = scheme.specifiers[-1], scheme.specifiers[scheme.accumulators_at :]
    assert isinstance(matrix, Matrix)
    tile = matrix.factors[dim]
    tile *= prod(s.trips for s in inside if isinstance(s, Tile) and s.dim == dim and s.worker == WARPGROUPS_OF_BLOCK)
    tile *= prod(s.factor or 1 for s in inside if isinstance(s, Unroll) and s.dim == dim)
    takers = prod(loop.trips for loop in takers_of(scheme) if loop.dim == dim)
    blocks = prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and s.dim == dim and s.worker == BLOCKS)
    return 0 < scheme.extents[dim] % (tile * takers * blocks) <= tile * (takers - 1)


def _skipping(body: Body, extents: dict[str, int]) -> Body:
    return tuple(_statement(statement, extents) for statement in body)


def _statement(statement: Statement, extents: dict[str, int]) -> Statement:
    if not (isinstance(statement, For) and is_turn(statement)):
        return with_blocks(statement, lambda body: _skipping(body, extents))
    places = tuple(s for s in statement.body if isinstance(s, Define))
    tests = tuple(Inside(_begin(places, dim), None, extent) for dim, extent in extents.items())
    return with_blocks(statement, lambda body: tuple(_of_turn(each, tests) for each in body))


def _begin(places: tuple[Define, ...], dim: str) -> Index:
    """Where the tile of the first block begins in this turn."""
    along = [place for place in places if place.name.partition("_")[0] == dim]
    index = variable(along[-1].name)
    for place in along:
        index -= variable(RANK) * dict(place.index.terms).get(RANK, 0)
    return index


def _of_turn(statement: Statement, tests: tuple[Condition, ...]) -> Statement:
    """A loop over steps, which leaves out products or copies."""
    if not isinstance(statement, For) or statement.kind != "serial":
        return statement
    copying = any(isinstance(s, CopyBox) for s in statement.body)
    inside = (_of_copies if copying else _of_products)(statement.body, tests)
    return replace(statement, body=inside)


def _of_copies(body: Body, tests: tuple[Condition, ...]) -> Body:
    asked = tuple(s for s in body if isinstance(s, (Arrive, CopyBox)))
    alone = tuple(replace(s, bytes=0) for s in asked if isinstance(s, Arrive))
    return (*(s for s in body if s not in asked), If(tests, asked, alone))


def _of_products(body: Body, tests: tuple[Condition, ...]) -> Body:
    """Leaves out products with the fence before and the commit behind them: else ptxas fences and awaits each one."""
    (at,) = (number for number, s in enumerate(body) if isinstance(s, For) and s.kind == "unrolled")
    return (*body[: at - 1], If(tests, body[at - 1 : at + 2]), *body[at + 2 :])
