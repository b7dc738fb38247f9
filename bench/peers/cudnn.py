"""cuDNN as PyTorch calls it: channels last, the fastest of its algorithms found by trial."""

from __future__ import annotations

import numpy as np

from bench.peers.convolution import convolution
from bench.peers.peer import Prepared
from bench.peers.torch_cuda import CudaPeer, prepared, settle, tensor, version
from tiling.problem import Problem


class CuDnn(CudaPeer):
    """`conv2d` of tensors that lie channels last, with `cudnn.benchmark`: the first call times cuDNN's algorithms.

    A convolution of PyTorch has no form that writes to a given output: the output is freed before each call, and
    PyTorch's allocator gives the same memory again. w may also be the problem's (K,R,S,C/groups). Padding that
    differs before and after is `pad` within the call. Depthwise convolutions are left out: PyTorch has kernels of
    its own for them, and no user can tell which runs.

    Without a device the calls are proven on the CPU, where PyTorch runs oneDNN or its own code and not cuDNN.
    """

    name = "cudnn"
    title = "cuDNN through PyTorch, channels-last, the fastest algorithm of a trial"
    operators = ("conv2d",)

    def version(self) -> str:
        import torch

        number = torch.backends.cudnn.version()  # 91002 is 9.10.2
        return version(f"cuDNN {number // 10000}.{number // 100 % 100}.{number % 100}" if number else "no cuDNN")

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int) -> Prepared:
        import torch

        settle(problem.dtype)
        conv = convolution(problem)
        image = tensor(x, problem.dtype, self.device).permute(0, 3, 1, 2)
        weights = tensor(w, problem.dtype, self.device)
        weights = weights.permute(0, 3, 1, 2) if str(problem.vector.indices[1]) == "r" else weights
        weights = weights.contiguous(memory_format=torch.channels_last)
        options = weights, None, conv.stride, conv.before if conv.symmetric else 0, conv.dilation, conv.groups
        (top, left), (bottom, right) = conv.before, conv.after
        convolve, pad = torch.nn.functional.conv2d, torch.nn.functional.pad

        def operator():
            return convolve(image if conv.symmetric else pad(image, (left, right, top, bottom)), *options)

        return prepared(operator, "NHWC, weights channels last", self.device, axes=(0, 2, 3, 1))
