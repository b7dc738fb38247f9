"""Convolutions of few channels per group, several groups side by side in one vector: the operator grouped2d.

Vectors run over k through all groups, and lanes exchange the channels of their group. So x is indexed by k alone, as in
a depthwise convolution.
"""

# A group of q channels in and q out would fill q lanes alone. So vectors run over k through all groups, and every lane
# meets each channel of its own group in turn. Where q is a power of two, lane l meets them in the order l ^ 0, l ^ 1, …
# l ^ (q-1). That is the same exchange of lanes for all groups of a vector:
#
#     lane        0  1  2  3 | 4  5  6  7 | …          c=0: the vector of x as it lies
#     meets c=1   1  0  3  2 | 5  4  7  6 | …          c=1: the same with neighbours exchanged
#     meets c=2   2  3  0  1 | 6  7  4  5 | …          c=2: with pairs exchanged, …
#
# c moves no address. The weights are packed in the order in which the lanes meet them (`tiling.rewrite.weight_groups`).
#
# With bf16 and int8 c counts dot groups (`tiling.rewrite.dot_groups`). A load broadcasts the dot groups of each group
# to its lanes, and lanes exchange those that are left. Four channels of int8 are one dot group, so nothing is
# exchanged:
#
#     bf16, q=4   dot groups   0  1  0  1 | 2  3  2  3 | …          meets c=1 with neighbours exchanged
#     int8, q=4   dot groups   0  0  0  0 | 1  1  1  1 | …

from __future__ import annotations

from dataclasses import replace

from tiling.problem import Problem, ProblemError
from tiling.tensor import Affine, Tensor


def beside_each_other(problem: Problem, lanes: int) -> Problem:
    """The problem as grouped2d, where several of its groups fit a vector of `lanes`; else the problem itself.

    Those are convolutions, channels last, of q channels in and q out per group, q a power of two below `lanes`.
    """
    size = group_size(problem)
    return grouped2d(problem) if size and size < lanes and lanes % size == 0 else problem


def group_size(problem: Problem) -> int | None:
    """The channels of a group, a power of two, of a conv2d that grouped2d can compute; None for any other problem."""
    if problem.op != "conv2d" or "g" not in problem.extents or problem.layout != "nhwc":
        return None
    size = problem.extents["c"]
    return size if size == problem.extents["k"] and size > 1 and size & (size - 1) == 0 else None


def grouped2d(problem: Problem) -> Problem:
    """The conv2d as grouped2d. k counts the channels of y through all groups, c the places of the order above.

    Raises ProblemError where the groups do not have equally many channels in and out, a power of two.
    """
    size = group_size(problem)
    if size is None:
        raise ProblemError(
            "grouped2d: only convolutions, channels last, whose groups have 2, 4, 8 … channels in and as many out have "
            "their groups side by side"
        )
    k_index = Affine((("k", 1),))

    def through_all_groups(tensor: Tensor) -> Tensor:
        if tensor.role == "vector":
            return replace(
                tensor, indices=tuple(k_index if index.coefficient("g") else index for index in tensor.indices)
            )
        return replace(tensor, indices=(*tensor.indices[:-1], k_index))

    sizes = problem.extents | {"k": problem.extents["g"] * size}
    dims = tuple((dim, extent) for dim, extent in sizes.items() if dim != "g")
    return replace(problem, op="grouped2d", dims=dims, tensors=tuple(map(through_all_groups, problem.tensors)))
