"""The GPU peers with no GPU: their calls on the CPU, Triton's kernel in its interpreter, stand-ins for the driver."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from bench.peers import PEERS
from bench.peers.gpu.cublas import CuBlas
from bench.peers.gpu.cudnn import FUSED, UNFUSED, CuDnn
from bench.peers.gpu.torch_cuda import event_seconds, prepared, settle
from bench.peers.gpu.triton import TILINGS, Triton
from bench.peers.interface.convolution import convolution
from cpu.reference.oracle import reference
from gpu.model.devices import DEVICES
from gpu.runtime.machine.driver import no_gpu
from tests.support.kernels.guard import PLACES, Guarded
from tiling.dtypes.products import GPU_DTYPES
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
needs_triton = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("triton") is None, reason="needs PyTorch and Triton"
)
GPU_PEERS = ("cudnn", "cublas", "triton")
DTYPES = ("f32", *GPU_DTYPES)
# Triton's interpreter multiplies bf16 as the whole numbers that its bits are, so there only machine code is tested.
INTERPRETED = ("f32", "f16", "tf32")
TRITON_ELEMENTS = {"f32": "fp32", "tf32": "fp32", "f16": "fp16", "bf16": "bf16"}
TRITON_TARGETS = (
    (DEVICES["A100"], "f32", "fma.rn.f32"),
    (DEVICES["A100"], "bf16", "mma.sync"),
    (DEVICES["H200"], "f16", "wgmma"),
    (DEVICES["H200"], "tf32", "wgmma"),
)

CONVOLUTIONS = {
    "same": {"c": 8, "h": 9, "w": 7, "k": 16, "r": 3, "s": 3, "padding": 1},
    "1x1": {"c": 32, "h": 5, "w": 6, "k": 24, "r": 1, "s": 1},
    "groups": {"c": 12, "h": 7, "w": 8, "k": 6, "r": 3, "s": 3, "padding": 1, "stride": 2, "groups": 3},
    "padded more after": {"c": 4, "h": 8, "w": 8, "k": 8, "r": 4, "s": 4, "padding": ((1, 2), (0, 3))},
    "all at once": {
        **{"n": 2, "c": 4, "h": 11, "w": 12, "k": 6, "r": 3, "s": 2},
        **{"stride": (2, 1), "padding": ((2, 1), (0, 1)), "dilation": (1, 2)},
    },
}
PRODUCTS = {
    "row-major": {"m": 13, "n": 33, "k": 21},
    "a transposed": {"m": 37, "n": 20, "k": 45, "transpose_a": True},
    "b transposed": {"m": 20, "n": 37, "k": 45, "transpose_b": True},
    "batch": {"m": 12, "n": 17, "k": 19, "batch": 3},
    "batch, both transposed": {"m": 12, "n": 17, "k": 19, "batch": 2, "transpose_a": True, "transpose_b": True},
}


EPILOGUES = ("relu(y + b)", "relu(y + b + z)", "relu(residual + (bias + y))")


def signs(problem):
    """Inputs of -1, 0 and 1: below 250 of them every sum, in whatever order, is exact in every dtype."""
    assert problem.reduction_length <= 256 - 2 * len(problem.epilogue_arrays)
    rng = np.random.default_rng(7)
    tensors = (problem.broadcast, problem.vector, *problem.epilogue_arrays)
    return [rng.integers(-1, 2, t.shape).astype(np.float32) for t in tensors]


def wrong(peer, problem, place: str = "") -> str:
    """What is wrong with a peer's result of the problem; nothing where it is exact.

    With one of tests.support.kernels.guard's PLACES the inputs lie beside pages that end the process when they are
    read.
    """
    first, second, *arrays = signs(problem)
    if place:
        first, second = beside_a_page(first, place), beside_a_page(second, place)
    ready = peer.prepare(problem, first, second, 1, *arrays)
    ready.run()
    y = ready.result()
    if y.dtype != np.float32 or y.shape != problem.output.shape or not ready.layout:
        return f"{peer.name}: {y.dtype} {y.shape}"
    equal = np.array_equal(y, expected(problem, first, second, *arrays))
    return "" if equal else f"{peer.name} computes {problem} in {problem.dtype} wrongly"


def expected(problem, first, second, *arrays) -> np.ndarray:
    if problem.op == "conv2d" and str(problem.vector.indices[1]) == "r":
        second = second.transpose(0, 3, 1, 2)
    return reference(problem, first, second, *arrays)


def beside_a_page(array: np.ndarray, place: str) -> np.ndarray:
    guarded = Guarded(array.shape, place).array
    guarded[...] = array
    return guarded


@needs_torch
@pytest.mark.parametrize("filters", ["kcrs", "krsc"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_exact(name, dtype, filters):
    problem = conv2d(**CONVOLUTIONS[name], dtype=dtype, filters=filters)
    peer = CuDnn(device="cpu")
    assert peer.missing() is None and peer.refuses(problem) is None
    assert not wrong(peer, problem)


@pytest.fixture
def fused_on_a_cpu():
    """PyTorch's fused convolutions of cuDNN, computed from the definition, called by PyTorch's own schema of them: an
    argument in another's place is another result, or refused.
    """
    import torch

    def relu(self, weight, bias, stride, padding, dilation, groups):
        called.append("relu")
        return torch.conv2d(self, weight, bias, stride, padding, dilation, groups).relu()

    def add_relu(self, weight, z, alpha, bias, stride, padding, dilation, groups):
        called.append("add_relu")
        assert z.is_contiguous(memory_format=torch.channels_last)
        return (torch.conv2d(self, weight, bias, stride, padding, dilation, groups) + alpha * z).relu()

    called, library = [], torch.library.Library("aten", "IMPL")
    library.impl("cudnn_convolution_relu", relu, "CPU")
    library.impl("cudnn_convolution_add_relu", add_relu, "CPU")
    yield called
    library._destroy()


@needs_torch
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_bias_residual_and_relu_are_exact_fused_and_unfused(name, dtype, epilogue, fused_on_a_cpu):
    peer = CuDnn(device="cpu")
    problem = fused(conv2d(**CONVOLUTIONS[name], dtype=dtype, filters="krsc"), epilogue)
    assert peer.refuses(problem) is None
    first, second, *arrays = signs(problem)
    settle(dtype)
    ways = peer.ways(problem, first, second, *arrays)
    assert list(ways) == [FUSED, UNFUSED]
    for operator in ways.values():
        y = operator().permute(0, 2, 3, 1).float().numpy()
        assert np.array_equal(y, expected(problem, first, second, *arrays))
    assert fused_on_a_cpu == ["add_relu" if len(arrays) == 2 else "relu"]
    assert not wrong(peer, problem)


@needs_torch
@pytest.mark.parametrize("faster", [FUSED, UNFUSED])
def test_the_faster_of_the_fused_and_the_unfused_call_counts(faster, fused_on_a_cpu, monkeypatch):
    def timed(operator, layout, device, axes):
        seconds = 1e-3 if faster in layout else 2e-3
        return replace(prepared(operator, layout, device, axes), kernel_seconds=lambda count: [seconds] * count)

    monkeypatch.setattr("bench.peers.gpu.cudnn.prepared", timed)
    problem = fused(conv2d(**CONVOLUTIONS["same"], dtype="f16"), "relu(y + b)")
    ready = CuDnn(device="cpu").prepare(problem, *signs(problem)[:2], 1, *signs(problem)[2:])
    assert ready.layout == f"NHWC, weights channels last, {faster}"
    # A call that rounds in between is granted that in the contest.
    assert ready.stepwise == (faster == UNFUSED) and ready.kernel_seconds(1) == [1e-3]


@needs_torch
def test_where_cudnn_has_no_fused_call_the_unfused_one_counts_and_it_is_said():
    """PyTorch on a CPU has none."""
    problem = fused(conv2d(**CONVOLUTIONS["same"], dtype="f16"), "relu(y + b)")
    first, second, bias = signs(problem)
    ready = CuDnn(device="cpu").prepare(problem, first, second, 1, bias)
    assert ready.stepwise and ready.layout.startswith(f"NHWC, weights channels last, {UNFUSED} ({FUSED} fails: ")
    assert "cudnn_convolution_relu" in ready.layout and "\n" not in ready.layout


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
    assert PEERS["cudnn"].refuses(problem) == (None if taken else told)


@needs_torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_exact(name, dtype):
    problem = matmul(**PRODUCTS[name], dtype=dtype)
    peer = CuBlas(device="cpu")
    assert peer.missing() is None and peer.refuses(problem) is None
    assert not wrong(peer, problem)


@pytest.mark.gpu
@pytest.mark.parametrize("name", GPU_PEERS)
def test_results_on_a_gpu_are_exact(name):
    peer = PEERS[name]
    if reason := peer.missing():
        pytest.skip(reason)
    convolutions = [conv2d(**given, dtype=dtype) for given in CONVOLUTIONS.values() for dtype in DTYPES]
    convolutions += [fused(problem, epilogue) for problem in convolutions for epilogue in EPILOGUES]
    products = [matmul(**given, dtype=dtype) for given in PRODUCTS.values() for dtype in DTYPES]
    taken = [problem for problem in (*convolutions, *products) if peer.refuses(problem) is None]
    found = [wrong(peer, problem) for problem in taken]
    assert taken and not any(found), "\n".join(filter(None, found))


def interpret_triton() -> None:
    """In a process with TRITON_INTERPRET=1: all dtypes, layouts and tilings. Raises AssertionError, or crashes."""
    small = (16, 16, 64, 2, 1, 1)
    cases = [(small, matmul(**PRODUCTS[name], dtype=dtype)) for name in PRODUCTS for dtype in INTERPRETED]
    cases += [(small, matmul(m=20, n=17, k=21, dtype="f16", output_dtype="f32"))]
    cases += [(small, matmul(m=77, n=columns, k=16)) for columns in (1, 100)]  # bands of 2, 2 and 1 tiles
    cases += [(tiling, matmul(m=300, n=270, k=70, dtype="f16")) for tiling in TILINGS]
    found = []
    for tiling, problem in cases:
        peer = Triton(device="cpu", tilings=[tiling])
        assert peer.refuses(problem) is None
        found += [wrong(peer, problem, place) for place in ("", *PLACES)]
    assert not any(found), "\n".join(filter(None, found))
    print(f"{len(cases)} exact")


def compile_triton() -> None:
    """In a process of its own: machine code of some tilings, which needs no GPU. Raises AssertionError."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from bench.peers.gpu.triton import config
    from bench.peers.gpu.triton_product import product

    steps = {f"{matrix}_{step}": "i32" for matrix in "abc" for step in ("batch", "row", "column")}
    for device, dtype, instruction in TRITON_TARGETS:
        problem, elements = matmul(m=64, n=64, k=64, dtype=dtype), TRITON_ELEMENTS[dtype]
        for tiling in TILINGS[::3]:
            chosen = config(tiling, problem)
            constants = {**chosen.kwargs, "a_column": 1, "b_column": 1, "c_column": 1}
            arguments = {**{name: f"*{elements}" for name in "abc"}, **{name: "i32" for name in "mnk"}, **steps}
            signature = {**arguments, **dict.fromkeys(constants, "constexpr")}
            aligned = {(at,): [["tt.divisibility", 16]] for at, name in enumerate(signature) if name not in constants}
            compiled = triton.compile(
                ASTSource(product, signature, constants, aligned),
                target=GPUTarget("cuda", int(device.architecture[3:5]), 32),
                options={"num_warps": chosen.num_warps, "num_stages": chosen.num_stages},
            )
            told = f"{tiling} in {dtype} for {device.name}"
            assert instruction in compiled.asm["ptx"], told
            assert ("tf32" in compiled.asm["ptx"]) == (dtype == "tf32"), told
            assert compiled.metadata.shared <= device.shared_of_block and compiled.asm["cubin"], told
    print("compiled")


