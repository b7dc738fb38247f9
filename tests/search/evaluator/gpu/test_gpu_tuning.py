"""A search on a GPU, with a stand-in for CuPy that workers find too: its launches run the twin, and fail on demand."""

from __future__ import annotations

import json
import sys
from contextlib import closing

import numpy as np
import pytest

from cpu.reference.oracle import WrongResult
from cpu.runtime.machine.host import MachineError
from cpu.runtime.numbers import to_bits
from cpu.runtime.processes.worker import WorkerError
from gpu.codegen.loops.scheme import emit_scheme
from gpu.runtime.arrays import as_output, from_device
from gpu.runtime.compiler import nvrtc
from gpu.runtime.compiler.compile import compile_cubin
from gpu.runtime.kernel import load
from gpu.runtime.machine import compare
from gpu.runtime.machine.device import DeviceError
from gpu.runtime.machine.isolation import ending_on_a_fault
from gpu.runtime.machine.timer import HEAD_START
from search import generate_matmul
from search.evaluator.gpu import measure as gpu_measure
from search.evaluator.gpu.check import exact_case, placed, real_case
from search.evaluator.gpu.cuda import cuda_backend
from search.flow.find import find
from search.flow.recorded import passed
from search.matmul import main as matmul_command
from search.tuner import store
from search.tuner.dtypes import on_gpu
from search.tuner.measured import Measured
from search.tuner.tune import Outcome
from tests.support.gpu.cases import expected, integers, product_scheme
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.search.searching import tune
from tiling.machine import Timing
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError

SHAPE = "m=40,n=24,k=56"
PROBLEM = matmul(m=40, n=24, k=56, dtype="f16")


def few(count: int):
    """The first schemes by the model whose kernels differ."""
    backend = cuda_backend("f16")
    return backend, backend.candidates(PROBLEM)[:count]


@pytest.mark.slow
def test_what_fails_costs_one_candidate_and_is_recorded_with_its_reason(stand_in, monkeypatch):
    monkeypatch.setattr("search.tuner.tune.LEAST_PATIENCE", 3.0)
    backend, schemes = few(5)
    fault, hang, wrong, spill, good = schemes
    kinds = {fault: "fault", hang: "hang", wrong: "wrong", spill: "spill"}
    stand_in({scheme.text: kind for scheme, kind in kinds.items()})
    outcome = tune(backend, schemes, budget=4.0)
    assert outcome.trials == 5 and outcome.failed == 4 and outcome.best.scheme == good
    found = store.measured(backend.key(PROBLEM))
    assert "ended with status 1" in found[fault.text] and "an illegal memory access" in found[fault.text]
    assert found[hang.text].startswith("no answer within")
    assert "wrong result" in found[wrong.text]
    assert found[spill.text] == "ptxas spills 16 bytes of its registers"
    assert found[good.text].peak_gflops == pytest.approx(989.4e3, rel=1e-3)


@pytest.mark.parametrize("fault", [None, 700])
def test_another_error_does_not_hide_a_fault(stand_in, monkeypatch, capsys, fault):
    """Such as that of a kernel which is not loaded after an earlier one's fault: the process is to end all the same."""
    import cupy

    monkeypatch.setattr("os._exit", sys.exit)
    cupy.cuda.context.fault = fault
    with pytest.raises(SystemExit if fault else DeviceError), ending_on_a_fault():
        raise DeviceError("the kernel does not load")
    assert ("CUDARuntimeError: cudaErrorIllegalAddress" in capsys.readouterr().err) == bool(fault)


@pytest.mark.slow
def test_generate_keeps_what_it_tuned(stand_in, monkeypatch):
    backend, schemes = few(1)
    monkeypatch.setattr(type(backend), "candidates", lambda self, problem: schemes)
    kernel = generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure", budget=3.0)
    assert kernel.scheme in schemes and kernel.timing.seconds > 0
    import cupy

    inputs = integers(PROBLEM)
    output = kernel(*(cupy.asarray(array.astype(np.float16)) for array in inputs))
    np.testing.assert_array_equal(np.asarray(output, np.float32), expected(PROBLEM, *inputs))
    monkeypatch.setattr("search.flow.find.tuned", None)
    assert generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure").scheme == kernel.scheme


