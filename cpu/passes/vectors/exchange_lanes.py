"""Gives each lane its own order of the channels of its group, so that exchanges of lanes bring the channels.

    for c_u in 0..4, unrolled:
      for lane in 0..16, vector:
        … X[…, 4*(lane / 4) + c_u] * W[lane, c_u, …]
    ->
    for c_u in 0..4, unrolled:
      for lane in 0..16, vector:
        … X[…, 4*(lane / 4) + (lane % 4 ^ c_u)] * W[lane, (lane % 4 ^ c_u), …]

Groups of 4 channels in and out stand side by side in a vector. If all lanes of a group read one channel,
each step has to broadcast that channel within the group. If lane l reads channel l ^ c instead, the step uses the
vector of x as it lies, with neighbours, pairs … exchanged. The weights are packed in the same order. With words of
narrow numbers c counts words.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.index import LANE, Index, applied, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, Statement
from tiling.loops.rewrite import substituted
from tiling.loops.walk import with_blocks


def exchange_lanes(kernel: Kernel, dim: str) -> Kernel:
    """The kernel with the steps over the channels of a group, `dim`, in another order in each lane."""

    def body(block: Body) -> Body:
        return tuple(map(change, block))

    def change(statement: Statement) -> Statement:
        if isinstance(statement, For) and statement.dim == dim and statement.kind == "unrolled":
            size = statement.stop.offset
            met = applied("^", LANE % size, variable(statement.name))
            # The loop counts exchanges from here on.
            return replace(statement, body=substituted(statement.body, {statement.name: met}))
        return with_blocks(statement, body)

    return replace(kernel, body=body(kernel.body))


def exchange_of(index: Index) -> Index | None:
    """The c of an index that moves with `lane ^ c`: which lanes are exchanged. None for any other index."""
    return next((one.right for one in index.operations() if one.operation == "^"), None)
