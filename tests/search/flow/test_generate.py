"""`generate_conv` and `generate_matmul`: the kernel, what is remembered, and what is refused."""

from __future__ import annotations

import sqlite3
import warnings

import numpy as np
import pytest

from cpu.reference.oracle import integers, reference
from cpu.runtime.machine.host import host
from microkernels.scores.database import data_folder
from search import generate_conv, generate_matmul, load_kernel
from search.evaluator import target_of
from search.evaluator.cpu.backend import cpu_backend
from search.tuner import store
from search.tuner.target import Wanted
from tests.support.search.searching import PROBLEM
from tilewright_entry import TilewrightWarning
from tiling.machine import Timing
from tiling.problem import ProblemError
from tiling.text.notation import parse


@pytest.mark.slow
def test_generate_conv_is_the_kernel_and_remembers(monkeypatch):
    arguments = dict(c=8, h=12, w=12, k=16, r=3, s=3, padding=1, isa="portable")
    kernel = generate_conv(**arguments)
    x, w = integers(PROBLEM)
    packed = kernel.pack(w)
    out = np.empty(PROBLEM.output.shape, np.float32)
    assert kernel(x, packed, out=out) is out
    assert np.array_equal(out, reference(PROBLEM, x, w))
    assert "conv2d" in kernel.source and kernel.scheme.text in kernel.source
    assert kernel.timing.seconds > 0 and kernel.timing.peak_gflops > 0 and len(kernel.timing.samples) >= 5
    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.candidates", lambda *_: pytest.fail("searched again"))
    monkeypatch.setattr("cpu.codegen.emit.loops_of", lambda *_: pytest.fail("written again"))
    again = generate_conv(**arguments)
    assert (again.scheme, again.source) == (kernel.scheme, kernel.source)


def test_groups_of_few_channels_stand_side_by_side_and_are_saved_so(tmp_path):
    kernel = generate_conv(c=12, h=5, w=6, k=12, r=3, s=3, padding=1, groups=6, epilogue="relu(y + b)", isa="portable")
    assert kernel.problem.op == "grouped2d" and "grouped2d" in kernel.emitted.symbol
    values = integers(kernel.problem)
    kernel.save(tmp_path)
    saved = load_kernel(tmp_path)
    assert saved.problem == kernel.problem
    assert np.array_equal(kernel(*values), reference(kernel.problem, *values)) and np.array_equal(
        kernel(*values), saved(*values)
    )


def test_a_kept_scheme_that_does_not_fit_is_searched_again():
    arguments = dict(c=8, h=9, w=9, k=16, r=3, s=3, isa="portable")
    kernel = generate_conv(**arguments)
    key = cpu_backend("portable").key(kernel.problem)
    with sqlite3.connect(data_folder() / "tilewright.sqlite") as connection:
        connection.execute("UPDATE choices SET scheme = 'T(w,3) S(y) V(k,4)' WHERE shape = ?", (key.shape,))
    with pytest.warns(RuntimeWarning, match="cannot be Tilewright's and will be measured anew: the choice for c=8,h=9"):
        assert generate_conv(**arguments).scheme == kernel.scheme


@pytest.mark.slow
def test_generate_conv_measures():
    kernel = generate_conv(c=4, h=6, w=6, k=8, r=1, s=1, isa="portable", tune="measure", budget=1.0)
    key = cpu_backend("portable").key(kernel.problem)
    assert isinstance(store.measured(key)[kernel.scheme.text], Timing)
    assert store.choice(key, "measure").scheme == kernel.scheme.text


def test_what_a_measured_search_chose_is_what_a_plain_call_returns():
    shape = dict(c=4, h=6, w=6, k=8, r=1, s=1, stride=2)
    predicted = generate_conv(**shape, isa="portable")
    key, timing = cpu_backend("portable").key(predicted.problem), Timing((1e-3,), 1.0)
    other = next(s for s in cpu_backend("portable").candidates(predicted.problem) if s.text != predicted.scheme.text)
    store.choose(key, "measure", other.text, timing)
    kernel = generate_conv(**shape, isa="portable", layout="NHWC")  # other arguments: the call is not remembered
    assert (kernel.scheme.text, kernel.timing) == (other.text, timing)


PRODUCTS = [(7, 13, 11), (1, 31, 29), (31, 1, 5), (1, 1, 1), (1, 1, 97), (509, 3, 2), (3, 509, 7), (64, 48, 32)]


@pytest.mark.slow
@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("m, n, k", PRODUCTS)
def test_generate_matmul_is_exact(m, n, k):
    check_product(m, n, k, "avx512f")


@pytest.mark.parametrize("m, n, k", PRODUCTS[:5])
def test_generate_matmul_is_exact_in_portable_c(m, n, k):
    check_product(m, n, k, "portable")


def check_product(m, n, k, isa):
    rng = np.random.default_rng(m * n * k)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    kernel = generate_matmul(m=m, n=n, k=k, isa=isa)
    assert np.array_equal(kernel(a, b), a.astype(int) @ b.astype(int))
    assert generate_matmul(m=m, n=n, k=k, isa=isa).scheme == kernel.scheme


@pytest.mark.exhaustive
@pytest.mark.parametrize("across_a, across_b", [(False, False), (False, True), (True, False), (True, True)])
def test_a_batch_of_products_in_every_orientation(across_a, across_b):
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((3, 7, 11), (3, 11, 13)))
    bias, z = (rng.integers(-4, 5, shape).astype(np.float32) for shape in (13, (3, 7, 13)))
    options = dict(transpose_a=across_a, transpose_b=across_b, epilogue="relu(y + b + z)", isa="portable")
    kernel = generate_matmul(m=7, n=13, k=11, batch=3, **options)
    given = [np.ascontiguousarray(v.swapaxes(1, 2)) if flipped else v for v, flipped in ((a, across_a), (b, across_b))]
    assert np.array_equal(kernel(*given, bias, z), np.maximum(a @ b + bias + z, 0))


