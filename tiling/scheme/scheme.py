"""How a problem is tiled: an ordered tuple of specifiers, outermost first, and the rules that they obey.

A scheme is pure data. `tiling.text.notation` reads and prints it as text, `tiling.loops.nest` lowers it to loops. The
language is TTile's. Its worker bindings are Hidet's `spatial`: workers share the iterations of a bound loop, and one
worker runs all iterations of an unbound loop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import FOUR_TILES, PIXELS, flat_pixels_of, unsupported_reason
from tiling.dtypes import LANE_BYTES
from tiling.problem import Problem

WORKERS = ("core", "cluster", "block", "warpgroup", "warp", "lane")
LAMBDA = "λ"
MATRIX_ROW_BYTES = 64  # the most that a matrix instruction reads of one row of x


class SchemeError(ValueError):
    """A scheme that does not parse or breaks a rule. The message names the specifier and the rule."""


@dataclass(frozen=True)
class Rest:
    """`R(d)`: the outermost loop over d. It runs as often as the other specifiers of d leave it."""

    dim: str

    def __str__(self) -> str:
        return f"R({self.dim})"


@dataclass(frozen=True)
class Tile:
    """`T(d,n)`: a loop of exactly n iterations; `T(d,n)@core` hands them to workers."""

    dim: str
    trips: int
    worker: str | None = None

    def __str__(self) -> str:
        return f"T({self.dim},{self.trips})" + (f"@{self.worker}" if self.worker else "")


@dataclass(frozen=True)
class Lambda:
    """`L(d, 2x11 + 1x12)`: loops one after the other, 2 iterations over a microkernel of size 11, then 1 of size 12."""

    dim: str
    branches: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return f"L({self.dim}, " + " + ".join(f"{count}x{size}" for count, size in self.branches) + ")"


@dataclass(frozen=True)
class Unroll:
    """`U(d,n)`: n iterations unrolled into registers; `U(d,λ)` (factor None) takes its size from the L on d."""

    dim: str
    factor: int | None

    def __str__(self) -> str:
        return f"U({self.dim},{LAMBDA if self.factor is None else self.factor})"


@dataclass(frozen=True)
class Vector:
    """`V(d,16)`: one vector register of 16 lanes along d. The last vector of d may be masked."""

    dim: str
    lanes: int

    def __str__(self) -> str:
        return f"V({self.dim},{self.lanes})"


@dataclass(frozen=True)
class DotGroup:
    """`D(c,2)`: one instruction sums the products of 2 neighbours along c in every lane. It stands just before V.

    Other specifiers then count c in such dot groups, as they count the dim of V in vectors. The last group may be
    partly used.

        D(c,2)     a vector instruction's: the group fills the 32 bits of a lane
        D(c,32)    a matrix instruction's: the group is longer, and the instruction reads several rows of x
        D(sc,2)    the taps s and channels c of a window's row are one dim, also in `T(sc,5)` and `U(sc,5)`
        D(sc,12)   the same for a matrix instruction, where every pixel is filled up to whole 32 bits

    Around a matrix instruction the pixels of an image may be one dim, `T(hw,75)` … `U(hw,64)`
    (`tiling.arrays.flat_pixels`).
    """

    dim: str
    points: int

    def __str__(self) -> str:
        return f"D({self.dim},{self.points})"


@dataclass(frozen=True)
class Matrix:
    """`M(m16n8k16)`: a GPU's matrix instruction, in the place of V. It covers 16 points of m, 8 of n and 16 of k.

    A scheme that ends with one may fuse any dims: `T(nhw,25)` … `M(nhw16k8rsc16)` treats the points of n, h and w, in
    this order, as one dim. The outermost tile of a dim may reach over the edge, where the kernel masks it.
    """

    shape: str

    @property
    def factors(self) -> dict[str, int]:
        """Points that the instruction covers along each dim."""
        return {dim: int(points) for dim, points in re.findall(r"([a-z]+)([0-9]+)", self.shape)}

    def __str__(self) -> str:
        return f"M({self.shape})"


@dataclass(frozen=True)
class Stage:
    """`S(y)`: everything inside works on a copy of the tensor's tile, one memory level further in.

    For the output these are the accumulators in registers. For an input it is a packed panel, a strip of an image
    (`tiling.arrays.flat_pixels`), or `depth` stages of shared memory.
    """

    tensor: str
    depth: int = 1

    def __str__(self) -> str:
        return f"S({self.tensor})" if self.depth == 1 else f"S({self.tensor}, {self.depth})"


Specifier = Rest | Tile | Lambda | Unroll | DotGroup | Vector | Matrix | Stage
Specifiers = tuple[Specifier, ...]


@dataclass(frozen=True)
class Scheme:
    """A valid tiling of a problem. The constructor raises SchemeError where a specifier breaks a rule."""

    problem: Problem
    specifiers: Specifiers
    algorithm: ClassVar[str] = "direct"  # every multiplication of the definition

    def __post_init__(self) -> None:
        _check(self.problem, self.specifiers)

    @property
    def text(self) -> str:
        """The text form. `tiling.text.notation.parse` turns it back into this scheme."""
        return " ".join(str(specifier) for specifier in self.specifiers)

    def __str__(self) -> str:
        return self.text

    @cached_property
    def lanes(self) -> int:
        """Lanes of V; 1 where there is none."""
        return next((s.lanes for s in self.specifiers if isinstance(s, Vector)), 1)

    @cached_property
    def extents(self) -> dict[str, int]:
        """The extent of every dim of this scheme: fused dims first, then the others."""
        return _extents(self.problem, self.specifiers)

    @cached_property
    def units(self) -> dict[str, int]:
        """How many units each dim has: vectors for the dim of V, dot groups for the dim of D, else points."""
        return _units(self.problem, self.specifiers)

    @cached_property
    def branches(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """The (count, size) branches of every composed dim."""
        return {s.dim: s.branches for s in self.specifiers if isinstance(s, Lambda)}

    @cached_property
    def tiles(self) -> tuple[dict[str, int], ...]:
        """The register tiles that the scheme is composed of, one for each choice of λ: units unrolled per dim."""
        choices: list[dict[str, int]] = [{}]
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
    def accumulators_at(self) -> int:
        """The position of S(output) among the specifiers. Raises StopIteration where there is none."""
        name = self.problem.output.name
        return next(i for i, s in enumerate(self.specifiers) if isinstance(s, Stage) and s.tensor == name)

    def iterations(self, loop: Rest | Tile | Lambda) -> int:
        """Iterations of the loop. For an L: the sum over its branches."""
        if isinstance(loop, Lambda):
            return sum(count for count, _ in loop.branches)
        return self.trips(loop) if isinstance(loop, Rest) else loop.trips

    def covered(self, dim: str, place: int = 0) -> int:
        """Units of `dim` that the specifiers from `place` inwards cover together."""
        inside = self.specifiers[place:]
        rest = next((self.trips(s) for s in inside if isinstance(s, Rest) and s.dim == dim), 1)
        return rest * _covered(inside, dim)

    def trips(self, specifier: Rest) -> int:
        """Iterations of an R loop: the units of its dim over the product of every other factor."""
        return self.units[specifier.dim] // _covered(self.specifiers, specifier.dim)


def _dim(specifier: Specifier) -> str | None:
    return None if isinstance(specifier, (Matrix, Stage)) else specifier.dim


def _extents(problem: Problem, specifiers: Specifiers) -> dict[str, int]:
    named = [dim for s in specifiers if (dim := _dim(s))]
    named += [dim for s in specifiers if isinstance(s, Matrix) for dim in s.factors]
    fused = list(dict.fromkeys(dim for dim in named if len(dim) > 1))
    alone = [dim for dim in problem.extents if not any(dim in dims for dims in fused)]
    return {dim: _fused_extent(problem, specifiers, dim) for dim in fused + alone}


def _fused_extent(problem: Problem, specifiers: Specifiers, dims: str) -> int:
    if dims == PIXELS and not isinstance(specifiers[-1], Matrix):
        return flat_pixels_of(problem).points
    return problem.extent(dims)


def _units(problem: Problem, specifiers: Specifiers) -> dict[str, int]:
    units = _extents(problem, specifiers)
    for s in specifiers:
        if isinstance(s, Vector):
            units[s.dim] = -(-units[s.dim] // s.lanes)
        elif isinstance(s, DotGroup):
            units[s.dim] = groups_of(problem, s)
    return units


def groups_of(problem: Problem, dot: DotGroup) -> int:
    """How many dot groups a dim has. The last one may be partly used.

    A matrix instruction may take the row of a window, `sc`. Then every pixel is filled up to whole words of 32 bits,
    so that the windows of neighbouring columns can overlap in memory. The groups hold exactly the words of a window.
    """
    per_lane = LANE_BYTES // access_of(problem).element_bytes
    if dot.points > per_lane and dot.dim == access_of(problem).window_dims:
        return dot_groups_of_window(problem) * per_lane // dot.points
    return -(-problem.extent(dot.dim) // dot.points)


def dot_groups_of_window(problem: Problem) -> int:
    """Words of 32 bits in the row of a window, every pixel filled up to whole words."""
    tap, channel = tap_and_channel(problem)
    return problem.extents[tap] * -(-problem.extents[channel] * access_of(problem).element_bytes // LANE_BYTES)


def tap_and_channel(problem: Problem) -> tuple[str, str]:
    """The two dims of `Access.window_dims`, for callers that know that there are two."""
    dims = access_of(problem).window_dims
    assert dims is not None, f"the windows of {problem} do not lie side by side"
    tap, channel = tuple(dims)
    return tap, channel


def _covered(specifiers: Specifiers, dim: str) -> int:
    """Units of `dim` that its specifiers cover together, R excepted: the product of factors, an L being a sum."""
    covered = 1
    for s in specifiers:
        if isinstance(s, Matrix):
            covered *= s.factors.get(dim, 1)
        if _dim(s) != dim:
            continue
        if isinstance(s, Tile):
            covered *= s.trips
        elif isinstance(s, Unroll) and s.factor is not None:
            covered *= s.factor
        elif isinstance(s, Lambda):
            covered *= sum(count * size for count, size in s.branches)
    return covered


def _check(problem: Problem, specifiers: Specifiers) -> None:
    """Checks every rule of the language, in the order in which a reader would."""
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
        unit = next((_UNIT[type(s)] for s in specifiers if type(s) in _UNIT and _dim(s) == dim), "points")
        named = " ".join(str(s) for s in specifiers if _dim(s) == dim)
        if rests and have % covered:
            raise SchemeError(f"{named}: {covered} {unit} do not divide the {have} of dim {dim}: no partial tiles")
        edge = isinstance(specifiers[-1], Matrix) or (dim == PIXELS and flat_pixels_of(problem).padded)
        if not rests and have != covered and not (edge and _only_the_edge(specifiers, dim, have, covered)):
            if not named:
                raise SchemeError(f"no specifier is on dim {dim}, which has {have} {unit}: R({dim}) loops over all")
            counted = _flat_pixels(problem) if dim == problem.vector_dim else ""
            raise SchemeError(
                f"{named}: cover {covered} {unit} of dim {dim}, which has {have}{counted}: cover it exactly"
            )


# The unit that a dim with such a specifier is counted in.
_UNIT = {Vector: "vectors", DotGroup: "groups"}


def _only_the_edge(specifiers: Specifiers, dim: str, have: int, covered: int) -> bool:
    """Whether a scheme covers all of `dim` and computes beyond its end only what it must.

    That is less than one iteration of the outermost loop, or of four tile registers where these are more.
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


