"""The operands of a kernel as its text names them: what its comment says of them, and its constants."""

from __future__ import annotations

from tiling.problem import Problem, Tensor
from tiling.words import is_narrow


def operands(problem: Problem) -> list[str]:
    """What X, W, Y and the arrays of an epilogue stand for, a line each."""
    names = list(zip("XWY", problem.tensors))
    names += [(f"E_{array.name}", array) for array in problem.epilogue_arrays]
    return [f"{c_name}: {operand_text(problem, tensor)}" for c_name, tensor in names]


def operand_text(problem: Problem, tensor: Tensor) -> str:
    """`x[n, h + r - 1, w + s - 1, c] of 1 x 56 x 56 x 64`."""
    return f"{tensor.name}[{', '.join(_indices(problem, tensor))}] of {' x '.join(map(str, tensor.shape))}"


def _indices(problem: Problem, tensor: Tensor) -> list[str]:
    """The index of each axis as text; where lanes are exchanged, that of the channel that a lane meets, and of words
    that of its group.
    """
    texts, dim, lane = [str(index) for index in tensor.indices], problem.exchange_dim, problem.vector_dim
    if dim and tensor.role == "broadcast":
        met = f"{lane} - {lane} % {problem.extents[dim]} + {dim}" if is_narrow(problem) else f"{lane} ^ {dim}"
        return [met if text == lane else text for text in texts]
    if dim and tensor.role == "vector" and not is_narrow(problem):
        return [f"({lane} ^ {dim}) % {problem.extents[dim]}" if text == dim else text for text in texts]
    return texts


def strides(problem: Problem, packed: int) -> list[tuple[str, int]]:
    """(name, elements) of every named stride, X_PAD being how far the first tap stands before x."""
    found = []
    arrays = [(f"STEP_{array.name}", array) for array in problem.epilogue_arrays]
    x, _, y = problem.tensors
    for prefix, tensor in (("X", x), ("Y", y), *arrays):
        found += [(f"{prefix}_{dim}", tensor.stride(dim)) for dim in problem.extents if dim in tensor.dims]
    before = sum(-index.offset * s for index, s in zip(x.indices, x.strides))
    found += [("X_PAD", before), ("W_PANEL", problem.reduction_length)]
    grouped = [dim for dim in problem.looped_dims if dim in problem.packed.dims]
    return found + [(f"W_{dim}", packed // problem.extents[dim]) for dim in grouped]


def sizes_of(problem: Problem, words: Problem, packed: int) -> list[tuple[str, int]]:
    """(name, bytes) of the arrays of which pieces come ahead of their turn: x, or if all of it is copied the copy in
    `words`, and the packed weights.
    """
    read = problem if words.plane and words.plane.strip else words
    x, w = read.broadcast, words.packed
    return [("X_BYTES", x.elements * read.bytes_of(x)), ("W_BYTES", packed * words.bytes_of(w))]