def target_without_compiler(*wanted, **more):
    """What is refused is refused before anything is compiled."""
    target = target_of(*wanted, **more)
    pytest.fail(f"{target} was asked for a kernel")


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(c=0), "c=0 must be at least 1"),
        (dict(h=-3), "h=-3 must be at least 1"),
        (dict(k=2.5), "k=2.5 must be a whole number"),
        (dict(r=9, padding=0), "reaches over 9 points along h, the padded input has only 5"),
        (dict(stride=0), "stride"),
        (dict(padding=-1), "padding=-1"),
        (dict(threads=0), "threads must be a whole number from 1"),
        (dict(threads=True), "threads must be a whole number from 1"),
        (dict(threads=10**20), "threads must be a whole number from 1"),
        (dict(budget="30"), "budget='30' must be a number of seconds above 0"),
        (dict(budget=float("nan")), "budget=nan"),
        (dict(budget=5), "budget=5 means nothing to tune='model': leave it out, or give tune='measure' too"),
        (dict(isa=["avx2"]), "must be the name of an instruction set"),
        (dict(w=1 << 30), "the largest supported"),
        (dict(transposed=True), "a transposed convolution is not covered"),
        (dict(d=4), "conv3d: q is missing: give d, h, q and r, or neither d nor q for an image"),
        (dict(d=4, q=3, groups=4), "conv3d: groups=4: convolutions of volumes have one group"),
        (dict(d=4, q=3, dtype="int8"), "conv3d: convolutions of volumes are covered in f32 on a CPU alone"),
        (dict(d=4, q=3, target="cuda-twin"), "conv3d: convolutions of volumes are covered in f32 on a CPU alone"),
        (dict(d=4, q=9), "conv3d: the kernel reaches over 9 points along d, the padded input has only"),
        (dict(d=4, q=3, stride=(1, 1)), "conv3d: stride=(1, 1) must be one number or one per axis (d, h, w)"),
        (dict(stride=(1, 1, 1)), "conv2d: stride=(1, 1, 1) must be one number or one per axis (h, w)"),
        (dict(padding=[0, 1, 1]), "conv2d: padding=[0, 1, 1] must be p, (ph, pw), ((top, bottom), (left, right))"),
        (dict(dtype="complex64"), "dtype 'complex64' is not covered on a CPU: f32, bf16, int8 are"),
        (dict(dtype="bf61"), "dtype 'bf61' is not covered on a CPU (did you mean bf16?): f32, bf16, int8 are"),
        (dict(dtype="bf61", target="cuda"), "dtype 'bf61' is not covered on a GPU (did you mean bf16?): f16, "),
        (dict(dtype="f16"), "dtype 'f16' is not covered on a CPU: f32, bf16, int8 are"),
        (dict(dtype=np.complex128), "complex128'> is not covered on a CPU"),
        (dict(dtype=["bf16"]), "dtype ['bf16'] is not covered on a CPU"),
        (dict(dtype="bf16", isa="avx2"), "avx2 computes in f32, not bf16: use amxbf16 or avx512bf16"),
        (dict(dtype="int8", output_dtype="f16"), "int8 gives an output of s32 or f32 or u8 or s8, not 'f16'"),
        (dict(dtype="int8", epilogue="relu(y)"), "with int8 ask for an output of f32, u8 or s8"),
        (dict(output_dtype="bf16"), "f32 gives an output of f32, not 'bf16'"),
        (dict(output_dtype="s8", target="cuda"), "output_dtype='s8' means nothing to target='cuda'"),
        (dict(groups=3), "groups=3 do not divide c=4"),
        (dict(padding="full"), "padding='full'"),
        (dict(r=None), "r is missing: give h and r, or neither"),
        (dict(tune="fast"), 'tune=\'fast\' must be "model" or "measure"'),
        (dict(layout="HWCN"), "layout='HWCN' must be 'nhwc' or 'nchw'"),
        (dict(dtype="int8", target="cuda"), "dtype 'int8' is not covered on a GPU: f16, bf16, tf32 and f32 are"),
        (dict(isa="sse9"), "unknown instruction set 'sse9'"),
    ],
)
def test_generate_conv_refuses(wrong, message, monkeypatch):
    monkeypatch.setattr("search.flow.generate.target_of", target_without_compiler)
    with pytest.raises(ProblemError) as raised:
        generate_conv(**(dict(c=4, h=5, w=5, k=4, r=3, s=3, padding=1) | wrong))
    assert message in str(raised.value)


def test_more_threads_than_cores_are_told_at_the_callers_line():
    cores = host().cores
    with pytest.warns(TilewrightWarning, match=f"{cores + 1} threads on .* wait for one another") as told:
        target_of("cpu", Wanted(threads=cores + 1))
    assert [each.filename for each in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target_of("cpu", Wanted(threads=cores))
        target_of("cpu", Wanted(threads=cores + 1), written=True)


def test_a_model_choice_lasts_as_long_as_its_ranking(monkeypatch):
    arguments = dict(c=8, h=11, w=11, k=16, r=3, s=3, isa="portable")
    generate_conv(**arguments)
    asked = []
    monkeypatch.setattr("search.evaluator.cpu.backend.revision", lambda *_: "after another ranking")
    monkeypatch.setattr(
        "search.evaluator.cpu.backend.CpuBackend.candidates",
        lambda self, problem: (
            asked.append(problem) or [parse(problem, "R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,4)")]
        ),
    )
    generate_conv(**arguments)
    assert asked
