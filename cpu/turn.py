"""The copy of x that a kernel makes where its tiles read the channels of a pixel side by side and x has them apart.

    x (N,C,H,W)   ──►   (N,H,W,C)     blocks of `lanes` channels by `lanes` pixels, turned in registers as those
                                      tiles are that are stored crosswise (`microkernels.transpose`)

Narrow numbers first get together: the words of 2 or 4 channels of a pixel are turned as floats are. For matrix
instructions a block of channels fills one of theirs, and where these need zeros beside each row of x it is turned row
by row. The same for a product's a (K,M): its k are the channels, m the pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from microkernels.isa import Isa
from tiling.problem import Problem
from tiling.scheme import WORD_BYTES
from tiling.words import fitting, padded_window

# Blocks of pixels that are turned for some channels before the next channels: as many lines of each channel are read
# one after the other, which prefetchers follow, and those written, side by side for all channels, are still in L2 for
# the next.
RUN = 16


@dataclass(frozen=True)
class Turn:
    """What the template of the copy needs: the extents, and the text of each kind of block.

    Of x: the channels of each of `groups`, which begin with words of their own; the pixels of a plane, one channel's;
    its lines, each of `row` pixels, of which so many `pixels` are copied. Of the copy: the words from one line to the
    next, from one pixel, from one block of channels and from one group; the pixels of zeros `left` and `right` of a
    line. numbers: in a word; block: the channels of whole blocks; wide, high: the numbers of channels and of pixels
    that blocks have; run: pixels; word: the C type of the copy's words. by_line: each line has zeros of its own;
    unfilled: blocks of channels end with some.
    """

    images: int
    groups: int
    channels: int
    plane: int
    lines: int
    row: int
    pixels: int
    line: int
    words: int
    apart: int
    group: int
    left: int
    right: int
    numbers: int
    block: int
    run: int
    wide: tuple[int, ...]
    high: tuple[int, ...]
    by_line: bool
    unfilled: bool
    word: str
    functions: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def total(self) -> int:
        """Words of the copy."""
        return self.images * self.lines * self.line

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many vectors and lanes of them blocks have."""
        return tuple(sorted({*(-(-channels // self.numbers) for channels in self.wide), *self.high}))


def turn_of(words: Problem, problem: Problem, isa: Isa) -> Turn | None:
    """How a kernel of `problem` copies its x for tiles of `words`; None where they read x as it lies."""
    axis = problem.turned_axis
    if axis is None:
        return None
    shape, numbers = problem.broadcast.shape, fitting(problem)
    groups = prod(problem.extents[d] for d in problem.looped_dims if problem.broadcast.indices[axis].coefficient(d))
    block = words.numbers_per_word if words.blocked else isa.lanes * numbers
    if shape[axis] // groups % (block if words.blocked else numbers) == 0:
        groups = 1  # no word holds numbers of two
    channels, plane = shape[axis] // groups, prod(shape[axis + 1 :])
    window = padded_window(problem) if words.blocked else None
    left = right = 0
    if window:
        # Of each line one block of all columns after the other, zeros where they are beyond it.
        columns, row = words.broadcast.shape[-1], shape[-1]
        left = min(window.before, columns)
        pixels = min(row, columns - left)
        right = columns - left - pixels
        pixel = words.bytes_of(words.broadcast) // WORD_BYTES
        apart, line = columns * pixel, words.broadcast.shape[-2] * columns * pixel
        group = line // groups
    else:
        row = pixels = plane
        pixel = words.broadcast.shape[-1] * words.bytes_of(words.broadcast) // WORD_BYTES
        apart = block // numbers
        line, group = plane * pixel, pixel // groups
    wide, high = _sizes(channels, block), _sizes(pixels, isa.lanes)
    functions = tuple(
        (f"turn_{rows}x{columns}", tuple(_block(isa, numbers, rows, columns))) for rows in wide for columns in high
    )
    return Turn(
        images=prod(shape[:axis]),
        groups=groups,
        channels=channels,
        plane=plane,
        lines=plane // row,
        row=row,
        pixels=pixels,
        line=line,
        words=pixel,
        apart=apart,
        group=group,
        left=left,
        right=right,
        numbers=numbers,
        block=block,
        run=RUN * isa.lanes,
        wide=wide,
        high=high,
        by_line=window is not None,
        unfilled=words.blocked and -(-(channels % block) // numbers) * numbers % block > 0,
        word="uint32_t" if words.blocked else isa.word,
        functions=functions,
    )


def _sizes(extent: int, block: int) -> tuple[int, ...]:
    """Of the blocks along an axis: whole ones, and what the last one holds."""
    return tuple(size for size in (block if extent >= block else 0, extent % block) if size)


def _block(isa: Isa, numbers: int, channels: int, pixels: int) -> list[str]:
    """Lines that turn a block: vectors of pixels are read, one for each word of channels, and vectors of words are
    written.
    """
    words = [range(first, min(first + numbers, channels)) for first in range(0, channels, numbers)]
    rows = [_word(isa, numbers, held, pixels) for held in words]
    store = isa.store if len(rows) == isa.lanes else isa.store_tail
    lines = [f"const {isa.vector_type} r{number} = {row};" for number, row in enumerate(rows)]
    lines += [
        f"{isa.vector_type} t[{isa.lanes}];",
        f"transpose_{len(rows)}(t, {', '.join(f'r{n}' for n in range(len(rows)))});",
    ]
    for pixel in range(pixels):
        lines.append(store.format(p=_at("copy", pixel, "WORDS"), lanes=f"FIRST_{len(rows)}", v=f"t[{pixel}]") + ";")
    return lines


def _word(isa: Isa, numbers: int, channels: range, pixels: int) -> str:
    """The vector of the words of these channels, one for each pixel."""
    forms = isa if numbers == 1 else isa.numbers
    load = forms.load if pixels == isa.lanes else forms.load_tail
    loads = [load.format(p=_at("x", channel, "PLANE"), lanes=f"FIRST_{pixels}") for channel in channels]
    if numbers == 1:
        return loads[0]
    lanes = [forms.alone.format(v=loads[0])]
    lanes += [forms.moved.format(v=loads[n], bits=n * 32 // numbers) for n in range(1, len(loads))]
    return f"({isa.vector_type})({' | '.join(lanes)})"


def _at(base: str, number: int, stride: str) -> str:
    return base if number == 0 else f"{base} + {number} * {stride}" if number > 1 else f"{base} + {stride}"
