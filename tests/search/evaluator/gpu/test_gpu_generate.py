"""Kernels for GPUs from Python: what `generate_…` gives on the twin and on a device, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import search.evaluator.gpu.backend
import search.evaluator.gpu.cuda
import search.evaluator.gpu.twin
from gpu.codegen.loops.scheme import emit_scheme
from gpu.model.devices import DEVICES
from gpu.model.predict import rank
from gpu.runtime.kernel import ArgumentError, GpuKernel
from gpu.runtime.machine.device import DeviceError
from search import generate_conv, generate_matmul, generate_program
from search.evaluator.gpu.backend import gpu_target
from search.flow.find import find
from search.tuner.dtypes import on_gpu
from tests.support.gpu.cases import expected, integers
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.problem import ProblemError

pytestmark = pytest.mark.usefixtures("no_device")


def test_generate_on_the_twin_takes_numpy_arrays():
    problem = on_gpu(fused(conv2d(c=8, h=9, w=9, k=16, r=3, s=3, padding=1), "relu(y + b)"), "f16")
    kernel = generate_conv(
        c=8, h=9, w=9, k=16, r=3, s=3, padding=1, epilogue="relu(y + b)", target="cuda-twin", dtype="f16"
    )
    assert kernel.problem == problem and kernel.scheme.problem == problem
    inputs = integers(problem)
    y = kernel(*inputs)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, expected(problem, *inputs))
    with pytest.raises(ArgumentError, match=r"w has shape \(16, 8, 3, 3\), but this kernel takes \(16, 3, 3, 8\)"):
        kernel(inputs[0], inputs[1].transpose(0, 3, 1, 2), inputs[2])
    with pytest.raises(ArgumentError, match="this kernel takes x, w, the epilogue's b: 2 arrays were given"):
        kernel(*inputs[:2])
    with pytest.raises(ArgumentError):
        kernel("x", *inputs[1:])
    with pytest.raises(ArgumentError, match="w is a masked array, and a kernel knows no mask"):
        kernel(inputs[0], np.ma.masked_equal(inputs[1], 0), inputs[2])


def test_the_twin_gives_tensors_for_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    kernel = generate_matmul(m=16, n=16, k=16, target="cuda-twin")
    a, b = torch.arange(256.0).reshape(16, 16) % 5, torch.eye(16)
    c = kernel(a, b)
    assert isinstance(c, torch.Tensor) and torch.equal(c, a)
    double = generate_program("y[i] = 2 * x[i]", i=7, target="cuda-twin")(a[0, :7])
    assert isinstance(double, torch.Tensor) and torch.equal(double, 2 * a[0, :7])


def test_a_products_own_b_and_its_bias_are_told_apart():
    kernel = generate_matmul(m=8, n=8, k=16, epilogue="relu(y + b)", target="cuda-twin")
    with pytest.raises(ArgumentError, match="this kernel takes a, b, the epilogue's b: 0 arrays were given"):
        kernel()


def test_generate_for_the_device_loads_the_choice(monkeypatch):
    monkeypatch.setattr(search.evaluator.gpu.backend, "current_device", lambda: DEVICES["A100"])
    monkeypatch.setattr(search.evaluator.gpu.cuda, "load", lambda scheme: GpuKernel(emit_scheme(scheme), None))
    monkeypatch.setattr(search.evaluator.gpu.cuda.CudaBackend, "compiler", "NVRTC")
    kernel = generate_matmul(m=40, n=24, k=56, target="cuda", dtype="bf16")
    assert kernel.scheme == rank(matmul(m=40, n=24, k=56, dtype="bf16"), DEVICES["A100"])[0].scheme


def test_a_measured_search_on_the_twin_is_refused():
    with pytest.raises(ProblemError, match='nothing is timed on cuda-twin: tune="model" takes'):
        find(matmul(m=40, n=24, k=56, dtype="f16"), gpu_target("cuda-twin", "f16"))


@pytest.mark.parametrize(
    "wrong, raised, message",
    [
        (dict(target="cuda"), DeviceError, "there is no CUDA device here"),
        (dict(target="rocm"), ProblemError, "target='rocm' must be one of cpu, cuda, cuda-twin"),
        (dict(target="cuda-twin", dtype="f64"), ProblemError, "dtype 'f64' is not covered on a GPU"),
        (dict(target="cuda-twin", threads=2), ProblemError, "threads=2 means nothing to target='cuda-twin'"),
        (dict(target="cuda-twin", tune="measure"), ProblemError, "tune='measure' means nothing"),
        (dict(target="cuda", tune="guess"), ProblemError, "tune='guess' must be"),
        (dict(target="cuda", tune="measure", budget=0), ProblemError, "budget=0 must be a number of seconds above 0"),
        (dict(target="cuda", tune="measure"), DeviceError, "there is no CUDA device here"),
        (dict(target="cuda-twin", isa="avx2"), ProblemError, "isa='avx2' means nothing"),
        (dict(target="cuda-twin", n=9999), ProblemError, "too many for the twin"),
    ],
)
def test_generate_refuses(wrong, raised, message):
    with pytest.raises(raised, match=message):
        generate_conv(**dict(c=8, h=9, w=9, k=16, r=3, s=3) | wrong)


@pytest.mark.slow
def test_a_cpu_search_loads_nothing_of_the_gpu():
    program = (
        "import sys; import search.commands.products, search.flow.generate, search.flow.programs, search.conv;"
        "print([m for m in sys.modules if 'gpu' in m])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
