"""The copy of x as flattened pixels, as plain loops: the rows of an image one after the other, with zeros between
(`tiling.arrays.flat_pixels`).

    lower_points(problem, dots) -> Kernel        all of x, to `x_copy`
    lay_out(problem, dots, points) -> Function   the points of one strip, to a view `panel`
"""

#     x 0 x x x 0 x x x 0 …       a row of points is `pitch` long; the first row of x begins with point `lead`
#
# Points are counted from the beginning of a row, `before` points before the first one that is copied, so that a row
# begins with each multiple of the pitch. `above` rows of zeros come first.

from __future__ import annotations

from dataclasses import dataclass

from tiling.arrays.access import access_of
from tiling.dtypes.products import OPERAND_DTYPES, word_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Apply, Body, Define, For, If, Inside, Load, Number, Statement, Store
from tiling.problem import Problem
from tiling.rewrite.copies.im2col import COPY
from tiling.rewrite.dot_groups import numbers_per_lane
from tiling.tensor import FlatPixels

LAY_OUT, FIRST = "laid_out", "first"  # the function that copies a strip, and the point that the strip begins with
STRIP = "panel"  # what it copies to


def lower_points(problem: Problem, dots: Problem) -> Kernel:
    """The loops that copy all of x as flattened pixels, for a kernel of `problem` that copies no strips.

    dots: the problem in dot groups.
    """
    assert dots.flat_pixels
    return _Points(problem, dots, dots.flat_pixels, dots.broadcast.shape[-1]).kernel()


def lay_out(problem: Problem, dots: Problem, points: int) -> Function:
    """The function that copies a strip of so many points: views of an image of x and of the panel, the first point."""
    assert dots.flat_pixels
    return _Points(problem, dots, dots.flat_pixels, points).function()


def row_of(flat: FlatPixels, point: Index) -> Index:
    """The row of x that a point belongs to. It is negative for the zeros above the image."""
    before, above = _before(flat)
    return (point + before) // flat.pitch - above


def _before(flat: FlatPixels) -> tuple[int, int]:
    before = flat.pitch - flat.lead % flat.pitch
    return before, (flat.lead + before) // flat.pitch


