"""oneDNN as a compiled PyTorch model calls it: channels last, weights packed ahead by oneDNN's own choice of layout."""

from __future__ import annotations

import numpy as np

from bench.peers import torch_cpu
from bench.peers.convolution import convolution
from bench.peers.peer import Peer, Prepared
from bench.peers.torch_cpu import Calls
from bench.peers.verbose import kernel_seconds
from tiling.problem import Problem


class OneDnn(Peer):
    """The operators that PyTorch's Inductor emits for frozen weights, the shortest way from Python to oneDNN.

    What was learned. With the input in channels last and weights from `_reorder_convolution_weight`, oneDNN takes its
    `brgconv` kernels and no call reorders anything. The ordinary `conv2d` reorders the weights on every call, even in
    channels last: 265 against 240 GFLOP/s on 3x3 256 to 512 at 34², 218 against 96 on 1x1 64 to 64 at 56² (one core of
    about 268). The operators have no form that writes to a given output, so the output is freed before each call and
    the allocator, told so by its environment, gives the same memory again. Padding that differs before and after is
    `pad` within the call: oneDNN could take it, PyTorch cannot. Of the ways to a matrix product, the packed linear is
    the fastest, about twice MKL's `torch.mm` on AMD. In layout nchw the operator itself turns x to channels last, and what it
    gives is turned back: faster than the ordinary call, whose weights are reordered as well.
    """

    name = "onednn"
    title = "oneDNN through PyTorch, channels-last, weights pre-packed"
    packages = {"torch": "torch"}
    layouts = ("nhwc", "nchw")

    def version(self) -> str:
        return torch_cpu.version()

    def environment(self, threads: int) -> dict[str, str]:
        return torch_cpu.environment(threads)

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int) -> Prepared:
        torch_cpu.settle(threads)
        calls = Calls((_matmul if problem.op == "matmul" else _conv2d)(problem, x, w))
        calls.run()
        if problem.op != "matmul" and problem.layout == "nchw":
            return Prepared(calls.run, lambda: calls.output.numpy(), "NCHW in and out by conversion, weights pre-packed")
        # Where this build of PyTorch does not tell, there is no time of the kernel alone.
        told = len(kernel_seconds(calls.run, 2)) == 2
        layout = "row-major, b pre-packed" if problem.op == "matmul" else "NHWC, weights pre-packed"
        return Prepared(
            run=calls.run,
            result=lambda: (calls.output if problem.op == "matmul" else calls.output.permute(0, 2, 3, 1)).numpy(),
            layout=layout,
            kernel_seconds=(lambda count: kernel_seconds(calls.run, count)) if told else None,
        )


def _conv2d(problem: Problem, x: np.ndarray, w: np.ndarray):
    import torch

    conv = convolution(problem)
    last = problem.layout == "nhwc"
    # Its strides are those of channels last: no copy.
    image = torch.from_numpy(x).permute(0, 3, 1, 2) if last else torch.from_numpy(x)
    padding = list(conv.before) if conv.symmetric else [0, 0]
    size = [conv.n, conv.c, *((conv.h, conv.w) if conv.symmetric else conv.padded)]
    stride, dilation = list(conv.stride), list(conv.dilation)
    weights = torch.ops.mkldnn._reorder_convolution_weight(
        torch.from_numpy(w), padding, stride, dilation, conv.groups, size
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

    rows = torch.from_numpy(a)
    packed = torch.ops.mkldnn._reorder_linear_weight(torch.from_numpy(b.T.copy()), a.shape[0])
    return lambda: torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")

