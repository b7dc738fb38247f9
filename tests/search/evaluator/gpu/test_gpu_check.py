"""The checks of a GPU's kernels: a single wrong output is seen, and roundings between steps are granted."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.reference.oracle import WrongResult, reference
from cpu.runtime.numbers import from_bits, to_bits
from search.evaluator.gpu.check import exact_case, real_case, stepwise
from search.tuner.dtypes import on_gpu
from tiling.epilogue import fused
from tiling.operators import conv2d


@pytest.mark.parametrize("error, caught", [(0.0, False), (1.0, True), (np.nan, True)])
def test_the_check_sees_a_single_wrong_output(error, caught):
    problem = on_gpu(fused(conv2d(c=8, h=5, w=5, k=8, r=3, s=3, padding=1), "relu(y + b)"), "bf16")

    case = exact_case(problem)
    x, w, b = case.inputs
    found = reference(problem, x, w.transpose(0, 3, 1, 2), b).astype(np.float32)
    found = from_bits(to_bits(found, "bf16"), "bf16")
    found[0, 2, 3, 1] += error
    if caught:
        with pytest.raises(
            WrongResult, match=r"1 of 200 outputs differ from the reference, the first at \(0, 2, 3, 1\)"
        ):
            case.check(found)
    else:
        case.check(found)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
@pytest.mark.parametrize("epilogue", ["relu(y + b)", "relu(y + b + z)"])
def test_roundings_between_an_epilogues_steps_are_granted_where_they_are_made(dtype, epilogue):
    """A fused kernel has none; without the grant a 1x1 convolution of few channels in steps would count as wrong."""
    bare = on_gpu(conv2d(c=32, h=16, w=16, k=64, r=1, s=1), dtype)
    problem = on_gpu(fused(conv2d(c=32, h=16, w=16, k=64, r=1, s=1), epilogue), dtype)

    def rounded(values):
        return from_bits(to_bits(values.astype(np.float32), problem.output_dtype), problem.output_dtype)

    for seed in range(4):
        case = real_case(problem, seed)
        x, w, *arrays = case.inputs
        y = rounded(reference(bare, x, w.transpose(0, 3, 1, 2)))
        for array in arrays:
            y = rounded(y + array)
        stepwise(problem, case).check(np.maximum(y, 0))
        if dtype != "tf32":  # whose output has as many bits as its sums
            with pytest.raises(WrongResult):
                case.check(np.maximum(y, 0))
        with pytest.raises(WrongResult):
            stepwise(problem, case).check(np.maximum(y - arrays[0], 0))
