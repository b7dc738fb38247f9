"""Lets one thread of a team store a value that all of them have.

m[i] = acc_m[0]    ->    for thread in 0..1, thread:
                           m[i] = acc_m[0]
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.workers import BLOCKS, KIND, MEMBER, THREAD, over, teams_are_warps
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, Statement, Store
from tiling.loops.walk import buffers_of, with_blocks


def elect_threads(kernel: Kernel) -> Kernel:
    """The kernel where no two threads store to one place."""
    registers = {name for name, buffer in buffers_of(kernel).items() if buffer.memory == "registers"}

    def elected(body: Body, name: str) -> Body:
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For) and statement.kind in (KIND[THREAD], KIND[MEMBER]):
                found.append(statement)  # these store for themselves
            elif isinstance(statement, Store) and statement.buffer not in registers:
                found.append(over(name, 1, (statement,)))
            else:
                found.append(with_blocks(statement, lambda block: elected(block, name)))
        return tuple(found)

    def launch(statement: Statement) -> Statement:
        if not isinstance(statement, For) or statement.kind != BLOCKS:
            return statement
        return replace(statement, body=elected(statement.body, MEMBER if teams_are_warps(statement) else THREAD))

    return replace(kernel, body=tuple(map(launch, kernel.body)))
