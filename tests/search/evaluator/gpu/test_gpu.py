"""The GPU targets of the commands: the model's choice, what is emitted, the twin's verdict, and what is refused."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from math import hypot

import numpy as np
import pytest

import gpu.model.predict
import gpu.runtime.compiler.nvrtc
import gpu.runtime.kernel
import gpu.runtime.machine.device
import gpu.runtime.machine.loaded
import search.evaluator.gpu.backend
import search.evaluator.gpu.cuda
import search.evaluator.gpu.twin
from cpu.runtime.compiler.cache_folder import limit_bytes
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES
from gpu.model.predict import predict, rank
from gpu.model.space import candidates
from gpu.twin.launch import TwinRun
from search.conv import main as conv_command
from search.evaluator.gpu.backend import gpu_target
from search.evaluator.gpu.report import reason
from search.flow.find import find
from search.matmul import main as matmul_command
from tests.support.gpu.cases import product_scheme
from tests.support.gpu.compiling import needs_nvrtc
from tiling.operators import matmul
from tiling.text.shapes import canonical

pytestmark = pytest.mark.usefixtures("no_device")
CONV, PRODUCT = "c=8,h=9,w=9,k=16,r=3,s=3,pad=1", "m=40,n=24,k=56"
CPU_SCHEME = "R(k) T(h,9) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(w,3) V(k,4)"
TRANSPOSED = PRODUCT + ",batch=3,trans_a=1,trans_b=1"
CURRENT, CURRENT_DEVICE = gpu.runtime.machine.device.current, gpu.runtime.machine.device.current_device
KEYS = {"shape", "scheme", "correct", "search_seconds", "interrupted", "version", "repeat", "explanation", "emitted"}


@pytest.fixture
def with_nvrtc(monkeypatch, no_device):
    monkeypatch.undo()


def reported(command, capsys, *arguments) -> dict:
    assert command([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_space_is_ranked_once(monkeypatch):
    listed = []
    monkeypatch.setattr(gpu.model.predict, "candidates", lambda *of: listed.append(of) or candidates(*of))
    found = find(matmul(m=64, n=64, k=64), gpu_target("cuda", "f16", "A100"), tune="model")
    assert len(listed) == 1 and found.ranked[0] == found.scheme


@pytest.mark.slow
def test_choosing_predicts_only_what_it_compiles_and_its_time_counts(monkeypatch):
    def spilled(source, architecture):
        time.sleep(0.1)
        return compiled.append(source.scheme) or len(compiled) < 2

    compiled, predicted = [], []
    monkeypatch.setattr(gpu.runtime.kernel, "spilled", spilled)
    monkeypatch.setattr(gpu.runtime.kernel, "compile_cubin", lambda *_: None)
    monkeypatch.setattr(
        search.evaluator.gpu.backend, "predict", lambda s, device: predicted.append(s) or predict(s, device)
    )
    found = find(matmul(m=64, n=64, k=64), gpu_target("cuda", "f16", "A100"), tune="model")
    assert predicted == compiled == list(found.ranked[:2]) and found.scheme == compiled[1]
    assert found.seconds >= 0.2


@pytest.mark.slow
def test_files_of_different_problems_have_different_names(tmp_path, capsys):
    shapes = [CONV, CONV + ",stride=2", CONV + ",epilogue=relu(y+b)"]
    products = [PRODUCT, PRODUCT + ",trans_b=1", PRODUCT + ",batch=2,trans_b=1"]
    for command, shape in [*((conv_command, s) for s in shapes), *((matmul_command, s) for s in products)]:
        reported(command, capsys, "--target", "cuda", "--model-only", "--shape", shape, "--emit", str(tmp_path))
    assert len(list(tmp_path.glob("*.cu"))) == 6
    assert (tmp_path / "matmul_f16_m40_n24_k56_batch2_trans_b1.cu").exists()


@pytest.mark.slow
@pytest.mark.parametrize("compiles", [False, pytest.param(True, marks=needs_nvrtc)])
def test_what_copies_inputs_first_is_written_beside_the_kernel(compiles, tmp_path, capsys, request):
    if compiles:
        request.getfixturevalue("with_nvrtc")
    arguments = ["--target", "cuda", "--device", "H200", "--model-only", "--shape", "m=4095,n=4095,k=4096"]
    found = reported(matmul_command, capsys, *arguments, "--emit", str(tmp_path))
    names = [f"{found['symbol']}{rows}{kind}" for rows in ("", "_rows") for kind in (".cu", ".cubin")[: 1 + compiles]]
    names += [found["symbol"] + end for end in (".h", "_launch.c")] * compiles
    assert found["copied"] == ["b"] and sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert found["emitted"] == [str(tmp_path / name) for name in names]
    assert matmul_command(arguments) == 0
    assert "of shared memory each, after one that lays out b for TMA copies\n" in capsys.readouterr().out


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "command, shape", [(conv_command, CONV), (matmul_command, PRODUCT), (matmul_command, TRANSPOSED)]
)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
def test_the_models_choice_without_a_device(command, shape, dtype, capsys):
    found = reported(command, capsys, "--target", "cuda", "--dtype", dtype, "--model-only", "--shape", shape)
    assert set(found) >= KEYS and (found["shape"], found["dtype"], found["target"]) == (
        f"{shape},dtype={dtype}",
        dtype,
        "cuda",
    )
    assert found["device"] == "H200" and found["architecture"] == "sm_90a"
    unhidden, memory = (found["parts"].pop(name) for name in ("unhidden", "memory"))
    assert found["predicted_seconds"] == pytest.approx(hypot(max(found["parts"].values()), memory) + unhidden)
    assert found["registers"] is None and found["correct"] is None
    assert found["check"] == "not run: there is no CUDA device here"


@pytest.mark.slow
def test_what_the_cpus_report_says_is_said_of_a_gpu_too(capsys):
    """Programs read one object, whatever computes."""
    cpu = reported(conv_command, capsys, "--shape", CONV, "--isa", "portable", "--scheme", CPU_SCHEME)
    found = reported(conv_command, capsys, "--target", "cuda", "--model-only", "--shape", CONV)
    assert set(found) >= set(cpu)
    twin = reported(conv_command, capsys, "--target", "cuda-twin", "--shape", CONV)
    for report in (found, twin):
        assert report["machine"] == "H200, 132 multiprocessors, sm_90a" and report["isa"] == "sm_90a"
        assert report["microkernels"] == ["mma_m16n8k16_f16"] and (report["threads"], report["lacking"]) == (1, [])
        assert (report["algorithm"], report["cache"], report["direct_error"]) == ("direct", "warm", None)


def test_cubins_are_held_within_the_limit_that_is_given(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    for target, limit in (("cuda", 9 << 20), ("cuda-twin", 8 << 20)):
        arguments = ["--target", target, "--shape", PRODUCT, "--model-only", "--cache-limit", str(limit)]
        reported(matmul_command, capsys, *arguments)
        assert limit_bytes() == limit


def test_f16_is_the_default_and_a_device_can_be_named(capsys):
    found = reported(conv_command, capsys, "--target", "cuda", "--device", "a100", "--model-only", "--shape", CONV)
    assert (found["dtype"], found["device"], found["architecture"]) == ("f16", "A100", "sm_80")


def test_the_explanation_shows_every_pipe_of_the_choice_and_of_four_runners_up(capsys):
    assert matmul_command(["--target", "cuda", "--explain", "--shape", "m=4096,n=4096,k=4096"]) == 0
    text = capsys.readouterr().out
    table = text.partition("\n\n")[2].splitlines()
    assert all(pipe in table[0] for pipe in ("matrix", "shared", "turns", "copies", "l2", "memory", "limited by"))
    assert [line.split()[0] for line in table[1:6]] == ["chosen", "#2", "#3", "#4", "#5"]
    assert "It is limited by " in table[-1] and "The next candidate is predicted" in table[-1]
    assert "not compiled: NVRTC cannot be loaded, which compiles CUDA kernels: pip install" in text


def test_a_choice_that_the_model_would_not_have_made_is_explained():
    first, second, *_ = rank(matmul(m=4096, n=4096, k=4096, dtype="f16"), DEVICES["H200"])
    slower = replace(second, unhidden=second.unhidden + first.seconds)
    assert "most of all by the unhidden part" in reason(first, [slower], "")
    assert "faster; ptxas spills" in reason(slower, [first], "ptxas spills its registers")


def test_emission_without_nvrtc_writes_the_text(capsys, tmp_path):
    (tmp_path / "matmul_f16_m40_n24_k56.cubin").write_bytes(b"of an older kernel")
    found = reported(matmul_command, capsys, "--target", "cuda", "--emit", str(tmp_path), "--shape", PRODUCT)
    assert [tmp_path / "matmul_f16_m40_n24_k56.cu"] == list(tmp_path.iterdir())
    assert found["emitted"] == [str(tmp_path / "matmul_f16_m40_n24_k56.cu")]
    text = (tmp_path / "matmul_f16_m40_n24_k56.cu").read_text()
    assert found["scheme"] in text and "cp.async" in text


@needs_nvrtc
def test_emission_with_nvrtc_writes_the_machine_code(with_nvrtc, capsys, tmp_path):
    found = reported(
        matmul_command, capsys, "--target", "cuda", "--emit", str(tmp_path), "--shape", PRODUCT, "--device", "A100"
    )
    assert (tmp_path / "matmul_f16_m40_n24_k56.cubin").read_bytes()[:4] == b"\x7fELF"
    assert found["registers"] > 0 and found["spilled_bytes"] == 0 and found["compiler"].startswith("NVRTC")
    names = ["matmul_f16_m40_n24_k56" + end for end in (".cu", ".cubin", ".h", "_launch.c")]
    assert found["emitted"] == [str(tmp_path / name) for name in names]
    assert "CUresult matmul_f16_m40_n24_k56_launch(" in (tmp_path / names[2]).read_text()


def test_running_without_a_device_is_refused(capsys):
    assert conv_command(["--target", "cuda", "--shape", CONV]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert "there is no CUDA device here" in printed.err and "--target cuda-twin" in printed.err


def test_another_device_than_the_one_that_is_here(fake_device, no_device, monkeypatch, capsys):
    monkeypatch.setattr(gpu.runtime.machine.device, "current", CURRENT)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "current", CURRENT)
    monkeypatch.setattr(search.evaluator.gpu.backend, "current_device", CURRENT_DEVICE)
    arguments = ["--target", "cuda", "--device", "A100", "--shape", PRODUCT]
    assert matmul_command(arguments) == 1
    assert "the GPU here is NVIDIA H200, not A100" in capsys.readouterr().err
    assert reported(matmul_command, capsys, *arguments, "--model-only")["architecture"] == "sm_80"
    assert not fake_device.launches


@pytest.mark.parametrize(
    "command, arguments",
    [
        (conv_command, ["--shape", CONV]),
        (conv_command, ["--shape", CONV, "--dtype", "bf16", "--device", "A100", "--epilogue", "relu(y + b + z)"]),
        (conv_command, ["--shape", "c=3,h=20,w=20,k=9,r=5,s=5,stride=2,pad=2", "--dtype", "tf32", "--seed", "3"]),
        (matmul_command, ["--shape", PRODUCT, "--epilogue", "gelu(y / 16) * exp(z / 4)"]),
    ],
)
def test_the_twin_checks_the_choice_exactly(command, arguments, capsys):
    found = reported(command, capsys, "--target", "cuda-twin", *arguments)
    assert found["correct"] is True and found["conflicts"] == 0
    assert "on the twin; bank conflicts cost 0 cycles" in found["check"]
    assert "--target cuda-twin" in found["repeat"] and found["scheme"] in found["repeat"]
    assert found["repeat"].count("dtype") == 1


def test_exactly_the_scheme_that_is_given(capsys):
    scheme = product_scheme(matmul(m=40, n=24, k=56, dtype="f16")).text
    found = reported(matmul_command, capsys, "--target", "cuda-twin", "--shape", PRODUCT, "--scheme", scheme)
    assert found["scheme"] == scheme and found["ranked"] == 1
    assert matmul_command(["--target", "cuda-twin", "--shape", PRODUCT, "--scheme", scheme, "--explain"]) == 0
    text = capsys.readouterr().out
    assert "s, the scheme was given\n" in text and "#2" not in text and "not measured" in text


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--target", "cuda", "--threads", "1"], "--threads means nothing to --target cuda: leave it out"),
        (["--target", "cuda", "--isa", "avx2"], "--isa means nothing"),
        (["--target", "cuda-twin", "--budget", "30"], "--budget means nothing to --target cuda-twin"),
        (["--target", "cuda-twin", "--trials", "3"], "--trials means nothing"),
        (["--target", "cuda-twin", "--forget"], "--forget means nothing"),
        (["--device", "H200"], "--device means nothing to --target cpu"),
        (["--dtype", "f16"], "dtype 'f16' is not covered on a CPU"),
        (["--target", "cuda-twin", "--dtype", "f64"], "is not covered on a GPU: f16, bf16, tf32 and f32 are"),
        (["--target", "cuda", "--dtype", "bf16", "--shape", f"{PRODUCT},dtype=f16"], "dtype 'bf16' contradicts the "
            "shape's f16"),
        (["--target", "cuda", "--shape", f"{PRODUCT},dtype=bf16,out=f32"], "an output of f32 from bf16 is not covered "
            "on a GPU"),
        (["--target", "cuda", "--device", "T4", "--model-only"], "no GPU called 'T4' is known; there are A100"),
        (["--target", "cuda", "--model-only", "--scheme", "T(m"], "cannot read 'T(m'"),
        (["--target", "cuda", "--model-only", "--scheme", "T(m,40) S(c) T(k,56) V(n,8)"], ""),
        (["--target", "cuda-twin", "--shape", "m=1024,n=1024,k=1024"], "1073741824 multiply-adds are too many for the "
            "twin"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_for_a_target_gets_one_sentence(arguments, message, capsys):
    shape = [] if "--shape" in arguments else ["--shape", PRODUCT]
    assert matmul_command([*arguments, *shape]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err and printed.err.count("\n") == 1


def test_groups_take_no_matrix_instructions(capsys):
    assert conv_command(["--target", "cuda", "--model-only", "--shape", CONV + ",groups=4"]) == 0
    printed = capsys.readouterr().out
    assert "@lane" in printed and " M(" not in printed


def test_tf32_in_groups_is_refused_with_what_multiplies_them(capsys):
    arguments = ["--target", "cuda", "--model-only", "--dtype", "tf32", "--shape", CONV + ",groups=4"]
    assert conv_command(arguments) == 2
    assert "a scheme without M is of f32, f16 or bf16" in capsys.readouterr().err


def test_a_scheme_that_a_device_cannot_hold(capsys):
    problem = matmul(m=4096, n=4096, k=4096, dtype="f16")
    portable = [s for s in candidates(problem, DEVICES["H200"]) if "@warpgroup" not in s.text]
    deep = max(portable, key=lambda s: pipeline_of(s).shared_bytes).text
    arguments = ["--target", "cuda", "--model-only", "--shape", canonical(problem), "--scheme", deep]
    assert matmul_command(arguments) == 0
    assert matmul_command([*arguments, "--device", "L40S"]) == 2
    assert "bytes of shared memory, a block on L40S has at most" in capsys.readouterr().err


def test_a_wrong_kernel_is_nobodys_choice(monkeypatch, capsys):
    def wrong(source, *inputs, seed=0):
        return TwinRun(np.full(source.scheme.problem.output.shape, 7, np.float32), 0)

    monkeypatch.setattr(search.evaluator.gpu.twin, "run_on_twin", wrong)
    assert matmul_command(["--target", "cuda-twin", "--shape", PRODUCT]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "the kernel failed: wrong result" in printed.err and "instead of" in printed.err
