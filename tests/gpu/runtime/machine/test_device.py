"""What only a GPU can show of search and bench: run where one is, `pytest -m gpu`."""

from __future__ import annotations

import json

import pytest

from bench.peers import PEERS
from bench.report.results import OURS
from cpu.runtime.processes.worker import Worker
from gpu.runtime.machine.isolation import ADDRESSES
from search import generate_conv, generate_matmul
from search.conv import main as conv_command
from search.evaluator.gpu.cuda import cuda_backend
from search.matmul import main as matmul_command
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.text.shapes import canonical

pytestmark = pytest.mark.gpu
PRODUCT = {"m": 1024, "n": 768, "k": 512}
CONVOLUTION = {"n": 4, "c": 64, "h": 28, "w": 28, "k": 64, "r": 3, "s": 3, "padding": 1}


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
def test_a_product_is_tuned_checked_and_kept(dtype):
    kernel = generate_matmul(**PRODUCT, dtype=dtype, target="cuda", tune="measure", budget=8.0)
    assert 1e-6 < kernel.timing.seconds < 1e-2 and kernel.timing.fraction_of_peak(kernel.problem.flops) < 1
    assert generate_matmul(**PRODUCT, dtype=dtype, target="cuda", tune="measure").scheme == kernel.scheme


def test_a_convolution_with_an_epilogue_is_tuned():
    kernel = generate_conv(**CONVOLUTION, epilogue="relu(y + b)", target="cuda", tune="measure", budget=8.0)
    assert kernel.timing.seconds > 0


@pytest.mark.parametrize(
    "command, shape", [(conv_command, canonical(conv2d(**CONVOLUTION))), (matmul_command, canonical(matmul(**PRODUCT)))]
)
def test_the_commands_verdict(command, shape, capsys):
    assert command(["--target", "cuda", "--shape", shape, "--budget", "5", "--trials", "6", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["correct"] is True and found["max_error"] is not None and 0 < found["percent_of_peak"] < 100


@pytest.mark.parametrize("cache", ["warm", "cold"])
@pytest.mark.parametrize(
    "problem",
    [matmul(**PRODUCT), conv2d(**CONVOLUTION), fused(conv2d(**CONVOLUTION), "relu(y + b + z)")],
    ids=["product", "convolution", "with bias, residual and ReLU"],
)
def test_a_contest_with_the_peers_that_are_there(problem, cache):
    """In a worker, as a run of bench has it: CuPy and PyTorch in one process."""
    backend = cuda_backend("bf16")
    first = backend.candidates(backend.problem(problem))[0]
    peers = [name for name, peer in PEERS.items() if peer.target == "cuda" and not peer.missing()]
    with Worker(memory_bytes=ADDRESSES, packages=("bench",)) as worker:
        found = worker.call(
            "bench.run.contest:contest", timeout=300.0, target="cuda", op=problem.op, shape=canonical(problem),
            dtype="bf16", schemes={OURS: first.text}, peers=peers, cache=cache, rounds=1, seconds=0.02, seed=0,
        )  # fmt: skip
    wrong = {name: why for name, why in found["skipped"] if "is compared on" not in why}
    assert not wrong and len(found["contenders"]) >= 1
    assert found["memory_bandwidth"] > 1e11