def _check_fused(problem: Problem, specifiers: Specifiers) -> None:
    last = specifiers[-1]
    matrix = isinstance(last, Matrix)
    named = [(s, dim) for s in specifiers if (dim := _dim(s))]
    if isinstance(last, Matrix):
        named += [(last, dim) for dim in last.factors]
    for s, dims in named:
        if len(dims) == 1:
            continue
        if not set(dims) <= set(problem.extents) or len(set(dims)) < len(dims):
            raise SchemeError(f"{s}: {problem.op} has no dim {dims!r}; its dims are {' '.join(problem.extents)}")
        if dims == PIXELS and not matrix:
            _check_pixels(problem, specifiers, s)
        elif not (matrix or any(isinstance(t, DotGroup) and t.dim == dims for t in specifiers)):
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


def _check_pixels(problem: Problem, specifiers: Specifiers, s: Specifier) -> None:
    """Checks that the pixels of an image may be one dim: rows of tile registers must lie equally far apart."""
    refused, per_lane = unsupported_reason(problem), LANE_BYTES // access_of(problem).element_bytes
    channels = access_of(problem).dot_dim
    if refused:
        raise SchemeError(f"{s}: {refused}")
    if not any(isinstance(t, DotGroup) and t.points > per_lane and t.dim == channels for t in specifiers):
        blocks = f": end the scheme with D({channels},…) of more than 32 bits and V({problem.vector_dim},…)"
        raise SchemeError(
            f"{s}: pixels are one dim around matrix instructions alone, of blocks of channels"
            + (blocks if per_lane > 1 else f", and {problem.dtype} has none")
        )


