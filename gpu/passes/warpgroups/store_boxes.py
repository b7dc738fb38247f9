"""Lets the copy engine store the output: each warp leaves its sums in boxes in shared memory, mostly two in turns.

    for warp in 0..8, warp:
      …
      for member in 0..32, lane:
        …
                Y[m + …, n + n_u + 2*(member % 4) + pair] = as_f16(acc[…])
    ->
    Y_box[8, 2, 16, 64] of f16 in shared memory
    …
    for warp in 0..8, warp:
      …
      for n_box in 0..128 by 64, unrolled:
        for m_u in 0..64 by 64, unrolled:
          for member in 0..1, lane:
            wait until 1 boxes are still to be read
          for member in 0..32, lane:
            …
                    Y_box[warp, …, member / 4 + 8*half, n_u + …] = as_f16(acc[…])
            fence_proxy_async()
          for member in 0..1, lane:
            store a box of 16 x 64 to Y[…] from Y_box[warp, …, 0, 0]
    …
    for warp in 0..8, warp:
      for member in 0..1, lane:
        wait until no boxes are still to be read

A lane stores no more than its words to shared memory, and whole rows of 128 bytes go to memory while the warp goes on.
The copy engine stores nothing beyond an edge, so only what an epilogue reads has to be tested. Source: epilogues of
CUTLASS, by TMA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from gpu.limits.hopper import ROW_BYTES
from gpu.passes.facts.reading import WIDTH, loads_of, touched
from gpu.passes.facts.rings import TURN, is_turn
from gpu.passes.facts.workers import A_WARP, MEMBER, THREADS_OF_WARP, WARP, WARPS_OF_BLOCK, takers_of
from gpu.passes.matrices.multiply_matrices import PAIR
from gpu.passes.warpgroups.instructions import SHOW
from gpu.passes.warpgroups.multiply_warpgroups import do
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, For, If, Statement, Store
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.machines import MBARRIER, Beside, StoreBox, WaitStores
from tiling.loops.walk import free_name, walk, with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix

OUTPUT, HALF = "Y", "half"
BOX_ROWS = 16  # of a warp, in a matrix instruction
_BUFFERS = 2  # of a warp whose boxes take turns


def turn_of(kernel: Kernel, scheme: Scheme) -> Index | None:
    """How many tiles a warp has had before, where it takes several, one after the other."""
    takers = prod(loop.trips for loop in takers_of(scheme))
    return variable(TURN) // takers if any(map(is_turn, walk(kernel.body))) else None


def number_of_box(columns: For, rows: For) -> Index:
    """The number of a box in its tile. columns, rows: the loops over boxes."""
    return variable(columns.name) // columns.step * steps_of(rows) + variable(rows.name) // rows.step


def buffer_of(number: Index, boxes: int, turn: Index | None, buffers: int) -> Index:
    """Which of a warp's buffers a box goes through: all boxes of all tiles take turns. boxes: how many a tile has."""
    return (of_all(number, boxes, turn) if boxes % buffers else number) % buffers


