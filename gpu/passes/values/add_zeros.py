"""Drops tests of products of staged tiles: what lies on padding, or beyond an edge, is 0 in the tile and adds nothing.

if 0 <= h + h_u + r - 1 < 6 and 0 <= w + s_u - 1 < 8:          X_tile[…] = (X[…] if … else 0)
    acc[…] += X_tile[…] * W_tile[…]                        ->    …
                                                                 acc[…] += X_tile[…] * W_tile[…]

An infinite number times such a 0 is NaN, as wherever zeros stand for padding.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.reading import loads_of
from tiling.loops.kernel import Kernel
from tiling.loops.language import Apply, Body, If, Load, Statement, Store
from tiling.loops.walk import buffers_of, with_blocks


def add_zeros(kernel: Kernel) -> Kernel:
    """The kernel without tests around such products."""
    near = {name for name, buffer in buffers_of(kernel).items() if buffer.memory == "shared"}

    def body(block: Body) -> Body:
        found: list[Statement] = []
        for statement in block:
            statement = with_blocks(statement, body)
            if isinstance(statement, If) and not statement.otherwise and _adds(statement.body, near):
                found += statement.body
            else:
                found.append(statement)
        return tuple(found)

    return replace(kernel, body=body(kernel.body))


def _adds(body: Body, near: set[str]) -> bool:
    """Whether a block only adds to registers what it reads from tiles."""
    return all(isinstance(s, Store) and _is_sum(s, near) for s in body)


def _is_sum(store: Store, near: set[str]) -> bool:
    value, before = store.value, Load(store.buffer, store.at)
    if not (isinstance(value, Apply) and value.function == "add" and value.arguments[0] == before):
        return False
    return all(load.buffer in near for load in loads_of(store) if load != before)
