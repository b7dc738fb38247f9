"""Lets the rows of a tile that a warp reads at once lie in different banks of shared memory.

    get_matrices(to: …, p: X_tile + [m + m_u + 8*(lane / 8 % 2) - m_1 + lane % 8, k_u + 8*(lane / 8 / 2)])
    ->
    get_matrices(to: …, p: X_tile + [m + … + lane % 8, 8*((k_u + 8*(lane / 8 / 2)) / 8 ^ lane % 8 / 2)])

A row consists of chunks of 16 bytes; the banks serve eight chunks at once. The place of a chunk is the exclusive or of
its number and a number of its row. A load of matrices reads one chunk from each of eight rows; a load of words across
rows reads two chunks from each of four. wgmma reads rows of eight chunks swizzled so, and the copy engine swizzles
boxes by itself, those that it stores too. Source: swizzled layouts of CUTLASS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd

from gpu.passes.facts.divisors import Divisors, known_after, known_inside, remainder
from gpu.passes.facts.reading import WIDTH, loads_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, applied
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Body, Load, Operand, Store
from tiling.loops.machines import CopyBox, StoreBox
from tiling.loops.rewrite import with_own_values
from tiling.loops.walk import buffers_of, walk, with_blocks

CHUNK = 16  # bytes
BANK_CHUNKS = 8  # that the 32 banks serve at once


def swizzle(kernel: Kernel, of_warpgroups: bool = False) -> Kernel:
    """The kernel with swizzled tiles. of_warpgroups: whether wgmma reads them, by chunks, whatever stands there yet."""
    reading = () if of_warpgroups else walk(kernel.body)
    by_word = {load.buffer for statement in reading for load in loads_of(statement)}
    matrices = {name: b for name, b in buffers_of(kernel).items() if b.memory == "shared" and len(b.shape) > 1}
    return _with_swizzled(kernel, {name: _Tile(buffer, name in by_word) for name, buffer in matrices.items()})


def swizzle_stores(kernel: Kernel) -> Kernel:
    """The kernel, whose boxes that the copy engine stores are swizzled."""
    stored = {s.source.buffer for s in walk(kernel.body) if isinstance(s, StoreBox)}
    return _with_swizzled(kernel, {name: _Tile(b, False) for name, b in buffers_of(kernel).items() if name in stored})


def _with_swizzled(kernel: Kernel, tiles: Mapping[str, _Tile]) -> Kernel:
    swizzled = {name: tile for name, tile in tiles.items() if tile.pattern > 1}

    def body(block: Body, known: Divisors) -> Body:
        found = []
        for statement in block:
            known = known_after(statement, known)

            def near(operand: Operand, known: Divisors = known) -> Operand | None:
                if not isinstance(operand, (Load, Address)) or operand.buffer not in swizzled:
                    return None
                return type(operand)(operand.buffer, swizzled[operand.buffer].at(operand.at, known))

            statement = with_own_values(statement, near)
            if isinstance(statement, Store) and statement.buffer in swizzled:
                statement = replace(statement, at=swizzled[statement.buffer].at(statement.at, known))
            if isinstance(statement, (CopyBox, StoreBox)) and _tile_of(statement) in swizzled:
                statement = replace(statement, swizzled=True)
            inner = known_inside(statement, known)
            found.append(with_blocks(statement, lambda inside, inner=inner: body(inside, inner)))  # type: ignore[misc]
        return tuple(found)

    return replace(kernel, body=body(kernel.body, {}))


def _tile_of(box: CopyBox | StoreBox) -> str:
    return (box.target if isinstance(box, CopyBox) else box.source).buffer


@dataclass(frozen=True)
class _Tile:
    """A tile, and whether its words are read one by one."""

    buffer: Buffer
    by_word: bool

    @property
    def chunk(self) -> int:
        """Elements of a chunk."""
        return CHUNK // WIDTH[self.buffer.dtype]

    @property
    def every(self) -> int:
        """Rows that together fill the banks, so that they need no other order."""
        return BANK_CHUNKS // gcd(self.buffer.shape[-1] // self.chunk, BANK_CHUNKS)

    @property
    def pattern(self) -> int:
        """How many orders of chunks there are."""
        return BANK_CHUNKS // self.every // (2 if self.by_word else 1)

    def at(self, at: tuple[Index, ...], known: Divisors) -> tuple[Index, ...]:
        """Where the element at a place of the tile lies."""
        *others, row, last = at
        order = remainder(row, self.every * self.pattern, known) // self.every
        place = applied("^", last // self.chunk, order * (2 if self.by_word else 1))
        return (*others, row, place * self.chunk + remainder(last, self.chunk, known))