@pytest.mark.slow
def test_a_choice_that_cannot_be_built_is_ignored(stand_in, monkeypatch):
    backend, schemes = few(1)
    monkeypatch.setattr(type(backend), "candidates", lambda self, problem: schemes)
    store.choose(backend.key(PROBLEM), "measure", "T(m,40) S(c) T(k,56) V(n,24)", Timing((1.0,), 1.0))
    with pytest.warns(RuntimeWarning, match="m=40,n=24,k=56"):
        assert generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure", budget=3.0).scheme == schemes[0]


def test_a_kept_choice_that_does_not_compile_here_is_searched_again(stand_in, monkeypatch):
    backend, (first, kept) = few(2)
    monkeypatch.setattr(type(backend), "candidates", lambda self, problem: [first])
    store.choose(backend.key(PROBLEM), "measure", kept.text, Timing((1.0,), 1.0))
    compiled = compile_cubin

    def compile(source, architecture):
        if source.scheme == kept:
            raise nvrtc.CompileError("NVRTC refused the kernel")
        return compiled(source, architecture)

    monkeypatch.setattr("search.evaluator.gpu.backend.compile_cubin", compile)
    assert generate_matmul(m=40, n=24, k=56, target="cuda").scheme == first


@pytest.mark.parametrize("error", [DeviceError("too much shared memory"), SchemeError("no pipeline")])
def test_a_kept_choice_that_does_not_load_here_is_searched_again(error, stand_in, monkeypatch):
    backend, (first, kept) = few(2)
    monkeypatch.setattr(type(backend), "candidates", lambda self, problem: [first])
    store.choose(backend.key(PROBLEM), "measure", kept.text, Timing((1.0,), 1.0))
    loaded = load

    def fail(scheme):
        if scheme in refused:
            raise error
        return loaded(scheme)

    monkeypatch.setattr("search.evaluator.gpu.cuda.load", fail)
    refused = [kept]
    assert generate_matmul(m=40, n=24, k=56, target="cuda").scheme == first
    refused = [kept, first]
    with pytest.raises(type(error)):
        generate_matmul(m=40, n=24, k=56, target="cuda")


@pytest.mark.slow
def test_a_finalist_that_does_not_compile_gives_way_to_the_next(stand_in, monkeypatch):
    backend, (refused, right) = few(2)
    finalists = [Measured(scheme, (Timing((1.0,), 1.0),)) for scheme in (refused, right)]
    compiled = compile_cubin

    def compile(source, architecture):
        if source.scheme == refused:
            raise nvrtc.CompileError("NVRTC refused the kernel")
        return compiled(source, architecture)

    monkeypatch.setattr("search.evaluator.gpu.backend.compile_cubin", compile)
    outcome = Outcome(finalists[0], 2, 0, False, tuple(finalists), (finalists[1],))
    with closing(backend.evaluator(PROBLEM)) as evaluator:
        assert passed(backend, evaluator, outcome, seed=0).outcome.best == finalists[1]


