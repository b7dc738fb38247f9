"""oneDNN's products of u8 and s8 as PyTorch's quantised models call them: weights packed beforehand, every scale 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.peers.interface.convolution import convolution
from tiling.problem import Problem


def call(problem: Problem, x: np.ndarray, w: np.ndarray) -> Callable[[], Any]:
    """One call of the operator, which writes sums as float32. Raises ValueError for padding that PyTorch lacks."""
    import torch

    scales = torch.ones(problem.output.shape[-1])
    zeros = torch.zeros(problem.output.shape[-1], dtype=torch.int32)
    image, weights = torch.from_numpy(x.astype(np.uint8)), torch.from_numpy(w.astype(np.int8))
    quantised: tuple[Any, ...] = (1.0, 0, torch.float32, "none", [], "")
    if problem.is_product:
        packed = torch.ops.onednn.qlinear_prepack(weights.T.contiguous(), list(image.shape))
        operator = torch.ops.onednn.qlinear_pointwise
        return lambda: operator(image, 1.0, 0, packed, scales, zeros, None, *quantised)
    conv = convolution(problem)
    if not conv.symmetric:
        raise ValueError("padding that differs before and after cannot be said to the quantised operator")
    image = image.permute(0, 3, 1, 2)  # its strides are those of channels last: no copy
    options = ([*conv.stride], [*conv.before], [*conv.dilation], conv.groups)
    packed = torch.ops.onednn.qconv_prepack(weights, scales, 1.0, 0, *options, list(image.shape))
    operator = torch.ops.onednn.qconv2d_pointwise
    return lambda: operator(image, 1.0, 0, packed, scales, zeros, None, *options, *quantised)
