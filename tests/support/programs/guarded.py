"""Kernels of programs whose arrays lie beside forbidden pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cpu.kernel.program import ProgramKernel
from cpu.runtime.numbers import ELEMENTS
from tests.support.kernels.guard import PLACES, Guarded
from tests.support.programs.programs import numbers, stored
from tiling.program.infer import Array


def check_guarded_program(
    kernel: ProgramKernel, inputs: Sequence[Array], output: Array, given: Mapping[str, np.ndarray], expected: np.ndarray
) -> None:
    """The kernel gives what is expected, and touches nothing beside its arrays at any of PLACES."""
    for place in PLACES:
        arrays = [Guarded(array.shape, place, ELEMENTS[array.dtype].numpy) for array in (*inputs, output)]
        for guarded, array in zip(arrays, inputs):
            guarded.array[...] = stored(given[array.name], array.dtype)
        out = arrays[-1]
        kernel(*(guarded.array for guarded in arrays[:-1]), out=out.array)
        assert not any(guarded.spilled for guarded in arrays), place
        found = numbers(out.array, output.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=place)
