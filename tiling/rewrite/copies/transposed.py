"""The transposed copy of x as plain loops, for tiles that need the channels of a pixel side by side.

    X (N,C,H,W)  ──►  x_copy (N,H,W,C)          blocks of channels by pixels, each the size of a vector

A product's a (K,M) is copied in the same way: k are the channels, m the pixels.
"""

#     for image in 0..2, core:
#       for begin in 0..1024 by 256, core:
#         for block in 0..4:
#           for pixel in begin..(begin + 256) by 16:
#             tile 16x16:
#               r[16, 1, 16] in registers
#               for word in 0..16, unrolled:  for lane in 0..16, vector:
#                 r[word, 0, lane] = X[image, 16*block + word, pixel + lane]
#               …                  x_copy[image, pixel + lane, 16*block + word] = r[word, 0, lane]
#
# Narrow numbers are gathered first: a word holds 2 or 4 channels of a pixel, and words are transposed like floats. For
# matrix instructions the channels form blocks. If these need zeros beside each row of x, x is transposed row by row.

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tiling.arrays.access import access_of
from tiling.dtypes.products import LANE_BYTES, OPERAND_DTYPES, word_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    LINE,
    Alloc,
    Apply,
    Block,
    Body,
    For,
    If,
    Inside,
    Load,
    Number,
    Statement,
    Store,
    Value,
)
from tiling.problem import Problem
from tiling.rewrite.copied_rows import summed_axis
from tiling.rewrite.copies.im2col import COPY
from tiling.rewrite.dot_groups import numbers_per_lane, padded_window
from tiling.tensor import Window

ROWS = "r"  # the vectors of a block, one for each word of channels
_WORD = "word"  # counts them
# Blocks of pixels that are transposed for some channels before the next channels. So this many lines of a channel are
# read one after the other, and hardware prefetchers follow. The lines written hold all channels side by side: they are
# still in L2 for the next channels.
RUN = 16
# The same where a block fills a part of a line. Each line is written again for the next channels, so that L1 should
# still hold the lines of a run. On a Zen 3 with AVX2 a copy of 768 x 512 takes 153 µs by runs of 128 pixels, 73 by 32
# (docs/decisions/073).
RUN_OF_PARTS = 4


