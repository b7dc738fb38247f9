"""Has compilers write out eight steps of a product in one iteration of its loop, where vectors are short.

    for c in 0..64:                            for c in 0..64, 8 together:
      for lane in 0..8, vector:          ->      for lane in 0..8, vector:
        acc_y[lane] += q[i, c] * …                 acc_y[lane] += q[i, c] * …

Counting and tests then take fewer instructions, as in the tiles of products that have a scheme (`unroll_steps`). A
product whose lanes are summed in the end is written out as a whole, if it is short: its other factor can then stay in
registers.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.facts.nests import steps_of
from tiling.loops.kernel import Kernel
from tiling.loops.language import Apply, Block, Body, For, Load, Statement, Store
from tiling.loops.walk import with_blocks

# A Zen 3, one thread, the time of attention over that with one step an iteration, medians of 25 to 31 turns, by 4, 8
# and 16 steps: 12 x 128 x 64 0.98, 0.96, 0.99; 12 x 512 x 64 0.98, 0.95, 0.95.
STEPS = 8
# The least products of a step: three rows of four vectors have 12, two have 8.
LEAST_PRODUCTS = 8
# The most products of vectors that are written out as a whole. Attention of one query has 8 for each of its keys.
WHOLE = 16


def repeat_steps(kernel: Kernel) -> Kernel:
    """The kernel whose loops over the steps of products are written out in part."""
    return replace(kernel, body=_body(kernel.body))


def _body(body: Body) -> Body:
    return tuple(_loop(s) if isinstance(s, For) else with_blocks(s, _body) for s in body)


def _loop(loop: For) -> For:
    """A loop that does nothing but multiply is written out, in part if it is long; else the loops inside may be."""
    if loop.kind != "serial" or not loop.body or not all(map(adds_product, loop.body)):
        return replace(loop, body=_body(loop.body))
    if loop.limit is not None or not (loop.start.is_constant and loop.stop.is_constant):
        return loop
    products, steps = len(loop.body), steps_of(loop)
    if all(isinstance(statement, Block) for statement in loop.body):  # sums of neighbouring vectors
        return replace(loop, together=steps) if 1 < steps <= WHOLE // products else loop
    return replace(loop, together=STEPS) if products >= LEAST_PRODUCTS and steps >= 2 * STEPS else loop


def adds_product(statement: Statement) -> bool:
    """Whether a statement adds a vector of products to a sum."""
    match statement:
        case Block(body=(inner,)):
            return adds_product(inner)
        case For(kind="vector", body=(Store(name, _, Apply("add", (Load(total), Apply("mul", _)))),)):
            return name == total
    return False
