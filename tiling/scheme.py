"""How a problem is tiled: an ordered tuple of specifiers, outermost first, and the rules they must obey.

A scheme is pure data. Its text form (`tiling.notation`) is what logs, stores, emitted files and the command line
show; its loops are `tiling.nest`. The language is TTile's, its worker bindings are Hidet's `spatial`:
a tile loop bound to workers is spread over space, an unbound one over time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tiling.plane import FOUR_TILES, PIXELS, plane_of, refusal
from tiling.problem import Problem

WORKERS = ("core", "cluster", "block", "warpgroup", "warp", "lane")
LAMBDA = "λ"
WORD_BYTES = 4  # of a vector's lane
BLOCK_BYTES = 64  # at most, of what a matrix instruction reads of one row of x


class SchemeError(ValueError):
    """A scheme that does not parse or breaks a rule: names the specifier and the rule."""


@dataclass(frozen=True)
class Rest:
    """`R(d)`: the outer loop over what is left of d."""

    dim: str

    def __str__(self):
        return f"R({self.dim})"


@dataclass(frozen=True)
class Tile:
    """`T(d,n)`: exactly n iterations; `T(d,n)@core` hands them to workers."""

    dim: str
    trips: int
    worker: str | None = None

    def __str__(self):
        return f"T({self.dim},{self.trips})" + (f"@{self.worker}" if self.worker else "")


@dataclass(frozen=True)
class Lambda:
    """`L(d, 2x11 + 1x12)`: a sequence of loops; 2 iterations over a microkernel of size 11, then 1 of size 12."""

    dim: str
    branches: tuple[tuple[int, int], ...]

    def __str__(self):
        return f"L({self.dim}, " + " + ".join(f"{count}x{size}" for count, size in self.branches) + ")"


@dataclass(frozen=True)
class Unroll:
    """`U(d,n)`: n iterations unrolled into registers; `U(d,λ)` (factor None) takes its size from the L on d."""

    dim: str
    factor: int | None

    def __str__(self):
        return f"U({self.dim},{LAMBDA if self.factor is None else self.factor})"


@dataclass(frozen=True)
class Vector:
    """`V(d,16)`: one vector register of 16 lanes along d; its last vector may be masked."""

    dim: str
    lanes: int

    def __str__(self):
        return f"V({self.dim},{self.lanes})"


@dataclass(frozen=True)
class Dot:
    """`D(c,2)`: one instruction sums the products of 2 neighbours along c in every lane; it stands just before V.

    c is then counted in such groups, 32 bits of x each, as V counts vectors; the last group may be partly used.
    `D(c,32)`, of more than 32 bits, is a matrix instruction's, which does so for several rows at once.
    `D(sc,2)` takes the taps s and channels c of a window's row as one dim, and so do `T(sc,5)` and `U(sc,5)` beside it;
    `D(sc,12)`, a matrix instruction's, with every pixel filled up to whole words. Around a matrix instruction's the
    pixels of an image may be one dim, `T(hw,75)` … `U(hw,64)` (`tiling.plane`).
    """

    dim: str
    points: int

    def __str__(self):
        return f"D({self.dim},{self.points})"


@dataclass(frozen=True)
class Matrix:
    """`M(m16n8k16)`: a matrix instruction, what V is to a CPU; it covers 16 points of m, 8 of n and 16 of k.

    A scheme that ends with one may fuse any dims: `T(nhw,25)` … `M(nhw16k8rsc16)` treats the points of n, h and w, in
    this order, as one dim, and may leave part of the outermost tile of a dim over the edge (masked, or predicated).
    """

    shape: str

    @property
    def factors(self) -> dict[str, int]:
        """Points covered per dim."""
        return {dim: int(points) for dim, points in re.findall(r"([a-z]+)([0-9]+)", self.shape)}

    def __str__(self):
        return f"M({self.shape})"


@dataclass(frozen=True)
class Stage:
    """`S(y)`: everything inside works on a copy of the tensor's tile, one memory further down.

    Of the output: the accumulators in registers. Of an input: a packed panel, a strip of planes (`tiling.plane`), or
    `depth` shared-memory buffers.
    """

    tensor: str
    depth: int = 1

    def __str__(self):
        return f"S({self.tensor})" if self.depth == 1 else f"S({self.tensor}, {self.depth})"


Specifier = Rest | Tile | Lambda | Unroll | Dot | Vector | Matrix | Stage


@dataclass(frozen=True)
class Scheme:
    """A valid tiling of a problem; raises SchemeError when built from specifiers that break a rule."""

    problem: Problem
    specifiers: tuple[Specifier, ...]
    algorithm: ClassVar[str] = "direct"  # the definition's multiplications, each of them

    def __post_init__(self):
        _check(self.problem, self.specifiers)

    @property
    def text(self) -> str:
        """The text form, which `tiling.notation.parse` turns back into this scheme."""
        return " ".join(str(specifier) for specifier in self.specifiers)

    def __str__(self) -> str:
        return self.text

    @cached_property
    def lanes(self) -> int:
        """Lanes of the vector specifier; 1 where there is none."""
        return next((s.lanes for s in self.specifiers if isinstance(s, Vector)), 1)

    @cached_property
    def extents(self) -> dict[str, int]:
        """Extent of every dim as this scheme sees them: fused dims first, then those that stand alone."""
        return _extents(self.problem, self.specifiers)

    @cached_property
    def units(self) -> dict[str, int]:
        """How many units each dim has: its extent, in vectors for the vectorised dim, in groups for that of a D."""
        return _units(self.problem, self.specifiers)

    @cached_property
    def branches(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """For each composed dim, its (count, size) branches."""
        return {s.dim: s.branches for s in self.specifiers if isinstance(s, Lambda)}

    @cached_property
    def tiles(self) -> tuple[dict[str, int], ...]:
        """The register tiles the scheme is composed of: units unrolled per dim, one dict per λ choice."""
        choices = [{}]
        for dim, branches in self.branches.items():
            choices = [{**choice, dim: size} for choice in choices for _, size in branches]
        tiles = []
        for choice in choices:
            tile = {dim: 1 for dim in self.extents}
            for s in self.specifiers:
                if isinstance(s, Unroll):
                    tile[s.dim] *= choice[s.dim] if s.factor is None else s.factor
            tiles.append(tile)
        return tuple(tiles)

    @property
    def place_of_sums(self) -> int:
        """Which of the specifiers is S(output); StopIteration where none is."""
        name = self.problem.output.name
        return next(i for i, s in enumerate(self.specifiers) if isinstance(s, Stage) and s.tensor == name)

    def iterations(self, loop: Rest | Tile | Lambda) -> int:
        """Of a loop; of an L those of all its branches."""
        if isinstance(loop, Lambda):
            return sum(count for count, _ in loop.branches)
        return self.trips(loop) if isinstance(loop, Rest) else loop.trips

    def covered(self, dim: str, place: int = 0) -> int:
        """Units of a dim that all its specifiers together cover, from that at `place` on."""
        inside = self.specifiers[place:]
        rest = next((self.trips(s) for s in inside if isinstance(s, Rest) and s.dim == dim), 1)
        return rest * _covered(inside, dim)

    def trips(self, specifier: Rest) -> int:
        """Iterations of an R loop: what its dim has left once every other factor is taken out."""
        return self.units[specifier.dim] // _covered(self.specifiers, specifier.dim)


def _extents(problem: Problem, specifiers) -> dict[str, int]:
    named = [s.dim for s in specifiers if getattr(s, "dim", None)]
    named += [dim for s in specifiers if isinstance(s, Matrix) for dim in s.factors]
    fused = list(dict.fromkeys(dim for dim in named if len(dim) > 1))
    alone = [dim for dim in problem.extents if not any(dim in dims for dims in fused)]
    return {dim: _fused_extent(problem, specifiers, dim) for dim in fused + alone}


def _fused_extent(problem: Problem, specifiers, dims: str) -> int:
    if dims == PIXELS and not isinstance(specifiers[-1], Matrix):
        return plane_of(problem).points
    return problem.extent(dims)


def _units(problem: Problem, specifiers) -> dict[str, int]:
    units = _extents(problem, specifiers)
    for s in specifiers:
        if isinstance(s, Vector):
            units[s.dim] = -(-units[s.dim] // s.lanes)
        elif isinstance(s, Dot):
            units[s.dim] = groups_of(problem, s)
    return units


def groups_of(problem: Problem, dot: Dot) -> int:
    """How many groups of a D's points there are; the last one may be partly used.

    Of the blocks of a window's row a pixel is a whole number of words, so that the windows of neighbouring columns
    overlap in memory, and the groups hold all words of a window and no more.
    """
    fitting = WORD_BYTES // problem.bytes_per_element
    if dot.points > fitting and dot.dim == problem.window_dims:
        return words_of_window(problem) * fitting // dot.points
    return -(-problem.extent(dot.dim) // dot.points)


def words_of_window(problem: Problem) -> int:
    """Words of 32 bits in the row of a window whose pixels are whole words."""
    *taps, channel = problem.window_dims
    return problem.extent("".join(taps)) * -(-problem.extents[channel] * problem.bytes_per_element // WORD_BYTES)


def _covered(specifiers, dim: str) -> int:
    """Units of `dim` covered by all its specifiers except R: the product of factors, λ summed over branches."""
    covered = 1
    for s in specifiers:
        if isinstance(s, Matrix):
            covered *= s.factors.get(dim, 1)
        if getattr(s, "dim", None) != dim:
            continue
        if isinstance(s, Tile):
            covered *= s.trips
        elif isinstance(s, Unroll) and s.factor is not None:
            covered *= s.factor
        elif isinstance(s, Lambda):
            covered *= sum(count * size for count, size in s.branches)
    return covered


def _check(problem: Problem, specifiers) -> None:
    """Every rule of the language, in the order a reader would check them."""
    if not specifiers:
        raise SchemeError("an empty scheme covers nothing")
    _check_fused(problem, specifiers)
    extents = _extents(problem, specifiers)
    for s in specifiers:
        _check_one(problem, extents, s)
    _check_order(problem, specifiers)
    _check_lambda(specifiers)
    for dim in extents:
        rests = [s for s in specifiers if isinstance(s, Rest) and s.dim == dim]
        if len(rests) > 1:
            raise SchemeError(f"{rests[1]}: at most one R per dim")
        have, covered = _units(problem, specifiers)[dim], _covered(specifiers, dim)
        unit = next((_UNIT[type(s)] for s in specifiers if type(s) in _UNIT and s.dim == dim), "points")
        named = " ".join(str(s) for s in specifiers if getattr(s, "dim", None) == dim)
        if rests and have % covered:
            raise SchemeError(f"{named}: {covered} {unit} do not divide the {have} of dim {dim}: no partial tiles")
        edge = isinstance(specifiers[-1], Matrix) or dim == PIXELS and plane_of(problem).padded
        if not rests and have != covered and not (edge and _only_the_edge(specifiers, dim, have, covered)):
            if not named:
                raise SchemeError(f"no specifier is on dim {dim}, which has {have} {unit}: R({dim}) loops over all")
            counted = _plane(problem) if dim == problem.vector_dim else ""
            raise SchemeError(
                f"{named}: cover {covered} {unit} of dim {dim}, which has {have}{counted}: cover it exactly"
            )


# What a dim with such a specifier is counted in.
_UNIT = {Vector: "vectors", Dot: "groups"}


def _only_the_edge(specifiers, dim: str, have: int, covered: int) -> bool:
    """Whether a scheme covers all of `dim`, its outermost loop running no further than it must, or no further than to
    the end of four tile registers.
    """
    matrix = isinstance(specifiers[-1], Matrix)
    loops = [s for s in specifiers if isinstance(s, (Tile, Lambda)) and s.dim == dim]
    outermost = next((s for s in loops if matrix or _turns(s) > 1), None)
    if isinstance(outermost, Lambda):
        last = covered // sum(count * size for count, size in outermost.branches) * outermost.branches[-1][1]
    else:
        last = covered // (outermost.trips if outermost else 1)
    return have <= covered < have + max(last, 0 if matrix else FOUR_TILES)


def _turns(loop: Tile | Lambda) -> int:
    return loop.trips if isinstance(loop, Tile) else sum(count for count, _ in loop.branches)


def _check_fused(problem: Problem, specifiers) -> None:
    matrix = isinstance(specifiers[-1], Matrix)
    named = [(s, s.dim) for s in specifiers if getattr(s, "dim", None)]
    if matrix:
        named += [(specifiers[-1], dim) for dim in specifiers[-1].factors]
    for s, dims in named:
        if len(dims) == 1:
            continue
        if not set(dims) <= set(problem.extents) or len(set(dims)) < len(dims):
            raise SchemeError(f"{s}: {problem.op} has no dim {dims!r}; its dims are {' '.join(problem.extents)}")
        if dims == PIXELS and not matrix:
            _check_pixels(problem, specifiers, s)
        elif not (matrix or any(isinstance(t, Dot) and t.dim == dims for t in specifiers)):
            raise SchemeError(
                f"{s}: only a scheme that ends with a matrix instruction M may fuse dims, or one whose D fuses them"
            )
        if 0 < sum(dim in problem.reductions for dim in dims) < len(dims):
            raise SchemeError(f"{s}: dims that are summed over and dims that are not cannot be fused")
        for t, others in named:
            if others != dims and set(others) & set(dims):
                raise SchemeError(
                    f"{t}: {s} fuses dim {min(set(others) & set(dims))}, which may then not stand elsewhere"
                )


def _check_pixels(problem: Problem, specifiers, s) -> None:
    """That the pixels of an image may be one dim: rows of tile registers lie equally far apart."""
    refused, fitting = refusal(problem), WORD_BYTES // problem.bytes_per_element
    if refused:
        raise SchemeError(f"{s}: {refused}")
    if not any(isinstance(t, Dot) and t.points > fitting and t.dim == problem.dot_dim for t in specifiers):
        blocks = f": end the scheme with D({problem.dot_dim},…) of more than 32 bits and V({problem.vector_dim},…)"
        raise SchemeError(
            f"{s}: pixels are one dim around matrix instructions alone, of blocks of channels"
            + (blocks if fitting > 1 else f", and {problem.dtype} has none")
        )


def _plane(problem: Problem) -> str:
    """What w counts where h and w are one dim, for a message."""
    if problem.origin is None:
        return ""
    return f" (w counts all {problem.extents[problem.vector_dim]} pixels of a plane, h and w as one)"


def _check_one(problem, extents, s) -> None:
    dim = getattr(s, "dim", None)
    if dim is not None and dim not in extents:
        dims = f"{' '.join(problem.extents)}{_plane(problem)}"
        raise SchemeError(f"{s}: {problem.op} has no dim {dim!r}; its dims are {dims}")
    if isinstance(s, Tile):
        if s.trips < 1:
            raise SchemeError(f"{s}: a tile loop has at least 1 iteration")
        if s.worker is not None and s.worker not in WORKERS:
            raise SchemeError(f"{s}: unknown worker {s.worker!r}; workers are {', '.join(WORKERS)}")
        if s.worker not in (None, "block", "cluster") and dim[0] in problem.reductions:
            raise SchemeError(
                f"{s}: {dim} is summed over; only a GPU's blocks and clusters may share it, other workers only output "
                f"dims"
            )
    if isinstance(s, Unroll) and s.factor is not None and s.factor < 1:
        raise SchemeError(f"{s}: the unroll factor must be at least 1")
    if isinstance(s, Vector):
        if s.lanes < 1:
            raise SchemeError(f"{s}: a vector has at least 1 lane")
        if dim != problem.vector_dim:
            others = " (1 x 1 ones of f32, stride 1 and layout nchw over w)" if problem.op == "conv2d" else ""
            raise SchemeError(f"{s}: {problem.op} is vectorised over {problem.vector_dim}{others}")
    if isinstance(s, Dot):
        _check_dot(problem, s)
    if isinstance(s, Lambda) and any(count < 1 or size < 1 for count, size in s.branches):
        raise SchemeError(f"{s}: counts and sizes are at least 1")
    if isinstance(s, Lambda) and not s.branches:
        raise SchemeError(f"{s}: a composition needs at least one branch")
    if isinstance(s, Matrix) and not set(s.factors) <= set(extents):
        raise SchemeError(f"{s}: {problem.op} has the dims {' '.join(problem.extents)}")
    if isinstance(s, Stage):
        if s.tensor not in [t.name for t in problem.tensors]:
            raise SchemeError(f"{s}: {problem.op} has no tensor {s.tensor!r}")
        if s.depth < 1:
            raise SchemeError(f"{s}: the depth is at least 1")


def _check_dot(problem, s) -> None:
    fitting = WORD_BYTES // problem.bytes_per_element
    most = BLOCK_BYTES // problem.bytes_per_element
    if fitting == 1 or s.points % fitting or not fitting <= s.points <= most:
        raise SchemeError(
            f"{s}: a lane of 32 bits holds {fitting} of {problem.dtype}"
            + (f", a matrix instruction sums a multiple of {fitting} up to {most}" if fitting > 1 else "")
        )
    if s.points > fitting and problem.lanewise:
        raise SchemeError(
            f"{s}: a matrix instruction reads rows of {problem.broadcast.name} whose {s.dim} lie side by side for all "
            f"{problem.vector_dim}; use D({s.dim},{fitting})"
        )
    if s.dim not in (problem.dot_dim, problem.window_dims):
        x = problem.broadcast.name
        raise SchemeError(f"{s}: a group is summed over and lies side by side in {x}, which {s.dim} does not")
    if s.points > fitting and s.dim == problem.window_dims and words_of_window(problem) * fitting % s.points:
        whole = words_of_window(problem)
        sizes = [f"D({s.dim},{n * fitting})" for n in range(2, whole + 1) if whole % n == 0 and n * fitting <= most]
        raise SchemeError(
            f"{s}: a matrix instruction takes the row of a window in equal blocks, and that has {whole * fitting} "
            f"numbers, every pixel filled up to 32 bits: use {' or '.join(sizes or [f'D({s.dim[-1]},…)'])}"
        )


def _check_order(problem, specifiers) -> None:
    for position, s in enumerate(specifiers):
        if isinstance(s, (Vector, Matrix)) and position != len(specifiers) - 1:
            raise SchemeError(f"{s}: V and M stand innermost, and there is at most one")
        if isinstance(s, Dot) and not (position == len(specifiers) - 2 and isinstance(specifiers[-1], Vector)):
            raise SchemeError(f"{s}: D stands just before V, and there is at most one")
        inner = specifiers[position + 1 :]
        if isinstance(s, Unroll):
            for t in inner:
                if isinstance(t, (Rest, Tile, Lambda, Stage)):
                    raise SchemeError(f"{s}: an unrolled loop may not hold {t}; U stands below every R, T, L and S")
        if isinstance(s, Rest):
            for t in specifiers[:position]:
                if isinstance(t, (Tile, Lambda)) and t.dim == s.dim:
                    raise SchemeError(f"{s}: R is the outer loop of its dim, but stands inside {t}")
        if isinstance(s, Stage):
            if any(isinstance(t, Stage) and t.tensor == s.tensor for t in inner):
                raise SchemeError(f"{s}: {s.tensor} is staged twice: keep one")
            if s.tensor == problem.output.name:
                for t in inner:
                    # A loop over workers is no loop in time: each worker holds its own part of the tile.
                    bound = isinstance(t, Tile) and t.worker is not None
                    if isinstance(t, (Rest, Tile, Lambda)) and not bound and t.dim[0] not in problem.reductions:
                        raise SchemeError(
                            f"{s}: {t} loops over an output dim inside it; registers hold one register tile of "
                            f"{s.tensor}, so only {' '.join(problem.reductions)} may loop there"
                        )
        if isinstance(s, Tile) and s.worker == "core" and position:
            before = specifiers[position - 1]
            if not (isinstance(before, Tile) and before.worker == "core"):
                raise SchemeError(
                    f"{s}: core loops stand outermost, together, but this one follows {before}: put it first"
                )


def _check_lambda(specifiers) -> None:
    for position, s in enumerate(specifiers):
        if not isinstance(s, Lambda):
            continue
        if sum(isinstance(t, Lambda) and t.dim == s.dim for t in specifiers) > 1:
            raise SchemeError(f"{s}: dim {s.dim} is composed twice")
        matches = [
            t for t in specifiers[position + 1 :] if isinstance(t, Unroll) and t.dim == s.dim and t.factor is None
        ]
        if len(matches) != 1:
            raise SchemeError(f"{s}: needs exactly one U({s.dim},{LAMBDA}) inside, found {len(matches)}")
    for position, s in enumerate(specifiers):
        if isinstance(s, Unroll) and s.factor is None:
            if not any(isinstance(t, Lambda) and t.dim == s.dim for t in specifiers[:position]):
                raise SchemeError(f"{s}: has no L({s.dim}, …) outside it to take its size from")
