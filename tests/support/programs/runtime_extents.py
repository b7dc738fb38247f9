"""One kernel of a program with runtime extents, called for several numbers of points."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cpu.kernel.program import ProgramKernel, build_program
from cpu.reference.programs import evaluate, rounded
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import isa_named
from tests.support.programs.programs import (
    inputs_of,
    numbers,
    random_program,
    runtime_values,
    stored,
    with_runtime_extents,
)
from tiling.arguments import ArgumentError
from tiling.program.infer import Sized


def computed(kernel: ProgramKernel, fixed: Sized, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a call gives, with an `out` that says how long all of it is."""
    outputs = [array for array in fixed.assigned if array.name in fixed.outputs]
    out = {array.name: np.empty(array.shape, ELEMENTS[array.dtype].numpy) for array in outputs}
    kernel(*(stored(arrays[array.name], array.dtype) for array in fixed.inputs), out=out)
    return {array.name: numbers(out[array.name], array.dtype) for array in outputs}


def check(seed: int, isa: str, threads: int) -> None:
    random = Random(seed)
    program = with_runtime_extents(random_program(random), random)
    kernel = build_program(program, isa_named(isa), threads)
    for values in runtime_values(program, random):
        fixed = program.at(values)
        arrays = inputs_of(fixed, random)
        told = {name for a in (*program.inputs, *kernel.outputs) for size in a.sizes for name in size.names()}
        if told != {f"{dim}_extent" for dim in program.runtime}:
            with pytest.raises(ArgumentError, match="tells how many points"):
                computed(kernel, fixed, arrays)
            continue
        wanted = evaluate(fixed, arrays)
        for name, found in computed(kernel, fixed, arrays).items():
            expected = rounded(wanted[name], fixed.array(name).dtype)
            np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}, {values}: {program.program}")
