"""cuBLAS as PyTorch calls it: a matrix product into given memory."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.peers.gpu.torch_cuda import CudaPeer, matrices, prepared, settle, version
from bench.peers.interface.peer import Prepared
from tiling.problem import Problem


class CuBlas(CudaPeer):
    """`torch.mm`, or `torch.bmm` for a batch, with `out=`. A transposed matrix is a view: cuBLAS reads it as it lies.

    Without a device the calls are proven on the CPU, where PyTorch runs MKL, oneDNN or its own code and not cuBLAS.
    """

    name = "cublas"
    title = "cuBLAS through PyTorch"
    operators = ("matmul",)

    def version(self) -> str:
        return version("cuBLAS")

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        import torch

        settle(problem.dtype)
        a, b, c = matrices(problem, x, w, self.device)
        product = torch.mm if a.ndim == 2 else torch.bmm
        return prepared(partial(product, a, b, out=c), "row-major", self.device)
