"""`python -m bench --target cuda` with a stand-in for CuPy: the contest, a layer in workers, a run with its report."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import bench.command as command
import bench.run.contest as contests
import bench.run.layers as layers
import bench.run.targets.cuda as on_gpu
from bench.peers.interface.peer import Peer, Prepared
from bench.report.formats import from_json_lines
from bench.report.markdown import page, readme_table
from bench.report.results import MODEL, OURS
from bench.report.sections import sections
from bench.report.summary import facts
from bench.run.batch import batched
from bench.run.contest import contest
from bench.run.layers import run_layer
from bench.run.targets.table import TARGETS
from cpu.reference.oracle import WrongResult, reference
from cpu.runtime.numbers import from_bits, to_bits
from cpu.runtime.processes.worker import WorkerError
from search.evaluator.gpu.cuda import cuda_backend
from tests.support.gpu.cases import product_scheme
from tiling.epilogue import fused
from tiling.operators import matmul
from tiling.problem import ProblemError
from tiling.text.shapes import canonical, problem_of, suite
from tiling.text.suite import Layer

PROBLEM = matmul(m=40, n=24, k=56, dtype="f16")
SCHEME = product_scheme(PROBLEM).text
LAYERS = (Layer("A", "m=40 n=24 k=56", 2, problem_of("matmul", "m=40,n=24,k=56")),)


class Made(Peer):
    """A peer for a GPU that computes with the reference, and is wrong or silent on demand."""

    name, title, target = "made", "made up", "cuda"

    def __init__(self, off=0.0, silent=False, calls=None, stepwise=False):
        self.off, self.silent, self.calls, self.stepwise = off, silent, calls, stepwise

    def missing(self):
        return None

    def version(self):
        return "made 1"

    def environment(self, threads):
        return {}

    def unsupported_reason(self, problem):
        return None

    def computed(self, problem, *inputs):
        return from_bits(to_bits(reference(problem, *inputs) + self.off, problem.output_dtype), problem.output_dtype)

    def prepare(self, problem, x, w, threads, *arrays):
        y = self.computed(problem, x, w, *arrays)

        def seconds(count):
            if self.calls is not None:
                self.calls.append((self, count))
            return [1e-3] * count

        return Prepared(lambda: None, lambda: y, "row-major", None if self.silent else seconds, self.stepwise)


class Steps(Made):
    """One that stores the sums, and each step of relu(y + b + z), in the output's dtype."""

    def computed(self, problem, x, w, b, z):
        def rounded(values):
            return from_bits(to_bits(values.astype(np.float32), problem.output_dtype), problem.output_dtype)

        y = rounded(reference(replace(problem, epilogue=None), x, w))
        return np.maximum(rounded(rounded(y + b) + z), 0)


@pytest.fixture
def enter(stand_in, monkeypatch):
    def entered(cache="warm", dtype="f16", problem=PROBLEM, **peers):
        monkeypatch.setattr(contests, "PEERS", peers)
        monkeypatch.setattr(on_gpu, "memory_bandwidth", lambda l2_bytes: 4e12)
        return contest(
            target="cuda", op="matmul", shape=canonical(problem), dtype=dtype, schemes={OURS: SCHEME, MODEL: SCHEME},
            peers=list(peers), cache=cache, rounds=2, seconds=0.001, seed=1,
        )  # fmt: skip

    return entered


def test_a_contest_times_everyone_in_turns_by_the_devices_clock(enter):
    calls = []
    first, second = Made(calls=calls), Made(calls=calls)
    found = enter(one=first, two=second)
    assert [c["name"] for c in found["contenders"]] == [OURS, MODEL, "one", "two"]
    assert [peer for peer, _ in calls] == [first, first, second, second] * 2
    for contender in found["contenders"]:
        assert min(contender["call"]["samples"]) > 0 and contender["kernel"] is None
        assert contender["call"]["peak_gflops"] == pytest.approx(989.4e3, rel=1e-3)
        assert 0 < contender["max_error"] < 0.02
    assert found["skipped"] == [] and found["memory_bandwidth"] == 4e12


