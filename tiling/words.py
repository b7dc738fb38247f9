"""A problem of narrow numbers as register tiles and caches see it: one of 32-bit words.

    bf16   x (N,H,W,C)   D(c,2)   ──►   x (N,H,W,⌈C/2⌉) of words, one point of c each
    int8   x (N,H,W,C)   D(c,4)   ──►   x (N,H,W,⌈C/4⌉)
    bf16   x (N,H,W,C)   D(sc,2)  ──►   x (N,H,OW,⌈SC/2⌉), a window's row for every column of y; no s is left
    bf16   x (N,H,W,C)            ──►   the same x, of a depthwise convolution; words of one number and zeros in lanes
    bf16   x (N,H,W,C)   D(c,32)  ──►   x (N,H,W,⌈C/32⌉) of blocks of 64 bytes
    bf16   x (N,H,W,3)   D(sc,12) ──►   x (N,H,W,2) of words, three pixels a block; no s is left

One instruction sums the products of a word of x and a word of weights in a lane, as an FMA adds one product of f32. So
everything that is known of f32 holds of words: the tiles, the loops around them, the bytes they move, and the address
arithmetic. Only the instruction, the packing and the stores know what a word holds.

Where channels do not fill whole words, the last word of a pixel would hold a number of the next: the kernel first
copies x. Then words may as well run over the taps of a window's row: three taps of three channels are 5 words of bf16,
one by one 6.

A matrix instruction multiplies a block of a row of x, up to 64 bytes of it, by one of each lane. So the same holds of
blocks, and only the instruction, the packing and the copy know that they are longer. Since one instruction reads
several rows of x, which lie equally far apart, none of them may be padding along the row: the kernel first copies x
with zeros there. The rows of x may overlap, though: the row of a window is a block once every pixel of the copy is a
whole number of words, and that of the next column begins a pixel further.

An x that is read by vectors (`Problem.lanewise`) stays as it lies, narrow: its loads make words of it. In a depthwise
convolution nothing is summed over channels, so a word holds one number of x or of the weights, and zeros: then the same
instruction multiplies number by number, and sums what all the others do. In groups side by side (`tiling.grouped`) a
word holds channels of one group.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.plane import PIXELS, flattened, plane_of
from tiling.problem import Affine, Problem, Tensor, Window
from tiling.scheme import BLOCK_BYTES, WORD_BYTES, Dot, Scheme, SchemeError, Stage, Vector, groups_of, words_of_window

# Of a vector of 64 bytes, which all instruction sets of narrow numbers have.
_LANES = 16


def is_narrow(problem: Problem) -> bool:
    """Whether several numbers of the inputs share a word."""
    return problem.bytes_per_element < WORD_BYTES


def fitting(problem: Problem) -> int:
    """How many numbers of the inputs a word has room for."""
    return WORD_BYTES // problem.bytes_per_element


def word_dims(problem: Problem) -> str:
    """The dim whose neighbours share a word: summed over, and side by side in the x that tiles read; "" where there is
    none, and words hold one number.

    Or `sc`, two as one, where x is copied anyway: if that saves at least one FMA for each word that the copy grows by,
    and the copy has no more words than the output has numbers. Not where x is turned.
    """
    channel, window = problem.dot_dim or "", problem.window_dims
    if window is None or not is_copied(problem, channel):
        return channel
    by_tap, by_window = (groups_of(problem, Dot(dims, fitting(problem))) for dims in (channel, window))
    *lines, width, _ = problem.broadcast.shape
    copy = prod(lines) * problem.output.shape[-2] * by_window
    vectors = -(-problem.extents[problem.vector_dim] // _LANES)
    times = prod(problem.extents[d] for d, _ in problem.dims if d not in (*window, problem.vector_dim))
    saved = times * vectors * (problem.extents[window[0]] * by_tap - by_window)
    return window if saved >= copy - prod(lines) * width * by_tap and copy <= problem.output.elements else channel


def block_of(problem: Problem) -> Dot | None:
    """The D of matrix instructions: the fewest blocks that hold the channels, as short as they may be; those of a
    window's row where these are at most half as many instructions. None where none can be used: x is read by vectors.
    """
    channel, window = problem.dot_dim, problem.window_dims
    if not is_narrow(problem) or problem.lanewise or channel is None:
        return None
    blocks = {dims: _block(problem, dims) for dims in (channel, window) if dims}
    if window:
        steps = {dims: groups_of(problem, block) for dims, block in blocks.items()}
        if 2 * steps[window] <= steps[channel] * problem.extents[window[0]]:
            return blocks[window]
    return blocks[channel]


def _block(problem: Problem, dims: str) -> Dot:
    most = BLOCK_BYTES // WORD_BYTES
    if dims == problem.window_dims:
        words = words_of_window(problem)
        count = next(n for n in range(-(-words // most), words + 1) if words % n == 0)
    else:
        words = groups_of(problem, Dot(dims, fitting(problem)))
        count = -(-words // most)
    return Dot(dims, -(-words // count) * fitting(problem))


def is_copied(problem: Problem, dims: str, numbers: int = 0) -> bool:
    """Whether x does not lie in words of so many numbers (by default 32 bits of them) along `dims` already: they are a
    window's, or would reach into the next pixel or group, or are blocks and some are padding. Never where it is read by
    vectors.
    """
    if problem.lanewise or not is_narrow(problem):
        return False
    numbers = numbers or fitting(problem)
    window = padded_window(problem) if numbers > fitting(problem) else None
    return window is not None or dims == problem.window_dims or problem.extents[dims] % numbers != 0


def padded_window(problem: Problem) -> Window | None:
    """The window along the rows of x, where it reaches beyond them."""
    last = next((window for window in problem.windows if window.dim == problem.row_dims[-1]), None)
    return last if last and last.dim in problem.padded_dims else None


def in_words(problem: Problem, dot: Dot | None = None, points: int = 0, strip: int = 0) -> Problem:
    """The problem of the words or blocks of a D, by default of words along `word_dims`, as tiles read them; one whose
    numbers are words already is itself, but for an x that is turned (`Problem.as_read`). points: of blocks, how many
    of their plane are computed where the pixels of an image are one dim (`tiling.plane`), which the dim w then is;
    strip: of how many x is copied at a time. Raises ProblemError where the x of words is too large.
    """
    if not is_narrow(problem):
        return problem.as_read
    dims, turned = dot.dim if dot else word_dims(problem), problem.as_read is not problem
    numbers = dot.points if dot else fitting(problem)
    problem = problem.as_read
    counts = {dim: 1 for dim in dims[:-1]} | {dim: groups_of(problem, Dot(dims, numbers)) for dim in dims[-1:]}
    laid = flattened(problem, points, strip) if points else problem
    x = laid.broadcast
    if len(dims) > 1 and numbers > fitting(problem):
        x = _of_overlapping_windows(problem, x, numbers // fitting(problem))
    elif len(dims) > 1:
        x = _of_windows(problem, x)
    elif numbers > fitting(problem) and not points and padded_window(problem):
        x = _with_padding(problem, x)
    elif problem.lanewise and turned:
        x = _in_whole_words(x, fitting(problem))
    tensors = tuple(x if tensor.role == "broadcast" else tensor for tensor in laid.tensors)
    tensors = tuple(t if t.reach else _of_words(t, problem.extents, counts) for t in tensors)
    words = tuple((d, counts.get(d, extent)) for d, extent in laid.dims)
    return replace(laid, dims=words, tensors=tensors, dtype=f"{problem.dtype}x{numbers if dims else 1}")


def _in_whole_words(x: Tensor, numbers: int) -> Tensor:
    """x with as many channels a pixel as fill words: those that a turned x is copied by."""
    return replace(x, shape=(*x.shape[:-1], -(-x.shape[-1] // numbers) * numbers))


def _with_padding(problem: Problem, x: Tensor) -> Tensor:
    """x with rows as long as the windows reach, which begin where the first one does; of each row one block of all
    columns after the other, so that the rows of a tile register lie side by side, whatever the number of channels.
    """
    window = padded_window(problem)
    columns = x.indices[-2]
    reach = (problem.extents[window.dim] - 1) * window.stride + (problem.extents[window.tap] - 1) * window.dilation + 1
    return replace(
        x,
        indices=(*x.indices[:-2], x.indices[-1], replace(columns, offset=0)),
        shape=(*x.shape[:-2], x.shape[-1], reach),
    )


def _of_windows(problem: Problem, x: Tensor) -> Tensor:
    """x with a column for each of y's, which stands at its window and needs no taps."""
    columns, last = x.indices[-2:]
    row, _ = next(term for term in columns.terms if term[0] in problem.row_dims)
    return replace(
        x,
        indices=(*x.indices[:-2], Affine(((row, 1),)), last),
        shape=(*x.shape[:-2], problem.extents[row], x.shape[-1]),
    )


