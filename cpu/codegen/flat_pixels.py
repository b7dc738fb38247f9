"""The copy of x as flattened pixels: the rows of an image one after the other, with zeros between
(`tiling.flat_pixels`).

    T(hw,21) S(x) T(k,8) T(hw,7) S(y) …        the points of 7 tiles and what their windows reach, for all tiles of k

Without S(x), all of x is copied first. With S(x), each thread copies the strip that the loops inside read, always into
the same panel. A tile may run over the ends of rows: then only the sums that are pixels are stored, run by run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cpu.codegen.expression import indented
from tiling.expression import added, subtracted, times
from tiling.loops.nest import Around, Loop
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
    dim = problem.dot_dim
    groups = blocks // dots.extents[dim]
    images = problem.broadcast.shape[0]
    return Copy(flat, images, points, groups, problem.extents[dim], blocks // groups, dots.numbers_per_group)


def passes_gaps(problem: Problem) -> bool:
    """Whether rows of tiles are points of a plane and some of these are no pixels of y."""
    return problem.flat_pixels is not None and problem.extents["w"] > problem.flat_pixels.pixels


# The variable of a loop over the rows of a tile that are pixels.
ROW = "row"


def pixel_of(extents: Mapping[str, int]) -> dict[str, int | str]:
    """How far the pixel of a ROW is from the first pixel of the (first) image, in a tile of these extents."""
    return {"n": "image" if extents["n"] > 1 else 0, "w": "at"}


def each_pixel(extents: Mapping[str, int], lines: list[str]) -> list[str]:
    """Repeats the lines of a row for all rows that are pixels of y. A run of them ends with a row of the image.

    extents: those of the tile, which begins at `point` of the plane.
    """
    images, points, columns = extents["n"], extents["w"], "COLUMNS < column ? COLUMNS : column"
    begin, rows = (f"image * {points}", "all") if images > 1 else ("0", str(points))
    runs = [
        f"long column = point % PITCH, at = point / PITCH * COLUMNS + ({columns});",
        f"for (long begin = {begin}; begin < {rows}; begin += PITCH - column, column = 0) {{",
        *indented([f"const long left = at + {rows} - begin < PIXELS ? {rows} : begin + PIXELS - at;"]),
        *indented(["const long end = begin + COLUMNS - column < left ? begin + COLUMNS - column : left;"]),
        *indented([f"for (long {ROW} = begin; {ROW} < end; ++{ROW}, ++at) {{", *indented(lines), "}"]),
        "}",
    ]
    if images == 1:
        return runs
    head = f"for (long image = 0; image < {images}; ++image) {{"
    return [head, *indented([f"const long all = {begin} + {points};", *runs]), "}"]


def next_strip(problem: Problem, at: Mapping[str, str]) -> list[str]:
    """The statements that set which rows of x to prefetch: those that the strip after `at` is the first to read."""
    step, image = problem.flat_pixels.strip, times(at["n"], "IMAGE")
    ends = (added(image, f"row_at({at['w']} + STRIP{f' + {more}' if more else ''})") for more in (0, step))
    places = (f"place(input, ({end}) * sizeof *input, X_BYTES);" for end in ends)
    return [f"coming->{name} = {place}" for name, place in zip(("x", "x_end"), places)]


@dataclass(frozen=True)
class Strip:
    """S(x) inside `loops`. at: the position along each dim, as C text."""

    problem: Problem
    loops: tuple[Loop, ...]
    at: Mapping[str, str]

    def begin(self) -> list[str]:
        """The statements that copy the strip."""
        return [f"laid_out({added('input', times(self.at['n'], 'IMAGE'))}, panel, {self.at['w']}, STRIP);"]

    def place(self, tile: Around, at: Mapping[str, str]) -> str:
        """The offset into the panel of the points that a tile at position `at` reads, as C text."""
        x = self.problem.broadcast
        terms = [times(subtracted(at[d], self.at[d]), f"X_{d}") for d in self.problem.extents if d in x.dims]
        return added(*terms)
