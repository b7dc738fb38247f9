"""The operands of a kernel in its C text: the lines about them in the comment."""

from __future__ import annotations

from tiling.arrays.access import access_of
from tiling.problem import Problem
from tiling.rewrite.dot_groups import is_narrow
from tiling.tensor import Tensor


def operands(problem: Problem) -> list[str]:
    """A line for each of X, W, Y and the epilogue's arrays, which says what it stands for."""
    names = list(zip("XWY", problem.tensors))
    names += [(f"E_{array.name}", array) for array in problem.epilogue_arrays]
    return [f"{c_name}: {operand_text(problem, tensor)}" for c_name, tensor in names]


def operand_text(problem: Problem, tensor: Tensor) -> str:
    """`x[n, h + r - 1, w + s - 1, c] of 1 x 56 x 56 x 64`."""
    return f"{tensor.name}[{', '.join(_indices(problem, tensor))}] of {' x '.join(map(str, tensor.shape))}"


def _indices(problem: Problem, tensor: Tensor) -> list[str]:
    """The index of each axis as text. Where lanes are exchanged, it is the channel that a lane meets; for dot groups,
    the group.
    """
    texts, dim, lane = [str(index) for index in tensor.indices], access_of(problem).exchange_dim, problem.vector_dim
    if dim and tensor.role == "broadcast":
        met = f"{lane} - {lane} % {problem.extents[dim]} + {dim}" if is_narrow(problem) else f"{lane} ^ {dim}"
        return [met if text == lane else text for text in texts]
    if dim and tensor.role == "vector" and not is_narrow(problem):
        return [f"({lane} ^ {dim}) % {problem.extents[dim]}" if text == dim else text for text in texts]
    return texts
