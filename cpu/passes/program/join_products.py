"""Multiplies each part of a row as soon as it is computed, where the product goes over the row once.

    for j in 0..512 by 8:                            for c in 0..64 by 64:
      for lane in 0..8, vector:                        acc_y[8] in registers
        e[j + lane] = exp(x[j + lane])                 …
    for c in 0..64 by 64:                              for j in 0..512 by 8:
      acc_y[8] in registers                              for lane in 0..8, vector:
      …                                                    e[j + lane] = exp(x[j + lane])
      for j in 0..512, 8 together:             ->        for j_now in j..(j + 8), 8 together:
        for lane in 0..8, vector:                          for lane in 0..8, vector:
          acc_y[lane] += e[j] * v[j, c + lane]               acc_y[lane] += e[j_now] * v[j_now, c + lane]
        …                                                  …

A product of one row waits for the other factor, which it reads once; functions of a row wait for nothing. So a core
computes while lines are on their way. Each sum has the same terms in the same order. Source: loop fusion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cpu.passes.program.repeat_steps import adds_product
from cpu.passes.program.share_loops import may_swap
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Block, Body, For, Statement, Store
from tiling.loops.rewrite import places, substituted
from tiling.loops.walk import walk, with_blocks

# The share of the registers for the sums of a product; functions between its steps need the others.
OF_SUMS = 0.5


def join_products(kernel: Kernel, registers: int) -> Kernel:
    """The kernel whose products of one row go on while the row is computed. registers: how many vector registers."""
    return replace(kernel, body=_Joining(int(registers * OF_SUMS)).body(kernel.body))


@dataclass(frozen=True)
class _Joining:
    """most: the most sums of a product."""

    most: int

    def body(self, body: Body) -> Body:
        """The block with each product joined to the loop that computes its row."""
        found: list[Statement] = []
        for statement in body:
            inside = with_blocks(statement, self.body)
            product = self.product(inside) if isinstance(inside, For) else None
            place = _row_of(product, inside, found) if product else None
            if product and place is not None:
                row, between = found[place], found[place + 1 :]
                assert isinstance(row, For) and isinstance(inside, For)
                found[place:] = [self.joined(row, inside, product), *between]
            else:
                found.append(inside)
        return tuple(found)

    def product(self, around: For) -> For | None:
        """The loop of a product in a loop of one iteration, with few sums; None for anything else."""
        if not _is_plain(around) or steps_of(around) != 1:
            return None
        loops = [s for s in around.body if isinstance(s, For) and s.kind == "serial"]
        if len(loops) != 1 or not _is_plain(loops[0]) or loops[0].step != 1 or len(loops[0].body) > self.most:
            return None
        return loops[0] if all(map(adds_product, loops[0].body)) else None

    def joined(self, row: For, around: For, product: For) -> For:
        """The loop of one iteration, in which the product takes each part of the row behind the statements of it.

        The row's loop gets the name of the product's, since the loop around may have its own.
        """
        name, here = f"{product.name}_now", variable(product.name)
        steps = replace(
            product,
            name=name,
            start=here,
            stop=here + row.step,
            body=substituted(product.body, {product.name: variable(name)}),
        )
        both = replace(row, name=product.name, body=(*substituted(row.body, {row.name: here}), steps))
        return replace(around, body=tuple(both if s is product else s for s in around.body))


def _row_of(product: For, around: Statement, before: list[Statement]) -> int | None:
    """Where the loop stands that computes a row for a product, if the product can go on beside it."""
    place = next((n for n in reversed(range(len(before))) if _is_row(before[n], product)), None)
    if place is None:
        return None
    row, between = before[place], tuple(before[place + 1 :])
    assert isinstance(row, For) and isinstance(around, For)
    others = tuple(s for s in around.body if s is not product)
    straight = all(isinstance(s, (Alloc, Block, For, Store)) for s in between)
    return place if straight and may_swap(between, (around,)) and may_swap((row,), others) else None


def _is_row(row: Statement, product: For) -> bool:
    """Whether a loop computes a row, and a product with the same points reads at each one what is stored there."""
    if not isinstance(row, For) or not _is_plain(row) or (row.start, row.stop) != (product.start, product.stop):
        return False
    loops = [s for s in walk(row.body) if isinstance(s, For)]
    if (row.stop - row.start).offset % row.step or any(s.kind != "vector" for s in loops):
        return False
    stored = [place for place in places((row,)) if isinstance(place, Store)]
    needed = [place for place in places((product,)) if place.buffer in {store.buffer for store in stored}]
    sums = {s.buffer for s in walk((product,)) if isinstance(s, Store)}
    if not needed or any(place.at != (variable(product.name),) or place.buffer in sums for place in needed):
        return False
    if not sums.isdisjoint(place.buffer for place in places((row,))):
        return False
    lanes = max((s.stop.offset for s in loops if s.stop.is_constant), default=1)
    return all(_is_part(s.at, row, lanes) for s in stored if s.buffer in {place.buffer for place in needed})


def _is_plain(loop: For) -> bool:
    """Whether the bounds of a serial loop are numbers, and all of its iterations are needed."""
    return loop.kind == "serial" and loop.limit is None and loop.start.is_constant and loop.stop.is_constant


def _is_part(at: tuple[Index, ...], loop: For, lanes: int) -> bool:
    """Whether a place of an iteration lies in its own part of a row: that from its variable on to the next step.

    lanes: how many the longest vector has.
    """
    (along, *more) = (index - variable(loop.name) for index in at)
    wide = along.coefficient("lane")
    begin = along.replaced({"lane": ZERO})
    last = wide * (lanes - 1)
    return not more and begin.is_constant and 0 <= begin.offset <= begin.offset + last < loop.step
