"""Kernels of programs with runtime extents: one kernel is right for every number of points up to its bound."""

from __future__ import annotations

import ctypes
import pickle
from random import Random

import numpy as np
import pytest

from cpu.codegen.program.emit import emit
from cpu.kernel.program import build_program
from cpu.passes.program import bind_tasks
from cpu.reference.programs import evaluate, rounded
from microkernels.tile.isa import PORTABLE, isa_named
from tests.support.kernels.cases import ON_EVERY_ISA
from tests.support.programs.guarded import check_guarded_program
from tests.support.programs.programs import (
    ATTENTION,
    MASKED_ATTENTION,
    PRODUCTS,
    SOFTMAX,
    inputs_of,
)
from tests.support.programs.runtime_extents import check, computed
from tiling.arguments import ArgumentError
from tiling.program.infer import sized
from tiling.program.read import read


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_exact(isa, seed, monkeypatch):
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    check(2000 * len(isa) + seed, isa, 1 + seed % 3)


# Text, extents, and the points of the runtime dims in a few calls.
REAL = {
    "softmax over any row": (SOFTMAX, {"i": "<=40", "j": "<=300"}, [(1, 1), (3, 63), (4, 64), (40, 300), (17, 129)]),
    "attention of any length": (
        ATTENTION,
        {"h": 2, "i": "<=70", "j": "<=150", "c": 20},
        [(1, 1), (1, 150), (70, 150), (33, 65), (4, 16)],
    ),
    "causal attention": (
        MASKED_ATTENTION.format(mask="j <= i"),
        {"i": "<=150", "j": "<=150", "c": 20},
        [(1, 1), (150, 150), (70, 70), (129, 129), (16, 16)],
    ),
    "mean over any batch": (
        "v[i] = mean[j,k] x[i,j,k]; y[i,j,k] = x[i,j,k] - v[i]",
        {"i": "<=5", "j": "<=9", "k": 21},
        [(1, 1), (5, 9), (2, 4)],
    ),
    "pooling of any image": (
        "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -inf",
        {"h": "<=9", "w": "<=20", "r": 3, "s": 3, "c": 19},
        [(1, 1), (9, 20), (4, 7)],
    ),
    "transposition": ("y[j,i] = x[i,j]", {"i": "<=70", "j": "<=40"}, [(1, 1), (70, 40), (33, 17), (16, 16)]),
    "channels last": ("y[h,w,c] = x[c,h,w]", {"h": "<=5", "w": "<=70", "c": 3}, [(1, 1), (5, 70), (2, 16), (5, 17)]),
    "product": (PRODUCTS["product"][0], {"i": "<=19", "j": "<=45", "k": 21}, [(1, 1), (19, 45), (6, 33)]),
    "convolution": (
        PRODUCTS["convolution"][0],
        {"h": "<=7", "w": "<=9", "k": 35, "c": 3, "r": 3, "s": 3},
        [(1, 1), (7, 9), (4, 5)],
    ),
    "resize": ("y[i,j] = x[i//2,j] + 1", {"i": "<=9", "j": "<=40"}, [(1, 1), (9, 40), (8, 17)]),
    "gather": ("t: s32; x: [30,j]; y[i,j] = x[t[i],j]", {"i": "<=50", "j": "<=40"}, [(1, 1), (50, 40), (8, 17)]),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", REAL)
def test_one_kernel_for_every_extent(name, isa, threads, monkeypatch):
    """Near the definition, whatever the extents; of one kernel, and after a longer and after a shorter call."""
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 300)
    text, extents, calls = REAL[name]
    program = sized(read(text), extents)
    runtime = [dim for dim, extent in extents.items() if isinstance(extent, str)]
    kernel = build_program(program, isa_named(isa), threads)
    random = np.random.default_rng(0)
    for points in (*calls, *reversed(calls)):
        fixed = program.at(dict(zip(runtime, points, strict=True)))
        arrays = {a.name: random.standard_normal(a.shape).astype(np.float32) for a in fixed.inputs}
        if name == "gather":
            arrays["t"] = random.integers(0, 30, fixed.array("t").shape).astype(np.int32)
        wanted = evaluate(fixed, arrays)[program.outputs[0]]
        out = np.empty(fixed.array(program.outputs[0]).shape, np.float32)
        kernel(*arrays.values(), out=out)
        np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=2e-5, err_msg=f"{points}")