def lower_transposed(problem: Problem, dots: Problem, lanes: int) -> Kernel:
    """The loops that transpose x for a kernel of `problem`: its tiles read it so (`Access.transposes_x`), or the scheme
    copies its rows (`copied_rows`).

    dots: the problem in dot groups. lanes: 32-bit lanes of a vector.
    """
    needed, access = access_of(problem).transposed_axis, access_of(dots)
    axis = summed_axis(problem) if needed is None else needed
    assert axis is not None
    x, numbers = problem.broadcast, numbers_per_lane(problem)
    groups = prod(problem.extents[d] for d in problem.looped_dims if x.indices[axis].coefficient(d))
    block = dots.dot_group if access.by_matrix else lanes * numbers
    if x.shape[axis] // groups % (block if access.by_matrix else numbers) == 0:
        groups = 1  # no word holds numbers of two groups
    window = padded_window(problem) if access.by_matrix else None
    columns = dots.broadcast.shape[-1]
    shape = _Shape(
        images=prod(x.shape[:axis]),
        groups=groups,
        channels=x.shape[axis] // groups,
        pixels=min(x.shape[-1], columns - _left(window, columns)) if window else prod(x.shape[axis + 1 :]),
        numbers=numbers,
        block=block,
        lanes=lanes,
        # Blocks of matrix instructions are as long as others, to their last word.
        whole=access.by_matrix,
        dtype=OPERAND_DTYPES[problem.dtype][0],
        word=word_of(problem.dtype, numbers) if numbers > 1 else problem.dtype,
    )
    if window:
        return _ByLine(shape, x.shape[axis + 1 :], _left(window, columns), columns, dots.broadcast.shape[-2]).kernel()
    return _Flat(shape, columns * access.bytes_of(dots.broadcast) // LANE_BYTES).kernel()


def _left(window: Window, columns: int) -> int:
    """Columns of zeros before a line."""
    return min(window.before, columns)


@dataclass(frozen=True)
class _Shape:
    """The extents of x: `channels` of each group, and so many `pixels` that are copied together.

    numbers: how many a word holds. block: how many channels a block has. whole: whether the last block is as long as
    the others. dtype: the dtype of x. word: the dtype of the copy.
    """

    images: int
    groups: int
    channels: int
    pixels: int
    numbers: int
    block: int
    lanes: int
    whole: bool
    dtype: str
    word: str

    @property
    def words(self) -> int:
        """Words of a block."""
        return self.block // self.numbers

    @property
    def blocks(self) -> int:
        """Blocks of a group."""
        return -(-self.channels // self.block)

    def of_words(self, channels: int) -> int:
        """How many words so many channels of a block fill."""
        return -(-channels // self.numbers)

    @property
    def unfilled(self) -> range:
        """The words of the last block that hold no channel."""
        rest = self.channels % self.block
        return range(self.of_words(rest), self.words) if self.whole and rest else range(0)


@dataclass(frozen=True)
class _Copy:
    """The loops of a copy. Subclasses say where a number is in X, and a word in the copy."""

    shape: _Shape

    def x_at(self, channel: Index, pixel: Index) -> tuple[Index, ...]:
        """The place in X of a channel, and of a pixel of this line."""
        raise NotImplementedError

    def word_at(self, block: Index, pixel: Index, word: Index) -> tuple[Index, ...]:
        """The place of a word in the copy. block: counts the blocks of this group. pixel: counts along this line."""
        raise NotImplementedError

    @property
    def exact(self) -> bool:
        """Whether no pixels are left after the last run of whole vectors."""
        raise NotImplementedError

    @property
    def group(self) -> Index:
        return variable("group") if self.shape.groups > 1 else ZERO

    def core_loops(self, body: Body, *inner: For) -> Body:
        """`body` in the loops whose iterations workers share: images, groups, and the inner ones."""
        loops = [_core("image", self.shape.images)]
        loops += [_core("group", self.shape.groups)] if self.shape.groups > 1 else []
        for loop in reversed([*loops, *inner]):
            body = (For(loop.name, loop.start, loop.stop, loop.step, body, "core"),)
        return body

    def tiles(self, begin: Index, end: Index) -> Body:
        """The blocks of all channels by the pixels begin … end."""
        found: list[Statement] = []
        whole, rest = divmod(self.shape.channels, self.shape.block)
        if whole == 1:
            found += self.pixels(ZERO, self.shape.block, begin, end)
        elif whole:
            inside = self.pixels(variable("block"), self.shape.block, begin, end)
            found.append(For("block", ZERO, constant(whole), 1, inside))
        if rest:
            found += self.pixels(constant(whole), rest, begin, end)
        return tuple(found)

    def pixels(self, block: Index, channels: int, begin: Index, end: Index) -> Body:
        """The tiles of a block of channels: those as wide as a vector, then the rest of the pixels."""
        whole, rest = self.shape.pixels // self.shape.lanes * self.shape.lanes, self.shape.pixels % self.shape.lanes
        found: list[Statement] = []
        if whole:
            tile = self.tile(block, channels, variable("pixel"), self.shape.lanes)
            stop = end if self.exact else applied("min", end, constant(whole))
            found.append(For("pixel", begin, stop, self.shape.lanes, (tile,)))
        if rest:
            last = self.tile(block, channels, constant(whole), rest)
            test = Inside(end, self.shape.pixels, None)
            found.append(last if end.is_constant else If((test,), (last,)))
        return tuple(found)

    def tile(self, block: Index, channels: int, pixel: Index, pixels: int) -> Block:
        """So many channels of a block by so many pixels: a vector for each word of channels, and its words stored."""
        rows, lanes = self.shape.of_words(channels), self.shape.lanes
        registers = Alloc(Buffer(ROWS, (rows, 1, lanes), ("row", "vector", "lane"), self.shape.word, "registers"))
        word = variable(_WORD)
        # The last word may hold fewer channels.
        full, rest = divmod(channels, self.shape.numbers)
        loads: list[Statement] = []
        if full:
            load = Store(ROWS, (word, ZERO, LANE), self.word(block, word, self.shape.numbers, pixel))
            loads.append(_unrolled(full, self.each_lane(load, pixels, replace(load, value=Number(0)))))
        if rest:
            last = Store(ROWS, (constant(full), ZERO, LANE), self.word(block, constant(full), rest, pixel))
            loads.append(self.each_lane(last, pixels, replace(last, value=Number(0))))
        store = Store(COPY, self.word_at(block, pixel + LANE, word), Load(ROWS, (word, ZERO, LANE)))
        return Block(f"{channels}x{pixels}", (registers, *loads, _unrolled(rows, self.each_lane(store, pixels))))

    def word(self, block: Index, word: Index, held: int, pixel: Index) -> Value:
        """The word of a block that holds so many channels of the pixel of each lane; the one number itself of f32."""
        first = self.group * self.shape.channels + block * self.shape.block + word * self.shape.numbers
        loads = [Load("X", self.x_at(first + number, pixel + LANE)) for number in range(held)]
        if self.shape.numbers == 1:
            return loads[0]
        return Apply("word", (*loads, *[Number(0, self.shape.dtype)] * (self.shape.numbers - held)))

    def each_lane(self, statement: Statement, pixels: int, *beyond: Statement) -> For:
        """The statement for each of so many lanes. beyond: the statement for the other lanes."""
        if pixels < self.shape.lanes:
            statement = If((Inside(LANE, None, pixels),), (statement,), beyond)
        return For("lane", ZERO, constant(self.shape.lanes), 1, (statement,), "vector")

    def zeros(self, block: Index, begin: Index, end: Index, words: range) -> Statement:
        """The statements that set these words of a block to 0 for the pixels begin … end."""
        pixel, number = variable("pixel"), variable("number")
        store = Store(COPY, self.word_at(block, pixel, number), Number(0))
        each = For("number", constant(words.start), constant(words.stop), 1, (store,))
        return For("pixel", begin, end, 1, (each,))

    def unfilled(self, begin: Index, end: Index) -> Body:
        """The statements that set the words of the last block that hold no channel to 0."""
        words = self.shape.unfilled
        return (self.zeros(constant(self.shape.blocks - 1), begin, end, words),) if words else ()


@dataclass(frozen=True)
class _Flat(_Copy):
    """All pixels of an image one after the other, in the copy `pixel` words each. Workers share runs of them."""

    pixel: int

    def x_at(self, channel: Index, pixel: Index) -> tuple[Index, ...]:
        return variable("image"), channel, pixel

    def word_at(self, block: Index, pixel: Index, word: Index) -> tuple[Index, ...]:
        of_group = self.group * (self.pixel // self.shape.groups)
        return variable("image"), pixel, of_group + block * self.shape.words + word

    @property
    def run(self) -> int:
        """Pixels of a run."""
        whole = self.shape.words * LANE_BYTES >= LINE
        return min(RUN if whole else RUN_OF_PARTS, -(-self.shape.pixels // self.shape.lanes)) * self.shape.lanes

    @property
    def exact(self) -> bool:
        return self.shape.pixels % self.run == 0

    def kernel(self) -> Kernel:
        shape = self.shape
        x = (shape.images, shape.groups * shape.channels, shape.pixels)
        arrays = (
            Buffer("X", x, ("image", "channel", "pixel"), shape.dtype),
            Buffer(COPY, (shape.images, shape.pixels, self.pixel), ("image", "pixel", "word"), shape.word),
        )
        pixels = constant(shape.pixels)
        if self.run >= shape.pixels:
            return Kernel(arrays, self.core_loops((*self.unfilled(ZERO, pixels), *self.tiles(ZERO, pixels))))
        begin, end = variable("begin"), variable("begin") + self.run
        last = end if self.exact else applied("min", end, pixels)
        runs = For("begin", ZERO, constant(-(-shape.pixels // self.run) * self.run), self.run, ())
        return Kernel(arrays, self.core_loops((*self.unfilled(begin, last), *self.tiles(begin, end)), runs))


@dataclass(frozen=True)
class _ByLine(_Copy):
    """A line of x at a time. A line of the copy holds one block of all its columns after the other, with zeros in the
    columns beyond the image.

    lines: the lines of a channel, and the pixels of a line. left: columns of zeros before a line of so many `columns`.
    all_blocks: the blocks of all groups.
    """

    lines: tuple[int, ...]
    left: int
    columns: int
    all_blocks: int

    @property
    def exact(self) -> bool:
        return self.shape.pixels % self.shape.lanes == 0

    def x_at(self, channel: Index, pixel: Index) -> tuple[Index, ...]:
        return variable("image"), channel, variable("line"), pixel

    def word_at(self, block: Index, pixel: Index, word: Index) -> tuple[Index, ...]:
        of_group = self.group * (self.all_blocks // self.shape.groups)
        return variable("image"), variable("line"), of_group + block, pixel + self.left, word

    def kernel(self) -> Kernel:
        shape, (lines, pixels) = self.shape, self.lines
        x = (shape.images, shape.groups * shape.channels, lines, pixels)
        copy = (shape.images, lines, self.all_blocks, self.columns, shape.words)
        arrays = (
            Buffer("X", x, ("image", "channel", "line", "pixel"), shape.dtype),
            Buffer(COPY, copy, ("image", "line", "block", "pixel", "word"), shape.word),
        )
        begin, end = ZERO, constant(shape.pixels)
        words, right = range(shape.words), constant(self.columns - self.left)
        block = variable("block")
        sides = [self.zeros(block, constant(-self.left), begin, words)] if self.left else []
        sides += [self.zeros(block, end, right, words)] if end != right else []
        beside = (For("block", ZERO, constant(shape.blocks), 1, tuple(sides)),) if sides else ()
        body = (*beside, *self.unfilled(begin, end), *self.tiles(begin, end))
        return Kernel(arrays, self.core_loops(body, _core("line", lines)))


def _core(name: str, stop: int) -> For:
    return For(name, ZERO, constant(stop), 1, (), "core")


def _unrolled(stop: int, inside: Statement) -> For:
    return For(_WORD, ZERO, constant(stop), 1, (inside,), "unrolled")
