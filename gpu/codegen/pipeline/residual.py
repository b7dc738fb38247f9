"""The residual of a TMA pipeline: an array of the epilogue that has the output's layout, z in `relu(y + b + z)`.

TMA copies it to the buffers from which the output is stored, with the same swizzle. Each lane reads its pairs there and
writes its results in their place. So no thread waits for memory, and memory is read in whole lines.
"""

from __future__ import annotations

from gpu.codegen.pipeline.instructions import CHUNK
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.tensor import Tensor

BARRIER_BYTES = 2 * 8  # for a warp: an mbarrier for each of its two buffers


def rows_of_chunks(problem: Problem) -> bool:
    """Whether the output's rows are multiples of 16 bytes, as TMA copies of its layout need."""
    return problem.output.shape[-1] * DTYPE_BYTES[problem.output_dtype] % CHUNK == 0


def loads_points(problem: Problem) -> bool:
    """Whether threads, while they store boxes, load a number of some array at each point."""
    others = (array for array in problem.epilogue_arrays if array != residual_of(problem))
    rows = set(problem.row_dims)
    return rows_of_chunks(problem) and any(problem.vector_dim in a.dims and a.dims & rows for a in others)


def residual_of(problem: Problem) -> Tensor | None:
    """The first array of the epilogue that TMA can copy; threads load the others."""
    if not rows_of_chunks(problem):
        return None
    alike = (array for array in problem.epilogue_arrays if array.indices == problem.output.indices)
    return next(alike, None)
