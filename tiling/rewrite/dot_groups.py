"""A problem of bf16 or int8 as register tiles and caches see it: one whose elements are dot groups.

A vector instruction sums the products of a dot group of 32 bits in every lane, as an FMA adds one product of f32. So
tiles, loops, bytes moved and addresses are those of f32. Only the instruction, the packing, the copy of x and the
stores know what a dot group holds.
"""

#     bf16   x (N,H,W,C)   D(c,2)   ──►   x (N,H,W,⌈C/2⌉) of words (32 bits), one point of c each
#     int8   x (N,H,W,C)   D(c,4)   ──►   x (N,H,W,⌈C/4⌉)
#     bf16   x (N,H,W,C)   D(sc,2)  ──►   x (N,H,OW,⌈SC/2⌉), a window's row for every column of y; no s is left
#     bf16   x (N,H,W,C)            ──►   the same x, for a depthwise convolution; one number and zeros in each lane
#     bf16   x (N,H,W,C)   D(c,32)  ──►   x (N,H,W,⌈C/32⌉) of dot groups of 64 bytes
#     bf16   x (N,H,W,3)   D(sc,12) ──►   x (N,H,W,2) of words, three pixels a dot group; no s is left
#
# Dot groups of a word. Where channels do not fill whole words, the last word of a pixel would hold a number of the next
# pixel. So the kernel first copies x. The words of the copy may then run over the taps of a window's row (im2col):
# three taps of three channels of bf16 are 5 words, tap by tap they would be 6.
#
# Dot groups of several words, which loops call blocks. A matrix instruction multiplies one, up to 64 bytes of a row of
# x, by one of each lane. It reads several rows of x, which lie equally far apart. So none of them may be padding along
# the row: the kernel first copies x with zeros there. The rows may overlap. So the row of a window is a dot group once
# every pixel of the copy is a whole number of words; the dot group of the next column begins a pixel further.
#
# Vectors of x (`Access.lanewise`). x stays narrow in memory, and its loads widen it. A depthwise convolution sums
# nothing over channels, so a lane holds one number of x or of the weights, and zeros: the same instruction then adds a
# single product. With groups side by side (`tiling.rewrite.grouped`) a word holds channels of one group.

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import PIXELS, flat_pixels_of
from tiling.dtypes.products import LANE_BYTES
from tiling.problem import Problem
from tiling.rewrite.copied_rows import copies_rows, in_rows, scheme_in_rows, with_rows
from tiling.rewrite.flattened import flattened
from tiling.rewrite.parts import scheme_in_parts
from tiling.scheme.counts import dot_groups_of_window, groups_of, tap_and_channel
from tiling.scheme.rules import MATRIX_ROW_BYTES
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import DotGroup, Matrix, PixelBlock, SchemeError, Specifiers, Stage, Vector
from tiling.tensor import Affine, Tensor, Window

# Lanes of a vector of 64 bytes, which all instruction sets of narrow numbers have.
_LANES = 16


def is_narrow(problem: Problem) -> bool:
    """Whether several numbers of the inputs fit a word of 32 bits."""
    return access_of(problem).element_bytes < LANE_BYTES


def numbers_per_lane(problem: Problem) -> int:
    """How many numbers of the inputs fit a word."""
    return LANE_BYTES // access_of(problem).element_bytes


