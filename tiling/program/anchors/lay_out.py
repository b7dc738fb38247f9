"""The copy of an operand in the order in which a problem has its axes, as plain loops.

    b[r, s, c, k] in the order k, c, r, s      ->      for at_0 in 0..24:
                                                         for at_1 in 0..72:
                                                           for at_2 in 0..3:
                                                             for at_3 in 0..3:
                                                               laid[648*at_0 + …] = b[at_0 + 24*at_1 + 5184*at_2 + …]

The kernel of a product then packs the copy.
"""

from __future__ import annotations

from math import prod

from tiling.loops.buffer import PACKED, Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, Load, Store
from tiling.program.anchors.anchor import Operand


def in_order(operand: Operand) -> bool:
    """Whether the array lies as the problem has it. Axes of one point have no order."""
    moving = [axis for axis in operand.order if operand.split[axis] > 1]
    return moving == sorted(moving)


def lay_out(operand: Operand, source: str, laid: str, dtype: str) -> Kernel:
    """The loops that copy the array `source` to `laid`. Both count their elements by one index."""
    extents = [operand.split[axis] for axis in operand.order]
    names = [f"at_{place}" for place in range(len(extents))]
    given = _element(names, [prod(operand.split[axis + 1 :]) for axis in operand.order])
    to = _element(names, [prod(extents[place + 1 :]) for place in range(len(extents))])
    body: Body = (Store(laid, (to,), Load(source, (given,))),)
    for name, extent in zip(reversed(names), reversed(extents)):
        body = (For(name, ZERO, constant(extent), 1, body),)
    arrays = tuple(Buffer(name, (prod(operand.split),), PACKED, dtype) for name in (source, laid))
    return Kernel(arrays, body)


def _element(names: list[str], steps: list[int]) -> Index:
    found = ZERO
    for name, step in zip(names, steps):
        found += variable(name) * step
    return found
