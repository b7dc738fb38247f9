"""What the GPU peers compute, with no GPU: their calls on the CPU, Triton's kernel in its interpreter."""

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
from bench.peers.gpu.torch_cuda import prepared, settle
from bench.peers.gpu.triton import TILINGS, Triton
from cpu.reference.oracle import reference
from gpu.model.devices import DEVICES
from tests.support.gpu.peer_cases import CONVOLUTIONS, DTYPES, EPILOGUES, GPU_PEERS, PRODUCTS, needs_torch
from tests.support.kernels.guard import PLACES, Guarded
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul

needs_triton = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("triton") is None, reason="needs PyTorch and Triton"
)
# Triton's interpreter multiplies bf16 as the whole numbers that its bits are, so there only machine code is tested.
INTERPRETED = ("f32", "f16", "tf32")
TRITON_ELEMENTS = {"f32": "fp32", "tf32": "fp32", "f16": "fp16", "bf16": "bf16"}
TRITON_TARGETS = (
    (DEVICES["A100"], "f32", "fma.rn.f32"),
    (DEVICES["A100"], "bf16", "mma.sync"),
    (DEVICES["H200"], "f16", "wgmma"),
    (DEVICES["H200"], "tf32", "wgmma"),
)


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


@pytest.mark.exhaustive
@needs_torch
@pytest.mark.parametrize("filters", ["kcrs", "krsc"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_exact(name, dtype, filters):
    problem = conv2d(**CONVOLUTIONS[name], dtype=dtype, filters=filters)
    peer = CuDnn(device="cpu")
    assert peer.missing() is None and peer.unsupported_reason(problem) is None
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


@pytest.mark.exhaustive
@needs_torch
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_bias_residual_and_relu_are_exact_fused_and_unfused(name, dtype, epilogue, fused_on_a_cpu):
    peer = CuDnn(device="cpu")
    problem = fused(conv2d(**CONVOLUTIONS[name], dtype=dtype, filters="krsc"), epilogue)
    assert peer.unsupported_reason(problem) is None
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


@needs_torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_exact(name, dtype):
    problem = matmul(**PRODUCTS[name], dtype=dtype)
    peer = CuBlas(device="cpu")
    assert peer.missing() is None and peer.unsupported_reason(problem) is None
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
    taken = [problem for problem in (*convolutions, *products) if peer.unsupported_reason(problem) is None]
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
        assert peer.unsupported_reason(problem) is None
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
    script = f"from tests.bench.peers.test_gpu_results import {function}; {function}()"
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
