"""A problem of narrow numbers as register tiles and caches see it: one of 32-bit words.

    bf16   x (N,H,W,C)   D(c,2)   ──►   x (N,H,W,⌈C/2⌉) of words, one point of c each
    int8   x (N,H,W,C)   D(c,4)   ──►   x (N,H,W,⌈C/4⌉)
    bf16   x (N,H,W,C)   D(sc,2)  ──►   x (N,H,OW,⌈SC/2⌉), a window's row for every column of y; no s is left
    bf16   x (N,H,W,C)            ──►   the same x, of a depthwise convolution; words of one number and zeros in lanes

One instruction sums the products of a word of x and a word of weights in a lane, as an FMA adds one product of f32. So
everything that is known of f32 holds of words: the tiles, the loops around them, the bytes they move, and the address
arithmetic. Only the instruction, the packing and the stores know what a word holds.

Where channels do not fill whole words, the last word of a pixel would hold a number of the next: the kernel first
copies x. Then words may as well run over the taps of a window's row: three taps of three channels are 5 words of bf16,
one by one 6.

An x that is read by vectors (`Problem.lanewise`) stays as it lies, narrow: its loads make words of it. In a depthwise
convolution nothing is summed over channels, so a word holds one number of x or of the weights, and zeros: then the same
instruction multiplies number by number, and sums what all the others do. In groups side by side (`tiling.grouped`) a
word holds channels of one group.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tiling.problem import Affine, Problem, Tensor
from tiling.scheme import WORD_BYTES, Dot, Scheme, SchemeError, Vector

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
    by_tap, by_window = _words(problem, channel), _words(problem, window)
    *lines, width, _ = problem.broadcast.shape
    copy = prod(lines) * problem.output.shape[-2] * by_window
    vectors = -(-problem.extents[problem.vector_dim] // _LANES)
    times = prod(problem.extents[d] for d, _ in problem.dims if d not in (*window, problem.vector_dim))
    saved = times * vectors * (problem.extents[window[0]] * by_tap - by_window)
    return window if saved >= copy - prod(lines) * width * by_tap and copy <= problem.output.elements else channel


def _words(problem: Problem, dims: str) -> int:
    """How many words hold the points of `dims`."""
    return -(-problem.extent(dims) // fitting(problem))


def is_copied(problem: Problem, dims: str) -> bool:
    """Whether x does not lie in words along `dims` already: they are a window's, or would reach into the next pixel or
    group. Never where it is read by vectors.
    """
    if problem.lanewise or not is_narrow(problem):
        return False
    return dims == problem.window_dims or problem.extents[dims] % fitting(problem) != 0


def in_words(problem: Problem, dims: str = "") -> Problem:
    """The problem of words along `dims`, by default those of `word_dims`, as tiles read them; one whose numbers are
    words already is itself, but for an x that is turned (`Problem.as_read`). Raises ProblemError where the x of words
    is too large.
    """
    if not is_narrow(problem):
        return problem.as_read
    dims, turned = dims or word_dims(problem), problem.as_read is not problem
    problem = problem.as_read
    counts = {dim: 1 for dim in dims[:-1]} | {dim: _words(problem, dims) for dim in dims[-1:]}
    x = problem.broadcast
    if len(dims) > 1:
        x = _of_windows(problem, x)
    elif problem.lanewise and turned:
        x = _in_whole_words(x, fitting(problem))
    tensors = tuple(x if tensor.role == "broadcast" else tensor for tensor in problem.tensors)
    tensors = tuple(_of_words(t, problem.extents, counts) for t in tensors)
    words = tuple((d, counts.get(d, extent)) for d, extent in problem.dims)
    return replace(problem, dims=words, tensors=tensors, dtype=f"{problem.dtype}x{fitting(problem) if dims else 1}")


def _in_whole_words(x: Tensor, numbers: int) -> Tensor:
    """x with as many channels a pixel as fill words: those that a turned x is copied by."""
    return replace(x, shape=(*x.shape[:-1], -(-x.shape[-1] // numbers) * numbers))


def _of_windows(problem: Problem, x: Tensor) -> Tensor:
    """x with a column for each of y's, which stands at its window and needs no taps."""
    columns, last = x.indices[-2:]
    row, _ = next(term for term in columns.terms if term[0] in problem.row_dims)
    return replace(
        x,
        indices=(*x.indices[:-2], Affine(((row, 1),)), last),
        shape=(*x.shape[:-2], problem.extents[row], x.shape[-1]),
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


def dims_of(scheme: Scheme) -> str:
    """The dims of the scheme's D, "" where words hold one number. Raises SchemeError where a D is missing."""
    problem = scheme.problem
    found = next((s.dim for s in scheme.specifiers if isinstance(s, Dot)), "")
    if not found and word_dims(problem):
        wanted = _dot(problem, word_dims(problem))
        raise SchemeError(
            f"{wanted} is missing before V: {problem.dtype} is multiplied by groups of {wanted.points} along "
            f"{wanted.dim}"
        )
    return found


def copies(scheme: Scheme) -> bool:
    """Whether the scheme's kernel computes on a copy of x that it makes first."""
    problem = scheme.problem
    return problem.as_read is not problem or is_narrow(problem) and is_copied(problem, dims_of(scheme))


def scheme_in_words(scheme: Scheme) -> Scheme:
    """The same loops for the problem of words as tiles read them. Raises SchemeError for narrow numbers without their
    D.
    """
    problem = scheme.problem
    if not is_narrow(problem):
        return scheme if problem.as_read is problem else Scheme(problem.as_read, scheme.specifiers)
    dims = dims_of(scheme)
    loops = tuple(s for s in scheme.specifiers if not isinstance(s, Dot))
    return Scheme(in_words(problem, dims), _renamed(loops, dims, dims[-1:]))


def scheme_of_words(problem: Problem, scheme: Scheme, dims: str = "") -> Scheme:
    """The way back: a scheme for `in_words(problem, dims)` as one for `problem`."""
    if not is_narrow(problem):
        return scheme if problem.as_read is problem else Scheme(problem, scheme.specifiers)
    dims = dims or word_dims(problem)
    if not dims:
        return Scheme(problem, scheme.specifiers)
    dot = _dot(problem, dims)
    # A loop of one trip over the taps that are no more is left out.
    loops = tuple(s for s in scheme.specifiers if getattr(s, "dim", None) not in tuple(dot.dim[:-1]))
    place = next(i for i, s in enumerate(loops) if isinstance(s, Vector))
    return Scheme(problem, (*_renamed(loops[:place], dot.dim[-1], dot.dim), dot, *loops[place:]))


def _renamed(specifiers: tuple, old: str, new: str) -> tuple:
    return tuple(replace(s, dim=new) if getattr(s, "dim", None) == old else s for s in specifiers)


def _dot(problem: Problem, dims: str) -> Dot:
    return Dot(dims, fitting(problem))
