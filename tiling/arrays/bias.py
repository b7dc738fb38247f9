"""The bias that sums begin with in place of 0: `relu(y + b)` is relu of sums that begin with b.

The functions split an epilogue into the array that accumulators begin with, and the rest, which the stores do. A store
then has one addition less for every vector.
"""

# The gain shows where sums are short: a tile of 14 x 2 vectors over 64 channels has 1792 FMAs. Bias and ReLU in the
# stores are 56 instructions more, ReLU alone 28.

from __future__ import annotations

from functools import lru_cache

from tiling.arrays.access import access_of
from tiling.problem import Problem
from tiling.tensor import Tensor
from tiling.value import Applied, Epilogue, EpilogueArray, Sum, Value, parts


def split(epilogue: Epilogue) -> tuple[EpilogueArray, Epilogue] | None:
    """The array b and the expression with y in place of y + b, where y occurs once, as y + b; else None."""
    found = [part for part in parts(epilogue.value) if isinstance(part, Applied) and part.operation == "add"]
    sums = [part for part in found if Sum() in part.arguments]
    arrays = [array for part in sums for array in part.arguments if isinstance(array, EpilogueArray)]
    if not arrays or list(parts(epilogue.value)).count(Sum()) > 1:
        return None
    return arrays[0], Epilogue(_with_sum(epilogue.value, sums[0]))


def _with_sum(value: Value, part: Value) -> Value:
    """The value with y in place of `part`."""
    if value == part:
        return Sum()
    if not isinstance(value, Applied):
        return value
    return Applied(value.operation, tuple(_with_sum(argument, part) for argument in value.arguments))


@lru_cache(maxsize=64)
def bias_of(problem: Problem) -> Tensor | None:
    """The array that sums begin with in place of 0, or None. It has one value a channel.

    Sums must be floats in vector registers.
    """
    found = split(problem.epilogue) if problem.epilogue else None
    if found is None or problem.sum_dtype != "f32" or access_of(problem).by_matrix:
        return None
    array = next(tensor for tensor in problem.epilogue_arrays if tensor.name == found[0].name)
    channel = next(index for index in problem.output.indices if index.coefficient(access_of(problem).panel_dim))
    return array if array.indices == (channel,) else None


@lru_cache(maxsize=64)
def stored(problem: Problem) -> Epilogue | None:
    """The epilogue that stores apply to each sum: all of it, or the rest where sums begin with its bias."""
    if problem.epilogue is None or bias_of(problem) is None:
        return problem.epilogue
    found = split(problem.epilogue)
    return found[1] if found and found[1].operations else None
