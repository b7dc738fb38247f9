"""A search on a GPU, with a stand-in for CuPy that workers find too: its launches run the twin, and fail on demand."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from cpu.measure import WrongResult
from cpu.worker import WorkerError
from gpu.compile import compile_cubin
from gpu.kernel import DeviceError
from gpu.timer import HEAD_START
from search import generate_matmul, store
from search.gpu_check import real_case
from search.gpu_problem import on_gpu
from search.gpu_workshop import gpu_workshop
from search.matmul import main as matmul_command
from tests.gpu_cases import expected, integers, product_scheme
from tests.gpu_stand_in import stand_in  # noqa: F401, a fixture
from tests.test_gpu_compile import needs_nvrtc
from tiling.machine import Timing
from tiling.operators import conv2d, matmul

SHAPE = "m=40,n=24,k=56"
PROBLEM = matmul(m=40, n=24, k=56, dtype="f16")


def few(count: int):
    """The first schemes by the model whose kernels differ."""
    shop = gpu_workshop("f16")
    return shop, shop.candidates(PROBLEM)[:count]


def test_what_fails_costs_one_candidate_and_is_recorded_with_its_reason(stand_in, monkeypatch):
    monkeypatch.setattr("search.tune.LEAST_PATIENCE", 3.0)
    shop, schemes = few(5)
    fault, hang, wrong, spill, good = schemes
    kinds = {fault: "fault", hang: "hang", wrong: "wrong", spill: "spill"}
    stand_in({scheme.text: kind for scheme, kind in kinds.items()})
    outcome = shop.tune(schemes, budget=4.0)
    assert outcome.trials == 5 and outcome.failed == 4 and outcome.best.scheme == good
    found = store.measured(shop.key(PROBLEM))
    assert "ended with status 1" in found[fault.text] and "an illegal memory access" in found[fault.text]
    assert found[hang.text].startswith("no answer within")
    assert "wrong result" in found[wrong.text]
    assert found[spill.text] == "ptxas spills 16 bytes of its registers"
    assert found[good.text].peak_gflops == pytest.approx(989.4e3, rel=1e-3)


def test_generate_keeps_what_it_tuned(stand_in, monkeypatch):
    shop, schemes = few(1)
    monkeypatch.setattr(type(shop), "candidates", lambda self, problem: schemes)
    kernel = generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure", budget=3.0)
    assert kernel.scheme in schemes and kernel.timing.seconds > 0
    import cupy

    inputs = integers(PROBLEM)
    output = kernel(*(cupy.asarray(array.astype(np.float16)) for array in inputs))
    np.testing.assert_array_equal(np.asarray(output, np.float32), expected(PROBLEM, *inputs))
    monkeypatch.setattr(type(shop), "tune", None)
    assert generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure").scheme == kernel.scheme


def test_a_choice_that_cannot_be_built_is_ignored(stand_in, monkeypatch):
    shop, schemes = few(1)
    monkeypatch.setattr(type(shop), "candidates", lambda self, problem: schemes)
    store.choose(shop.key(PROBLEM), "measure", "T(m,40) S(c) T(k,56) V(n,24)", Timing((1.0,), 1.0))
    with pytest.warns(RuntimeWarning, match="m=40,n=24,k=56"):
        assert generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure", budget=3.0).scheme == schemes[0]


def test_the_command_measures_and_reports(stand_in, capsys, monkeypatch, tmp_path):
    shop, schemes = few(2)
    stand_in({schemes[0].text: "wrong"})
    monkeypatch.setattr("search.gpu_command.VERDICT_SECONDS", 0.05)
    monkeypatch.setattr("search.command.VERDICT_SECONDS", 0.05)
    arguments = ["--target", "cuda", "--shape", SHAPE, "--trials", "2", "--budget", "2"]
    assert matmul_command([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trials"] == 2 and found["scheme"] != schemes[0].text
    assert found["failed"] == 1 and found["correct"] is True and found["max_error"] < 0.1
    assert found["seconds"] > 0 and 0 < found["percent_of_peak"] < 100 and len(found["samples"]) >= 5
    assert found["direct_error"] == found["max_error"] and found["machine"].startswith("NVIDIA H200, 132 multi")
    assert found["device"] == "NVIDIA H200" and found["registers"] == 64
    assert store.choice(shop.key(PROBLEM), "measure")[0] == found["scheme"]
    # Again: what is known takes part and is not measured anew; the text says what was measured.
    assert matmul_command([*arguments, "--explain", "--emit", str(tmp_path / "kernel")]) == 0
    text = capsys.readouterr().out
    assert "% of the tensor-core rate 989 TFLOP/s" in text and "on the device, median of" in text
    assert "limits it (" in text and (tmp_path / "kernel").is_dir()


def test_one_scheme_is_checked_and_timed(stand_in, capsys, monkeypatch):
    monkeypatch.setattr("search.gpu_command.VERDICT_SECONDS", 0.05)
    scheme = product_scheme(PROBLEM).text
    arguments = ["--target", "cuda", "--shape", SHAPE, "--scheme", scheme]
    assert matmul_command([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scheme"] == scheme and found["trials"] == 0 and found["seconds"] > 0
    stand_in({scheme: "wrong"})
    assert matmul_command(arguments) == 1
    assert "the kernel failed: WrongResult: wrong result" in capsys.readouterr().err


def test_the_budget_begins_once_device_and_compiler_are_ready(stand_in, monkeypatch):
    shop, schemes = few(1)
    steps = []
    monkeypatch.setattr("search.gpu_workshop.Worker.call", lambda self, function, **_: steps.append(function))
    monkeypatch.setattr("search.gpu_workshop.tune_and_record", lambda *_, **__: steps.append("tune"))
    shop.tune(schemes)
    assert steps == ["search.gpu_measure:ready", "search.gpu_measure:compiler_ready", "tune"]


def test_a_device_that_cannot_be_used_is_no_candidates_fault(stand_in, monkeypatch):
    shop, schemes = few(1)
    monkeypatch.setattr("search.gpu_workshop.READY_SECONDS", 1e-9)
    with pytest.raises(WorkerError, match="the device cannot be used: no answer within"):
        shop.tune(schemes, budget=5.0)
    assert store.measured(shop.key(PROBLEM)) == {}


@needs_nvrtc
def test_the_head_start_compiles():
    assert compile_cubin(HEAD_START, "sm_90a").spilled == 0


def test_without_a_device_a_search_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr("gpu.kernel.no_gpu", lambda: None)
    with pytest.raises(DeviceError, match=r"CuPy is not installed.*tilewright\[gpu\]"):
        generate_matmul(m=40, n=24, k=56, target="cuda", tune="measure")


def test_the_key_tells_devices_dtypes_and_versions_apart(stand_in):
    keys = {gpu_workshop(dtype).key(on_gpu(matmul(m=8, n=8, k=8), dtype)) for dtype in ("f16", "bf16", "tf32")}
    assert len(keys) == 3
    key = keys.pop()
    assert key.fingerprint == "NVIDIA H200, 132 multiprocessors, sm_90a"
    assert key.compiler.startswith("NVRTC 13.0, driver 13.0, kernels ")


@pytest.mark.parametrize("dtype, step", [("f16", 0.02), ("bf16", 0.2), ("tf32", 0.001)])
def test_the_check_on_reals_sees_one_output_that_is_off(dtype, step):
    case = real_case(on_gpu(conv2d(c=8, h=5, w=5, k=8, r=3, s=3, padding=1), dtype), seed=3)
    middle = (case.low + case.high) / 2
    assert case.check(middle) < step
    spoilt = middle.copy()
    spoilt[0, 1, 2, 3] += step * 4
    with pytest.raises(WrongResult, match="1 of 200 outputs"):
        case.check(spoilt)
