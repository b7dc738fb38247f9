"""A group that goes on block by block (`tiling.program.lowering.online`) as plain loops.

    for i_begin in 0..512 by 32:
      m_run[32] = -inf; d_run[32] = 0; a_run[32, 64] = 0
      for j_begin in 0..512 by 256:
        for i in 0..32:
          s[256], e[256]                                         of this block of j
          m = the larger of m_run[i] and the largest of s
          m_grown = exp(m_run[i] - m)
          d_run[i] = d_run[i] * m_grown + sum of e
          a_run[i, c] = a_run[i, c] * m_grown + sum of e * v
      for i in 0..32: y = a_run[i, c] / d_run[i]

While all values of a row are -inf, 0 stands for the largest value, so that exp(-inf - 0) is 0. In the end such a row is
NaN, as exp(-inf + inf) is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, nan

from tiling.loops import language as loops
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.language import Alloc, Body, For, Load, Operand, Store, Value
from tiling.loops.rewrite import substituted, with_values
from tiling.loops.walk import walk, with_blocks
from tiling.program.dtypes import met_in, summed_in
from tiling.program.infer import Sized
from tiling.program.language import Reduce, Statement
from tiling.program.lowering.group import Group
from tiling.program.lowering.limits import Limits
from tiling.program.lowering.online import BLOCK, ROWS, Online
from tiling.program.lowering.statements import StatementLoops, over, register, row_of


@dataclass(frozen=True)
class Blocks:
    """The loops of such a group. limits: where loops of the program may end. numbers: counts new names."""

    program: Sized
    group: Group
    online: Online
    limits: Limits
    numbers: Iterator[int]

    def loops(self) -> Body:
        """All loops, those over the dims of the group included."""
        *outer, row = self.group.dims
        count = self.program.count(row)
        body: list[loops.Statement] = []
        for start, stop, rows in runs(count, self.rows):
            inside = self.of_rows(rows) if start == ZERO else _named_apart(self.of_rows(rows), row)
            body.append(For(begin_of(row), start, stop, self.rows, inside, dim=row))
        return over(self.program, tuple(outer), tuple(body))

    @property
    def row(self) -> str:
        return self.group.dims[-1]

    @property
    def rows(self) -> int:
        """How many rows read a block one after the other."""
        return min(ROWS, self.program.extents[self.row])

    @property
    def running(self) -> tuple[Statement, ...]:
        """The statements whose values are carried from block to block."""
        return (self.online.largest, *self.online.sums)

    def of_rows(self, rows: Index) -> Body:
        """The loops of some rows: all blocks, and what follows them."""
        dim = self.online.dim
        blocks = []
        for start, stop, points in runs(self.program.count(dim), BLOCK):
            block = self.block(rows, points) if start == ZERO else _named_apart(self.block(rows, points), dim)
            blocks.append(For(begin_of(dim), start, stop, BLOCK, block, dim=dim, limit=self.limit))
        begun: list[loops.Statement] = []
        for statement in self.running:
            low = -inf if statement is self.online.largest else 0.0
            store = Store(self.kept(statement), self.place(statement), loops.Number(low, self.dtype(statement)))
            begun += over(self.program, self.beyond(statement), (store,))
        return (*map(Alloc, self.states), self.each_row(rows, tuple(begun)), *blocks, self.each_row(rows, self.after()))

    def each_row(self, rows: Index, body: Body) -> For:
        return For(self.row, ZERO, rows, 1, self.placed(body), dim=self.row)

    # --- what is kept from block to block

    @property
    def states(self) -> Iterator[Buffer]:
        for statement in self.running:
            beyond = self.beyond(statement)
            shape = (self.rows, *(self.program.extents[dim] for dim in beyond))
            yield Buffer(self.kept(statement), shape, (self.row, *beyond), self.dtype(statement), "own")

    @staticmethod
    def kept(statement: Statement) -> str:
        return f"{statement.array}_run"

    def beyond(self, statement: Statement) -> tuple[str, ...]:
        """The dims of an array that are not those of the group."""
        return statement.dims[len(self.group.dims) :]

    def place(self, statement: Statement) -> tuple[Index, ...]:
        return tuple(map(variable, (self.row, *self.beyond(statement))))

    def dtype(self, statement: Statement) -> str:
        assert isinstance(statement.value, Reduce)
        dtypes = {array.name: array.dtype for array in (*self.program.inputs, *self.program.assigned)}
        return summed_in(statement.value.kind, met_in(statement.expression, dtypes, dtypes[statement.array]))

    # --- one block

    def block(self, rows: Index, points: Index) -> Body:
        """One block: some points of the dim, for some rows."""
        inside = {s.array for s in self.online.inside if self.online.dim in s.dims} | {self.online.largest.array}
        body: list[loops.Statement] = []
        for name in self.group.rows:
            if name in inside:
                body.append(Alloc(self.shortened(row_of(self.program, self.group, name))))
        for statement in self.online.inside:
            limit = self.limits.get((statement.array, self.online.dim))
            ends = {} if limit is None else {self.online.dim: limit}
            each = StatementLoops(self.program, self.group, statement, ends, self.numbers)
            if statement is self.online.largest:
                body += self.largest(each)
            elif statement in self.online.sums:
                body += self.sum(each)
            else:
                body += each.loops()
        return (self.each_row(rows, _ended(tuple(body), self.online.dim, points)),)

    def shortened(self, buffer: Buffer) -> Buffer:
        """The array of a row, with room for one block only."""
        shape = tuple(BLOCK if axis == self.online.dim else extent for axis, extent in zip(buffer.axes, buffer.shape))
        return replace(buffer, shape=shape)

    @property
    def grown(self) -> str:
        """The register with the factor of the sums after the largest value has grown."""
        return f"{self.online.largest.array}_grown"

    def largest(self, each: StatementLoops) -> Body:
        statement = each.statement
        assert isinstance(statement.value, Reduce)
        before, dtype = Load(self.kept(statement), self.place(statement)), self.dtype(statement)
        found, m = Load(each.accumulator, (ZERO,)), Load(statement.array, (ZERO,))
        none = loops.Apply("eq", (found, loops.Number(-inf, dtype)))
        finite = loops.Apply("where", (none, loops.Number(0, dtype), found))
        growth = loops.Apply("exp", (loops.Apply("sub", (before, m)),))
        return (
            *each.accumulated(statement.value, before),
            Store(statement.array, (ZERO,), finite),
            Alloc(register(self.grown, dtype)),
            Store(self.grown, (ZERO,), growth),
            Store(self.kept(statement), self.place(statement), found),
        )

    def sum(self, each: StatementLoops) -> Body:
        statement, place = each.statement, self.place(each.statement)
        assert isinstance(statement.value, Reduce)
        name, grown = self.kept(statement), Load(self.grown, (ZERO,))
        begun = loops.Apply("mul", (Load(name, place), self.cast(grown, self.dtype(statement))))
        kept = Store(name, place, Load(each.accumulator, (ZERO,)))
        return each.over(self.beyond(statement), (*each.accumulated(statement.value, begun), kept))

    def cast(self, value: Value, dtype: str) -> Value:
        given = self.dtype(self.online.largest)
        return value if dtype == given else loops.Apply(f"as_{dtype}", (value,))

    # --- what follows

    def after(self) -> Body:
        """The statements that read the sums, for one row."""
        given = {s.array for s in (*self.running, *self.online.after)}
        body: list[loops.Statement] = [
            Alloc(row_of(self.program, self.group, name)) for name in self.group.rows if name in given
        ]
        largest = self.online.largest
        dtype = self.dtype(largest)
        seen = Load(self.kept(largest), self.place(largest))
        for statement in self.running:
            each = StatementLoops(self.program, self.group, statement, {}, self.numbers)
            found: Value = Load(self.kept(statement), self.place(statement))
            if statement is not largest:
                none = loops.Apply("eq", (seen, loops.Number(-inf, dtype)))
                found = loops.Apply("where", (none, loops.Number(nan, self.dtype(statement)), found))
            store = each.stored(tuple(map(variable, statement.dims)), found, self.dtype(statement))
            body += each.over(self.beyond(statement), (store,))
        for statement in self.online.after:
            ends = {dim: limit for (array, dim), limit in self.limits.items() if array == statement.array}
            body += StatementLoops(self.program, self.group, statement, ends, self.numbers).loops()
        return tuple(body)

    # --- places

    @property
    def limit(self) -> Index | None:
        """Where blocks may end for all rows that are computed together."""
        dim = self.online.dim
        ends = [self.limits.get((statement.array, dim)) for statement in self.online.inside]
        known = [end for end in ends if end is not None]
        if not known or len(known) < len(ends) or not all((end - known[0]).is_constant for end in known):
            return None
        limit = max(known, key=lambda end: end.offset)
        if not limit.is_sum or not set(limit.names()) <= set(self.group.dims):
            return None
        last = self.rows - 1 if limit.coefficient(self.row) > 0 else 0
        return limit.replaced({self.row: variable(begin_of(self.row)) + last})

    def placed(self, body: Body) -> Body:
        """The block with positions moved by where its rows and points begin, except in arrays of one block."""
        dims = (self.row, self.online.dim)
        moved = substituted(body, {dim: variable(begin_of(dim)) + variable(dim) for dim in dims})
        back = {begin_of(dim): ZERO for dim in dims}
        near = {self.kept(s) for s in self.running} | set(self.group.rows)

        def value(part: Operand) -> Operand | None:
            if isinstance(part, Load) and part.buffer in near:
                return Load(part.buffer, tuple(index.replaced(back) for index in part.at))
            return None

        def own(statement: loops.Statement) -> loops.Statement:
            if isinstance(statement, Store) and statement.buffer in near:
                return Store(statement.buffer, tuple(i.replaced(back) for i in statement.at), statement.value)
            return with_blocks(statement, lambda block: tuple(map(own, block)))

        return tuple(own(with_values(statement, value)) for statement in moved)


def begin_of(dim: str) -> str:
    """The name of the position at which the current rows or points of a dim begin."""
    return f"{dim}_begin"


def runs(count: Index, size: int) -> Iterator[tuple[Index, Index, Index]]:
    """(start, stop, points of each) of the whole runs, and of a last, shorter one."""
    rest = count % size
    if rest != count:
        yield ZERO, count - rest, constant(size)
    if rest != ZERO:
        yield count - rest, count, rest


def _ended(body: Body, dim: str, points: Index) -> Body:
    """The block with loops over a dim cut to so many points. They end where the loops over the whole dim end."""

    def changed(statement: loops.Statement) -> loops.Statement:
        statement = with_blocks(statement, lambda block: tuple(map(changed, block)))
        if not isinstance(statement, For) or statement.dim != dim:
            return statement
        limit = statement.limit and statement.limit - variable(begin_of(dim))
        return replace(statement, stop=points, limit=limit)

    return tuple(map(changed, body))


def _named_apart(body: Body, dim: str) -> Body:
    """The block of the last points of a dim. Its arrays get new names, since passes know an array by its name."""
    own = {s.buffer.name for s in walk(body) if isinstance(s, Alloc)}

    def name(given: str) -> str:
        return f"{given}_of_last_{dim}" if given in own else given

    def value(part: Operand) -> Operand | None:
        return Load(name(part.buffer), part.at) if isinstance(part, Load) else None

    def named(statement: loops.Statement) -> loops.Statement:
        if isinstance(statement, Alloc):
            return Alloc(replace(statement.buffer, name=name(statement.buffer.name)))
        if isinstance(statement, Store):
            return Store(name(statement.buffer), statement.at, statement.value)
        return with_blocks(statement, lambda block: tuple(map(named, block)))

    return tuple(named(with_values(statement, value)) for statement in body)