@pytest.mark.parametrize(
    "peer, reason",
    [
        (Made(off=0.5), "wrong result: 960 of 960 outputs differ"),
        (Made(off=np.nan), "wrong result"),
        (Made(silent=True), "bad does not tell how long it keeps the device busy"),
    ],
)
def test_a_peer_that_is_wrong_is_skipped_with_its_reason(enter, peer, reason):
    found = enter(bad=peer)
    ((name, why),) = found["skipped"]
    assert name == "bad" and why.startswith(reason) and len(found["contenders"]) == 2


def test_an_epilogues_arrays_are_handed_to_everyone(enter):
    """To our kernels on the device too. A peer that rounds in between and says so is granted that, and no more."""
    steps = {"whole": Made(), "steps": Steps(stepwise=True), "unsaid": Steps(), "far": Made(off=0.5, stepwise=True)}
    found = enter(problem=fused(matmul(m=40, n=24, k=56), "relu(y + b + z)"), **steps)
    assert [c["name"] for c in found["contenders"]] == [OURS, MODEL, "whole", "steps"]
    assert [name for name, why in found["skipped"] if why.startswith("wrong result")] == ["unsaid", "far"]


def test_a_cold_l2_is_swept_before_each_call(enter, monkeypatch):
    swept, calls = [], []
    monkeypatch.setattr(on_gpu, "sweeper", lambda size: lambda: swept.append(size))
    found = enter(cache="cold", one=Made(calls=calls))
    assert {count for _, count in calls} == {1}
    assert len(swept) > sum(len(c["call"]["samples"]) for c in found["contenders"])


def test_a_kernel_of_ours_that_is_wrong_ends_the_contest(enter, stand_in):
    stand_in({SCHEME: "wrong"})
    with pytest.raises(WrongResult):
        enter()


@pytest.fixture
def quick(stand_in, monkeypatch):
    """Searches of one schedule, and contests of a single short turn."""
    monkeypatch.setattr(layers, "ROUNDS", 1)
    monkeypatch.setitem(TARGETS, "cuda", replace(TARGETS["cuda"], turn_seconds=0.001))
    backend = cuda_backend("f16")
    first = backend.candidates(PROBLEM)[:1]
    monkeypatch.setattr(type(backend), "candidates", lambda self, problem: first)
    monkeypatch.setattr("tiling.text.shapes.suite", lambda name: LAYERS)
    return backend


def test_contests_share_a_process_until_one_fails(stand_in):
    def worker(*variables):
        with layers._worker("cuda", variables) as found:
            return found

    first, other = worker(), worker(("A", "1"))
    assert worker() is first is not other
    with pytest.raises(RuntimeError), layers._worker("cuda", ()):
        raise RuntimeError
    with pytest.raises(WorkerError, match="closed"):
        first.call("bench.run.contest:contest", timeout=1.0)
    assert worker() is not first and worker(("A", "1")) is other


@pytest.mark.slow
def test_a_layer_in_workers(quick):
    found = run_layer(quick, "tiny", "A", 2, LAYERS[0].problem, budget=2.0)
    assert (found.target, found.dtype, found.threads, found.kernel_percent(found.ours)) == ("cuda", "f16", 1, None)
    assert [c.name for c in found.contenders] == [OURS, MODEL] and found.tried[0][0] < 1e-3
    assert len(sections([found, replace(found, target="cpu")])) == 2
    assert 0 < found.percent(found.ours) < 100 and found.compulsory_bytes == 2 * (40 * 56 + 56 * 24 + 40 * 24)


