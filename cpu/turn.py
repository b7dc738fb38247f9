"""The copy of x that a kernel makes where its tiles read the channels of a pixel side by side and x has them apart.

    x (N,C,H,W)   ──►   (N,H,W,C)     blocks of `lanes` channels by `lanes` pixels, turned in registers as tiles are that
                                      are stored crosswise (`microkernels.transpose`)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from microkernels.isa import Isa
from tiling.problem import Problem

# Blocks of pixels that are turned for some channels before the next channels: as many lines of each channel are read one after
# the other, which prefetchers follow, and those written, side by side for all channels, are still in L2 for the next.
RUN = 16


@dataclass(frozen=True)
class Turn:
    """What the template of the copy needs: the extents, and the text of each kind of block.

    wide, high: the numbers of channels and of pixels that blocks have; run: pixels."""

    images: int
    channels: int
    pixels: int
    run: int
    wide: tuple[int, ...]
    high: tuple[int, ...]
    functions: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def blocks(self) -> tuple[int, ...]:
        """The numbers of channels and of pixels that blocks have."""
        return tuple(sorted({*self.wide, *self.high}))


def turn_of(problem: Problem, isa: Isa) -> Turn | None:
    """How a kernel of `problem` copies its x; None where tiles read x as it lies."""
    if problem.as_read is problem:
        return None
    images, channels, *sides = problem.broadcast.shape
    pixels = prod(sides)
    wide, high = _sizes(channels, isa.lanes), _sizes(pixels, isa.lanes)
    functions = tuple((f"turn_{rows}x{columns}", tuple(_block(isa, rows, columns))) for rows in wide for columns in high)
    return Turn(images, channels, pixels, RUN * isa.lanes, wide, high, functions)


def _sizes(extent: int, lanes: int) -> tuple[int, ...]:
    """Of the blocks along an axis: whole ones, and what the last one holds."""
    return tuple(size for size in (lanes if extent >= lanes else 0, extent % lanes) if size)


def _block(isa: Isa, channels: int, pixels: int) -> list[str]:
    """Lines that turn a block: vectors of pixels are read, one for each channel, and vectors of channels are written."""
    load, store = (isa.load if pixels == isa.lanes else isa.load_tail), (isa.store if channels == isa.lanes else isa.store_tail)
    rows = [load.format(p=_at("x", channel, "PIXELS"), lanes=f"FIRST_{pixels}") for channel in range(channels)]
    lines = [f"{isa.vector_type} t[{isa.lanes}];", f"transpose_{channels}(t, {', '.join(rows)});"]
    for pixel in range(pixels):
        lines.append(store.format(p=_at("copy", pixel, "CHANNELS"), lanes=f"FIRST_{channels}", v=f"t[{pixel}]") + ";")
    return lines


def _at(base: str, number: int, stride: str) -> str:
    return base if number == 0 else f"{base} + {number} * {stride}" if number > 1 else f"{base} + {stride}"
