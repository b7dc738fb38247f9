"""The pass that keeps NaN beside a maximum."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cpu.passes.forms import program_forms
from microkernels.tile.isa import AVX2
from search import generate_program
from tests.support.programs.programs import lines
from tiling.program.infer import sized
from tiling.program.read import read

POOLING = "y[h,w,c] = {function}[r,s] x[2*h+r-1,2*w+s-1,c] else {outside}"
SIZES = {"h": 5, "w": 5, "c": 20, "r": 3, "s": 3}


def loops(text, shape, **extents):
    """The lines of the loops after the pass."""
    return lines(dict(program_forms(sized(read(text), extents, {"x": shape}), AVX2, 1))["keep nan"])


@pytest.mark.isa("avx2")
@pytest.mark.parametrize("function, outside", [("max", "-inf"), ("min", "inf")])
def test_a_nan_shows_in_its_windows_alone(function, outside):
    text = POOLING.format(function=function, outside=outside)
    assert any(" nan(" in line for line in loops(text, (10, 10, 20), **SIZES))
    kernel = generate_program(text, shapes={"x": (10, 10, 20)}, isa="avx2", **SIZES)
    clean = np.random.default_rng(3).standard_normal((10, 10, 20)).astype(np.float32)
    clean[3, 3, 3], clean[5, 5, 5] = np.inf, -np.inf
    expected = kernel(clean)
    for h, w, channel in product(range(10), (0, 3, 4, 9), (0, 9, 19)):
        x = clean.copy()
        x[h, w, channel] = np.nan
        inside = np.zeros((5, 5, 20), bool)
        inside[(h + 1) // 2 - (h % 2) : (h + 1) // 2 + 1, (w + 1) // 2 - (w % 2) : (w + 1) // 2 + 1, channel] = True
        np.testing.assert_array_equal(kernel(x), np.where(inside, np.nan, expected))


def test_maxima_of_rows_are_tested_at_each_step():
    assert not any(" nan(" in line for line in loops("y[i] = max[j] x[i,j]", (512, 768)))


@pytest.mark.isa("avx2")
def test_a_window_of_two_arrays_has_two_runs_of_taps():
    text = "y[i,c] = max[s] where(s < 2, x[i+s,c] else 0, z[i+s-2,c] else 0) * 2"
    x = np.random.default_rng(5).standard_normal((2, 16, 24)).astype(np.float32)
    kernel = generate_program(text, shapes={"x": (16, 24), "z": (16, 24)}, i=14, c=24, s=5, isa="avx2")
    expected = np.stack([x[0, 0:14], x[0, 1:15], *(x[1, s : s + 14] for s in range(3))]).max(axis=0) * 2
    np.testing.assert_array_equal(kernel(x[0], x[1]), expected)


def test_a_sum_beside_is_left_alone():
    text = "y[h,c] = max[r] x[h+r,c]; z[h,c] = sum[r] x[h+r,c]; o[h,c] = y[h,c] + z[h,c]"
    found = loops(text, (66, 16), h=64, c=16, r=3)
    of_nan = [line for line in found if "nan" in line]
    assert any("acc_y" in line for line in of_nan) and not any("acc_z" in line for line in of_nan)
