"""Whether the stores of a scheme's kernel bypass the caches. The emitter and the model read this one plan.

    outgrows(problem, last_cache) and may_stream(scheme)

`outgrows` needs the machine, `may_stream` does not. A scheme and its form in dot groups have the same answers.
"""

from __future__ import annotations

from tiling.arrays.access import access_of
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme


def outgrows(problem: Problem, last_cache: int) -> bool:
    """Whether the outputs of a problem are more than the last cache holds, which are `last_cache` bytes.

    They would be evicted before anyone reads them, and a plain store first reads the line that it overwrites.
    """
    return problem.output.elements * access_of(problem).bytes_of(problem.output) > last_cache


def may_stream(scheme: Scheme) -> bool:
    """Whether every store of a register tile may bypass the caches, where the output is aligned.

    Each store must be a whole, aligned vector of outputs that nobody reads back. Transposed tiles must be whole vectors
    along the output's contiguous axis.
    """
    problem = scheme.problem
    if not scheme.single_pass:
        return False
    if not access_of(problem).transposed_output:
        return problem.extents[problem.vector_dim] % scheme.lanes == 0
    along = problem.output_axes[-1]
    return all(tile[along] % scheme.lanes == 0 for tile in scheme.tiles)
