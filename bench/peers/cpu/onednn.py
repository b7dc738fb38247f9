"""oneDNN as a compiled PyTorch model calls it: channels last, with weights packed ahead in oneDNN's own layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bench.peers.cpu import onednn_int8, torch_cpu
from bench.peers.cpu.torch_cpu import Calls
from bench.peers.cpu.verbose import kernel_seconds
from bench.peers.interface.convolution import convolution
from bench.peers.interface.peer import Peer, Prepared
from tiling.problem import Problem


class OneDnn(Peer):
    """The operators that PyTorch's Inductor emits for frozen weights, the shortest way from Python to oneDNN.

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

    def version(self) -> str:
        return torch_cpu.version()

    def environment(self, threads: int) -> dict[str, str]:
        return torch_cpu.environment(threads)

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int) -> Prepared:
        torch_cpu.settle(threads)
        calls = Calls(_call(problem, x, w))
        calls.run()
        if problem.op != "matmul" and problem.layout == "nchw":
            return Prepared(
                calls.run, lambda: calls.output.numpy(), "NCHW in and out by conversion, weights pre-packed"
            )
        # Where this build of PyTorch does not tell, there is no time of the kernel alone.
        told = len(kernel_seconds(calls.run, 2)) == 2
        layout = "row-major, b pre-packed" if problem.op == "matmul" else "NHWC, weights pre-packed"
        return Prepared(
            run=calls.run,
            result=lambda: (
                (calls.output if problem.op == "matmul" else calls.output.permute(0, 2, 3, 1)).float().numpy()
            ),
            layout=layout,
            kernel_seconds=(lambda count: kernel_seconds(calls.run, count)) if told else None,
        )


def _call(problem: Problem, x: np.ndarray, w: np.ndarray):
    if problem.dtype == "int8":
        return onednn_int8.call(problem, x, w)
    return (_matmul if problem.op == "matmul" else _conv2d)(problem, x, w)


def _tensor(problem: Problem, array: np.ndarray):
    """The array in the problem's dtype; f32 where it lies."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor.bfloat16() if problem.dtype == "bf16" else tensor


def _conv2d(problem: Problem, x: np.ndarray, w: np.ndarray):
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
    options = (weights, None, padding, stride, dilation, conv.groups, "none", [], "")
    if conv.symmetric:
        return lambda: given(operator(image, *options))
    (top, left), (bottom, right) = conv.before, conv.after
    pad = torch.nn.functional.pad
    return lambda: given(operator(pad(image, (left, right, top, bottom)), *options))


def _matmul(problem: Problem, a: np.ndarray, b: np.ndarray):
    import torch

    rows = _tensor(problem, a)
    packed = torch.ops.mkldnn._reorder_linear_weight(_tensor(problem, b.T.copy()), a.shape[0])
    return lambda: torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")