def _of_overlapping_windows(problem: Problem, x: Tensor, block: int) -> Tensor:
    """x in words, every pixel whole ones, of which `block` at a time are multiplied; with zeros at both ends of its
    rows, as far as the windows reach, so that a window's words are those from its first column on.
    """
    tap, channel = problem.window_dims
    columns, _ = x.indices[-2:]
    row, stride = next(term for term in columns.terms if term[0] in problem.row_dims)
    reach = (problem.extents[row] - 1) * stride + problem.extents[tap]
    return replace(
        x,
        indices=(*x.indices[:-2], Affine(((row, stride),)), Affine(((channel, block),))),
        shape=(*x.shape[:-2], reach, words_of_window(problem) // problem.extents[tap]),
        reach=block,
    )


def _of_words(tensor: Tensor, extents: dict[str, int], counts: dict[str, int]) -> Tensor:
    """The tensor with `counts` points of some dims instead of their extents; a group of channels begins with a word of
    its own.
    """
    indices, shape = [], []
    for index, size in zip(tensor.indices, tensor.shape):
        for dim in counts:
            if index.coefficient(dim):
                terms = tuple((d, c if d == dim else c // extents[dim] * counts[dim]) for d, c in index.terms)
                index, size = Affine(terms, index.offset), size // extents[dim] * counts[dim]
        indices.append(index)
        shape.append(size)
    return replace(tensor, indices=tuple(indices), shape=tuple(shape))


def dot_of(scheme: Scheme) -> Dot | None:
    """The scheme's D, None where words hold one number. Raises SchemeError where a D is missing."""
    problem = scheme.problem
    found = next((s for s in scheme.specifiers if isinstance(s, Dot)), None)
    if found is None and word_dims(problem):
        wanted = Dot(word_dims(problem), fitting(problem))
        raise SchemeError(
            f"{wanted} is missing before V: {problem.dtype} is multiplied by groups of {wanted.points} along "
            f"{wanted.dim}"
        )
    return found


def pixel_of_windows(scheme: Scheme) -> int:
    """How many numbers a pixel has in the copy of x whose words or blocks, along `sc`, are those of a window's row."""
    problem, dot = scheme.problem, dot_of(scheme)
    tap, channel = problem.window_dims
    if dot.points == fitting(problem):
        return problem.extents[channel]
    return words_of_window(problem) // problem.extents[tap] * fitting(problem)


def copies(scheme: Scheme) -> bool:
    """Whether the scheme's kernel computes on a copy of x, made first or strip by strip."""
    problem = scheme.problem
    if problem.as_read is not problem:
        return True
    dot = dot_of(scheme) if is_narrow(problem) else None
    if dot is None:
        return False
    return is_copied(problem, dot.dim, dot.points) or bool(points_of(scheme)) and plane_of(problem).padded


def scheme_in_words(scheme: Scheme) -> Scheme:
    """The same loops for the problem of words as tiles read them. Raises SchemeError for narrow numbers without their
    D.
    """
    problem = scheme.problem
    if not is_narrow(problem):
        return scheme if problem.as_read is problem else Scheme(problem.as_read, scheme.specifiers)
    dot = dot_of(scheme)
    dims = dot.dim if dot else ""
    loops = tuple(s for s in scheme.specifiers if not isinstance(s, Dot))
    loops = _renamed(_renamed(loops, dims, dims[-1:]), PIXELS, PIXELS[-1])
    return Scheme(in_words(problem, dot, points_of(scheme), strip_of(scheme)), loops)


def points_of(scheme: Scheme) -> int:
    """How many points of their plane a scheme computes where the pixels of an image are one dim; 0 where they are
    not.
    """
    if not is_narrow(scheme.problem):
        return 0
    return scheme.covered(PIXELS) if any(getattr(s, "dim", None) == PIXELS for s in scheme.specifiers) else 0


def strip_of(scheme: Scheme) -> int:
    """Of how many points of its plane a scheme copies x at a time, S(x); 0 where it copies all of it, or none."""
    stage = Stage(scheme.problem.broadcast.name)
    if stage not in scheme.specifiers or not points_of(scheme):
        return 0
    return scheme.covered(PIXELS, scheme.specifiers.index(stage))


def scheme_of_words(problem: Problem, scheme: Scheme, dot: Dot | None = None) -> Scheme:
    """The way back: a scheme for `in_words(problem, dot)` as one for `problem`."""
    if not is_narrow(problem):
        return scheme if problem.as_read is problem else Scheme(problem, scheme.specifiers)
    if dot is None:
        if not word_dims(problem):
            return Scheme(problem, scheme.specifiers)
        dot = Dot(word_dims(problem), fitting(problem))
    # A loop of one trip over the taps that are no more is left out.
    loops = tuple(s for s in scheme.specifiers if getattr(s, "dim", None) not in tuple(dot.dim[:-1]))
    if scheme.problem.plane:
        loops = _renamed(loops, PIXELS[-1], PIXELS)
    place = next(i for i, s in enumerate(loops) if isinstance(s, Vector))
    return Scheme(problem, (*_renamed(loops[:place], dot.dim[-1], dot.dim), dot, *loops[place:]))


def _renamed(specifiers: tuple, old: str, new: str) -> tuple:
    return tuple(replace(s, dim=new) if getattr(s, "dim", None) == old else s for s in specifiers)
