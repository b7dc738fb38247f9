"""The instructions of tile registers: their text, from a row's `TileRegisters`, and what each means in loops.

A tile register is a buffer of rows of words, or of rows of sums. In a meaning it lies row after row, as memory does:
`t`, `x`, `w` and `acc` are tile registers, `p` is memory.
"""

#     tile_load   "tile_load({t}, {p}, {step})"     for row in 0..14:
#                                                     for at in 0..16: t[16*row + at] = p[step*row + at]

from __future__ import annotations

from dataclasses import dataclass

from microkernels.tile.instructions import literal
from microkernels.tile.isa_row import Isa, TileRegisters
from tiling.dtypes.products import SUM_DTYPE
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.language import Alloc, Apply, Body, For, Instruction, Load, Number, Statement, Store, Value

_ROW, _AT, _WORD = variable("row"), variable("at"), variable("word")


@dataclass(frozen=True)
class MatrixInstructions:
    """The instructions of a row's tile registers. A shape is (rows, words of a row); a step counts words of memory.

    lanes: sums of a row. sums: their dtype.
    """

    forms: TileRegisters
    lanes: int
    sums: str

    def zero(self, rows: int) -> Instruction:
        """Sets all sums of a tile register to 0."""
        return Instruction(
            "tile_zero", self.forms.zero, _each(rows, self.lanes, Store("t", _at(self.lanes), Number(0)))
        )

    def load(self, shape: tuple[int, int], step: int) -> Instruction:
        """Loads rows from memory that lie a step apart."""
        rows, words = shape
        return Instruction("tile_load", self.forms.load, _each(rows, words, _moved("t", words, "p", step)))

    def store(self, shape: tuple[int, int], step: int) -> Instruction:
        """Stores the rows to memory, a step apart."""
        rows, words = shape
        return Instruction("tile_store", self.forms.store, _each(rows, words, _moved("p", step, "t", words)))

    def multiply(self, rows: int, words: int) -> Instruction:
        """Adds to each sum the products of its row of x with its column of w."""
        product = self.forms.multiply
        x, w = Load("x", (_ROW * words + _WORD,)), Load("w", (_WORD * self.lanes + _AT,))
        part = [Load("part", (constant(number), _ROW, _AT)) for number in range(len(product.adds))]
        total: Value = part[0]
        for further in part[1:]:
            total = Apply("add", (total, further))
        kept = Store("acc", _at(self.lanes), Apply("add", (Load("acc", _at(self.lanes)), total)))
        sums = Alloc(Buffer("part", (len(part), rows, self.lanes), ("part", "row", "at"), self.sums, "registers"))
        # Nests around one store each, which the interpreter runs at once.
        body: list[Statement] = [sums]
        for name, load in zip(product.adds, part):
            added = Store("part", load.at, Apply(name, (x, w, load)))
            body += _each(rows, self.lanes, Store("part", load.at, Number(0)))
            body += _each(rows, self.lanes, For("word", ZERO, constant(words), 1, (added,)))
        return Instruction("tile_dot", product.text, (*body, *_each(rows, self.lanes, kept)))

    @property
    def awake(self) -> Instruction:
        """Keeps the units awake that store the sums later."""
        return Instruction("stay_awake", literal(self.forms.awake), ())

    @property
    def release(self) -> Instruction:
        """Releases the tile registers of this worker."""
        return Instruction("tiles_end", literal(self.forms.release), ())


def matrix_instructions_of(isa: Isa) -> MatrixInstructions:
    """The matrix instructions of a row that has them."""
    assert isa.matrix is not None, f"{isa.name} has no tile registers"
    return MatrixInstructions(isa.matrix, isa.lanes, SUM_DTYPE[isa.dtype])


def _each(rows: int, elements: int, statement: Statement) -> Body:
    """Loops over the rows, and over the elements of a row."""
    return (For("row", ZERO, constant(rows), 1, (For("at", ZERO, constant(elements), 1, (statement,)),)),)


def _at(step: int) -> tuple[Index]:
    return (_ROW * step + _AT,)


def _moved(target: str, step: int, source: str, by: int) -> Store:
    return Store(target, _at(step), Load(source, _at(by)))
