"""PyTorch's tensors as a GPU kernel's arrays, by DLPack: on a device with CuPy; on a CPU with a stand-in for it."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.runtime.kernel import load
from search import generate_conv, generate_matmul
from tests.support.gpu.cases import PROBLEM, expected, integers, product_scheme
from tests.support.gpu.fake_device import FakeArray

torch = pytest.importorskip("torch", reason="PyTorch, whose tensors are handed over, is not installed")

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
PRODUCT = {"m": 136, "n": 120, "k": 264}
CONVOLUTION = {"n": 2, "c": 32, "h": 14, "w": 14, "k": 48, "r": 3, "s": 3, "padding": 1, "epilogue": "relu(y + b + z)"}
WAIT = 50_000_000  # of the GPU's clock ticks: longer than Python takes to queue all that follows


def tensors(problem, device: str) -> list:
    """Small whole numbers, exact in both dtypes: the two inputs, then the epilogue's arrays."""
    return [torch.from_numpy(array).to(device, DTYPES[problem.dtype]) for array in integers(problem)]


def check(kernel, output) -> None:
    """The right numbers, rounded once to the output's dtype, in a tensor of PyTorch's."""
    problem = kernel.problem
    assert type(output) is torch.Tensor and output.dtype == DTYPES[problem.output_dtype]
    np.testing.assert_array_equal(output.float().cpu().numpy(), expected(problem, *integers(problem)))


def call_with_and_without_an_output(kernel, device: str) -> None:
    inputs = tensors(kernel.problem, device)
    made = kernel(*inputs)
    check(kernel, made)
    out = torch.full_like(made, torch.nan)
    assert kernel(*inputs, out=out) is out and made.device == out.device == inputs[0].device
    check(kernel, out)
    # No copy: what is written into the tensors afterwards is what the next call reads.
    inputs[0].zero_()
    kernel(*inputs[:2], *(array.zero_() for array in inputs[2:]), out=out)
    assert not out.any()


def test_tensors_share_their_memory_with_the_stand_in(fake_device, monkeypatch):
    import cupy

    monkeypatch.setattr(cupy, "from_dlpack", lambda given: np.from_dlpack(given).view(FakeArray))
    fake_device.scheme = product_scheme(PROBLEM)
    call_with_and_without_an_output(load(fake_device.scheme), "cpu")


@pytest.fixture
def on_cuda():
    """A device that PyTorch can use too."""
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")


@pytest.fixture(params=DTYPES)
def kernels(request):
    options = {"dtype": request.param, "target": "cuda"}
    return generate_matmul(**PRODUCT, **options), generate_conv(**CONVOLUTION, **options)


@pytest.mark.gpu
def test_tensors_are_taken_and_given_without_a_copy(on_cuda, kernels):
    for kernel in kernels:
        call_with_and_without_an_output(kernel, "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("given", [True, False], ids=["out", "no out"])
def test_a_kernel_takes_its_turn_on_a_stream_of_pytorchs_own(on_cuda, kernels, given):
    """As docs/gpu.md has it. Inputs are written late on that stream, and the output is read there: a kernel on another
    one would read zeros, or be read before it has ended.
    """
    import cupy

    for kernel in kernels:
        written = tensors(kernel.problem, "cuda")
        inputs = [torch.zeros_like(tensor) for tensor in written]
        out = torch.zeros(kernel.problem.output.shape, dtype=written[0].dtype, device="cuda") if given else None
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(WAIT)
            for tensor, values in zip(inputs, written):
                tensor.copy_(values)
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                output = kernel(*inputs, out=out)
            read = output.clone()
            for tensor in (*inputs, output):
                tensor.zero_()
        stream.synchronize()
        check(kernel, read)
