"""The rules that specifiers obey. Each raises SchemeError with the specifier and the rule that it breaks."""

from __future__ import annotations

from tiling.arrays import pixel_blocks
from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import FOUR_TILES, PIXELS, flat_pixels_of, lies_flat, unsupported_reason
from tiling.dtypes.products import LANE_BYTES
from tiling.problem import Problem
from tiling.scheme.counts import covered_by, dot_groups_of_window, extents_of, units_of
from tiling.scheme.specifiers import (
    LAMBDA,
    WORKERS,
    DotGroup,
    Lambda,
    Matrix,
    PixelBlock,
    Rest,
    SchemeError,
    Specifier,
    Specifiers,
    Stage,
    Tile,
    Unroll,
    Vector,
    dim_of,
    names_a_gpu,
)

MATRIX_ROW_BYTES = 64  # the most that a matrix instruction reads of one row of x
# The unit that a dim with such a specifier is counted in.
_UNIT = {Vector: "vectors", DotGroup: "groups"}


def check(problem: Problem, specifiers: Specifiers) -> None:
    """Checks every rule of the language, in the order in which a reader would."""
    if not specifiers:
        raise SchemeError("an empty scheme covers nothing")
    _check_blocks(problem, specifiers)
    _check_fused(problem, specifiers)
    extents = extents_of(problem, specifiers)
    for s in specifiers:
        _check_one(problem, extents, s)
    _check_order(problem, specifiers)
    _check_lambda(specifiers)
    for dim, units in units_of(problem, specifiers).items():
        _check_covered(problem, specifiers, dim, units)


def _check_blocks(problem: Problem, specifiers: Specifiers) -> None:
    """Checks that blocks of pixels stand outermost, for tiles of clusters, and that the image has such."""
    for place, s in enumerate(specifiers):
        if not isinstance(s, PixelBlock):
            continue
        if place:
            raise SchemeError(
                f"{s}: everything reads blocks of pixels, so P stands outermost, and there is at most one"
            )
        if refused := pixel_blocks.unsupported_reason(problem, s.high, s.wide):
            raise SchemeError(f"{s}: {refused}")
        if not any(isinstance(t, Tile) and t.worker == "cluster" for t in specifiers):
            raise SchemeError(f"{s}: Hopper's copy engine alone reads blocks of pixels: loop over clusters")


def _check_covered(problem: Problem, specifiers: Specifiers, dim: str, have: int) -> None:
    """Checks that the specifiers of a dim cover its units exactly, or reach over its end where that is allowed."""
    rests = [s for s in specifiers if isinstance(s, Rest) and s.dim == dim]
    if len(rests) > 1:
        raise SchemeError(f"{rests[1]}: at most one R per dim")
    covered = covered_by(specifiers, dim)
    if (have % covered if rests else have - covered) == 0:  # nearly always: what follows is for the message
        return
    edge = names_a_gpu(specifiers) or (dim == PIXELS and flat_pixels_of(problem).padded)
    if not rests and edge and _only_the_edge(specifiers, dim, have, covered):
        return
    unit = next((_UNIT[type(s)] for s in specifiers if type(s) in _UNIT and dim_of(s) == dim), "points")
    named = " ".join(str(s) for s in specifiers if dim_of(s) == dim)
    if rests:
        raise SchemeError(f"{named}: {covered} {unit} do not divide the {have} of dim {dim}: no partial tiles")
    if not named:
        raise SchemeError(f"no specifier is on dim {dim}, which has {have} {unit}: R({dim}) loops over all")
    counted = _flat_pixels(problem) if dim == problem.vector_dim else ""
    raise SchemeError(f"{named}: cover {covered} {unit} of dim {dim}, which has {have}{counted}: cover it exactly")


