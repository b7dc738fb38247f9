"""oneDNN as most PyTorch programs call it: `conv2d` on tensors in PyTorch's default layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from bench.peers.cpu import torch_cpu
from bench.peers.cpu.torch_cpu import Calls
from bench.peers.interface.convolution import as_problem_has_it, channels_first, convolution
from bench.peers.interface.peer import Peer, Prepared
from tiling.problem import Problem


class OneDnnNchw(Peer):
    """The plain call, for what it costs not to think about layouts.

    Every call reorders the input (to 16-channel blocks), the weights and the output; the kernel in between is as fast
    as any. So no time of the kernel alone is given: it is not what this call is about. `torch.mm`, the plain matrix
    product, goes to MKL and writes to a given output.
    """

    name = "onednn-nchw"
    title = "oneDNN through PyTorch, the plain NCHW call"
    packages: ClassVar[Mapping[str, str]] = {"torch": "torch"}
    layouts = ("nhwc", "nchw")

    def version(self) -> str:
        return torch_cpu.version()

    def environment(self, threads: int) -> dict[str, str]:
        return torch_cpu.environment(threads)

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        import torch

        torch_cpu.settle(threads)
        if problem.is_product:
            a, b, out = torch.from_numpy(x), torch.from_numpy(w), torch.empty(problem.output.shape)
            calls = Calls(lambda: torch.mm(a, b, out=out))
            return Prepared(calls.run, lambda: calls.output.numpy(), "row-major, torch.mm")
        calls = Calls(_conv2d(problem, x, w))
        return Prepared(calls.run, lambda: as_problem_has_it(problem, calls.output.numpy()), "NCHW in and out")


def _conv2d(problem: Problem, x: np.ndarray, w: np.ndarray) -> Callable[[], Any]:
    import torch

    conv = convolution(problem)
    conv2d, pad = torch.nn.functional.conv2d, torch.nn.functional.pad
    image, weights = torch.from_numpy(channels_first(problem, x)), torch.from_numpy(w)
    options = (conv.stride, conv.before if conv.symmetric else 0, conv.dilation, conv.groups)
    if conv.symmetric:
        return lambda: conv2d(image, weights, None, *options)
    (top, left), (bottom, right) = conv.before, conv.after
    return lambda: conv2d(pad(image, (left, right, top, bottom)), weights, None, *options)