def _flat_pixels(problem: Problem) -> str:
    """The part of a message that says what w counts where h and w are one dim."""
    if problem.origin is None:
        return ""
    return f" (w counts all {problem.extents[problem.vector_dim]} pixels of a plane, h and w as one)"


def _check_one(problem: Problem, extents: dict[str, int], s: Specifier) -> None:
    dim = _dim(s)
    if dim is not None and dim not in extents:
        dims = f"{' '.join(problem.extents)}{_flat_pixels(problem)}"
        raise SchemeError(f"{s}: {problem.op} has no dim {dim!r}; its dims are {dims}")
    if isinstance(s, Tile):
        if s.trips < 1:
            raise SchemeError(f"{s}: a tile loop has at least 1 iteration")
        if s.worker is not None and s.worker not in WORKERS:
            raise SchemeError(f"{s}: unknown worker {s.worker!r}; workers are {', '.join(WORKERS)}")
        if s.worker not in (None, "block", "cluster") and s.dim[0] in problem.reductions:
            raise SchemeError(
                f"{s}: {s.dim} is summed over; only a GPU's blocks and clusters may share it, other workers only "
                f"output dims"
            )
    if isinstance(s, Unroll) and s.factor is not None and s.factor < 1:
        raise SchemeError(f"{s}: the unroll factor must be at least 1")
    if isinstance(s, Vector):
        if s.lanes < 1:
            raise SchemeError(f"{s}: a vector has at least 1 lane")
        if dim != problem.vector_dim:
            others = " (1 x 1 ones of f32, stride 1 and layout nchw over w)" if problem.op == "conv2d" else ""
            raise SchemeError(f"{s}: {problem.op} is vectorised over {problem.vector_dim}{others}")
    if isinstance(s, DotGroup):
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


