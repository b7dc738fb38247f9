"""Kernels of random programs beside PyTorch: the same on whole numbers, else within a derived bound."""

from __future__ import annotations

from random import Random

import numpy as np

from cpu.kernel.program import build_program
from cpu.runtime.machine.host import supports
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.programs import inputs_of, numbers, random_program, random_real_program, stored
from tests.support.programs.torch_programs import evaluate

ISAS = [isa for isa in (PORTABLE, AVX2, AVX512F) if supports(isa.cpu_flags)]


def found_by_kernel(program, arrays, random):
    kernel = build_program(program, random.choice(ISAS), random.randint(1, 2))
    given = kernel(*(stored(arrays[array.name], array.dtype) for array in program.inputs))
    named = given if isinstance(given, dict) else {kernel.outputs[0].name: given}
    return {array.name: numbers(named[array.name], array.dtype) for array in kernel.outputs}


def check_exact(seed: int) -> None:
    random = Random(seed)
    program = random_program(random)
    arrays = inputs_of(program, random)
    wanted = evaluate(program, arrays, exact=True)
    for name, found in found_by_kernel(program, arrays, random).items():
        np.testing.assert_array_equal(found, wanted[name].value.numpy(), err_msg=f"seed {seed}: {program.program}")


def check_bounded(seed: int, computed=found_by_kernel) -> float:
    """The part of the points on whose values there is a bound. computed: gives the outputs of a program by name."""
    random = Random(seed)
    program = random_real_program(random)
    drawn = np.random.default_rng(seed)
    whole = inputs_of(program, random)
    arrays = {
        array.name: whole[array.name]
        if array.dtype == "s32"
        else drawn.uniform(-2, 2, array.shape).astype(np.float32).astype(np.float64)
        for array in program.inputs
    }
    wanted = evaluate(program, arrays, exact=False)
    sure = points = 0
    for name, found in computed(program, arrays, random).items():
        value, error = wanted[name].value.double().numpy(), wanted[name].error.numpy()
        known = np.isfinite(error)
        known &= (np.abs(value) < 1e30) | ~np.isfinite(value)  # what f32 holds, or what is infinite in both
        where = f"seed {seed}: {name} of {program.program}"
        np.testing.assert_array_equal(np.isnan(found)[known], np.isnan(value)[known], err_msg=where)
        with np.errstate(invalid="ignore"):
            apart = np.where(found == value, 0, np.abs(found - value))
        assert not (apart / 1.01 > error + 1e-36)[known & ~np.isnan(value)].any(), where
        sure, points = sure + int(known.sum()), points + known.size
    return sure / points
