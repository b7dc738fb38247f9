"""The copy of x as flattened pixels: the rows of an image one after the other, with zeros between
(`tiling.flat_pixels`).

    T(hw,21) S(x) T(k,8) T(hw,7) S(y) …        the points of 7 tiles and what their windows reach, for all tiles of k

Without S(x), all of x is copied first. With S(x), each thread copies the strip that the loops inside read
(`cpu.passes.stage_strips`), always into the same panel.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.access import access_of
from tiling.problem import Problem
from tiling.tensor import FlatPixels


@dataclass(frozen=True)
class Copy:
    """What the template needs.

    points: points of a plane. groups: groups of a pixel's channels. numbers: numbers of a group in x. blocks, block:
    the blocks that a group fills in the copy, and the numbers of a block.
    """

    flat_pixels: FlatPixels
    images: int
    points: int
    groups: int
    numbers: int
    blocks: int
    block: int

    @property
    def before(self) -> int:
        """Points before the plane's first one, in a row that is counted from a multiple of the pitch."""
        return self.flat_pixels.pitch - self.flat_pixels.lead % self.flat_pixels.pitch

    @property
    def above(self) -> int:
        """Rows before the image's first row."""
        return (self.flat_pixels.lead + self.before) // self.flat_pixels.pitch

    @property
    def pixel(self) -> int:
        """Numbers of a pixel of x."""
        return self.groups * self.numbers


def copy_of(problem: Problem, dots: Problem) -> Copy | None:
    """How x becomes flattened pixels. None if it does not."""
    flat, x = dots.flat_pixels, dots.broadcast
    if flat is None or not flat.padded:
        return None
    blocks, points = x.shape[-2:]
    dim = access_of(problem).dot_dim
    groups = blocks // dots.extents[dim]
    images = problem.broadcast.shape[0]
    return Copy(flat, images, points, groups, problem.extents[dim], blocks // groups, dots.numbers_per_group)
