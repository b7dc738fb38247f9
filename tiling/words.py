"""A problem of narrow numbers as register tiles and caches see it: one of 32-bit words.

    bf16   x (N,H,W,C)   D(c,2)  ──►   x (N,H,W,⌈C/2⌉) of words, one point of c each
    int8   x (N,H,W,C)   D(c,4)  ──►   x (N,H,W,⌈C/4⌉)

One instruction sums the products of a word of x and a word of weights in a lane, as an FMA adds one product of f32. So
everything that is known of f32 holds of words: the tiles, the loops around them, the bytes they move, and the address
arithmetic. Only the instruction, the packing and the stores know what a word holds.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.problem import Affine, Problem, ProblemError, Tensor
from tiling.scheme import WORD_BYTES, Dot, Scheme, SchemeError, Vector

# What to compute instead where the numbers of a word would not be summed together.
_INSTEAD = {"conv2d": "channels that lie last, or f32", "matmul": "an a of (M,K), or f32"}


def is_narrow(problem: Problem) -> bool:
    """Whether several numbers of the inputs share a word."""
    return problem.bytes_per_element < WORD_BYTES


def word_dim(problem: Problem) -> str:
    """The dim whose neighbours share a word: summed over, and side by side in the broadcast tensor. Raises ProblemError."""
    if problem.dot_dim is None:
        raise ProblemError(
            f"{problem.op} of {problem.dtype} is not covered where no sum runs over neighbours in {problem.broadcast.name}, which "
            f"one instruction multiplies together: use {_INSTEAD.get(problem.op, 'f32')}"
        )
    return problem.dot_dim


def in_words(problem: Problem) -> Problem:
    """The problem of words; one whose numbers are words already is itself. Raises ProblemError."""
    if not is_narrow(problem):
        return problem
    dim = word_dim(problem)
    numbers = WORD_BYTES // problem.bytes_per_element
    groups = -(-problem.extents[dim] // numbers)
    dims = tuple((d, groups if d == dim else extent) for d, extent in problem.dims)
    tensors = tuple(_of_words(t, dim, problem.extents[dim], groups) if dim in t.dims else t for t in problem.tensors)
    return replace(problem, dims=dims, tensors=tensors, dtype=f"{problem.dtype}x{numbers}")


def _of_words(tensor: Tensor, dim: str, extent: int, groups: int) -> Tensor:
    """The tensor with `groups` words for the `extent` points of `dim`; a group of channels begins with a word of its own."""
    indices, shape = [], []
    for index, size in zip(tensor.indices, tensor.shape):
        if index.coefficient(dim):
            terms = tuple((d, c if d == dim else c // extent * groups) for d, c in index.terms)
            index, size = Affine(terms, index.offset), size // extent * groups
        indices.append(index)
        shape.append(size)
    return replace(tensor, indices=tuple(indices), shape=tuple(shape))


def fills_words(problem: Problem) -> bool:
    """Whether x can be read by whole words where it lies: no word would reach beyond its own pixel and group."""
    return problem.extents[word_dim(problem)] % (WORD_BYTES // problem.bytes_per_element) == 0


def scheme_in_words(scheme: Scheme) -> Scheme:
    """The same loops for the problem of words. Raises SchemeError for narrow numbers without their D."""
    problem = scheme.problem
    if not is_narrow(problem):
        return scheme
    wanted = _dot(problem)
    if wanted not in scheme.specifiers:
        raise SchemeError(f"{wanted} is missing before V: {problem.dtype} is multiplied by groups of {wanted.points} along {wanted.dim}")
    return Scheme(in_words(problem), tuple(s for s in scheme.specifiers if not isinstance(s, Dot)))


def scheme_of_words(problem: Problem, scheme: Scheme) -> Scheme:
    """The way back: a scheme for `in_words(problem)` as one for `problem`."""
    if not is_narrow(problem):
        return scheme
    place = next(i for i, s in enumerate(scheme.specifiers) if isinstance(s, Vector))
    return Scheme(problem, (*scheme.specifiers[:place], _dot(problem), *scheme.specifiers[place:]))


def _dot(problem: Problem) -> Dot:
    return Dot(word_dim(problem), WORD_BYTES // problem.bytes_per_element)