@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_threads_change_no_bit(isa):
    x = np.random.default_rng(0).standard_normal((90, 1003)).astype(np.float32)
    program = sized(read(SOFTMAX), {"i": "<=100", "j": "<=2000"})
    alone, together = (build_program(program, isa_named(isa), threads)(x) for threads in (1, 3))
    np.testing.assert_array_equal(alone, together)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize(
    "text, extents, points",
    [
        (SOFTMAX, {"i": "<=9", "j": "<=100"}, (3, 37)),
        ("y[j,i] = x[i,j] * 2", {"i": "<=100", "j": "<=64"}, (35, 37)),
        (
            "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -9",
            {"h": "<=8", "w": "<=8", "r": 3, "s": 3, "c": 19},
            (3, 4),
        ),
        ("y[i,j] = sum[k] x[i,k] * w[j,k]", {"i": "<=90", "j": "<=90", "k": 21}, (70, 45)),
        ("x: bf16; y: f16; y[i,j] = x[i,j] + x[i,j+1]", {"i": "<=5", "j": "<=64"}, (3, 20)),
    ],
)
def test_nothing_is_touched_beside_the_arrays(isa, text, extents, points):
    program = sized(read(text), extents)
    kernel = build_program(program, isa_named(isa))
    fixed = program.at(dict(zip("ij" if "i" in extents else "hw", points, strict=True)))
    given = inputs_of(fixed, Random(6))
    (output,) = (array for array in fixed.assigned if array.name in fixed.outputs)
    expected = rounded(evaluate(fixed, given)[output.name], output.dtype)
    check_guarded_program(kernel, fixed.inputs, output, given, expected)


def test_the_text_says_what_a_call_has():
    program = sized(read(SOFTMAX), {"i": "<=100", "j": 50})
    text = emit(program, PORTABLE).text
    assert " *     x: f32[i_extent, 50]\n" in text and " *     i_extent: from 1 to 100\n" in text
    assert "const float *restrict x, float *restrict y, long i_extent)" in text


def test_c_refuses_what_is_out_of_bounds(tmp_path):
    """Called from C: 2 and nothing written, whatever the arrays."""
    kernel = build_program(sized(read("y[i] = 2 * x[i]"), {"i": "<=100"}), PORTABLE)
    _, header, library, *_ = kernel.save(tmp_path, "twice")
    assert "int twice(const float *x, float *y, long i_extent);" in header.read_text()
    call = ctypes.CDLL(str(library)).twice
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    x, y = np.arange(100, dtype=np.float32), np.full(100, -1, np.float32)
    for points in (0, -1, 101, 1 << 40):
        assert call(x.ctypes.data, y.ctypes.data, points) == 2 and (y == -1).all()
    assert call(x.ctypes.data, y.ctypes.data, 7) == 0
    np.testing.assert_array_equal(y, np.where(np.arange(100) < 7, 2 * x, -1))


@pytest.mark.parametrize(
    "shapes, sentence",
    [
        (((3, 5), (4, 5)), "dim i has two extents, 3 in x and 4 in z"),
        (((101, 5), (101, 5)), "dim i has 101 points in x, but this kernel takes 1 to 100"),
        (((0, 5), (0, 5)), "dim i has 0 points in x, but this kernel takes 1 to 100"),
        (((3, 6), (3, 5)), r"x has shape \(3, 6\), but this kernel was made for \(3, 5\)"),
        (((3,), (3, 5)), r"x has shape \(3,\), but this kernel was made for \(3, 5\)"),
        (((3,), (5,)), "no shape that is given tells how many points dim i has: pass out"),
    ],
)
def test_shapes_that_cannot_be_are_one_sentence(shapes, sentence):
    kernel = build_program(sized(read("y[i,j] = x[i,j] + z[i,j]"), {"i": "<=100", "j": 5}), PORTABLE)
    with pytest.raises(ArgumentError, match=sentence):
        kernel(*(np.ones(shape, np.float32) for shape in shapes))


def test_what_is_no_array_is_one_sentence():
    kernel = build_program(sized(read("y[i] = x[i]"), {"i": "<=100"}), PORTABLE)
    with pytest.raises(ArgumentError, match="x is list, not an array"):
        kernel([1.0, 2.0])
    with pytest.raises(ArgumentError, match="x is float64, but this kernel takes float32"):
        kernel(np.ones(3))


@pytest.mark.parametrize("text", ["y[i,extent] = i_extent[i] * i[extent]", "i_extent[i,j] = x[i] + j"])
def test_names_that_extents_have_are_free(text):
    program = sized(read(text), dict.fromkeys(read(text).dims, "<=20"))
    kernel = build_program(program, PORTABLE, 2)
    fixed = program.at(dict(zip(program.runtime, (7, 18))))
    arrays = inputs_of(fixed, Random(0))
    wanted = evaluate(fixed, arrays)
    for name, found in computed(kernel, fixed, arrays).items():
        np.testing.assert_array_equal(found, wanted[name])


def test_a_kernel_travels():
    kernel = pickle.loads(pickle.dumps(build_program(sized(read(SOFTMAX), {"i": "<=9", "j": 5}), PORTABLE)))
    np.testing.assert_allclose(kernel(np.zeros((3, 5), np.float32)), 0.2, rtol=1e-6)


def test_an_extent_that_no_input_has_is_that_of_out():
    kernel = build_program(sized(read("y[i] = i * 2"), {"i": "<=100"}), PORTABLE)
    with pytest.raises(ArgumentError, match="pass out"):
        kernel()
    np.testing.assert_array_equal(kernel(out=np.empty(9, np.int64)), 2 * np.arange(9))
    with pytest.raises(ArgumentError, match="dim i has 101 points in y"):
        kernel(out=np.empty(101, np.int64))