def _only_the_edge(specifiers: Specifiers, dim: str, have: int, covered: int) -> bool:
    """Whether a scheme covers all of `dim` and computes beyond its end only what it must.

    That is less than one iteration of the outermost loop, or of four tile registers where these are more.
    """
    masked = names_a_gpu(specifiers)
    loops = [s for s in specifiers if isinstance(s, (Tile, Lambda)) and s.dim == dim]
    outermost = next((s for s in loops if masked or s.trips > 1), None)
    if isinstance(outermost, Lambda):
        last = covered // outermost.units * outermost.branches[-1][1]
    else:
        last = covered // (outermost.trips if outermost else 1)
    return have <= covered < have + max(last, 0 if masked else FOUR_TILES)


def _check_fused(problem: Problem, specifiers: Specifiers) -> None:
    last = specifiers[-1]
    matrix = isinstance(last, Matrix)
    named = [(s, dim) for s in specifiers if (dim := dim_of(s))]
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
    if per_lane == 1 and lies_flat(problem) and not names_a_gpu(specifiers):
        if shared := next((t for t in specifiers if isinstance(t, Tile) and _shares_sum(problem, t)), None):
            raise SchemeError(f"{s}: {shared} shares sums among cores, which pixels as one dim do not: leave one out")
        return
    if not any(isinstance(t, DotGroup) and t.points > per_lane and t.dim == channels for t in specifiers):
        if per_lane == 1:
            raise SchemeError(f"{s}: {problem.dtype} has its pixels as one dim only on a CPU, without taps and padding")
        raise SchemeError(
            f"{s}: pixels are one dim around matrix instructions alone, with dot groups of channels: end the "
            f"scheme with D({channels},…) of more than 32 bits and V({problem.vector_dim},…)"
        )


def _shares_sum(problem: Problem, tile: Tile) -> bool:
    """Whether cores share a summed dim by this loop."""
    return tile.worker == "core" and tile.dim in problem.reductions


def _flat_pixels(problem: Problem) -> str:
    """The part of a message that says what w counts where the axes of an image or volume are one dim."""
    if problem.origin is None:
        return ""
    *axes, last = (window.dim for window in problem.origin.windows)
    pixels = problem.extents[problem.vector_dim]
    return f" (w counts all {pixels} flattened pixels, {', '.join(axes)} and {last} as one)"


def _check_one(problem: Problem, extents: dict[str, int], s: Specifier) -> None:
    dim = dim_of(s)
    if dim is not None and dim not in extents:
        dims = f"{' '.join(problem.extents)}{_flat_pixels(problem)}"
        raise SchemeError(f"{s}: {problem.op} has no dim {dim!r}; its dims are {dims}")
    if isinstance(s, Tile):
        if s.trips < 1:
            raise SchemeError(f"{s}: a tile loop has at least 1 iteration")
        if s.worker is not None and s.worker not in WORKERS:
            raise SchemeError(f"{s}: unknown worker {s.worker!r}; workers are {', '.join(WORKERS)}")
        if s.worker not in (None, "core", "block", "cluster") and s.dim[0] in problem.reductions:
            raise SchemeError(
                f"{s}: {s.dim} is summed over; only a CPU's cores and a GPU's blocks and clusters may share it, other "
                f"workers only output dims"
            )
        if s.worker == "core" and s.dim not in problem.reductions and s.dim[0] in problem.reductions:
            raise SchemeError(f"{s}: {s.dim} is no whole dim; cores share sums over one, of f32 alone")
    if isinstance(s, Unroll) and s.factor is not None and s.factor < 1:
        raise SchemeError(f"{s}: the unroll factor must be at least 1")
    if isinstance(s, Vector):
        if s.lanes < 1:
            raise SchemeError(f"{s}: a vector has at least 1 lane")
        if dim != problem.vector_dim:
            flat = problem.op in ("conv2d", "conv3d")
            others = " (1 x 1 ones of f32, stride 1 and layout nchw over w)" if flat else ""
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
            first = position == 1 and before == Stage(problem.broadcast.name)  # an x that is copied first
            if not first and not (isinstance(before, Tile) and before.worker == "core"):
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
