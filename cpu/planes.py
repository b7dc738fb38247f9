"""The copy of x as planes of points, each image's rows one after the other with zeros between (`tiling.plane`).

    T(hw,21) S(x) T(k,8) T(hw,7) S(y) …        the points of 7 tiles and what their windows reach, for all tiles of k

All of x is copied first; or, inside S(x), the strip that the loops inside read, by each thread to a panel of its own,
again and again the same memory. x is then read once, from wherever it lies, and no copy of all of it passes through the
caches. Of the sums of a tile that runs on over the ends of rows those of pixels are stored, run by run.

What flows in: a scheme's problem of words, a tile's extents, and where S(x) stands in a nest. Out: the facts of
`planes.c.j2`, the statements and places of a strip, and the loop over the rows of a tile that are pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cpu.expression import indented
from cpu.panel import Pixels
from tiling.expression import added, subtracted, times
from tiling.nest import Around, Loop
from tiling.plane import Plane
from tiling.problem import Problem


@dataclass(frozen=True)
class Copy:
    """What the template needs: so many `images`, their planes of so many points; of each pixel of x the `numbers` of
    each of `groups` in so many `blocks` of `block` numbers.
    """

    plane: Plane
    images: int
    points: int
    groups: int
    numbers: int
    blocks: int
    block: int

    @property
    def before(self) -> int:
        """Of the points of a row counted so that none is negative, those before the plane's own first."""
        return self.plane.pitch - self.plane.lead % self.plane.pitch

    @property
    def above(self) -> int:
        """As many rows stand before the image's first."""
        return (self.plane.lead + self.before) // self.plane.pitch

    @property
    def pixel(self) -> int:
        """Numbers of a pixel of x."""
        return self.groups * self.numbers


def copy_of(problem: Problem, words: Problem) -> Copy | None:
    """How x becomes planes; None where it does not."""
    plane, x = words.plane, words.broadcast
    if plane is None or not plane.padded:
        return None
    blocks, points = x.shape[-2:]
    dim = problem.dot_dim
    groups = blocks // words.extents[dim]
    images = problem.broadcast.shape[0]
    return Copy(plane, images, points, groups, problem.extents[dim], blocks // groups, words.numbers_per_word)


def passes_gaps(problem: Problem) -> bool:
    """Whether rows of tiles are points of a plane of which some are no pixels of y."""
    return problem.plane is not None and problem.extents["w"] > problem.plane.pixels


# The variable of a loop over the rows of a tile that are pixels.
ROW = "row"


def pixel_of(extents: Mapping[str, int]) -> dict[str, int | str]:
    """How far the pixel of a ROW is from the first of the image, or of the first image, in a tile of these extents."""
    return {"n": "image" if extents["n"] > 1 else 0, "w": "at"}


def each_pixel(extents: Mapping[str, int], lines: list[str]) -> list[str]:
    """The lines of a row for all that are pixels of y, in a tile of these extents that begins at `point` of the plane:
    run by run, each to the end of a row of the image.
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
    """The statements that say which rows of x the strip after that at position `at` is the first to read."""
    step, image = problem.plane.strip, times(at["n"], "IMAGE")
    ends = (added(image, f"row_at({at['w']} + STRIP{f' + {more}' if more else ''})") for more in (0, step))
    places = (f"place(input, ({end}) * sizeof *input, X_BYTES);" for end in ends)
    return [f"coming->{name} = {place}" for name, place in zip(("x", "x_end"), places)]


@dataclass(frozen=True)
class Strip:
    """S(x) inside `loops`, where the C text of the position along each dim is `at`."""

    problem: Problem
    loops: tuple[Loop, ...]
    at: Mapping[str, str]

    @property
    def kept(self) -> bool:
        """Each task of a core brings its own."""
        return False

    def begin(self) -> list[str]:
        """The statements that bring the strip."""
        return [f"laid_out({added('input', times(self.at['n'], 'IMAGE'))}, panel, {self.at['w']}, STRIP);"]

    def place(self, tile: Around, at: Mapping[str, str]) -> str:
        """Where, from the panel, the points begin that a tile at position `at` reads, as C text."""
        x = self.problem.broadcast
        terms = [times(subtracted(at[d], self.at[d]), f"X_{d}") for d in self.problem.extents if d in x.dims]
        return added(*terms)

    def readers(self, tile: Around, at: Mapping[str, str]) -> tuple[tuple[str, Pixels], ...]:
        """As `cpu.panel.Panel.readers`: all tiles read the panel as they would x."""
        return (("", Pixels.IN_PLACE),)