@pytest.mark.slow
def test_the_command_measures_and_reports(stand_in, capsys, monkeypatch, tmp_path):
    backend, schemes = few(2)
    stand_in({schemes[0].text: "wrong"})
    monkeypatch.setattr("search.flow.find.VERDICT_SECONDS", 0.05)
    monkeypatch.setattr("search.flow.recorded.VERDICT_SECONDS", 0.05)
    arguments = ["--target", "cuda", "--shape", SHAPE, "--trials", "2", "--budget", "2"]
    assert matmul_command([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trials"] == 2 and found["scheme"] != schemes[0].text
    assert found["failed"] == 1 and found["correct"] is True and found["max_error"] < 0.1
    assert found["seconds"] > 0 and 0 < found["percent_of_peak"] < 100 and len(found["samples"]) >= 5
    assert found["direct_error"] == found["max_error"] and found["machine"].startswith("NVIDIA H200, 132 multi")
    assert found["device"] == "NVIDIA H200" and found["registers"] == 64
    assert store.choice(backend.key(PROBLEM), "measure").scheme == found["scheme"]
    # Again: what is known takes part and is not measured anew; the text says what was measured.
    assert matmul_command([*arguments, "--explain", "--emit", str(tmp_path / "kernel")]) == 0
    text = capsys.readouterr().out
    assert "% of the tensor-core rate 989 TFLOP/s" in text and "on the device, median of" in text
    assert "It is limited by " in text and (tmp_path / "kernel").is_dir()


@pytest.mark.slow
def test_one_scheme_is_checked_and_timed(stand_in, capsys, monkeypatch):
    monkeypatch.setattr("search.flow.find.VERDICT_SECONDS", 0.05)
    scheme = product_scheme(PROBLEM).text
    arguments = ["--target", "cuda", "--shape", SHAPE, "--scheme", scheme]
    assert matmul_command([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scheme"] == scheme and found["trials"] == 0 and found["seconds"] > 0
    stand_in({scheme: "wrong"})
    assert matmul_command(arguments) == 1
    assert "the kernel failed: WrongResult: wrong result" in capsys.readouterr().err


def test_the_budget_begins_once_device_and_compiler_are_ready(stand_in, monkeypatch):
    backend, schemes = few(1)
    steps = []
    monkeypatch.setattr("search.evaluator.gpu.cuda.Worker.call", lambda self, function, **_: steps.append(function))
    outcome = Outcome(Measured(schemes[0], (Timing((1.0,), 1.0),)), 1, 0, False)
    monkeypatch.setattr("search.flow.find.tuned", lambda *_, **__: (steps.append("tune") or outcome, 0))
    find(matmul(m=40, n=24, k=56), backend.target, verify=False)
    both = {"search.evaluator.gpu.measure:ready", "search.evaluator.gpu.measure:compiler_ready"}
    assert set(steps[:2]) == both and steps[2:] == ["tune"]


@pytest.fixture
def fresh(stand_in):
    """What a worker remembers of its problem and its kernels, forgotten before and after."""
    remembered = (gpu_measure._rehearse, gpu_measure._exact, gpu_measure._random, compare._loaded)
    for cached in remembered:
        cached.cache_clear()
    yield
    for cached in remembered:
        cached.cache_clear()


def test_a_candidate_waits_for_nothing_but_its_own_kernel(fresh, monkeypatch):
    """Neither for another kernel, of ours or of CuPy's, nor for the reference, nor for inputs to get to the device."""
    import cupy

    backend, (scheme,) = few(1)
    job = backend.job(scheme)
    gpu_measure.ready(**{key: value for key, value in job.items() if key != "scheme"})
    loaded, load = [], cupy.cuda.Module.load
    monkeypatch.setattr(cupy.cuda.Module, "load", lambda self, code: loaded.append(code) or load(self, code))
    monkeypatch.setattr(cupy.ndarray, "fill", None)
    monkeypatch.setattr("search.evaluator.gpu.check.reference", None)
    monkeypatch.setattr(cupy, "asarray", None)
    assert gpu_measure.scheme(**job, seconds=0.01)["samples"]
    (code,) = loaded
    assert emit_scheme(scheme).symbol in code.decode()


def test_nvrtc_is_warm_before_a_candidates_time_begins(stand_in, monkeypatch):
    """Also where the cache has what is compiled first."""
    compiled, nvrtc_compiled = [], nvrtc.compiled
    monkeypatch.setattr(nvrtc, "compiled", lambda *given: compiled.append(given) or nvrtc_compiled(*given))
    compile_cubin(HEAD_START, "sm_90a")
    compiled.clear()
    gpu_measure.compiler_ready(architecture="sm_90a")
    assert len(compiled) == 1


def test_a_device_that_does_not_see_a_wrong_output_is_not_used(fresh, monkeypatch):
    """Every element of one that no kernel wrote has to be found wrong."""
    backend, (scheme,) = few(1)
    monkeypatch.setattr("search.evaluator.gpu.check.outside", lambda *_: PROBLEM.output.elements - 1)
    job = {key: value for key, value in backend.job(scheme).items() if key != "scheme"}
    with pytest.raises(RuntimeError, match="finds 959 of 960 outputs wrong that no kernel has written"):
        gpu_measure.ready(**job)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("shape", [(3, 7), (300, 70)])
def test_the_device_counts_what_lies_outside(stand_in, monkeypatch, dtype, shape):
    """Limits are inside, a zero's sign means nothing, and what is no number is outside. The larger array takes some
    threads more turns than others.
    """
    monkeypatch.setattr(compare, "_MOST_BLOCKS", 8)
    compare._loaded.cache_clear()
    import cupy

    rng = np.random.default_rng(1)
    low = rng.integers(-9, 9, shape).astype(np.float32)
    high, found = low + rng.integers(0, 2, shape), low.copy()
    found[low == 0] = -0.0
    low[1, 1] = found[1, 1] = high[1, 1] = 5
    bits = [cupy.asarray(to_bits(array, dtype)) for array in (found, low, high)]
    assert compare.outside(dtype, *bits) == 0
    found[0, 0], found[1, 1], found[-1, -1], found[-1, 0] = np.nan, -5, high[-1, -1] + 0.25, -np.inf
    found[2, 3], high[2, 3] = low[2, 3], np.nan
    bits = [cupy.asarray(to_bits(array, dtype)) for array in (found, low, high)]
    assert compare.outside(dtype, *bits) == 5
    compare._loaded.cache_clear()


def test_numpy_looks_closer_only_where_the_device_finds_something(fresh, monkeypatch):
    exact = placed(PROBLEM, exact_case(PROBLEM))
    assert exact.high is exact.low
    right = as_output(PROBLEM, exact.case.expected)
    brought = []
    monkeypatch.setattr(
        "search.evaluator.gpu.check.from_device", lambda *given: brought.append(1) or from_device(*given)
    )
    exact.check(right)
    assert not brought
    right[3, 4] += 1
    with pytest.raises(WrongResult, match=r"1 of 960 outputs differ from the reference, the first at \(3, 4\)"):
        exact.check(right)
    assert brought


@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("elements", [1, 960, 8192 * 8192, 70000**2])
def test_the_counting_kernel_compiles(dtype, elements):
    assert compile_cubin(compare.counter(elements, dtype), "sm_80").spilled == 0


def test_a_device_that_cannot_be_used_is_no_candidates_fault(stand_in, monkeypatch):
    backend, schemes = few(1)
    monkeypatch.setattr("search.evaluator.gpu.cuda.READY_SECONDS", 1e-9)
    with pytest.raises(WorkerError, match="the device cannot be used: no answer within"):
        tune(backend, schemes, budget=5.0)
    assert store.measured(backend.key(PROBLEM)) == {}


def test_too_little_memory_for_one_problem_leaves_the_device_usable_for_others(stand_in, monkeypatch):
    def full(problem):
        raise MemoryError("out of memory allocating 99 bytes")

    monkeypatch.setattr(gpu_measure, "_rehearse", full)
    with pytest.raises(MachineError, match=r"suffice to check .* on the GPU: out of memory allocating 99"):
        gpu_measure.ready(op="matmul", shape=SHAPE, dtype="f16")


@needs_nvrtc
def test_the_head_start_compiles():
    assert compile_cubin(HEAD_START, "sm_90a").spilled == 0


def test_without_a_device_a_search_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr("gpu.runtime.machine.device.no_gpu", lambda: None)
    with pytest.raises(DeviceError, match=r"CuPy is not installed.*tilewright\[gpu\]"):
        generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure")


def test_the_key_tells_devices_dtypes_and_versions_apart(stand_in):
    keys = {cuda_backend(dtype).key(on_gpu(matmul(m=8, n=8, k=8), dtype)) for dtype in ("f16", "bf16", "tf32")}
    assert len(keys) == 3
    key = keys.pop()
    assert key.fingerprint == "NVIDIA H200, 132 multiprocessors, sm_90a"
    assert key.compiler.startswith("NVRTC 13.99, driver 13.0, kernels ")


@pytest.mark.parametrize("dtype, step", [("f16", 0.02), ("bf16", 0.2), ("tf32", 0.001)])
def test_the_check_on_reals_sees_one_output_that_is_off(dtype, step):
    case = real_case(on_gpu(conv2d(c=8, h=5, w=5, k=8, r=3, s=3, padding=1), dtype), seed=3)
    middle = (case.low + case.high) / 2
    assert case.check(middle) < step
    spoilt = middle.copy()
    spoilt[0, 1, 2, 3] += step * 4
    with pytest.raises(WrongResult, match="1 of 200 outputs"):
        case.check(spoilt)
