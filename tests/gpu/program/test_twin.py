"""The text of programs on the twin: exactly the definition, and nothing left of it where something is removed."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cpu.reference.programs import evaluate
from gpu.codegen.loops.emit import emit_program
from gpu.passes.threads import bind_points
from gpu.twin.launch import TwinError
from search.evaluator.gpu.programs import TwinProgramKernel
from tests.support.gpu.programs import PROGRAMS, expected, on_twin, program_of, survives
from tests.support.programs.programs import (
    ATTENTION,
    SOFTMAX,
    inputs_of,
    random_long_program,
    random_program,
    stored,
)
from tiling.arguments import ArgumentError
from tiling.program.infer import sized
from tiling.program.read import read


@pytest.mark.exhaustive
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_exact(name, wide, monkeypatch):
    monkeypatch.setattr(bind_points, "MANY", 64 if wide else bind_points.MANY)
    program = program_of(name)
    arrays = inputs_of(program, Random(1))
    for seed in (0, 1):
        for output, found in on_twin(program, arrays, seed=seed).items():
            np.testing.assert_array_equal(found, expected(program, arrays)[output])


@pytest.mark.exhaustive
@pytest.mark.parametrize("drawn", [random_program, random_long_program])
@pytest.mark.parametrize("seed", range(20))
def test_random_programs_are_exact(seed, drawn, monkeypatch):
    monkeypatch.setattr(bind_points, "MANY", 64 << seed % 2 * 16)
    random = Random(seed)
    program = drawn(random)
    arrays = inputs_of(program, random)
    wanted = expected(program, arrays)
    if wanted is None:
        pytest.skip("its sums are too large to be exact")
    for output, found in on_twin(program, arrays, seed=seed).items():
        np.testing.assert_array_equal(found, wanted[output], err_msg=str(program.program))


REAL = {
    "softmax": (SOFTMAX, {"x": (9, 2000)}),
    "softmax of short rows": (SOFTMAX, {"x": (9, 77)}),
    "LayerNorm": (
        "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); "
        "y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i] + 0.00001) * g[j] + b[j]",
        {"x": (5, 768), "g": (768,), "b": (768,)},
    ),
    "RMSNorm": (
        "s[i] = mean[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(s[i] + 0.00001) * g[j]",
        {"x": (5, 96), "g": (96,)},
    ),
    "attention": (ATTENTION, {"q": (2, 34, 5), "k": (2, 300, 5), "v": (2, 300, 5)}),  # a block of each, and a rest
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_programs_of_real_numbers_are_near_the_definition(name):
    text, shapes = REAL[name]
    program = sized(read(text), {}, shapes)
    random = np.random.default_rng(0)
    arrays = {array.name: random.standard_normal(array.shape).astype(np.float32) for array in program.inputs}
    wanted = evaluate(program, arrays)["y"]
    np.testing.assert_allclose(on_twin(program, arrays)["y"], wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["rows", "short rows", "rows read backwards", "truths", "position"])
def test_no_barrier_is_one_too_many(name):
    program = program_of(name)
    arrays = inputs_of(program, Random(2))
    text = emit_program(program)
    assert survives(program, arrays, text)
    found = list(re.finditer(r"__sync(?:threads|warp)\(\);", text.text))
    for place in found:
        without = replace(text, text=text.text[: place.start()] + text.text[place.end() :])
        assert not survives(program, arrays, without), text.text[place.start() - 200 : place.end()]


def test_kernels_across_threads_have_barriers():
    assert "__syncthreads();" in emit_program(program_of("rows")).text
    assert "__syncwarp();" in emit_program(program_of("rows read backwards")).text


GUARDS = [("map", "if (point - 350 < 0)"), ("short rows", "if (row - 7 < 0)"), ("rows", "if (member == 0)")]


@pytest.mark.parametrize("name, guard", GUARDS)
def test_no_guard_is_one_too_many(name, guard):
    program = program_of(name)
    arrays = inputs_of(program, Random(2))
    text = emit_program(program)
    assert guard in text.text
    assert not survives(program, arrays, replace(text, text=text.text.replace(guard, "")))


def test_one_thread_too_few_is_found():
    program = program_of("rows")
    text = emit_program(program)
    short = replace(text, text=text.text.replace("j < 1100", "j < 1096"))
    with pytest.raises(TwinError, match="never written"):
        on_twin(program, inputs_of(program, Random(2)), short)


def test_an_index_that_lies_outside_is_an_error():
    kernel = TwinProgramKernel(program_of("gather"))
    x, t = np.ones((3, 33), np.float32), np.array([0, 1, 2, 3, 0, 0, 0, 0, 0], np.int32)
    with pytest.raises(ArgumentError, match="lies outside"):
        kernel(*(x if array.name == "x" else t for array in kernel.inputs))


@pytest.mark.parametrize("i, j", [(1, 1), (33, 70), (6, 300)])
def test_extents_of_a_call(i, j):
    kernel = TwinProgramKernel(sized(read("s[i] = sum[j] x[i,j]; y[i,j] = x[i,j] * s[i]"), {"i": "<=40", "j": "<=300"}))
    x = stored(np.random.default_rng(0).integers(-2, 3, (i, j)), "f32")
    np.testing.assert_array_equal(kernel(x), x * x.sum(1, keepdims=True))


def test_positions_of_two_dims_together_are_counted_in_64_bits_where_they_must_be(monkeypatch):
    program = sized(read("y[i] = sum[j,k] a[i,j] * b[i,k]"), dict(i=2, j=256, k=256))
    assert "int point = " in emit_program(program).text
    # The arrays have 512 elements, and the 65,536 positions of both dims are one loop.
    monkeypatch.setattr("gpu.codegen.loops.emit._LARGEST_INT", 4000)
    assert "long long point = " in emit_program(program).text
