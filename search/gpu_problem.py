"""A problem as a GPU computes it: its dtype, and weights that lie channels last."""

from __future__ import annotations

from dataclasses import replace

from tiling.problem import OUTPUT_DTYPE, Problem, ProblemError, Tensor

DTYPES = ("f16", "bf16", "tf32")
DEFAULT_DTYPE = "f16"


def on_gpu(problem: Problem, dtype: str | None) -> Problem:
    """A problem in a GPU's dtype and layout: weights lie channels last too, (K,R,S,C).

    The dtype is the problem's own, or where that is f32 the one asked for, by default f16; y or c is of the same dtype,
    of f32 for tf32. Raises ProblemError for a dtype that no matrix instruction reads, two that contradict each other,
    an output of another dtype, and channels first.
    """
    own = problem.dtype if problem.dtype != "f32" else None
    if own and dtype and own != dtype:
        raise ProblemError(f"dtype {dtype!r:.40} contradicts the shape's {own}: give one of them")
    dtype = dtype or own or DEFAULT_DTYPE
    if problem.op != "matmul" and problem.layout != "nhwc":
        raise ProblemError(f"layout={problem.layout!r} is not covered on a GPU: use 'nhwc'")
    if dtype not in DTYPES:
        raise ProblemError(f"dtype {dtype!r:.40} is not covered on a GPU: {', '.join(DTYPES)} are")
    if own and problem.output_dtype != OUTPUT_DTYPE[own]:
        raise ProblemError(f"an output of {problem.output_dtype} from {own} is not covered on a GPU: leave it out")
    tensors = tuple(_channels_last(t) if t is problem.vector and problem.windows else t for t in problem.tensors)
    return replace(problem, tensors=tensors, dtype=dtype, output_dtype=OUTPUT_DTYPE[dtype])


def _channels_last(weights: Tensor) -> Tensor:
    order = (0, 2, 3, 1)
    indices, shape = (tuple(values[axis] for axis in order) for values in (weights.indices, weights.shape))
    return replace(weights, indices=indices, shape=shape)