@pytest.mark.slow
def test_a_run_leaves_a_report_that_says_where_its_times_come_from(quick, tmp_path, capsys, monkeypatch):
    told = replace(on_gpu.TARGET, state=lambda: "driver 580.1, SM clock 345 MHz")
    monkeypatch.setitem(TARGETS, "cuda", told)
    arguments = ["--target", "cuda", "--suite", "tiny", "--peers", "none", "--budget", "2"]
    assert command.main([*arguments, "--report", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    shown = " ".join(printed.out.split())
    assert "tiny, on the GPU, f16: % of the tensor-core rate" in shown and "by events on the device" in shown
    assert "tiny:A on the GPU" in printed.err
    run = from_json_lines((tmp_path / "performance.jsonl").read_text())
    assert run.conditions.target == "cuda" and run.conditions.compiler.startswith("NVRTC 13.99, driver 13.0")
    assert run.conditions.command.startswith("python -m bench --suite tiny --target cuda --dtype f16 --peers none")
    said = dict(facts(run.conditions, run.results))
    assert said["Machine"].startswith("NVIDIA H200, 132 multiprocessors, sm_90a; L2 64 KiB")
    assert said["Driver and clocks"] == "driver 580.1, SM clock 345 MHz."
    assert "CUDA events" in said["Times"] and "data sheet" in said["Measured in the run"]
    (section,) = sections(run.results)
    assert section.name == "tiny-gpu-f16"
    assert "what one call keeps the device busy" in readme_table([section], run.conditions)
    assert "FMA" not in page([section], run.conditions)


def test_what_nvidia_smi_tells_of_this_gpu(stand_in, tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        '#!/bin/sh\necho "$1" >&2\n[ "$1" = --id=0000:01:00.0 ] && echo "580.1, 345 MHz, 1980 MHz, 2619 MHz, 700 W, '
        '31, P0, Disabled"'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert on_gpu.state().startswith("driver 580.1, SM clock 345 MHz, of at most 1980 MHz, memory clock 2619 MHz")
    tool.write_text("#!/bin/sh\nexit 9")
    assert "nvidia-smi did not tell" in on_gpu.state()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--algorithm", "auto"], "--algorithm means nothing to --target cuda: leave it out"),
        (["--threads", "2"], "--threads means nothing to --target cuda: leave it out"),
        (["--dtype", "f32"], "dtype 'f32' is not covered by --target cuda: f16, bf16, tf32"),
        (["--peers", "onednn"], "onednn computes on the CPU: beside kernels of a GPU it would compare two machines"),
        (["--suite", "bert_base", "--batch", "2"], "--batch is for convolutions: bert_base:QKVO is a product"),
    ],
)
def test_what_makes_no_sense_on_a_gpu_gets_one_sentence(stand_in, arguments, message, capsys):
    assert command.main(["--target", "cuda", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_without_a_device_a_run_is_one_sentence(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    monkeypatch.setattr("gpu.runtime.machine.device.no_gpu", lambda: "there is no CUDA device here (no driver)")
    assert command.main(["--target", "cuda", "--suite", "gemm_square", "--peers", "none"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("there is no CUDA device here (no driver)") and said.count("\n") == 1


def test_a_batch_of_images():
    (first, *_) = batched("resnet50", suite("resnet50"), 16)
    assert first.problem.extents["n"] == 16 and "n=16" in first.shape
    assert first.problem.flops == 16 * suite("resnet50")[0].problem.flops
    assert batched("x", [replace(LAYERS[0], problem=None, unsupported="3-D")], 4)[0].unsupported == "3-D"
    with pytest.raises(ProblemError, match="--batch is for convolutions"):
        batched("bert_base", suite("bert_base"), 2)


def test_a_result_without_a_target_is_the_cpus():
    from bench.report.formats import BenchRun, to_json_lines
    from tests.support.search.made_up_results import CONDITIONS, RESULTS

    lines = [json.loads(line) for line in to_json_lines(BenchRun(CONDITIONS, RESULTS)).splitlines()]
    for line in lines:
        line.pop("target", None) or line["conditions"].pop("target")
    assert from_json_lines("\n".join(map(json.dumps, lines))) == BenchRun(CONDITIONS, RESULTS)
