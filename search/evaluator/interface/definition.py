"""How far the outputs of a program's kernel are from the definition, wherever it runs."""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np

from cpu.kernel.random_inputs import random_inputs
from cpu.reference.program_bounds import UnboundedError, bounds, roundings
from cpu.reference.programs import evaluate
from cpu.runtime.numbers import from_bits
from cpu.runtime.processes.worker import CandidateError
from tiling.arguments import ArgumentError
from tiling.dtypes.formats import FLOATS
from tiling.program.infer import Array, Sized

# The definition holds all points of a statement at once, for each array and each operation. More would not fit memory.
MOST_POINTS = 1 << 24


class Checked(Protocol):
    """A kernel of a program, wherever it runs."""

    @property
    def program(self) -> Sized: ...

    @property
    def inputs(self) -> tuple[Array, ...]: ...

    @property
    def outputs(self) -> tuple[Array, ...]: ...

    def __call__(self, *arrays: np.ndarray) -> Any: ...


def unbounded(program: Sized) -> str:
    """Why nothing says how far roundings can take a program's outputs; empty where that is known."""
    try:
        roundings(program)
    except UnboundedError as error:
        return str(error)
    return ""


def definition_error(kernel: Checked, seed: int, direct: bool = True) -> dict[str, float] | str:
    """The largest error of each output against the definition in float64, divided by its largest magnitude.

    Inputs are random. Where the error cannot be computed, the result is a sentence that says why. direct: whether sums
    have the terms of the definition, as Winograd's have not. Raises CandidateError where roundings do not explain an
    error.
    """
    program = kernel.program
    points = (prod(program.extents[d] for d in (*s.dims, *s.reduced)) for s in program.program.statements)
    if max(points) > MOST_POINTS:
        return "the definition of so many points does not fit the memory"
    inputs = random_inputs(program, seed)
    given = {array.name: _numbers(x, array.dtype) for array, x in zip(kernel.inputs, inputs)}
    try:
        wanted, found = evaluate(program, given), kernel(*inputs)
    except (IndexError, ArgumentError):
        return "random indices lie outside of the arrays that they are for"
    named = found if isinstance(found, dict) else {kernel.outputs[0].name: found}
    explained: dict[str, np.ndarray] = {}
    if direct and not unbounded(program):
        try:
            explained = bounds(program, given)
        except UnboundedError as error:  # of these inputs
            return str(error)
    errors = {}
    for array in kernel.outputs:
        y, expected = _numbers(named[array.name], array.dtype), wanted[array.name]
        if array.dtype not in FLOATS:
            wrong = int(np.count_nonzero(y != expected))
            if wrong and explained:
                raise CandidateError(f"{array.name} differs from the definition in {wrong} of {y.size} whole numbers")
            errors[array.name] = wrong / max(y.size, 1)
            continue
        same = (y == expected) | (np.isnan(y) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            apart = np.where(same, 0.0, np.abs(y - expected))
        if explained and not np.all(apart <= explained[array.name]):
            worst = np.nanargmax(np.where(np.isnan(apart), np.inf, apart) - explained[array.name])
            raise CandidateError(
                f"{array.name} is {apart.flat[worst]:.1e} from the definition where roundings explain "
                f"{explained[array.name].flat[worst]:.1e}"
            )
        most = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
        errors[array.name] = float(np.max(apart, initial=0.0)) / float(most or 1.0)
    return errors


def _numbers(stored: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers of an array, of bf16 too."""
    return from_bits(stored, dtype) if dtype == "bf16" else stored
