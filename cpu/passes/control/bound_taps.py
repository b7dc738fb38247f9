"""Leaves out taps on padding by the bounds of their loop, where one row of outputs is computed at a time.

    tile 14wx16kx3s:                                                     r_begin = max(0, 1 - h)
      for r in 0..3:                                                     r_end = min(3, 57 - h)
        …                                                                tile 14wx16kx3s:
        if 0 <= h + r - 1 < 56 and 0 <= w + w_u + s_u - 1 < 56:    ->      for r in r_begin..r_end:
          acc[w_u, 0, lane] += …                                             …
                                                                             if 0 <= w + w_u + s_u - 1 < 56:
                                                                               acc[w_u, 0, lane] += …

So nothing is multiplied by padding, and no function is needed for the rows at the edge.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tiling.loops.conditions import conditions_of, with_condition
from tiling.loops.index import Index, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, Define, For, Inside, Statement
from tiling.loops.walk import walk, with_blocks


def bound_taps(kernel: Kernel) -> Kernel:
    """The kernel with such loops bounded. The bounds are defined in front of the register tile."""
    return replace(kernel, body=_bounded(kernel.body))


def _bounded(body: Body) -> Body:
    """The block with its tiles bounded, behind the names of the bounds."""
    found: list[Statement] = []
    bounds: dict[str, Index] = {}  # the bounds of all tiles in this block; several tiles are the branches of a λ
    for statement in body:
        if isinstance(statement, Block):
            known = len(bounds)
            tile = _of_tile(statement, bounds)
            found += [*(Define(name, index) for name, index in list(bounds.items())[known:]), tile]
        else:
            found.append(with_blocks(statement, _bounded))
    return tuple(found)


def _of_tile(tile: Block, bounds: dict[str, Index]) -> Block:
    """The tile with its loops bounded. The bounds are added to `bounds`, by name."""
    own = {loop.name for loop in _loops(tile.body)}
    serial = Counter(loop.name for loop in _loops(tile.body) if loop.kind == "serial")

    def change(statement: Statement) -> Statement:
        """A loop over taps with its bounds, if a test is the same for all points of the tile but those of this loop."""
        if not isinstance(statement, For) or statement.kind != "serial" or serial[statement.name] > 1:
            return with_blocks(statement, lambda block: tuple(map(change, block)))
        for condition in dict.fromkeys(conditions_of(statement.body)):
            same_in_tile = own.intersection(condition.index.names()) == {statement.name}
            of_window = condition.low is not None and condition.index.coefficient(statement.name)
            if same_in_tile and of_window and statement.step == 1:
                begin, end = tap_bounds(statement, condition)
                begin = _named(f"{statement.name}_begin", begin, bounds)
                end = _named(f"{statement.name}_end", end, bounds)
                body = with_condition(statement.body, condition, True)
                statement = replace(statement, start=begin, stop=end, body=body)
                break
        return with_blocks(statement, lambda block: tuple(map(change, block)))

    return replace(tile, body=tuple(map(change, tile.body)))


def _named(name: str, bound: Index, bounds: dict[str, Index]) -> Index:
    """The name of a bound; a number stays a number. If a second tile has another bound, that gets a longer name."""
    if bound.is_constant:
        return bound
    while bounds.setdefault(name, bound) != bound:
        name += "_too"
    return variable(name)


def tap_bounds(loop: For, condition: Inside) -> tuple[Index, Index]:
    """The first iteration that satisfies the condition, and the one after the last."""
    step = condition.index.coefficient(loop.name)
    rest = condition.index - variable(loop.name) * step
    begin, end = loop.start, loop.stop
    if condition.low is not None:
        begin = applied("max", begin, applied("/", constant(condition.low + step - 1) - rest, constant(step)))
    if condition.high is not None:
        end = applied("min", end, applied("/", constant(condition.high + step - 1) - rest, constant(step)))
    return begin, end


def _loops(body: Body) -> list[For]:
    """Every loop in a block."""
    return [s for s in walk(body) if isinstance(s, For)]
