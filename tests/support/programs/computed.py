"""What compiled kernels of programs compute, beside the definition."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from cpu.kernel.program import build_program
from cpu.reference.programs import evaluate, rounded
from microkernels.tile.isa import isa_named
from tests.support.programs.programs import (
    inputs_of,
    numbers,
    random_program,
    stored,
)
from tiling.program.infer import Sized

EXACT_TO = {"f32": 2**23, "f16": 2**10, "bf16": 2**7}


def outputs(program, isa: str, arrays: dict[str, np.ndarray], threads: int = 1) -> dict[str, np.ndarray]:
    """What the compiled kernel gives."""
    kernel = build_program(program, isa_named(isa), threads)
    found = kernel(*(stored(arrays[array.name], array.dtype) for array in program.inputs))
    named = found if isinstance(found, dict) else {kernel.outputs[0].name: found}
    return {array.name: numbers(named[array.name], array.dtype) for array in kernel.outputs}


def check(seed: int, isa: str, threads: int, drawn: Callable[[Random], Sized] = random_program) -> None:
    random = Random(seed)
    program = drawn(random)
    arrays = inputs_of(program, random)
    wanted = evaluate(program, arrays)
    # Sums of many points may be larger than a dtype holds exactly.
    inexact = any(
        np.max(np.abs(wanted[a.name]), initial=0) > EXACT_TO[a.dtype] for a in program.assigned if a.dtype in EXACT_TO
    )
    for name, found in () if inexact else outputs(program, isa, arrays, threads).items():
        expected = rounded(wanted[name], program.array(name).dtype)
        np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}: {program.program}")
