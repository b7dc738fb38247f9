"""Keeps loops over steps, and those over the copies of a thread, as loops: compilers would unroll some of them.

    for k in 0..256 by 32:                   for k in 0..256 by 32, rolled:
      …                                        …
      for thread in 0..128, thread:     ->     for thread in 0..128, thread:
        wait until 1 groups are pending          wait until 1 groups are pending
      barrier of threads                       barrier of threads

Unrolled steps bring nothing, since a step is long, and each of their addresses takes registers.
"""

# A convolution in f16 of nine steps: NVRTC 13.0 gave threads 128 registers for sm_80 and spilled 32 bytes. With a loop
# it gives 80.

from __future__ import annotations

from dataclasses import replace

from tiling.loops.kernel import Kernel
from tiling.loops.language import Barrier, Body, Do, For, Statement
from tiling.loops.machines import Copy
from tiling.loops.walk import walk, with_blocks


def keep_loops(kernel: Kernel) -> Kernel:
    """The kernel with its serial loops kept as loops where they copy, multiply or have threads wait."""

    def kept(statement: Statement) -> Statement:
        if isinstance(statement, For) and statement.kind == "serial":
            long = any(isinstance(inner, (Copy, Barrier, Do)) for inner in walk(statement.body))
            statement = replace(statement, kind="rolled") if long else statement
        return with_blocks(statement, body)

    def body(block: Body) -> Body:
        return tuple(map(kept, block))

    return replace(kernel, body=body(kernel.body))
