"""Gives a warp's tile to its lanes, and its products to matrix instructions.

    for warp in 0..4, warp:                               for warp in 0..4, warp:
      …                                                     …
      for k_u in 0..32, unrolled:                           for k_u in 0..32 by 16, unrolled:
        for m_u in 0..32, unrolled:                           X_part[32, 2, 4] of f16x2 in registers
          for n_u in 0..32, unrolled:               ->        W_part[32, 4, 2] of f16x2 in registers
            acc[warp, m_u, n_u, 0] += … * …                   for member in 0..32, lane:
                                                                for m_u in 0..32 by 16, unrolled:
                                                                  for word in 0..4, unrolled:
                                                                    X_part[member, m_u / 16, word] = word(X_tile[…], …)
                                                              …
                                                              for m_u in 0..32 by 16, unrolled:
                                                                for n_u in 0..32 by 8, unrolled:
                                                                  mma_m16n8k16_f16(to: acc + [warp, lane, …], …)

`gpu.passes.matrices.instructions` says which lane holds which element. Each lane applies an epilogue to the sums that
it holds. Source: fragments, as in WMMA and CUTLASS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu.passes.facts.workers import A_WARP, MEMBER, WARP, WARP_SIZE, WARPS_OF_BLOCK
from gpu.passes.matrices.instructions import A_WORDS, B_WORDS, COLUMNS, ROWS, SUMS, WORDS, Words, mma
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Define,
    Do,
    For,
    Invoke,
    Load,
    Operand,
    Statement,
    Store,
    Value,
)
from tiling.loops.lowering.nest import counter
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import substituted, with_own_values
from tiling.loops.walk import walk, with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix

WORD, PART, PAIR = "word", "part", "pair"
_GROUP, _MEMBER = applied("/", variable(MEMBER), constant(4)), applied("%", variable(MEMBER), constant(4))


def multiply_matrices(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose products are matrix instructions."""
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    rows, columns, depth = map(counter, matrix.factors)
    tile = WarpTile(rows, columns, depth, scheme.problem.dtype)

    def statement(inner: Statement) -> Statement:
        if isinstance(inner, Alloc) and inner.buffer.name == ACCUMULATORS:
            return Alloc(tile.sums(inner.buffer))
        if isinstance(inner, For) and inner.kind == WARPS_OF_BLOCK:
            return replace(inner, body=tile.of_warp(inner.body))
        return with_blocks(inner, lambda block: tuple(map(statement, block)))

    return replace(kernel, body=tuple(map(statement, kernel.body)))


def at(name: str, step: int) -> Index:
    """The number of an instruction along a dim."""
    return applied("/", variable(name), constant(step))