@dataclass(frozen=True)
class _Points:
    """points: how many are copied, those of a strip or of all of an image."""

    problem: Problem
    dots: Problem
    flat: FlatPixels
    points: int

    @property
    def numbers(self) -> int:
        """Numbers of a word."""
        return numbers_per_lane(self.problem)

    @property
    def block(self) -> int:
        """Words of a block."""
        return self.dots.dot_group // self.numbers

    @property
    def x(self) -> Buffer:
        dtype, _ = OPERAND_DTYPES[self.problem.dtype]
        return Buffer("X", self.problem.broadcast.shape, ("image", "row", "column", "channel"), dtype)

    def kernel(self) -> Kernel:
        images, blocks, _ = self.dots.broadcast.shape
        dtype = word_of(self.problem.dtype, self.numbers)
        copy = Buffer(COPY, (images, blocks, self.points, self.block), ("image", "block", "point", "word"), dtype)
        before, _ = _before(self.flat)
        image, rows = variable("image"), self.rows(ZERO, "core")
        body = _Row(self, "X", (image,), COPY, (image,), constant(before)).statements()
        loop = For(rows.name, rows.start, rows.stop, 1, body, rows.kind)
        return Kernel((self.x, copy), (For("image", ZERO, constant(images), 1, (loop,), "core"),))

    def function(self) -> Function:
        before, _ = _before(self.flat)
        first = variable("origin")
        rows = self.rows(variable(FIRST), "serial")
        body = _Row(self, "x", (ZERO,), STRIP, (), first).statements()
        loop = For(rows.name, rows.start, rows.stop, 1, body)
        comment = f"The points from `{FIRST}` on of an image, {self.flat.pitch} to a row, and the zeros between rows"
        views = (("x", "X"), (STRIP, STRIP))
        return Function(LAY_OUT, views, (FIRST,), (), (Define("origin", variable(FIRST) + before), loop), (), comment)

    def rows(self, first: Index, kind: str) -> For:
        """The loop over all rows that have points from `first` on."""
        before, _ = _before(self.flat)
        start, last = first + before, first + (before + self.points - 1)
        return For("row", start // self.flat.pitch, last // self.flat.pitch + 1, 1, (), kind)


@dataclass(frozen=True)
class _Row:
    """The copy of the points of one row. x, image: the array, and what stands before its rows. to, place: where blocks
    go. origin: the counted point that lies first there.
    """

    copy: _Points
    x: str
    image: tuple[Index, ...]
    to: str
    place: tuple[Index, ...]
    origin: Index

    def statements(self) -> Body:
        flat, row = self.copy.flat, variable("row")
        begin, end = variable("begin"), variable("end")
        edge = row * flat.pitch + flat.width
        _, above = _before(flat)
        copied: list[Statement] = [For("point", begin, applied("min", end, edge), 1, self.pixel())]
        if flat.pitch > flat.width:
            copied.append(self.zeros(applied("max", begin, edge), end))
        return (
            Define("begin", applied("max", self.origin, row * flat.pitch)),
            Define("end", applied("min", self.origin + self.copy.points, row * flat.pitch + flat.pitch)),
            If((Inside(row, above, above + flat.height),), tuple(copied), (self.zeros(begin, end),)),
        )

    @property
    def groups(self) -> int:
        dim = access_of(self.copy.problem).dot_dim
        assert dim
        return self.copy.dots.broadcast.shape[-2] // self.copy.dots.extents[dim]

    def to_word(self, block: Index, word: Index) -> tuple[Index, ...]:
        return (*self.place, block, variable("point") - self.origin, word)

    def pixel(self) -> Body:
        """The words of all blocks of a pixel."""
        (*_, pixel), groups = self.copy.problem.broadcast.shape, self.groups
        blocks = self.copy.dots.broadcast.shape[-2] // groups
        group = variable("group") if groups > 1 else ZERO
        block = self.copy.block * self.copy.numbers
        whole, rest = divmod(pixel // groups, block)
        body: list[Statement] = []
        if whole:
            of = variable("block") if whole > 1 else ZERO
            copied = self.copied(group * blocks + of, group * (pixel // groups) + of * block, self.copy.block)
            body.append(For("block", ZERO, constant(whole), 1, (copied,)) if whole > 1 else copied)
        if rest:
            body += self.last(group * blocks + whole, group * (pixel // groups) + whole * block, rest)
        return (For("group", ZERO, constant(groups), 1, tuple(body)),) if groups > 1 else tuple(body)

    def copied(self, block: Index, first: Index, words: int) -> For:
        """The first words of a block from the numbers of a pixel."""
        return self.each_word(block, 0, words, first, self.copy.numbers)

    def last(self, block: Index, first: Index, rest: int) -> Body:
        """A block with the last `rest` numbers of a pixel, and zeros."""
        full, part = divmod(rest, self.copy.numbers)
        body = [self.copied(block, first, full)] if full else []
        if part:
            at = first + full * self.copy.numbers
            body.append(self.each_word(block, full, full + 1, at - full * self.copy.numbers, part))
        filled = full + bool(part)
        if filled < self.copy.block:
            body.append(self.of_zeros(block, filled))
        return tuple(body)

    def each_word(self, block: Index, start: int, stop: int, first: Index, held: int) -> For:
        """Words of a block, each of so many numbers and zeros."""
        flat, numbers, word = self.copy.flat, self.copy.numbers, variable("word")
        row, column = variable("row") - _before(flat)[1], variable("point") - variable("row") * flat.pitch
        at = (*self.image, row, column)
        loads = (Load(self.x, (*at, first + word * numbers + number)) for number in range(held))
        value = Apply("word", (*loads, *[Number(0, self.copy.x.dtype)] * (numbers - held)))
        store = Store(self.to, self.to_word(block, word), value)
        return For("word", constant(start), constant(stop), 1, (store,))

    def of_zeros(self, block: Index, first: int) -> For:
        """The statements that set the words of a block to 0, from the first one on."""
        store = Store(self.to, self.to_word(block, variable("word")), Number(0))
        return For("word", constant(first), constant(self.copy.block), 1, (store,))

    def zeros(self, begin: Index, end: Index) -> Statement:
        """The statements that set all blocks of these points to 0."""
        blocks = self.copy.dots.broadcast.shape[-2]
        block = variable("block") if blocks > 1 else ZERO
        points = For("point", begin, end, 1, (self.of_zeros(block, 0),))
        return For("block", ZERO, constant(blocks), 1, (points,)) if blocks > 1 else points