def _check_dot(problem: Problem, s: DotGroup) -> None:
    per_lane = LANE_BYTES // access_of(problem).element_bytes
    most, access = MATRIX_ROW_BYTES // access_of(problem).element_bytes, access_of(problem)
    if per_lane == 1 or s.points % per_lane or not per_lane <= s.points <= most:
        raise SchemeError(
            f"{s}: a lane of 32 bits holds {per_lane} of {problem.dtype}"
            + (f", a matrix instruction sums a multiple of {per_lane} up to {most}" if per_lane > 1 else "")
        )
    if s.points > per_lane and access.lanewise:
        raise SchemeError(
            f"{s}: a matrix instruction reads rows of {problem.broadcast.name} whose {s.dim} lie side by side for all "
            f"{problem.vector_dim}; use D({s.dim},{per_lane})"
        )
    if s.dim not in (access.dot_dim, access.window_dims):
        x = problem.broadcast.name
        raise SchemeError(f"{s}: a group is summed over and lies side by side in {x}, which {s.dim} does not")
    if s.points > per_lane and s.dim == access.window_dims and dot_groups_of_window(problem) * per_lane % s.points:
        whole = dot_groups_of_window(problem)
        sizes = [f"D({s.dim},{n * per_lane})" for n in range(2, whole + 1) if whole % n == 0 and n * per_lane <= most]
        raise SchemeError(
            f"{s}: a matrix instruction takes the row of a window in equal blocks, and that has {whole * per_lane} "
            f"numbers, every pixel filled up to 32 bits: use {' or '.join(sizes or [f'D({s.dim[-1]},…)'])}"
        )


def _check_order(problem: Problem, specifiers: Specifiers) -> None:
    for position, s in enumerate(specifiers):
        if isinstance(s, (Vector, Matrix)) and position != len(specifiers) - 1:
            raise SchemeError(f"{s}: V and M stand innermost, and there is at most one")
        if isinstance(s, DotGroup) and not (position == len(specifiers) - 2 and isinstance(specifiers[-1], Vector)):
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
                    # Workers run such a loop at the same time: each holds its own part of the tile.
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


def _check_lambda(specifiers: Specifiers) -> None:
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
        outside = (t.dim for t in specifiers[:position] if isinstance(t, Lambda))
        if isinstance(s, Unroll) and s.factor is None and s.dim not in outside:
            raise SchemeError(f"{s}: has no L({s.dim}, …) outside it to take its size from")
