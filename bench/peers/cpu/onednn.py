"""oneDNN as a compiled PyTorch model calls it: channels last, with weights packed beforehand in oneDNN's own layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from bench.peers.cpu import onednn_int8, torch_cpu
from bench.peers.cpu.torch_cpu import Calls
from bench.peers.cpu.verbose import kernel_seconds
from bench.peers.interface.convolution import convolution
from bench.peers.interface.peer import Peer, Prepared
from bench.peers.interface.pointwise import pointwise
from tiling.problem import Problem

# What PyTorch calls each activation, its numbers and its form.
_ACTIVATIONS: Mapping[str, tuple[str, list[float], str]] = {
    "relu": ("relu", [], ""),
    "relu6": ("hardtanh", [0.0, 6.0], ""),
    "sigmoid": ("sigmoid", [], ""),
    "tanh": ("tanh", [], ""),
    "silu": ("swish", [], ""),
    "hardswish": ("hardswish", [], ""),
    "gelu": ("gelu", [], "none"),
    "gelu_tanh": ("gelu", [], "tanh"),
}


class OneDnn(Peer):
    """The operators that PyTorch's Inductor emits for frozen weights, the shortest way from Python to oneDNN.

    An epilogue is oneDNN's post-ops: a bias, then z is added, then an activation.

    No operator writes to a given output. So the output is freed before each call, and the environment makes the
    allocator give the same memory again. Padding that differs before and after is `pad` within the call, since PyTorch
    cannot pass it on to oneDNN. bf16 uses the same operators. int8 uses those of PyTorch's quantised models, u8 times
    s8 with scales of 1, which have no int32 output and write float32.
    """

    # With x channels last and weights from `_reorder_convolution_weight`, oneDNN runs its `brgconv` kernels and
    # reorders nothing. The ordinary `conv2d` reorders the weights on every call, even in channels last: 240 instead of
    # 265 GFLOP/s on 3x3 256 to 512 at 34², 96 instead of 218 on 1x1 64 to 64 at 56² (peak of one core: about 268). In
    # layout nchw the operator transposes x to channels last, and its output is transposed back, which is still faster
    # than `conv2d`. The packed linear is the fastest matrix product, about twice as fast as MKL's `torch.mm` on AMD.

    name = "onednn"
    title = "oneDNN through PyTorch, channels-last, weights pre-packed"
    packages: ClassVar[Mapping[str, str]] = {"torch": "torch"}
    layouts = ("nhwc", "nchw")
    dtypes = ("f32", "bf16", "int8")
    activations = ("", *_ACTIVATIONS)

    def version(self) -> str:
        return torch_cpu.version()

    def environment(self, threads: int) -> dict[str, str]:
        return torch_cpu.environment(threads)

    def unsupported_epilogue(self, problem: Problem) -> str | None:
        found = pointwise(problem)
        behind_z = ("",) if problem.is_product else ("", "relu")
        if found and found.residual is not None and found.activation not in behind_z:
            return f"PyTorch's call of oneDNN has no {found.activation} of a sum with z, as in {problem.epilogue}"
        return super().unsupported_epilogue(problem)

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        torch_cpu.settle(threads)
        calls = Calls(_call(problem, x, w, *arrays))
        calls.run()
        if not problem.is_product and problem.layout == "nchw":
            return Prepared(
                calls.run, lambda: calls.output.numpy(), "NCHW in and out by conversion, weights pre-packed"
            )
        # Where this build of PyTorch does not tell, there is no time of the kernel alone.
        told = len(kernel_seconds(calls.run, 2)) == 2
        layout = "row-major, b pre-packed" if problem.is_product else "NHWC, weights pre-packed"
        return Prepared(
            run=calls.run,
            result=lambda: (calls.output if problem.is_product else calls.output.permute(0, 2, 3, 1)).float().numpy(),
            layout=layout,
            kernel_seconds=(lambda count: kernel_seconds(calls.run, count)) if told else None,
        )


def _call(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> Callable[[], Any]:
    if problem.dtype == "int8":
        return onednn_int8.call(problem, x, w)
    return (_matmul if problem.is_product else _conv2d)(problem, x, w, *arrays)


def _fused(problem: Problem, arrays: tuple[np.ndarray, ...]) -> tuple[Any, Any, tuple[str, list[float], str]]:
    """Bias and residual as tensors, each None where there is none, and what PyTorch calls the activation."""
    import torch

    found = pointwise(problem)
    assert found is not None  # `unsupported_epilogue`
    bias, residual = (None if array is None else torch.from_numpy(array) for array in found.of(arrays))
    return bias, residual, _ACTIVATIONS.get(found.activation, ("none", [], ""))


def _tensor(problem: Problem, array: np.ndarray) -> Any:
    """The array in the problem's dtype; f32 where it lies."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor.bfloat16() if problem.dtype == "bf16" else tensor


def _conv2d(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> Callable[[], Any]:
    import torch

    conv = convolution(problem)
    last = problem.layout == "nhwc"
    # Its strides are those of channels last: no copy.
    image = _tensor(problem, x).permute(0, 3, 1, 2) if last else _tensor(problem, x)
    padding = list(conv.before) if conv.symmetric else [0, 0]
    size = [conv.n, conv.c, *((conv.h, conv.w) if conv.symmetric else conv.padded)]
    stride, dilation = list(conv.stride), list(conv.dilation)
    weights = torch.ops.mkldnn._reorder_convolution_weight(
        _tensor(problem, w), padding, stride, dilation, conv.groups, size
    )
    operator = torch.ops.mkldnn._convolution_pointwise
    # What it gives is channels last, whatever its input was.
    given = (lambda y: y) if last else torch.Tensor.contiguous
    bias, residual, (activation, numbers, form) = _fused(problem, arrays)
    options = (weights, bias, padding, stride, dilation, conv.groups)
    (top, left), (bottom, right) = conv.before, conv.after
    pad = torch.nn.functional.pad

    def padded() -> Any:
        return image if conv.symmetric else pad(image, (left, right, top, bottom))

    if residual is None:
        return lambda: given(operator(padded(), *options, activation, numbers, form))
    # A residual of a channels-last model lies so already; one of layout nchw is transposed as x is.
    other = residual.permute(0, 3, 1, 2) if last else residual
    after = (None, [], None) if activation == "none" else (activation, numbers, form)
    return lambda: given(operator.binary(padded(), other, *options, "add", 1.0, *after))


def _matmul(problem: Problem, a: np.ndarray, b: np.ndarray, *arrays: np.ndarray) -> Callable[[], Any]:
    import torch

    rows = _tensor(problem, a)
    packed = torch.ops.mkldnn._reorder_linear_weight(_tensor(problem, b.T.copy()), a.shape[0])
    operator = torch.ops.mkldnn._linear_pointwise
    bias, residual, (activation, numbers, form) = _fused(problem, arrays)
    if residual is None:
        return lambda: operator(rows, packed, bias, activation, numbers, form)
    return lambda: operator.binary(rows, residual, packed, bias, "add")
