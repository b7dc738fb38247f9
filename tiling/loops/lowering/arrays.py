"""The arrays of a kernel, in the loop language: their names, axes, shapes and dtypes.

Arrays are named as in C: X, W, Y, and E_b for the array b of an epilogue.
"""

from __future__ import annotations

from tiling.arrays.access import access_of
from tiling.dtypes.products import LANE_BYTES, OPERAND_DTYPES, word_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index
from tiling.problem import Problem
from tiling.tensor import Tensor

WORD_AXIS = "word"  # counts the words of a dot group that is longer than a lane


def name_of(array: Tensor) -> str:
    """The name of an array of an epilogue."""
    return f"E_{array.name}"


def arrays(problem: Problem) -> tuple[Buffer, ...]:
    """The arrays of a kernel by the names that they have in C, in the order of its arguments."""
    named = list(zip("XWY", problem.tensors))
    named += [(name_of(array), array) for array in problem.epilogue_arrays]
    return tuple(
        Buffer(name, shape_of(problem, tensor), axes_of(problem, tensor), dtype_of(problem, tensor))
        for name, tensor in named
    )


def words_per_group(problem: Problem, tensor: Tensor) -> int:
    """The words of 32 bits of an element of an input, where that is a dot group of matrix instructions; 0
    where it is one number or word.
    """
    is_input = tensor.role in ("broadcast", "vector")
    access = access_of(problem)
    return access.element_bytes // LANE_BYTES if is_input and access.by_matrix else 0


def shape_of(problem: Problem, tensor: Tensor) -> tuple[int, ...]:
    """The extents of a tensor's axes in the loops. The words of a dot group are an axis of their own."""
    if not words_per_group(problem, tensor):
        return tensor.shape
    if not tensor.reach:
        return (*tensor.shape, words_per_group(problem, tensor))
    # Blocks that overlap run on over the next columns, so a row is one axis.
    *lines, columns, pixel = tensor.shape
    return (*lines, columns * pixel)


def dtype_of(problem: Problem, tensor: Tensor) -> str:
    """The dtype of a tensor's elements."""
    # An x that is read by vectors keeps its narrow numbers in memory.
    if tensor.role in ("output", "epilogue"):
        return problem.output_dtype if tensor.role == "output" else "f32"
    number, numbers, lanewise = problem.dtype, problem.dot_group, access_of(problem).lanewise
    if tensor.role == "broadcast" and numbers and lanewise:
        return OPERAND_DTYPES[number][0]
    return word_of(number, numbers // (words_per_group(problem, tensor) or 1)) if numbers else number


def axes_of(problem: Problem, tensor: Tensor) -> tuple[str, ...]:
    """A name for each axis: the first dim that moves along it, such as h for `h + r - 1`."""
    axes = [index.terms[0][0] if index.terms else f"axis{axis}" for axis, index in enumerate(tensor.indices)]
    if words_per_group(problem, tensor):
        axes = [*(axes[:-2] if tensor.reach else axes), WORD_AXIS]
    return tuple(axes)


def in_words(problem: Problem, tensor: Tensor, at: tuple[Index, ...], word: Index) -> tuple[Index, ...]:
    """The place of a word of the element `at` of a tensor. An element without words keeps its place."""
    if not words_per_group(problem, tensor):
        return at
    if not tensor.reach:
        return (*at, word)
    *lines, column, first = at
    return (*lines, column * tensor.shape[-1] + first + word)
