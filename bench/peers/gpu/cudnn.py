"""cuDNN as PyTorch calls it: channels last, with the fastest of its algorithms by trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from bench.peers.gpu.torch_cuda import CudaPeer, prepared, settle, tensor, version
from bench.peers.interface.convolution import convolution
from bench.peers.interface.peer import Prepared
from bench.peers.interface.pointwise import pointwise
from tiling.problem import Problem

FUSED, UNFUSED = "bias and ReLU fused", "bias and ReLU after it"
TRIALS = 20  # calls of each way before the faster one is chosen


class CuDnn(CudaPeer):
    """`conv2d` of tensors that lie channels last, with `cudnn.benchmark`: the first call times cuDNN's algorithms.

    A convolution of PyTorch has no form that writes to a given output: the output is freed before each call, and
    PyTorch's allocator gives the same memory again. w may also be the problem's (K,R,S,C/groups). Padding that
    differs before and after is `pad` within the call. Depthwise convolutions are left out: PyTorch has kernels of
    its own for them, and no user can tell which runs.

    For relu(y + b) and relu(y + b + z) PyTorch has calls that cuDNN fuses, `cudnn_convolution_relu` and
    `cudnn_convolution_add_relu`, which TorchScript puts into frozen models; with them competes what a model as
    written does, `conv2d` with its bias, then z and ReLU in place. The one that is faster in a trial counts.

    Without a device the calls are proven on the CPU, where PyTorch runs oneDNN or its own code and not cuDNN; the two
    fused ones it has for GPUs alone, so there stand-ins take what PyTorch's own schema makes of the arguments.
    """

    name = "cudnn"
    title = "cuDNN through PyTorch, channels-last, the fastest algorithm of a trial"
    operators = ("conv2d",)

    def version(self) -> str:
        import torch

        number = torch.backends.cudnn.version()  # 91002 is 9.10.2
        return version(f"cuDNN {number // 10000}.{number // 100 % 100}.{number % 100}" if number else "no cuDNN")

    def unsupported_epilogue(self, problem: Problem) -> str | None:
        if problem.epilogue is None or bias_and_residual(problem):
            return None
        return f"cudnn takes the epilogues relu(y + b) and relu(y + b + z) only, not {problem.epilogue}"

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        settle(problem.dtype)
        layout, axes = "NHWC, weights channels last", (0, 2, 3, 1)
        ways = self.ways(problem, x, w, *arrays)
        if not problem.epilogue:
            return prepared(ways[""], layout, self.device, axes)
        found, failed = [], {}
        for way, operator in ways.items():
            try:
                ready = prepared(operator, f"{layout}, {way}", self.device, axes)
            except RuntimeError as error:  # such as no engine for these sizes
                failed[way] = error
                continue
            found.append(replace(ready, stepwise=way == UNFUSED))
        if not found:
            raise failed[UNFUSED]
        fastest = min(found, key=_seconds)
        lacking = "".join(f" ({way} fails: {error})".partition("\n")[0] for way, error in failed.items())
        return replace(fastest, layout=fastest.layout + lacking)

    def ways(self, problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> dict[str, Callable[[], Any]]:
        """The calls that compute a problem, by name: one, or with an epilogue FUSED and UNFUSED."""
        import torch

        conv = convolution(problem)
        image = tensor(x, problem.dtype, self.device).permute(0, 3, 1, 2)
        weights = tensor(w, problem.dtype, self.device)
        weights = weights.permute(0, 3, 1, 2) if str(problem.vector.indices[1]) == "r" else weights
        weights = weights.contiguous(memory_format=torch.channels_last)
        options = conv.stride, conv.before if conv.symmetric else (0, 0), conv.dilation, conv.groups
        (top, left), (bottom, right) = conv.before, conv.after
        convolve, pad = torch.nn.functional.conv2d, torch.nn.functional.pad

        def padded() -> Any:
            return image if conv.symmetric else pad(image, (left, right, top, bottom))

        if not problem.epilogue:
            return {"": lambda: convolve(padded(), weights, None, *options)}
        given = [tensor(array, problem.output_dtype, self.device) for array in arrays]
        bias, *residual = (given[place] for place in bias_and_residual(problem))
        residual = [z.permute(0, 3, 1, 2) for z in residual]

        def fused() -> Any:
            if residual:
                return torch.cudnn_convolution_add_relu(padded(), weights, residual[0], 1.0, bias, *options)
            return torch.cudnn_convolution_relu(padded(), weights, bias, *options)

        def unfused() -> Any:
            y = convolve(padded(), weights, bias, *options)
            return (y.add_(residual[0]) if residual else y).relu_()

        return {FUSED: fused, UNFUSED: unfused}


def bias_and_residual(problem: Problem) -> tuple[int, ...]:
    """The places of b, and of z if any, among the arrays of relu(y + b) or relu(y + b + z), added in any order.

    Any other epilogue has none.
    """
    found = pointwise(problem)
    if found is None or found.activation != "relu" or found.bias is None:
        return ()
    return (found.bias,) if found.residual is None else (found.bias, found.residual)


def _seconds(ready: Prepared) -> float:
    """Seconds of a call, shortly measured. On a CPU, whose times mean nothing here, all ways count as equal."""
    return median(ready.kernel_seconds(TRIALS)) if ready.kernel_seconds else 0.0
