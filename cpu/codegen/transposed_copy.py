"""The transposed copy of x, for tiles that need the channels of a pixel side by side.

    x (N,C,H,W)   ──►   (N,H,W,C)     blocks of `lanes` channels by `lanes` pixels, transposed in registers
                                      (`microkernels.tile.transpose`)

A product's a (K,M) is copied in the same way: k are the channels, m the pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from microkernels.tile.isa import Isa
from tiling.access import access_of
from tiling.dtypes import LANE_BYTES
from tiling.problem import Problem
from tiling.rewrite.dot_groups import numbers_per_lane, padded_window

# Narrow numbers are gathered first: a word holds 2 or 4 channels of a pixel, and words are transposed like floats. For
# matrix instructions the channels form blocks. If these need zeros beside each row of x, x is transposed row by row.

# Blocks of pixels that are transposed for some channels before the next channels. So this many lines of a channel are
# read one after the other, and hardware prefetchers follow. The lines written hold all channels side by side: they are
# still in L2 for the next channels.
RUN = 16


@dataclass(frozen=True)
class TransposedCopy:
    """What the template of the copy needs: the extents, and the text of each kind of block.

    In x: `channels` of each of the `groups`; pixels of a `plane`, which is one channel; its `lines`, each of `row`
    pixels, of which `pixels` are copied.
    In the copy, in words: the strides of a `line`, of a pixel (`words`), of a block of channels (`apart`) and of a
    `group`. left, right: pixels of zeros beside a line.
    numbers: numbers in a word. block: channels of a whole block. wide, high: how many channels and how many pixels
    blocks have. run: pixels. word: the C type of the copy's words. by_line: each line has zeros of its own. unfilled:
    blocks of channels end with zeros.
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
        """The sizes of blocks, as numbers of vectors or of their lanes."""
        return tuple(sorted({*(-(-channels // self.numbers) for channels in self.wide), *self.high}))


def transposed_copy_of(words: Problem, problem: Problem, isa: Isa) -> TransposedCopy | None:
    """How a kernel of `problem` copies its x. None if the tiles read x as it is. words: the problem in dot groups."""
    axis, access = access_of(problem).transposed_axis, access_of(words)
    if axis is None:
        return None
    shape, numbers = problem.broadcast.shape, numbers_per_lane(problem)
    groups = prod(problem.extents[d] for d in problem.looped_dims if problem.broadcast.indices[axis].coefficient(d))
    block = words.numbers_per_group if access.by_matrix else isa.lanes * numbers
    if shape[axis] // groups % (block if access.by_matrix else numbers) == 0:
        groups = 1  # no word holds numbers of two groups
    channels, plane = shape[axis] // groups, prod(shape[axis + 1 :])
    window = padded_window(problem) if access.by_matrix else None
    left = right = 0
    if window:
        # A line holds one block of all columns after the other, with zeros in the columns beyond the image.
        columns, row = words.broadcast.shape[-1], shape[-1]
        left = min(window.before, columns)
        pixels = min(row, columns - left)
        right = columns - left - pixels
        pixel = access.bytes_of(words.broadcast) // LANE_BYTES
        apart, line = columns * pixel, words.broadcast.shape[-2] * columns * pixel
        group = line // groups
    else:
        row = pixels = plane
        pixel = words.broadcast.shape[-1] * access.bytes_of(words.broadcast) // LANE_BYTES
        apart = block // numbers
        line, group = plane * pixel, pixel // groups
    wide, high = _sizes(channels, block), _sizes(pixels, isa.lanes)
    functions = tuple(
        (f"turn_{rows}x{columns}", tuple(_block(isa, numbers, rows, columns))) for rows in wide for columns in high
    )
    return TransposedCopy(
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
        unfilled=access.by_matrix and -(-(channels % block) // numbers) * numbers % block > 0,
        word="uint32_t" if access.by_matrix else isa.word,
        functions=functions,
    )


def _sizes(extent: int, block: int) -> tuple[int, ...]:
    """The sizes of the blocks along an axis: of whole ones, and of the last one."""
    return tuple(size for size in (block if extent >= block else 0, extent % block) if size)


def _block(isa: Isa, numbers: int, channels: int, pixels: int) -> list[str]:
    """The lines that transpose a block. They read a vector of pixels for each word of channels, and write a vector of
    words for each pixel.
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
    """The vector of these channels' words, one for each pixel."""
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
