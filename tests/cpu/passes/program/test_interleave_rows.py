"""The pass that computes several rows in step."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cpu.passes.program.interleave_rows as interleave_rows
from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.programs import SOFTMAX, after, inputs_of, interpreted
from tiling.loops.language import Alloc, For, Store
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

LARGE = interleave_rows.MOST_IN_CACHE


def first_step(text, **shapes):
    """The step of the first loop, which walks rows."""
    kernel = after("interleave rows", text, **shapes)
    return next(s for s in walk(kernel.body) if isinstance(s, For)).step


@pytest.mark.parametrize(
    "text, shapes, step",
    [
        ("y[i] = sum[j] x[i,j]", {"x": (LARGE // 512, 1024)}, 2),
        ("y[i] = sum[j] x[i,j] * x[i,j]", {"x": (LARGE // 512, 1024)}, 2),
        ("y[i] = sum[j] x[i,j]", {"x": (LARGE // 1024, 1024)}, 1),  # a cache holds it
        ("y[i] = max[j] x[i,j]", {"x": (LARGE // 512, 1024)}, 1),
        ("y[i] = sum[j] x[i,j] * z[i,j]", {"x": (LARGE // 512, 1024), "z": (LARGE // 512, 1024)}, 1),
        ("y[i] = sum[j] x[i,j]", {"x": (LARGE // 512 + 1, 1024)}, 1),  # a row would be left over
    ],
)
def test_rows_of_a_large_array_that_are_only_summed_go_by_two(text, shapes, step):
    assert first_step(text, **shapes) == step


def test_parts_of_a_long_sum_go_by_two():
    assert first_step("y[] = sum[i] x[i]", x=(2 * LARGE,)) == 2


@pytest.mark.parametrize("text", ["y[i] = sum[j] x[i,j]", "y[i] = sum[j] x[i,j] * x[i,j]"])
@pytest.mark.parametrize("columns", [64, 128, 1024])
def test_sums_by_two_are_exact(text, columns, monkeypatch):
    monkeypatch.setattr(interleave_rows, "MOST_IN_CACHE", 1)
    program = sized(read(text), {}, {"x": (6, columns)})
    arrays = inputs_of(program, Random(columns))
    kernel = after("interleave rows", text, x=(6, columns))
    assert any(isinstance(s, For) and (s.name, s.step) == ("i", 2) for s in walk(kernel.body))
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], evaluate(program, arrays)["y"])


NORM = "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); y[i,j] = (x[i,j] - m[i]) * v[i]"


@pytest.mark.parametrize("isa, sums", [(AVX2, 2), (AVX512F, 4)])
def test_arrays_of_rows_in_step_are_no_sums(isa, sums):
    """A softmax's second loop stores its exponentials too."""
    kernel = dict(program_forms(sized(read(SOFTMAX), {}, {"x": (1536, 128)}), isa, 1))["interleave rows"]
    registers = {s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.memory == "registers"}
    of_vectors = [name for name in registers if "lanes" in name]
    assert len(of_vectors) == 2 * 4 * sums, sorted(of_vectors)


@pytest.mark.parametrize("isa, sums", [(AVX2, 2), (AVX512F, 4)])
def test_sums_of_rows_in_step_take_half_of_the_registers(isa, sums):
    program = sized(read(NORM), {}, {"x": (4, 512)})
    kernel = dict(program_forms(program, isa, 1))["interleave rows"]
    passes = [s for s in walk(kernel.body) if isinstance(s, For) and s.name == "j"]
    stored = [{s.buffer for s in walk(each.body) if isinstance(s, Store)} for each in passes]
    assert [len(each) for each in stored] == [4 * sums, 4 * sums, 1]
    arrays = inputs_of(program, Random(4))
    np.testing.assert_allclose(interpreted(program, kernel, arrays)["y"], evaluate(program, arrays)["y"], rtol=1e-5)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "isa, columns, first", [(AVX2, 256, 128), (AVX2, 144, 16), (AVX512F, 160, 32), (PORTABLE, 64, 32)]
)
@pytest.mark.parametrize("reduction", ["sum", "max"])
def test_a_row_of_two_parts_has_sums_for_each(isa, columns, first, reduction):
    """The second part has registers of the same names in a block of its own."""
    choice = f"where(j < {first}, x[i,j], z[i,j-{first}] else 0)"
    text = f"m[i] = {reduction}[j] {choice}; v[i] = sum[j] x[i,j] * m[i]; y[i,j] = x[i,j] - v[i]"
    program = sized(read(text), {}, {"x": (4, columns), "z": (4, columns - first)})
    arrays = inputs_of(program, Random(5))
    expected = evaluate(program, arrays)["y"]
    for name, kernel in program_forms(program, isa, 1):
        np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], expected, err_msg=name)