@dataclass(frozen=True)
class WarpTile:
    """A warp's tile: the counters of its rows, of its columns, and of the depth.

    step: rows of an instruction. first: the first of them that the warp holds.
    """

    rows: str
    columns: str
    depth: str
    dtype: str
    step: int = ROWS
    first: Index = ZERO

    @property
    def words(self) -> Words:
        return WORDS[self.dtype]

    def sums(self, buffer: Buffer) -> Buffer:
        """The sums as lanes hold them."""
        warps, rows, columns, _ = buffer.shape
        shape = (warps, WARP_SIZE, rows // self.step, columns // COLUMNS, SUMS)
        return replace(buffer, shape=shape, axes=(WARP, MEMBER, "row", "column", "number"))

    def of_warp(self, body: Body) -> Body:
        """The statements of a warp: matrix instructions, and between them the statements of each lane."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, Define):
                found.append(statement)
            elif self.is_product(statement):
                found.append(self.products(statement))
            elif isinstance(statement, For) and statement.kind == "serial":
                found.append(replace(statement, body=self.of_warp(statement.body)))
            else:
                found.append(A_WARP.each((self.of_lane(statement),)))
        return tuple(found)

    def is_product(self, statement: Statement) -> bool:
        """Whether a statement is the loops over the products of a tile."""
        return any(isinstance(s, For) and s.name == self.depth for s in walk((statement,)))

    # --- what each lane does with its sums ----------------------------------------------------------------------------

    def of_lane(self, statement: Statement) -> Statement:
        """The statements for every sum of the tile, as one lane runs them for its own sums."""
        return self.held(self.spread(statement))

    def spread(self, statement: Statement) -> Statement:
        """The loops over rows and columns become loops over instructions, and over a lane's elements in each."""
        statement = with_blocks(statement, lambda block: tuple(map(self.spread, block)))
        if not isinstance(statement, For) or statement.name not in (self.rows, self.columns):
            return statement
        row = statement.name == self.rows
        name, step = ("half", self.step) if row else (PAIR, COLUMNS)
        place = self.first + _GROUP + variable(name) * 8 if row else _MEMBER * 2 + variable(name)
        inside = substituted(statement.body, {statement.name: variable(statement.name) + place})
        return replace(statement, step=step, body=(For(name, ZERO, constant(2), 1, inside, "unrolled"),))

    def held(self, statement: Statement) -> Statement:
        """The sums where the lane holds them."""
        number = variable("half") * 2 + variable(PAIR)
        place = (variable(WARP), variable(MEMBER), at(self.rows, self.step), at(self.columns, COLUMNS), number)

        def near(operand: Operand) -> Operand | None:
            is_sum = isinstance(operand, Load) and operand.buffer == ACCUMULATORS
            return Load(ACCUMULATORS, place) if is_sum else None

        statement = with_own_values(statement, near)
        if isinstance(statement, Store) and statement.buffer == ACCUMULATORS:
            statement = Store(ACCUMULATORS, place, statement.value)
        return with_blocks(statement, lambda block: tuple(map(self.held, block)))

    # --- the products -------------------------------------------------------------------------------------------------

    def products(self, statement: Statement) -> Statement:
        """The loops over the products of a tile, as matrix instructions."""
        loops, (a, b) = factors_of(statement)
        depth, rows, columns = (loops[name] for name in (self.depth, self.rows, self.columns))
        a_part, b_part = self.fragments(a, rows, ROWS, A_WORDS), self.fragments(b, columns, COLUMNS, B_WORDS)
        given = (
            (
                "to",
                Address(ACCUMULATORS, (variable(WARP), LANE, at(rows.name, ROWS), at(columns.name, COLUMNS), ZERO)),
            ),
            ("a", Address(a_part.name, (LANE, at(rows.name, ROWS), ZERO))),
            ("b", Address(b_part.name, (LANE, at(columns.name, COLUMNS), ZERO))),
        )
        multiply: Statement = Do(Invoke(mma(self.dtype), given))
        for loop, step in ((columns, COLUMNS), (rows, ROWS)):
            multiply = replace(loop, step=step, body=(multiply,))
        load_a = self.load(a, a_part, rows, ROWS, A_WORDS)
        load_b = self.load(b, b_part, columns, COLUMNS, B_WORDS)
        return replace(depth, step=self.words.depth, body=(Alloc(a_part), Alloc(b_part), load_a, load_b, multiply))

    def fragments(self, load: Load, along: For, step: int, words: int) -> Buffer:
        """The registers for an input's part of one instruction after the other."""
        shape = (WARP_SIZE, along.stop.offset // step, words)
        name = f"{load.buffer.partition('_')[0]}_{PART}"
        return Buffer(name, shape, (MEMBER, along.dim, WORD), self.words.dtype, "registers")

    def load(self, load: Load, part: Buffer, along: For, step: int, words: int) -> Statement:
        """Each lane loads its words, number by number."""
        word, numbers = variable(WORD), self.words.per_word
        if words == A_WORDS:  # the lower half of the rows, then the second half of the depth
            deep, here = applied("/", word, constant(2)), _GROUP + applied("%", word, constant(2)) * 8
        else:
            deep, here = word, _GROUP
        first = variable(self.depth) + (_MEMBER + deep * 4) * numbers

        def number(which: int) -> Load:
            by = {along.name: variable(along.name) + here, self.depth: first + which}
            return Load(load.buffer, tuple(index.replaced(by) for index in load.at))

        value = self.words.word(tuple(map(number, range(numbers))))
        store = Store(part.name, (variable(MEMBER), at(along.name, step), word), value)
        each = For(WORD, ZERO, constant(words), 1, (store,), "unrolled")
        return A_WARP.each((replace(along, step=step, body=(each,)),))


def factors_of(statement: Statement) -> tuple[dict[str, For], tuple[Load, ...]]:
    """The loops over the products of a tile, by name from outside in, and what each product multiplies."""
    loops: dict[str, For] = {}
    while isinstance(statement, For):
        loops[statement.name] = statement
        (statement,) = statement.body
    assert isinstance(statement, Store) and isinstance(statement.value, Apply)
    _, product = statement.value.arguments
    assert isinstance(product, Apply)
    return loops, tuple(map(_loaded, product.arguments))


def _loaded(factor: Value) -> Load:
    """The element of memory that is a factor of a product, as stored."""
    if isinstance(factor, Apply):
        (factor,) = factor.arguments
    assert isinstance(factor, Load)
    return factor