def dot_group_dims(problem: Problem) -> str:
    """The dim whose neighbours share a word, or "" where words hold one number.

    It is summed over, and its points are neighbours in the x that tiles read. Where x is copied anyway, and is not
    transposed, it may be `sc`, taps and channels as one dim: if that saves at least one FMA for each word that the copy
    grows by, and if the copy has no more words than the output has numbers.
    """
    access = access_of(problem)
    channel, window = access.dot_dim or "", access.window_dims
    if window is None or not is_copied(problem, channel):
        return channel
    by_tap, by_window = (groups_of(problem, DotGroup(dims, numbers_per_lane(problem))) for dims in (channel, window))
    *lines, width, _ = problem.broadcast.shape
    copy = prod(lines) * problem.output.shape[-2] * by_window
    vectors = -(-problem.extents[problem.vector_dim] // _LANES)
    times = prod(problem.extents[d] for d, _ in problem.dims if d not in (*window, problem.vector_dim))
    saved = times * vectors * (problem.extents[window[0]] * by_tap - by_window)
    return window if saved >= copy - prod(lines) * width * by_tap and copy <= problem.output.elements else channel


def matrix_dot_group(problem: Problem) -> DotGroup | None:
    """The D of matrix instructions: the fewest dot groups that hold the channels, and among these the shortest.

    Dot groups of a window's row are taken where they need at most half as many instructions. None where matrix
    instructions cannot be used, such as for an x that is read by vectors.
    """
    access = access_of(problem)
    channel, window = access.dot_dim, access.window_dims
    if not is_narrow(problem) or access.lanewise or channel is None:
        return None
    blocks = {dims: _matrix_group(problem, dims) for dims in (channel, window) if dims}
    if window:
        steps = {dims: groups_of(problem, block) for dims, block in blocks.items()}
        if 2 * steps[window] <= steps[channel] * problem.extents[window[0]]:
            return blocks[window]
    return blocks[channel]


def _matrix_group(problem: Problem, dims: str) -> DotGroup:
    most = MATRIX_ROW_BYTES // LANE_BYTES
    if dims == access_of(problem).window_dims:
        groups = dot_groups_of_window(problem)
        count = next(n for n in range(-(-groups // most), groups + 1) if groups % n == 0)
    else:
        groups = groups_of(problem, DotGroup(dims, numbers_per_lane(problem)))
        count = -(-groups // most)
    return DotGroup(dims, -(-groups // count) * numbers_per_lane(problem))


def is_copied(problem: Problem, dims: str, numbers: int = 0) -> bool:
    """Whether the kernel copies x, so that dot groups of so many numbers, by default 32 bits of them, lie along `dims`.

    It copies x for dot groups of a window's row, for dot groups that would reach into the next pixel or group, and
    where some dot groups of matrix instructions would be padding. It never copies an x that is read by vectors.
    """
    access = access_of(problem)
    if access.lanewise or not is_narrow(problem):
        return False
    numbers = numbers or numbers_per_lane(problem)
    window = padded_window(problem) if numbers > numbers_per_lane(problem) else None
    return window is not None or dims == access.window_dims or problem.extents[dims] % numbers != 0


def padded_window(problem: Problem) -> Window | None:
    """The window along the rows of x, where it reaches beyond them; else None."""
    last = next((window for window in problem.windows if window.dim == problem.row_dims[-1]), None)
    return last if last and last.dim in problem.padded_dims else None


def in_dot_groups(problem: Problem, dot: DotGroup | None = None, points: int = 0) -> Problem:
    """The problem in the dot groups of a D, as tiles read them; by default in those of a word along `dot_group_dims`.

    A problem of 32-bit numbers stays itself, except that its x may be transposed (`Access.as_read`) or flattened.
    points: how many flattened pixels are computed where the pixels of an image are one dim, which becomes w
    (`tiling.arrays.flat_pixels`); else 0. Raises ProblemError where the new x is too large.
    """
    if not is_narrow(problem):
        return flattened(problem, points) if points else access_of(problem).as_read
    dims, access = dot.dim if dot else dot_group_dims(problem), access_of(problem)
    numbers = dot.points if dot else numbers_per_lane(problem)
    problem = access.as_read
    counts = {dim: 1 for dim in dims[:-1]} | {dim: groups_of(problem, DotGroup(dims, numbers)) for dim in dims[-1:]}
    laid = flattened(problem, points) if points else problem
    x = laid.broadcast
    if len(dims) > 1 and numbers > numbers_per_lane(problem):
        x = _of_overlapping_windows(problem, x, numbers // numbers_per_lane(problem))
    elif len(dims) > 1:
        x = _of_windows(problem, x)
    elif numbers > numbers_per_lane(problem) and not points and (window := padded_window(problem)):
        x = _with_padding(problem, x, window)
    elif access.lanewise and access.transposes_x:
        x = _in_whole_groups(x, numbers_per_lane(problem))
    tensors = tuple(x if tensor.role == "broadcast" else tensor for tensor in laid.tensors)
    tensors = tuple(t if t.reach else _of_dot_groups(t, problem.extents, counts) for t in tensors)
    groups = tuple((d, counts.get(d, extent)) for d, extent in laid.dims)
    return replace(laid, dims=groups, tensors=tensors, dot_group=numbers if dims else 1)


def _in_whole_groups(x: Tensor, numbers: int) -> Tensor:
    """x with the channels of a pixel filled up to whole words, as the copy of a transposed x has them."""
    return replace(x, shape=(*x.shape[:-1], -(-x.shape[-1] // numbers) * numbers))


def _with_padding(problem: Problem, x: Tensor, window: Window) -> Tensor:
    """x with padding in its rows, which are as long as the windows reach and begin where the first window does.

    Each row has the first dot group of all columns, then the second one, and so on. So the rows of a tile register are
    neighbours, whatever the number of channels.
    """
    columns = x.indices[-2]
    reach = (problem.extents[window.dim] - 1) * window.stride + (problem.extents[window.tap] - 1) * window.dilation + 1
    return replace(
        x,
        indices=(*x.indices[:-2], x.indices[-1], replace(columns, offset=0)),
        shape=(*x.shape[:-2], x.shape[-1], reach),
    )


def _of_windows(problem: Problem, x: Tensor) -> Tensor:
    """x with one column for each column of y, which holds the whole row of its window: no taps are left (im2col)."""
    columns, last = x.indices[-2:]
    row, _ = next(term for term in columns.terms if term[0] in problem.row_dims)
    return replace(
        x,
        indices=(*x.indices[:-2], Affine(((row, 1),)), last),
        shape=(*x.shape[:-2], problem.extents[row], x.shape[-1]),
    )


def _of_overlapping_windows(problem: Problem, x: Tensor, block: int) -> Tensor:
    """x in words of 32 bits, every pixel filled up to whole ones. A dot group has `block` of them.

    Its rows have zeros at both ends, as far as the windows reach, so that the words of a window follow its first
    column.
    """
    tap, channel = tap_and_channel(problem)
    columns, _ = x.indices[-2:]
    row, stride = next(term for term in columns.terms if term[0] in problem.row_dims)
    reach = (problem.extents[row] - 1) * stride + problem.extents[tap]
    return replace(
        x,
        indices=(*x.indices[:-2], Affine(((row, stride),)), Affine(((channel, block),))),
        shape=(*x.shape[:-2], reach, dot_groups_of_window(problem) // problem.extents[tap]),
        reach=block,
    )


def _of_dot_groups(tensor: Tensor, extents: dict[str, int], counts: dict[str, int]) -> Tensor:
    """The tensor with `counts` points of some dims in place of their extents. Each group of channels begins a word."""
    indices, shape = [], []
    for index, size in zip(tensor.indices, tensor.shape):
        for dim in counts:
            if index.coefficient(dim):
                terms = tuple((d, c if d == dim else c // extents[dim] * counts[dim]) for d, c in index.terms)
                index, size = Affine(terms, index.offset), size // extents[dim] * counts[dim]
        indices.append(index)
        shape.append(size)
    return replace(tensor, indices=tuple(indices), shape=tuple(shape))


def dot_group_of(scheme: Scheme) -> DotGroup | None:
    """The scheme's D; None where words hold one number. Raises SchemeError where a D is missing."""
    problem = scheme.problem
    found = next((s for s in scheme.specifiers if isinstance(s, DotGroup)), None)
    if found is None and dot_group_dims(problem):
        wanted = DotGroup(dot_group_dims(problem), numbers_per_lane(problem))
        raise SchemeError(
            f"{wanted} is missing before V: {problem.dtype} is multiplied by groups of {wanted.points} along "
            f"{wanted.dim}"
        )
    return found


def pixel_of_windows(scheme: Scheme) -> int:
    """How many numbers a pixel has in the copy of x for a D along `sc`."""
    problem, dot = scheme.problem, dot_group_of(scheme)
    tap, channel = tap_and_channel(problem)
    assert dot is not None
    if dot.points == numbers_per_lane(problem):
        return problem.extents[channel]
    return dot_groups_of_window(problem) // problem.extents[tap] * numbers_per_lane(problem)


def uses_matrix_instructions(scheme: Scheme) -> bool:
    """Whether matrix instructions compute the scheme: its dot groups have more than 32 bits."""
    return any(isinstance(s, DotGroup) and s.points > numbers_per_lane(scheme.problem) for s in scheme.specifiers)


def copies(scheme: Scheme) -> bool:
    """Whether the scheme's kernel computes on a copy of x, which it makes first or strip by strip."""
    problem = scheme.problem
    if access_of(problem).transposes_x or copies_rows(scheme):
        return True
    dot = dot_group_of(scheme) if is_narrow(problem) else None
    if dot is None:
        return False
    return is_copied(problem, dot.dim, dot.points) or (bool(points_of(scheme)) and flat_pixels_of(problem).padded)


def scheme_in_dot_groups(scheme: Scheme) -> Scheme:
    """The same loops for the problem that tiles see. Its elements are dot groups (`in_dot_groups`), or it has parts of
    a sum.

    Raises SchemeError where a D is missing.
    """
    scheme = scheme_in_parts(scheme)
    problem = scheme.problem
    points = points_of(scheme)
    if not is_narrow(problem) and not points:
        access = access_of(problem)
        return Scheme(access.as_read, scheme.specifiers) if access.transposes_x else scheme_in_rows(scheme)
    dot = dot_group_of(scheme) if is_narrow(problem) else None
    dims = dot.dim if dot else ""
    loops: Specifiers = tuple(s for s in scheme.specifiers if not isinstance(s, DotGroup))
    loops = _renamed(_renamed(loops, dims, dims[-1:]) if dims else loops, PIXELS, PIXELS[-1])
    return Scheme(in_dot_groups(problem, dot, points), loops)


def points_of(scheme: Scheme) -> int:
    """How many flattened pixels a scheme computes; 0 where the pixels of an image are not one dim."""
    if isinstance(scheme.specifiers[-1], Matrix):
        return 0
    return scheme.covered(PIXELS) if any(getattr(s, "dim", None) == PIXELS for s in scheme.specifiers) else 0


def scheme_from_dot_groups(problem: Problem, scheme: Scheme, dot: DotGroup | None = None) -> Scheme:
    """The inverse of `scheme_in_dot_groups`: a scheme for `in_dot_groups(problem, dot)` as one for `problem`."""
    if not is_narrow(problem):
        if scheme.problem.flat_pixels:
            return Scheme(problem, _renamed(scheme.specifiers, PIXELS[-1], PIXELS))
        if scheme.problem == in_rows(problem):
            return with_rows(problem, scheme)
        return Scheme(problem, scheme.specifiers) if access_of(problem).transposes_x else scheme
    if dot is None:
        if not dot_group_dims(problem):
            return Scheme(problem, scheme.specifiers)
        dot = DotGroup(dot_group_dims(problem), numbers_per_lane(problem))
    # The taps of a fused `sc` have one point left: loops over them are left out.
    loops = tuple(s for s in scheme.specifiers if getattr(s, "dim", None) not in tuple(dot.dim[:-1]))
    if scheme.problem.flat_pixels:
        loops = _renamed(loops, PIXELS[-1], PIXELS)
    place = next(i for i, s in enumerate(loops) if isinstance(s, Vector))
    return Scheme(problem, (*_renamed(loops[:place], dot.dim[-1], dot.dim), dot, *loops[place:]))


def _renamed(specifiers: Specifiers, old: str, new: str) -> Specifiers:
    return tuple(
        replace(s, dim=new) if not isinstance(s, (Matrix, Stage, PixelBlock)) and s.dim == old else s
        for s in specifiers
    )
