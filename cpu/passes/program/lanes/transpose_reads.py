"""Reads columns in blocks, where lanes walk rows and the loop around them walks along the rows.

    for j in 0..1024:                              for j_block in 0..1024 by 16:
      for i in 0..1024 by 16:                        for i in 0..1024 by 16:
        for lane in 0..16, vector:                     x_columns_0[16, 16] in memory of the function
          y[j, i + lane] = x[i + lane, j]    ->        transposed(to: x_columns_0, p: x + [i, j_block], apart: 1024)
                                                       for j in j_block..(j_block + 16):
                                                         for lane in 0..16, vector:
                                                           y[j, i + lane] = x_columns_0[j - j_block, lane]

Element by element, each of the 16 rows of a vector is fetched again for every j. In a block a row is one load, and
registers exchange lanes. The blocks of columns are the outer loop, so that rows of y are written from end to end.
With shorter vectors the blocks of a line of x stand side by side, so that the line is fetched once.
"""

# The order of the two loops: on one thread of a Zen 5 a transposition of 1024 x 1024 takes 195 µs, and 324 µs with the
# blocks of columns inside.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cpu.passes.program.lanes.instructions import transposed
from cpu.passes.program.lanes.split_lanes import step_of
from cpu.passes.program.spread_reads import PAGE
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import independent, most_trips
from tiling.loops.index import LANE, ZERO, Index, Range, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    LINE,
    Address,
    Alloc,
    Body,
    Choose,
    Do,
    For,
    If,
    Immediate,
    Invoke,
    Load,
    Read,
    Statement,
)
from tiling.loops.rewrite import operands_of, parts_of, places, with_values
from tiling.loops.walk import buffers_of, walk, with_blocks
from tiling.program.dtypes import WIDTH

DTYPE = "f32"  # of the arrays whose vectors the shuffles take


def transpose_reads(kernel: Kernel, lanes: int) -> Kernel:
    """The kernel with blocks in place of columns."""
    return replace(kernel, body=_Transposing(lanes, buffers_of(kernel), kernel.ranges).body(kernel.body))


