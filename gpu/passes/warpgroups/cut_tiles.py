"""Cuts tiles that lie across the depth into blocks of columns. A row of a block has 128 bytes, as wgmma reads it.

    W_tile[64, 128] of f16 in shared memory
    …
        W_tile[element / 128, element % 128] = (W[…] if … else 0)
    …
            acc[…] += … * as_f32(W_tile[k_u, n_u])
    ->
    W_tile[2, 64, 64] of f16 in shared memory
    …
        W_tile[element % 128 / 64, element / 128, element % 128 % 64] = (W[…] if … else 0)
    …
            acc[…] += … * as_f32(W_tile[n_u / 64, k_u, n_u % 64])

Source: layouts of wgmma's operands in CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpu.limits.hopper import ROW_BYTES
from gpu.passes.facts.accesses import moved
from gpu.passes.facts.reading import WIDTH
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Body, Statement
from tiling.loops.walk import with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix

BLOCKS = "blocks"  # the axis of a tile along which its blocks lie


def cut_tiles(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose tiles have rows of 128 bytes."""
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    *_, depth = matrix.factors

    def body(block: Body) -> Body:
        found: tuple[Statement, ...] = ()
        for statement in reversed(block):
            statement = with_blocks(statement, body)
            if isinstance(statement, Alloc) and lies_across(statement.buffer, depth):
                tile = statement.buffer
                found = moved(found, {tile.name}, partial(of_block, tile))
                statement = Alloc(in_blocks(tile))
            found = (statement, *found)
        return found

    return replace(kernel, body=body(kernel.body))


def lies_across(tile: Buffer, depth: str) -> bool:
    """Whether the rows of a tile lie across the depth."""
    return tile.memory == "shared" and len(tile.shape) > 1 and tile.axes[-1] != depth


def in_blocks(tile: Buffer) -> Buffer:
    """The tile in blocks of columns."""
    *others, last = tile.shape
    return replace(tile, shape=(last // row_of(tile), *others, row_of(tile)), axes=(BLOCKS, *tile.axes))


def of_block(tile: Buffer, at: tuple[Index, ...]) -> tuple[Index, ...]:
    """Where the element at a place of the tile is in its blocks."""
    row = row_of(tile)
    return (at[-1] // row, *at[:-1], at[-1] % row)


def row_of(tile: Buffer) -> int:
    """Numbers of 128 bytes."""
    return ROW_BYTES // WIDTH[tile.dtype]