def counted(boxes: int, every: bool, buffers: int) -> int:
    """How many boxes of a tile turns count. every: whether all tiles are stored. If not, no turn tells which buffer the
    box before went through, so each tile begins with the first one.
    """
    return boxes if every else -(-boxes // buffers) * buffers


def of_all(number: Index, boxes: int, turn: Index | None) -> Index:
    """The number of a box among those of all tiles of a warp."""
    return number if turn is None else turn * boxes + number


def store_boxes(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose warps store boxes."""
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    rows, columns, _ = matrix.factors
    (output,) = (b for b in kernel.arrays if b.name == OUTPUT)
    (warps,) = {s.warps for s in walk(kernel.body) if isinstance(s, Beside)}
    turn, width = turn_of(kernel, scheme), ROW_BYTES // WIDTH[output.dtype]
    shape = (warps, _buffers(kernel.body, turn, width), BOX_ROWS, width)
    name = free_name(f"{OUTPUT}_box", touched(kernel.body))
    buffer = Buffer(name, shape, (WARP, "turn", *output.axes[-2:]), output.dtype, "shared")
    boxes = _Boxes(output, len(rows), free_name(f"{columns}_box", touched(kernel.body)), buffer, turn)
    return replace(kernel, body=boxes.body(kernel.body))


def _buffers(body: Body, turn: Index | None, width: int) -> int:
    """How many buffers a warp has. Where a tile is one box, boxes take turns only if every tile is stored."""
    warps = next(s for s in walk(body) if _is_storing(s))
    assert isinstance(warps, For)
    every = turn is not None and not any(isinstance(s, If) for s in warps.body)
    lanes = next(s for s in walk(warps.body) if isinstance(s, For) and s.kind == THREADS_OF_WARP and _stores(s))
    (rows, _, columns, _), _ = _nest(lanes)
    return _BUFFERS if every or steps_of(rows) * steps_of(replace(columns, step=width)) > 1 else 1


@dataclass(frozen=True)
class _Boxes:
    """The boxes of an output.

    joined: axes of it that are the rows of a tile. name: the variable of a box's first column. buffer: where warps
    leave boxes. turn: how many tiles a warp has had before.
    """

    output: Buffer
    joined: int
    name: str
    buffer: Buffer
    turn: Index | None

    def body(self, block: Body) -> Body:
        """A block with stores of boxes, and the buffer before the first mbarrier: boxes begin at whole rows."""
        found: list[Statement] = []
        for statement in block:
            if isinstance(statement, Alloc) and statement.buffer.dtype == MBARRIER and Alloc(self.buffer) not in found:
                found.append(Alloc(self.buffer))
            if _is_storing(statement):
                assert isinstance(statement, For)
                statement = replace(statement, body=self.of_warp(statement.body))
            else:
                statement = with_blocks(statement, self.body)
            found.append(statement)
            if is_turn(statement):
                found += self.waiting(statement)
        return tuple(found)

    def waiting(self, turns: Statement) -> Body:
        """After all turns each warp waits until its last boxes are stored."""
        boxed = (s for s in walk((turns,)) if isinstance(s, For) and s.kind == WARPS_OF_BLOCK and has_box(s))
        return tuple(replace(warp, body=(A_WARP.each((WaitStores(0),), 1),)) for warp in boxed)

    def of_warp(self, body: Body, every: bool = True) -> Body:
        """What a warp does with its sums, in boxes. every: whether it stores those of every tile."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For) and statement.kind == THREADS_OF_WARP and _stores(statement):
                found.append(self.in_boxes(statement, every))
            elif isinstance(statement, If):
                found.append(replace(statement, body=self.of_warp(statement.body, every=False)))
            else:
                found.append(statement)
        return tuple(found)

    def in_boxes(self, lanes: For, every: bool) -> For:
        """What the lanes of a warp do with their sums, box by box: wait for a buffer, fill it, have it stored."""
        (rows, half, columns, pair), inside = _nest(lanes)
        store = inside.body[0] if isinstance(inside, If) else inside
        assert isinstance(store, Store) and (half.name, pair.name) == (HALF, PAIR)
        _, buffers, _, width = self.buffer.shape
        boxes = replace(columns, name=self.name, step=width)
        count = steps_of(boxes) * steps_of(rows)
        of_tile = counted(count, every, buffers)
        turn = buffer_of(number_of_box(boxes, rows), of_tile, self.turn, buffers)
        # The box before may have gone through the same buffer where it was an odd one of another tile.
        pending = 0 if count < of_tile else buffers - 1
        begin = self.begin(store, {columns.name: variable(self.name)})
        steps = (
            A_WARP.each((WaitStores(pending),), 1),
            A_WARP.each((self.filled(lanes, turn), do(SHOW))),
            A_WARP.each((self.stored(begin, turn),), 1),
        )
        return replace(boxes, body=(replace(rows, body=steps),))

    def begin(self, store: Store, at: Mapping[str, Index]) -> tuple[Index, ...]:
        """Where the first lane stores its first sum, with these values of other variables."""
        first = {MEMBER: ZERO, HALF: ZERO, PAIR: ZERO, **at}
        return tuple(index.replaced(first) for index in store.at)

    def filled(self, lanes: For, turn: Index) -> Statement:
        """Each lane leaves its sums of a box in the buffer: a word has 2 of them, 8 rows have 4 lanes each."""
        (_, half, columns, pair), inside = _nest(lanes)
        store = inside.body[0] if isinstance(inside, If) else inside
        assert isinstance(store, Store)
        column = store.at[-1] - self.begin(store, {columns.name: ZERO})[-1] - variable(self.name)
        here = (variable(WARP), turn, variable(MEMBER) // 4 + variable(HALF) * 8, column)
        filled: Statement = Store(self.buffer.name, here, store.value)
        # What lies beyond an edge is not stored, but an epilogue must not read there.
        if isinstance(inside, If) and any(load.buffer != ACCUMULATORS for load in loads_of(store)):
            filled = replace(inside, body=(filled,))
        *_, width = self.buffer.shape
        of_box = replace(columns, start=variable(self.name), stop=variable(self.name) + width)
        for loop in (pair, of_box, half):
            filled = replace(loop, body=(filled,))
        return filled

    def stored(self, begin: tuple[Index, ...], turn: Index) -> StoreBox:
        """The copy engine stores a buffer's box to where it begins in the output."""
        extents = (*(1 for _ in begin[: len(begin) - 1 - self.joined]), *self.buffer.shape[-2:])
        source = Address(self.buffer.name, (variable(WARP), turn, ZERO, ZERO))
        return StoreBox(Address(self.output.name, begin), source, extents, self.joined)


def _is_storing(statement: Statement) -> bool:
    """Whether a statement is the loop over warps that store."""
    return isinstance(statement, For) and statement.kind == WARPS_OF_BLOCK and _stores(statement)


def _stores(statement: Statement) -> bool:
    """Whether a statement stores outputs."""
    return any(isinstance(s, Store) and s.buffer == OUTPUT for s in walk((statement,)))


def has_box(statement: Statement) -> bool:
    """Whether the copy engine stores in it."""
    return any(isinstance(s, StoreBox) for s in walk((statement,)))


def _nest(lanes: For) -> tuple[tuple[For, ...], Statement]:
    """The loops over the sums of a lane, and what stands in them."""
    (statement,) = lanes.body
    loops: tuple[For, ...] = ()
    while isinstance(statement, For):
        loops = (*loops, statement)
        (statement,) = statement.body
    return loops, statement