@dataclass(frozen=True)
class _Transposing:
    lanes: int
    buffers: Mapping[str, Buffer]
    ranges: Mapping[str, Range]

    def body(self, body: Body) -> Body:
        found: list[Statement] = []
        for statement in body:
            found += self.nest(statement) or (with_blocks(statement, self.body),)
        return tuple(found)

    def nest(self, outermost: Statement) -> Body:
        """The loops over blocks for loops around one over lanes; none for any other statement."""
        loops = _chain(outermost, self.lanes)
        if not loops:
            return ()
        *outer, rows = loops
        whole = _whole(rows)
        for along in outer:
            columns = self.columns(whole, along.name)
            if not columns or most_trips(along, self.ranges) < self.lanes:
                continue
            found = self.blocks(along, rows, columns)
            for loop in reversed([loop for loop in outer if loop is not along]):
                found = (replace(loop, body=found),)
            return found
        return ()

    def columns(self, body: Body, along: str) -> dict[Load, Buffer]:
        """The loads of columns in straight-line statements over all lanes, each with the block in which it is read."""
        if any(isinstance(s, (If, Read)) or (isinstance(s, For) and s.kind != "vector") for s in walk(body)):
            return {}
        parts = [p for s in walk(body) for operand in operands_of(s) for p in parts_of(operand)]
        if any(isinstance(part, Choose) for part in parts):
            return {}
        found: dict[Load, Buffer] = {}
        for load in parts:
            if not isinstance(load, Load) or load in found:
                continue
            buffer = self.buffers[load.buffer]
            moving = frozenset(("lane", along))
            steps = (
                step_of(buffer, load.at, name, moving - {other}) for name, other in (("lane", along), (along, "lane"))
            )
            apart, neighbours = steps
            side_by_side = neighbours == constant(1) and apart not in (None, ZERO, constant(1))
            if buffer.memory != "registers" and buffer.dtype == DTYPE and side_by_side:
                shape, axes = (self.lanes, self.lanes), (along, "lane")
                found[load] = Buffer(f"{load.buffer}_columns_{len(found)}", shape, axes, DTYPE, "stack")
        return found

    def blocks(self, along: For, rows: For, columns: Mapping[Load, Buffer]) -> Body:
        """The loops along the rows: blocks of whole lines, blocks of a vector, and what is left."""
        found: list[Statement] = []
        begin = along.start
        for blocks in dict.fromkeys((self.of_a_line(along, rows, columns), 1)):
            end = along.stop - (along.stop - along.start) % (self.lanes * blocks)
            if begin != end:
                found.append(self.side_by_side(replace(along, start=begin, stop=end), rows, columns, blocks))
            begin = end
        return tuple(found) if begin == along.stop else (*found, replace(along, start=begin, body=(rows,)))

    def of_a_line(self, along: For, rows: For, columns: Mapping[Load, Buffer]) -> int:
        """How many blocks stand side by side: those of a line.

        It is one block where more arrays are walked from page to page for each column than are read so for each row:
        their lines share a set of the first cache, which keeps few of them until the next rows use them again.
        """
        read = {(load.buffer, load.at) for load in columns}
        walked = {(place.buffer, place.at) for place in places(rows.body)} - read
        by_column = sum(self.by_pages(*place, along.name) for place in walked)
        by_row = sum(self.by_pages(*place, "lane") for place in read)
        return 1 if by_column > by_row else max(1, LINE // (self.lanes * WIDTH[DTYPE]))

    def by_pages(self, array: str, at: tuple[Index, ...], name: str) -> bool:
        """Whether a step of a variable leads to another page of an array in memory, and to the same place there."""
        buffer = self.buffers[array]
        apart = None if buffer.memory == "registers" else step_of(buffer, at, name, frozenset((name,)))
        if apart is None or not apart.is_constant or apart == ZERO:
            return False
        return apart.offset * WIDTH[buffer.dtype] % PAGE == 0

    def side_by_side(self, along: For, rows: For, columns: Mapping[Load, Buffer], blocks: int) -> For:
        """The loop along the rows that takes so many blocks of a vector at once."""
        name, step = f"{along.name}_block", self.lanes * blocks
        body = tuple(s for number in range(blocks) for s in self.block(along, rows, columns, number))
        if isinstance(rows.body[0], If):
            point = replace(along, start=variable(name), stop=variable(name) + step, body=rows.body[0].otherwise)
            body = (replace(rows.body[0], body=body, otherwise=(point,)),)
        return replace(along, name=name, step=step, body=(replace(rows, body=body),))

    def block(self, along: For, rows: For, columns: Mapping[Load, Buffer], number: int) -> Body:
        """One of the blocks that stand side by side: its reads, and the loop over its columns."""
        first, lanes = variable(f"{along.name}_block") + number * self.lanes, self.lanes
        reads: list[Statement] = []
        near: dict[Load, Load] = {}
        for load, buffer in columns.items():
            buffer = replace(buffer, name=f"{load.buffer}_columns_{len(columns) * number + len(near)}")
            near[load] = Load(buffer.name, (variable(along.name) - first, LANE))
            place = {"lane": ZERO, along.name: first}
            apart = step_of(self.buffers[load.buffer], load.at, "lane", frozenset(("lane",)))
            assert apart is not None
            at = tuple(index.replaced(place) for index in load.at)
            places = (("to", Address(buffer.name, (ZERO, ZERO))), ("p", Address(load.buffer, at)))
            operands = (*places, ("apart", Immediate(apart)))
            reads += [Alloc(buffer), Do(Invoke(transposed(lanes), operands))]
        inner = tuple(with_values(statement, near.get) for statement in _whole(rows))  # type: ignore[arg-type]
        return *reads, replace(along, start=first, stop=first + lanes, body=inner)


def _whole(rows: For) -> Body:
    """The statements of a loop for a whole vector; the last vector may not be whole."""
    one = rows.body[0]
    return one.body if len(rows.body) == 1 and isinstance(one, If) else rows.body


def _chain(outermost: Statement, lanes: int) -> list[For]:
    """The loops from the outermost on to one over lanes, where every point stores to places of its own; else none."""
    found: list[For] = []
    statement = outermost
    while isinstance(statement, For) and statement.kind == "serial" and independent(statement):
        found.append(statement)
        if statement.step == lanes:
            return found
        if len(statement.body) != 1 or statement.step != 1:
            return []
        (statement,) = statement.body
    return []
