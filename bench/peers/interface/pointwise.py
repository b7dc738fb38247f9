"""The epilogues that libraries fuse: a bias, an array added, then one activation.

pointwise(relu(y + b + z))  ->  Pointwise("relu", bias=0, residual=1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tiling.problem import Problem
from tiling.value import Applied, EpilogueArray, Sum, Value


@dataclass(frozen=True)
class Pointwise:
    """activation: the function of the epilogue language, "" for none. bias, residual: places among the arrays."""

    activation: str = ""
    bias: int | None = None
    residual: int | None = None

    def of(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Bias and residual among the arrays of a problem's epilogue."""
        bias, residual = (None if place is None else arrays[place] for place in (self.bias, self.residual))
        return bias, residual


def pointwise(problem: Problem) -> Pointwise | None:
    """The problem's epilogue, its terms in any order; None for one of another form."""
    if problem.epilogue is None:
        return Pointwise()
    value, known = problem.epilogue.value, problem.epilogue.arrays
    activation = ""
    if isinstance(value, Applied) and value.operation != "add" and len(value.arguments) == 1:
        activation, value = value.operation, value.arguments[0]
    terms = list(_terms(value))
    bias, residual = (problem.vector_dim,), problem.output_axes
    arrays = {term.axes: known.index(term) for term in terms if isinstance(term, EpilogueArray)}
    if len(terms) != 1 + len(arrays) or Sum() not in terms or not set(arrays) <= {bias, residual}:
        return None
    return Pointwise(activation, arrays.get(bias), arrays.get(residual))


def _terms(value: Value) -> Iterator[Value]:
    """The terms of a sum."""
    if isinstance(value, Applied) and value.operation == "add":
        for part in value.arguments:
            yield from _terms(part)
    else:
        yield value
