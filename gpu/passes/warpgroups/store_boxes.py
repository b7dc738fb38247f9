"""Lets the copy engine store the output: each warp leaves boxes of its sums in shared memory, two in turns.

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

from dataclasses import dataclass, replace

from gpu.passes.facts.reading import WIDTH, free_name, loads_of, touched
from gpu.passes.facts.rings import TURN, is_turn, steps_of
from gpu.passes.facts.workers import A_WARP, MEMBER, WARP, WARPS_OF_BLOCK, over
from gpu.passes.matrices.multiply_matrices import PAIR
from gpu.passes.warpgroups.check_warpgroup import has_clusters, is_of_warpgroups
from gpu.passes.warpgroups.instructions import CHUNK_BYTES, ROW_BYTES, SHOW
from gpu.passes.warpgroups.multiply_warpgroups import do
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, For, If, Statement, Store
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.machines import MBARRIER, Beside, StoreBox, WaitStores
from tiling.loops.walk import walk, with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix

OUTPUT, HALF = "Y", "half"
BOX_ROWS = 16  # of a warp, in a matrix instruction
BUFFERS = 2  # of each warp


def stores_boxes(scheme: Scheme) -> bool:
    """Whether warps store boxes: blocks go on with another tile, and the copy engine stores such rows."""
    problem = scheme.problem
    return (
        is_of_warpgroups(scheme)
        and has_clusters(scheme)
        and problem.output.shape[-1] * WIDTH[problem.output_dtype] % CHUNK_BYTES == 0
    )


def takes_turns(kernel: Kernel) -> bool:
    """Whether a block takes several tiles, one after the other."""
    return any(map(is_turn, walk(kernel.body)))


def number_of_box(columns: For, rows: For) -> Index:
    """The number of a box in its tile. columns, rows: the loops over boxes."""
    return variable(columns.name) // columns.step * steps_of(rows) + variable(rows.name) // rows.step


def buffer_of(number: Index, boxes: int, turns: bool) -> Index:
    """Which of a warp's buffers a box goes through: all boxes of all tiles take turns. boxes: how many a tile has."""
    return (of_all(number, boxes) if turns and boxes % BUFFERS else number) % BUFFERS


def of_all(number: Index, boxes: int) -> Index:
    """The number of a box among those of all tiles of a block."""
    return variable(TURN) * boxes + number


def store_boxes(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose warps store boxes."""
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    rows, columns, _ = matrix.factors
    (output,) = (b for b in kernel.arrays if b.name == OUTPUT)
    (warps,) = {s.warps for s in walk(kernel.body) if isinstance(s, Beside)}
    shape = (warps, BUFFERS, BOX_ROWS, ROW_BYTES // WIDTH[output.dtype])
    name = free_name(f"{OUTPUT}_box", touched(kernel.body))
    buffer = Buffer(name, shape, (WARP, "turn", *output.axes[-2:]), output.dtype, "shared")
    boxes = _Boxes(output, len(rows), free_name(f"{columns}_box", touched(kernel.body)), buffer, takes_turns(kernel))
    return replace(kernel, body=boxes.body(kernel.body))


@dataclass(frozen=True)
class _Boxes:
    """The boxes of an output.

    joined: axes of it that are the rows of a tile. name: the variable of a box's first column. buffer: where warps
    leave boxes. turns: whether a block takes several tiles.
    """

    output: Buffer
    joined: int
    name: str
    buffer: Buffer
    turns: bool

    def body(self, block: Body) -> Body:
        """A block with stores of boxes, and the buffer before the first mbarrier: boxes begin at whole rows."""
        found: list[Statement] = []
        for statement in block:
            if isinstance(statement, Alloc) and statement.buffer.dtype == MBARRIER and Alloc(self.buffer) not in found:
                found.append(Alloc(self.buffer))
            if isinstance(statement, Beside):
                last = over(WARP, statement.warps, (A_WARP.each((WaitStores(0),), 1),))
                statement = replace(statement, body=(*self.body(statement.body), last))
            elif isinstance(statement, For) and statement.kind == WARPS_OF_BLOCK and self.stores(statement):
                statement = self.of_warp(statement)
            else:
                statement = with_blocks(statement, self.body)
            found.append(statement)
        return tuple(found)

    def stores(self, statement: Statement) -> bool:
        """Whether a statement stores outputs."""
        return any(isinstance(s, Store) and s.buffer == self.output.name for s in walk((statement,)))

    def of_warp(self, warp: For) -> For:
        """What a warp does with its sums."""
        *before, lanes = warp.body
        loops, inside = _nest(lanes)
        rows, half, columns, pair = loops
        store = inside.body[0] if isinstance(inside, If) else inside
        assert isinstance(store, Store) and (half.name, pair.name) == (HALF, PAIR)
        width = self.buffer.shape[-1]
        first = {MEMBER: ZERO, half.name: ZERO, pair.name: ZERO}
        begin = tuple(index.replaced({**first, columns.name: variable(self.name)}) for index in store.at)
        boxes = replace(columns, name=self.name, step=width)
        turn = buffer_of(number_of_box(boxes, rows), steps_of(boxes) * steps_of(rows), self.turns)
        column = store.at[-1] - store.at[-1].replaced({**first, columns.name: ZERO}) - variable(self.name)
        here = (variable(WARP), turn, variable(MEMBER) // 4 + variable(HALF) * 8, column)
        kept: Statement = Store(self.buffer.name, here, store.value)
        if isinstance(inside, If) and any(load.buffer != ACCUMULATORS for load in loads_of(store)):
            kept = replace(inside, body=(kept,))
        of_box = replace(columns, start=variable(self.name), stop=variable(self.name) + width)
        for loop in (pair, of_box, half):
            kept = replace(loop, body=(kept,))
        extents = (*(1 for _ in begin[: len(begin) - 1 - self.joined]), BOX_ROWS, width)
        source = Address(self.buffer.name, (variable(WARP), turn, ZERO, ZERO))
        stored = StoreBox(Address(self.output.name, begin), source, extents, self.joined)
        steps = (
            A_WARP.each((WaitStores(BUFFERS - 1),), 1),
            A_WARP.each((kept, do(SHOW))),
            A_WARP.each((stored,), 1),
        )
        of_row = replace(rows, body=steps)
        return replace(warp, body=(*before, replace(boxes, body=(of_row,))))


def _nest(lanes: Statement) -> tuple[tuple[For, ...], Statement]:
    """The loops over the sums of a lane, and what stands in them."""
    assert isinstance(lanes, For)
    (statement,) = lanes.body
    loops: tuple[For, ...] = ()
    while isinstance(statement, For):
        loops = (*loops, statement)
        (statement,) = statement.body
    return loops, statement
