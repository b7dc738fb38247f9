"""Which rows are stored while the next one is computed, and that all of them still are what they should be."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cpu.passes.program.bind_tasks as bind_tasks
import cpu.passes.program.rows.long_rows as long_rows
from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F
from tests.support.programs.programs import SOFTMAX, inputs_of, interpreted, lines
from tiling.program.infer import sized
from tiling.program.read import read

RMS = "v[i] = mean[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(v[i] + 1) * g[j]"
SUMMED = "s[i] = sum[j] x[i,j]; y[i,j] = x[i,j] * s[i]"
HELD = "e[i,j] = exp(x[i,j]); s[i] = sum[j] e[i,j]; y[i,j] = e[i,j] * s[i]"
EARLIER = "t[i,j] = x[i,j] + z[i,j]; m[i] = sum[j] t[i,j]; v[i] = max[j] t[i,j] * m[i]; y[i,j] = t[i,j] * v[i]"


def skewed(text, shapes, isa=AVX2, threads=1):
    forms = dict(program_forms(sized(read(text), {}, shapes), isa, threads))
    return lines(forms["skew rows"]) if "skew rows" in forms else []


@pytest.mark.parametrize(
    "text, shapes, wanted",
    [
        (RMS, {"x": (2048, 768), "g": (768,)}, "y[i - 1, j + lane] = "),
        (SOFTMAX, {"x": (6144, 512)}, "y[i - 1, j + lane] = e[j + lane] * d_inverse_before[0]"),
        (RMS, {"x": (128, 768), "g": (768,)}, ""),  # L2 holds all of it
        (RMS, {"x": (8192, 256), "g": (256,)}, ""),  # the CPU sees the next row
        (RMS, {"x": (2048, 776), "g": (776,)}, ""),  # what is left of a row has a loop of its own
        (EARLIER, {"x": (512, 768), "z": (512, 768)}, ""),  # the next row overwrites t before the stores need it
    ],
)
def test_long_rows_of_large_arrays_are_stored_one_row_late(text, shapes, wanted):
    late = [line for line in skewed(text, shapes) if line.startswith("y[i - 1, ")]
    assert bool(late) == bool(wanted) and (not late or late[0].startswith(wanted))


def test_a_row_is_read_before_it_is_overwritten():
    text = skewed(SOFTMAX, {"x": (6144, 512)})
    late = text.index("y[i - 1, j + lane + 24] = e[j + lane + 24] * d_inverse_before[0]")
    assert late < text.index("e[j + lane] = e_here", late) and "e[j + lane] = e_here" not in text[late - 12 : late]


def test_kernels_with_many_registers_are_left_alone():
    assert not any("i - 1" in line for line in skewed(RMS, {"x": (2048, 768), "g": (768,)}, AVX512F))


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", [RMS, SUMMED, HELD, SOFTMAX, EARLIER])
@pytest.mark.parametrize("rows, threads", [(1, 1), (2, 1), (5, 2), (7, 3), (3, 8)])
def test_every_row_is_stored_once(text, rows, threads, monkeypatch):
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    monkeypatch.setattr(long_rows, "LEAST", 1)
    monkeypatch.setattr(long_rows, "AHEAD", 0)
    shapes = {"x": (rows, 64), "z": (rows, 64), "g": (64,)}
    program = sized(read(text), {}, {name: shape for name, shape in shapes.items() if f"{name}[" in text})
    arrays = inputs_of(program, Random(0))
    forms = dict(program_forms(program, AVX2, threads))
    wanted = interpreted(program, forms["claim lines"], arrays)["y"]
    np.testing.assert_allclose(wanted, evaluate(program, arrays)["y"], rtol=1e-6)
    for name in ("skew rows", "prefetch next rows", tuple(forms)[-1]):
        np.testing.assert_array_equal(interpreted(program, forms[name], arrays)["y"], wanted, err_msg=name)
