"""The GPU peers with no GPU: what they take, what is missing, how they are timed; stand-ins for the driver."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from bench.peers import PEERS
from bench.peers.gpu.cublas import CuBlas
from bench.peers.gpu.cudnn import CuDnn
from bench.peers.gpu.torch_cuda import event_seconds, prepared, settle
from bench.peers.gpu.triton import Triton
from bench.peers.interface.convolution import convolution
from gpu.runtime.machine.driver import no_gpu
from tests.support.gpu.peer_cases import CONVOLUTIONS, EPILOGUES, GPU_PEERS, PRODUCTS, needs_torch
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul

needs_triton = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("triton") is None, reason="needs PyTorch and Triton"
)


@pytest.mark.parametrize(
    "epilogue, taken",
    [
        *((epilogue, True) for epilogue in (*EPILOGUES, "relu(y + shift + residual)", "relu(b[k] + y)")),
        *((epilogue, False) for epilogue in ("relu(y)", "y + b", "relu(y + z)", "relu(y + b + b)", "relu(b + z - y)")),
        *((epilogue, False) for epilogue in ("relu(y + b + 1)", "relu(y + y + b)", "relu(y + b + t[w])")),
        *((epilogue, False) for epilogue in ("gelu(y + b)", "relu(y + b[h])", "relu(y + b + scale)")),
    ],
)
def test_which_epilogues_cudnn_takes(epilogue, taken):
    problem = fused(conv2d(**CONVOLUTIONS["same"], dtype="f16"), epilogue)
    told = f"cudnn takes the epilogues relu(y + b) and relu(y + b + z) only, not {problem.epilogue}"
    assert PEERS["cudnn"].unsupported_reason(problem) == (None if taken else told)


def test_weights_in_either_order_are_the_same_convolution():
    for given in CONVOLUTIONS.values():
        assert convolution(conv2d(**given)) == convolution(conv2d(**given, filters="krsc"))


def test_peers_say_what_computes():
    assert {name for name, peer in PEERS.items() if peer.target == "cuda"} == set(GPU_PEERS)
    assert {peer.target for peer in PEERS.values()} == {"cpu", "cuda"}


def test_what_a_gpu_peer_cannot_take_is_said_in_a_sentence():
    conv, product = conv2d(**CONVOLUTIONS["same"]), matmul(**PRODUCTS["row-major"])
    assert PEERS["cudnn"].unsupported_reason(product) == "cudnn is compared on conv2d only, not on matmul"
    assert PEERS["cublas"].unsupported_reason(conv) == "cublas is compared on matmul only, not on conv2d"
    assert PEERS["triton"].unsupported_reason(conv) == "triton is compared on matmul only, not on conv2d"
    assert (
        PEERS["triton"].unsupported_reason(fused(product, "relu(y)")) == "triton is compared without an epilogue only"
    )
    depthwise = conv2d(c=8, h=5, w=5, k=8, r=3, s=3, groups=8)
    assert PEERS["cudnn"].unsupported_reason(depthwise) == "cudnn is compared on conv2d only, not on depthwise2d"
    widened = matmul(m=8, n=8, k=8, dtype="f16", output_dtype="f32")
    assert PEERS["cublas"].unsupported_reason(widened) == "PyTorch's cublas writes f16 from f16, not f32"
    assert PEERS["triton"].unsupported_reason(widened) is None
    large = matmul(m=1 << 16, n=8, k=1 << 15, dtype="bf16")
    assert PEERS["triton"].unsupported_reason(large) == "the kernel's indices have 32 bits, too few for a"


class Driver:
    """A stand-in for libcuda: what its calls return, and the number of GPUs that it counts."""

    def __init__(self, count: int = 0, error: int = 0):
        self.count, self.error = count, error

    def cuInit(self, flags):
        return self.error

    def cuDeviceGetCount(self, count):
        count._obj.value = self.count
        return 0


@pytest.mark.parametrize(
    "driver, said",
    [
        (None, "there is no CUDA device here (no driver)"),
        (Driver(error=100), "there is no CUDA device here (the driver says error 100)"),
        (Driver(count=0), "there is no CUDA device here (the driver counts none)"),
        (Driver(count=2), None),
    ],
)
def test_the_driver_is_asked_for_a_gpu(driver, said, monkeypatch):
    def load(name):
        if driver is None:
            raise OSError(name)
        return driver

    monkeypatch.setattr("ctypes.CDLL", load)
    assert no_gpu() == said


@pytest.mark.parametrize("name", GPU_PEERS)
def test_what_is_missing_is_named_beside_the_gpu(name, monkeypatch):
    monkeypatch.setattr("bench.peers.gpu.torch_cuda.no_gpu", lambda: "no NVIDIA GPU here")
    monkeypatch.setattr("bench.peers.gpu.torch_cuda.installed", lambda package: "2.13.0+cpu")
    monkeypatch.setattr("bench.peers.interface.peer.find_spec", lambda module: module)
    built = "this PyTorch is built without CUDA: see https://pytorch.org/get-started"
    assert PEERS[name].missing() == f"{built}; no NVIDIA GPU here"
    monkeypatch.setattr("bench.peers.gpu.torch_cuda.no_gpu", lambda: None)
    monkeypatch.setattr("bench.peers.gpu.torch_cuda.installed", lambda package: "2.13.0")
    assert PEERS[name].missing() is None
    monkeypatch.setattr("bench.peers.interface.peer.find_spec", lambda module: None)
    assert "pip install 'tilewright[peers]'" in PEERS[name].missing()


def test_asking_what_is_missing_imports_no_library():
    script = (
        f"import sys\nfrom bench.peers import PEERS\nfor name in {GPU_PEERS}: PEERS[name].missing()\n"
        "print(sorted({'torch', 'triton'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@needs_torch
def test_f32_is_true_f32_whatever_was_prepared_before():
    import torch

    before = torch.get_float32_matmul_precision()
    try:
        for dtype in ("tf32", "f32", "tf32", "f16"):
            settle(dtype)
            allowed = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
            assert allowed == ((True, True) if dtype == "tf32" else (False, False))
            assert not torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
            assert torch.backends.cudnn.benchmark
    finally:
        torch.set_float32_matmul_precision(before)


@needs_torch
def test_a_version_names_pytorch_where_there_is_no_cuda():
    import torch

    for peer in (CuDnn("cpu"), CuBlas("cpu"), Triton("cpu")):
        assert f"(PyTorch {torch.__version__}, CUDA " in peer.version()


@needs_torch
def test_events_stand_around_the_call_behind_work_that_hides_its_launch(monkeypatch):
    import torch

    did = []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            did.append("event")

        def elapsed_time(self, end):
            assert did[-1] == "wait" and end is not self
            return 2.5  # milliseconds

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: did.append("sleep"))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: did.append("wait"))
    assert event_seconds(lambda: did.append("call"), 2) == [0.0025, 0.0025]
    assert did == ["sleep", "event", "call", "event", "wait"] * 2


@needs_torch
def test_a_call_on_a_gpu_is_waited_for(monkeypatch):
    """Memory stays on the CPU here: only the wait and the clock are those of a GPU."""
    import torch

    waits = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waits.append(1))
    ready = prepared(lambda: torch.ones(2, 3), "row-major", "cuda")
    ready.run()
    assert len(waits) == 2 and ready.kernel_seconds is not None
    assert prepared(lambda: torch.ones(2, 3), "row-major", "cpu").kernel_seconds is None
