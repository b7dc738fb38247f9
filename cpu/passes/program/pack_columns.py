"""Lays out an array in between in the order in which a product reads it: panels of as many columns as it takes at once.

    k_columns[64, 512] in global memory              k_columns[8, 64, 64] in global memory
    …                                                …
        for lane in 0..16, vector:                       for lane in 0..16, vector:
          k_columns[c, j + lane] = …                       k_columns[j / 64, c, j % 64 + lane] = …
    …                                         ->     …
      for j in 0..512 by 64:                           for j in 0..512 by 64:
        …                                                …
        for c in 0..64:                                  for c in 0..64:
          …                                                …
            … k_columns[c, j + lane]                         … k_columns[j / 64, c, lane]
          …                                                …
            … k_columns[c, j + lane + 16]                    … k_columns[j / 64, c, lane + 16]

A loop over c then reads memory from one end to the other, which a CPU fetches ahead from L2. Source: the packing of
matrices in GotoBLAS (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd

from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, Index, constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, For, Load, Operand, Statement, Store
from tiling.loops.rewrite import operands_of, parts_of, with_own_values
from tiling.loops.walk import inside, walk, with_blocks

Loops = tuple[For, ...]  # around a statement, the outermost first


def pack_columns(kernel: Kernel, lanes: int) -> Kernel:
    """The kernel with such arrays laid out anew. Those whose extents a call decides stay."""
    between = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.memory == "global"]
    places: dict[str, list[_Place]] = {
        buffer.name: [] for buffer in between if len(buffer.shape) > 1 and not buffer.extents
    }
    for place in _places(kernel.body, ()) if places else ():
        if place.name in places:
            places[place.name].append(place)
    packed: dict[str, _Packed] = {}
    for buffer in between:
        width = _width(places[buffer.name], lanes) if buffer.name in places else 0
        if width and buffer.shape[-1] > width:
            packed[buffer.name] = _Packed(buffer, width)
    return replace(kernel, body=_changed(kernel.body, packed, ())) if packed else kernel


@dataclass(frozen=True)
class _Place:
    """An element that a statement reads or writes. at: None where only an address is taken."""

    name: str
    at: tuple[Index, ...] | None
    loops: Loops
    reads: bool


def _places(body: Body, loops: Loops) -> Iterator[_Place]:
    """Every access of a block, with the loops around it."""
    for statement in body:
        if isinstance(statement, Store):
            yield _Place(statement.buffer, statement.at, loops, reads=False)
        for operand in operands_of(statement):
            for part in parts_of(operand):
                if isinstance(part, (Load, Address)):
                    yield _Place(part.buffer, part.at if isinstance(part, Load) else None, loops, reads=True)
        around = (*loops, statement) if isinstance(statement, For) else loops
        for block in inside(statement):
            yield from _places(block, around)


def _width(places: list[_Place], lanes: int) -> int:
    """The fewest neighbours that products read at once; 0 for a vector, another reader, or a writer of scalars."""
    widths: set[int] = set()
    for place in places:
        if place.at is None or not _in_vectors(place.at, place.loops, lanes):
            return 0
        if not place.reads:
            continue
        serial = [loop for loop in place.loops if loop.kind == "serial"]
        if not serial or serial[-1].name not in place.at[-2].names() or serial[-1].step != 1:
            return 0
        walked = (loop.step for loop in serial if place.at[-1].coefficient(loop.name) == 1 and loop.step % lanes == 0)
        widths |= set(walked) - {lanes}
    return min(widths, default=0)


def _in_vectors(at: tuple[Index, ...], loops: Loops, lanes: int) -> bool:
    """Whether the lanes are neighbours on the last axis, from a multiple of a vector on."""
    lane = [index.coefficient("lane") for index in at]
    return lane[-1] == 1 and not any(lane[:-1]) and _divisor(at[-1] - LANE, _divisors(loops)) % lanes == 0


def _divisors(loops: Loops) -> dict[str, int]:
    """A number that divides every value of a loop's variable."""
    found: dict[str, int] = {}
    for loop in loops:
        found[loop.name] = gcd(_divisor(loop.start, found), loop.step)
    return found


def _divisor(index: Index, known: Mapping[str, int]) -> int:
    parts = (c * (known.get(term, 1) if isinstance(term, str) else 1) for term, c in index.terms)
    return gcd(index.offset, *parts)


@dataclass(frozen=True)
class _Packed:
    """An array in panels of `width` columns."""

    before: Buffer
    width: int

    @property
    def buffer(self) -> Buffer:
        *outer, rows, columns = self.before.shape
        *names, row, column = self.before.axes
        shape = (*outer, -(-columns // self.width), rows, self.width)
        return replace(self.before, shape=shape, axes=(*names, f"{column}_panel", row, column))

    def at(self, at: tuple[Index, ...], loops: Loops) -> tuple[Index, ...]:
        *outer, row, column = at
        first, known = column - LANE, _divisors(loops)
        whole = Index(tuple(term for term in first.terms if _divisor(Index((term,)), known) % self.width == 0))
        rest = first - whole
        if rest.is_constant:
            panel = whole // self.width + rest.offset // self.width
            return (*outer, panel, row, constant(rest.offset % self.width) + LANE)
        return (*outer, first // self.width, row, first % self.width + LANE)


def _changed(body: Body, packed: Mapping[str, _Packed], loops: Loops) -> Body:
    """The block with the places of packed arrays."""
    return tuple(_moved(statement, packed, loops) for statement in body)


def _moved(statement: Statement, packed: Mapping[str, _Packed], loops: Loops) -> Statement:
    """The statement with the arrays as they are packed."""

    def value(part: Operand) -> Operand | None:
        if isinstance(part, Load) and part.buffer in packed:
            return Load(part.buffer, packed[part.buffer].at(part.at, loops))
        return None

    if isinstance(statement, Alloc) and statement.buffer.name in packed:
        return Alloc(packed[statement.buffer.name].buffer)
    statement = with_own_values(statement, value)
    if isinstance(statement, Store) and statement.buffer in packed:
        return Store(statement.buffer, packed[statement.buffer].at(statement.at, loops), statement.value)
    around = (*loops, statement) if isinstance(statement, For) else loops
    return with_blocks(statement, lambda block: _changed(block, packed, around))