def in_a_process(function: str, **environment: str) -> str:
    script = f"from tests.bench.peers.test_gpu_peers import {function}; {function}()"
    told = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert told.returncode == 0, f"exit status {told.returncode}: {told.stderr}"
    return told.stdout


@pytest.mark.slow
@needs_triton
def test_tritons_kernel_is_exact_in_its_interpreter():
    assert "exact" in in_a_process("interpret_triton", TRITON_INTERPRET="1")


@pytest.mark.slow
@needs_triton
def test_tritons_kernel_compiles_to_the_instructions_of_its_dtype(tmp_path):
    assert "compiled" in in_a_process("compile_triton", TRITON_CACHE_DIR=str(tmp_path))


def test_weights_in_either_order_are_the_same_convolution():
    for given in CONVOLUTIONS.values():
        assert convolution(conv2d(**given)) == convolution(conv2d(**given, filters="krsc"))


def test_peers_say_what_computes():
    assert {name for name, peer in PEERS.items() if peer.target == "cuda"} == set(GPU_PEERS)
    assert {peer.target for peer in PEERS.values()} == {"cpu", "cuda"}


def test_what_a_gpu_peer_cannot_take_is_said_in_a_sentence():
    conv, product = conv2d(**CONVOLUTIONS["same"]), matmul(**PRODUCTS["row-major"])
    assert PEERS["cudnn"].refuses(product) == "cudnn is compared on conv2d only, not on matmul"
    assert PEERS["cublas"].refuses(conv) == "cublas is compared on matmul only, not on conv2d"
    assert PEERS["triton"].refuses(conv) == "triton is compared on matmul only, not on conv2d"
    assert PEERS["triton"].refuses(fused(product, "relu(y)")) == "triton is compared without an epilogue only"
    depthwise = conv2d(c=8, h=5, w=5, k=8, r=3, s=3, groups=8)
    assert PEERS["cudnn"].refuses(depthwise) == "cudnn is compared on conv2d only, not on depthwise2d"
    widened = matmul(m=8, n=8, k=8, dtype="f16", output_dtype="f32")
    assert PEERS["cublas"].refuses(widened) == "PyTorch's cublas writes f16 from f16, not f32"
    assert PEERS["triton"].refuses(widened) is None
    large = matmul(m=1 << 16, n=8, k=1 << 15, dtype="bf16")
    assert PEERS["triton"].refuses(large) == "the kernel's indices have 32 bits, too few for a"


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
