"""A problem in the dtypes of a target, and on a GPU in its layout."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from microkernels.tile.isa import ISAS_OF
from tiling.canonical import lying_of
from tiling.choices import meant
from tiling.dtypes.formats import FORMATS
from tiling.dtypes.products import GPU_DTYPES, OUTPUT_DTYPE, dtype_of, output_dtype_of
from tiling.problem import Problem, ProblemError
from tiling.rewrite.dot_groups import in_dot_groups
from tiling.tensor import Tensor

DEFAULT_GPU_DTYPE = "f16"


def typed(problem: Problem, target: str, dtype: str | None, output_dtype: str | None) -> Problem:
    """The problem in the given dtypes. Without them its own dtypes hold; on a GPU f32 becomes f16.

    Raises ProblemError for dtypes that no kernel of the target computes in.
    """
    return on_cpu(problem, dtype, output_dtype) if target == "cpu" else _typed_for_gpu(problem, dtype)


def on_cpu(problem: Problem, dtype: str | None, output_dtype: str | None) -> Problem:
    """The problem in the given dtypes of a CPU. Without them its own dtypes hold.

    Raises ProblemError for dtypes that no kernel of a CPU computes in.
    """
    dtype, output_dtype = problem.dtype if dtype is None else dtype_of(dtype), output_dtype_of(output_dtype)
    if not isinstance(dtype, str) or dtype not in ISAS_OF:
        raise ProblemError(f"dtype {_not_covered(dtype, 'CPU', ISAS_OF)}: {', '.join(ISAS_OF)} are")
    if problem.dtype not in ("f32", dtype):
        raise ProblemError(f"the shape is of {problem.dtype}, but dtype={dtype}: give one")
    if output_dtype is None:
        output_dtype = problem.output_dtype if dtype == problem.dtype else OUTPUT_DTYPE[dtype]
    _lying_in(problem, dtype)
    _of_volumes(problem, dtype == "f32")
    problem = replace(problem, dtype=dtype, output_dtype=output_dtype)
    in_dot_groups(problem)  # refuses too large a copy of x before anything is compiled
    return problem


def _of_volumes(problem: Problem, covered: bool) -> None:
    """Raises ProblemError for a convolution of volumes that is not `covered`."""
    if problem.op == "conv3d" and not covered:
        raise ProblemError("conv3d: convolutions of volumes are covered in f32 on a CPU alone")


def _lying_in(problem: Problem, dtype: str) -> None:
    """Raises ProblemError where arrays lie in longer ones, or in other orders, and the dtype is not f32."""
    if dtype != "f32" and (keys := lying_of(problem)):
        raise ProblemError(f"{' and '.join(keys)}: such arrays are of f32 on a CPU alone, not of {dtype}")


def _typed_for_gpu(problem: Problem, dtype: str | None) -> Problem:
    """The problem in a GPU's dtype, with its tensors as they lie.

    A problem of f32 takes `dtype`, by default f16; any other keeps its own. The output has the same dtype, or f32 for
    tf32. f32 is computed without matrix instructions, where it is asked for. Raises ProblemError for another dtype, for
    two dtypes that contradict each other, and for an output of another dtype.
    """
    _of_volumes(problem, False)
    dtype = dtype_of(dtype)
    own = problem.dtype if problem.dtype != "f32" else None
    if own and dtype and own != dtype:
        raise ProblemError(f"dtype {dtype!r:.40} contradicts the shape's {own}: give one of them")
    dtype = dtype or own or DEFAULT_GPU_DTYPE
    _lying_in(problem, dtype)
    if dtype not in (*GPU_DTYPES, "f32"):
        raise ProblemError(f"dtype {_not_covered(dtype, 'GPU', GPU_DTYPES)}: {', '.join(GPU_DTYPES)} and f32 are")
    if own and problem.output_dtype != OUTPUT_DTYPE[own]:
        raise ProblemError(f"an output of {problem.output_dtype} from {own} is not covered on a GPU: leave it out")
    return replace(problem, dtype=dtype, output_dtype=OUTPUT_DTYPE[dtype])


def _not_covered(dtype: object, target: str, covered: Iterable[str]) -> str:
    """Words on a dtype that a kind of target lacks. A format that there is was meant, another one was misspelt."""
    misspelt = isinstance(dtype, str) and dtype not in FORMATS
    return f"{dtype!r:.40} is not covered on a {target}{meant(str(dtype), covered) if misspelt else ''}"


def on_gpu(problem: Problem, dtype: str | None) -> Problem:
    """The problem in a GPU's dtype, with weights as images lie: (K,R,S,C), or channels first (K,C,R,S).

    Raises as `_typed_for_gpu` does.
    """
    typed = _typed_for_gpu(problem, dtype)
    if typed.layout == "nchw":
        return typed
    tensors = tuple(_channels_last(t) if t is typed.vector and typed.windows else t for t in typed.tensors)
    return replace(typed, tensors=tensors)


def _channels_last(weights: Tensor) -> Tensor:
    order = (0, 2, 3, 1)
    indices = tuple(weights.indices[axis] for axis in order)
    return replace(weights, indices=indices, shape=tuple(weights.shape[axis] for axis in order))
