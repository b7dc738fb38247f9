"""Stores past the caches where Y is aligned: for outputs that no cache could hold.

    tile0_10mx16n(x, w, y):            stream = whether Y begins at a multiple of 64 bytes
      …                                …
      store(p: y, v: acc_0_0)          stream_fence()
      …                                …
                                 ->    tile0_10mx16n(x, w, y, stream):
                                         …
                                         if stream:
                                           stream(p: y, v: acc_0_0)
                                           …
                                         else:
                                           store(p: y, v: acc_0_0)
                                           …

At its end each worker waits until its stores are in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from microkernels.tile.instructions import Instructions, NarrowStores
from tiling.dtypes.products import LANE_BYTES
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Aligned, Block, Body, Call, Decide, Do, Flag, If, Instruction, Invoke, Statement
from tiling.loops.walk import for_each_worker, walk, with_blocks

STREAM = "stream"


def stream_stores(kernel: Kernel, instructions: Instructions, lanes: int) -> Kernel:
    """The kernel with both kinds of stores. lanes: lanes of 32 bits of a vector, to which Y must be aligned."""
    functions = tuple(_with_flag(replace(f, body=_stores(f.body, instructions))) for f in kernel.functions)
    fence = Do(Invoke(instructions.stream_fence, ()))
    body = for_each_worker(tuple(map(_passed, kernel.body)), lambda block: (*block, fence))
    aligned = Decide(STREAM, (Aligned("Y", lanes * LANE_BYTES),))
    return replace(kernel, body=(aligned, *body), functions=functions)


def _with_flag(function: Function) -> Function:
    return replace(function, flags=(*function.flags, STREAM))


def _passed(statement: Statement) -> Statement:
    if isinstance(statement, Call):
        return replace(statement, flags=(*statement.flags, STREAM))
    return with_blocks(statement, lambda block: tuple(map(_passed, block)))


def _stores(body: Body, instructions: Instructions) -> Body:
    """The block with a choice in place of each run of stores."""
    kinds: tuple[Instructions | NarrowStores, ...] = (instructions, *instructions.narrow.values())
    streams = {kind.store: kind.stream for kind in kinds}
    found: list[Statement] = []
    run: list[Statement] = []
    for statement in (*body, None):
        # A block runs once, so a run of stores may continue into it.
        if isinstance(statement, (Do, Block)) and any(
            isinstance(s, Do) and s.invoke.instruction in streams for s in walk((statement,))
        ):
            run.append(statement)
            continue
        if run:
            found.append(If((Flag(STREAM),), tuple(_streamed(s, streams) for s in run), tuple(run)))
            run = []
        if statement is not None:
            found.append(with_blocks(statement, lambda block: _stores(block, instructions)))
    return tuple(found)


def _streamed(statement: Statement, streams: Mapping[Instruction, Instruction]) -> Statement:
    """The statement with streaming stores."""
    if isinstance(statement, Do):
        kind = statement.invoke.instruction
        return Do(replace(statement.invoke, instruction=streams.get(kind, kind)))
    return with_blocks(statement, lambda block: tuple(_streamed(inner, streams) for inner in block))
