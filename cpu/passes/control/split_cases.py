"""Decides tests by position: each kind of tile, at the padding or with the last vector, has code of its own.

    tile 14wx16kx3s:                           if 14 <= w < 42:
      …                                          tile 14wx16kx3s, 14 <= w < 42:
      if 0 <= w + w_u + s_u - 1 < 56:              …
        acc[w_u, 0, lane] += …                     acc[w_u, 0, lane] += …
                                         ->    else if w < 14:
                                                 tile 14wx16kx3s_wpad0, w < 14:
                                                   …
                                                   if w_u + s_u - 1 >= 0:
                                                     acc[w_u, 0, lane] += …
                                               else:
                                                 …

Positions are known when a kernel is written. What is left of a test has only variables of unrolled loops and of lanes,
so unrolling decides it: nothing is multiplied by padding. `cut_taps` does the same for loops over taps inside a tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cpu.passes.control.cases import Case, cases, values_in
from tiling.loops.conditions import conditions_of, with_conditions
from tiling.loops.index import constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, For, If, Inside, Statement
from tiling.loops.walk import with_blocks


def split_cases(kernel: Kernel) -> Kernel:
    """The kernel with one block for each kind of tile, chosen by position."""
    return replace(kernel, body=_split(kernel.body, {}))


def _split(body: Body, positions: Mapping[str, list[int]]) -> Body:
    """The block with every tile split. positions: every value of the variable of each loop around it."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, Block):
            found += _tile(statement, positions)
        elif isinstance(statement, For):
            inner = {**positions, statement.name: _positions(statement, positions)}
            found.append(replace(statement, body=_split(statement.body, inner)))
        else:
            found.append(with_blocks(statement, lambda block: _split(block, positions)))
    return tuple(found)


def _positions(loop: For, positions: Mapping[str, list[int]]) -> list[int]:
    """Every value of a loop's variable. A loop begins at a number, or at the position of the loop outside it."""
    trips = range(0, (loop.stop - loop.start).offset, loop.step)
    starts = [loop.start.offset]
    for term, coefficient in loop.start.terms:
        assert isinstance(term, str)
        starts = [start + coefficient * at for start in starts for at in positions[term]]
    return sorted({start + trip for start in starts for trip in trips})


def _tile(tile: Block, positions: Mapping[str, list[int]]) -> Body:
    """The kinds of a tile, and the choice among them. Each step decides one test, and the kinds have the others left.

    A test of the lane comes first.
    """
    tests = dict.fromkeys(conditions_of(tile.body))
    for test in sorted(tests, key=lambda test: not test.index.coefficient("lane")):
        outside = [name for name in test.index.names() if name in positions]
        if not outside:
            continue
        name = min(outside, key=lambda name: len(positions[name]))
        kinds = _kinds(tile, test, name, positions[name], decides=len(outside) == 1)
        return _tile(kinds[0][1], positions) if len(kinds) == 1 else _chosen(name, kinds, positions)
    return (tile,)


def _kinds(tile: Block, test: Inside, name: str, at: list[int], decides: bool) -> list[tuple[Case, Block]]:
    """The kinds of the tile, one for each run of positions of a variable in a test.

    decides: the test has no other variable from outside the tile. Else, as for taps that are looped over outside, each
    position is a kind of its own, and the rest of the test stays.
    """
    if not decides:
        return [(Case(here, here, True), _fixed(tile, name, here)) for here in sorted(at)]
    return [(case, _with_test(tile, test, case.test)) for case in cases(test, name, at, values_in(tile.body))]


def _fixed(tile: Block, name: str, at: int) -> Block:
    """The tile where a variable in its tests has one value."""
    body = with_conditions(
        tile.body, lambda c: replace(c, index=c.index.replaced({name: constant(at)})) if isinstance(c, Inside) else c
    )
    return replace(tile, body=body)


def _with_test(tile: Block, test: Inside, became: Inside | bool) -> Block:
    """The tile with another test, or its value True or False, in place of a test."""
    return replace(tile, body=with_conditions(tile.body, lambda c: became if c == test else c))


def _chosen(name: str, kinds: list[tuple[Case, Block]], positions: Mapping[str, list[int]]) -> Body:
    """The choice among kinds of tiles by position. Most tiles have no test left, so these come first."""
    ends: list[int | None] = [*(case.first for case, _ in kinds[1:]), None]
    found = []
    for number, ((case, tile), high) in enumerate(zip(kinds, ends)):
        low = case.first if number else None
        # The number of the case: it says where a tile stands along this variable, and not how wide its padding is.
        label = "" if case.test is True else "_tail" if _on_lane(case.test) else f"_{name}pad{number}"
        here = replace(tile, name=tile.name + label, notes=(*tile.notes, _note(name, low, high)))
        among = {**positions, name: [at for at in positions[name] if case.first <= at <= case.last]}
        found.append((case.test is True, (Inside(variable(name), low, high),), _tile(here, among)))
    *others, (_, _, otherwise) = sorted(found, key=lambda kind: not kind[0])
    for _, test, body in reversed(others):
        otherwise = (If(test, body, otherwise),)
    return otherwise


def _on_lane(test: Inside | bool) -> bool:
    return isinstance(test, Inside) and test.index.coefficient("lane") != 0


def _note(name: str, low: int | None, high: int | None) -> str:
    """`14 <= h < 42`."""
    return f"{'' if low is None else f'{low} <= '}{name}{'' if high is None else f' < {high}'}"
