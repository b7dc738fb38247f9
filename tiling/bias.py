"""The bias that sums begin with, where an epilogue adds one: `relu(y + b)` is relu of sums that begin with b.

What flows in: a problem with an epilogue. Out: the array that accumulators begin with, and what is left of the epilogue
for the stores to do. A store then has an addition less for every vector, which shows where sums are short: of a tile of
14 x 2 vectors over 64 channels bias and ReLU are 56 instructions beside 1792 products, ReLU alone 28.
"""

from __future__ import annotations

from functools import lru_cache

from tiling.epilogue import Apply, Array, Epilogue, Sum, Value, parts
from tiling.problem import Problem, Tensor


def split(epilogue: Epilogue) -> tuple[Array, Epilogue] | None:
    """Of an expression with y in it once, as y + b: the array b, and the expression with y in the place of y + b. None
    of others.
    """
    found = [part for part in parts(epilogue.value) if isinstance(part, Apply) and part.operation == "add"]
    sums = [part for part in found if Sum() in part.arguments]
    arrays = [array for part in sums for array in part.arguments if isinstance(array, Array)]
    if not arrays or list(parts(epilogue.value)).count(Sum()) > 1:
        return None
    return arrays[0], Epilogue(_with_sum(epilogue.value, sums[0]))


def _with_sum(value: Value, part: Value) -> Value:
    """The value with y in the place of a part."""
    if value == part:
        return Sum()
    if not isinstance(value, Apply):
        return value
    return Apply(value.operation, tuple(_with_sum(argument, part) for argument in value.arguments))


@lru_cache(maxsize=64)
def bias_of(problem: Problem) -> Tensor | None:
    """The array that sums begin with in place of 0: one value a channel, where sums are floats in vector registers."""
    found = split(problem.epilogue) if problem.epilogue else None
    if found is None or problem.sum_dtype != "f32" or problem.blocked:
        return None
    array = next(tensor for tensor in problem.epilogue_arrays if tensor.name == found[0].name)
    channel = next(index for index in problem.output.indices if index.coefficient(problem.panel_dim))
    return array if array.indices == (channel,) else None


@lru_cache(maxsize=64)
def stored(problem: Problem) -> Epilogue | None:
    """What stores do to each sum: the epilogue, or what is left of it where sums begin with its bias."""
    if problem.epilogue is None or bias_of(problem) is None:
        return problem.epilogue
    found = split(problem.epilogue)
    return found[1] if found and found[1].operations else None


@lru_cache(maxsize=64)
def stored_arrays(problem: Problem) -> tuple[Tensor, ...]:
    """The arrays that stores read, in the order of first use."""
    tensors = {tensor.name: tensor for tensor in problem.epilogue_arrays}
    left = stored(problem)
    return tuple(tensors[array.name] for array in (left.arrays if left else ()))
