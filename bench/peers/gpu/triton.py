"""A matrix product in Triton, as somebody writes it who wants a kernel without writing CUDA."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, ClassVar

import numpy as np

from bench.peers.gpu.torch_cuda import CudaPeer, matrices, prepared, settle, version
from bench.peers.interface.peer import Prepared
from bench.peers.interface.versions import installed
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem

# Rows and columns of c's tile, bytes of a row of a's tile, tiles of rows in a band, warps, stages: from what fills the
# registers of a multiprocessor down to what gives a small product enough blocks. 128 bytes are the widest row that
# shared memory holds without conflicts.
TILINGS = (
    (128, 256, 128, 8, 8, 3),
    (256, 128, 128, 8, 8, 3),
    (128, 128, 128, 8, 8, 4),
    (128, 128, 64, 8, 4, 4),
    (64, 128, 128, 8, 4, 4),
    (128, 64, 128, 8, 4, 4),
    (64, 64, 128, 8, 4, 5),
    (32, 64, 128, 8, 4, 5),
)


class Triton(CudaPeer):
    """The kernel of `triton_product` in the fastest of `tilings`, which Triton's autotuner times in the first call.

    Without a device, Triton's interpreter (TRITON_INTERPRET=1) proves the kernel exact in every tiling and layout, in
    f32, f16 and tf32, which it computes as f32. It multiplies bf16 as if the bits were whole numbers. Every tiling
    compiles for sm_80 and sm_90 within shared memory; dtypes other than f32 become matrix instructions. Only a device
    can show what the machine code computes, bf16, and the autotuner's choice.
    """

    name = "triton"
    title = "Triton, a tuned kernel after its tutorial"
    packages: ClassVar[Mapping[str, str]] = {"torch": "torch", "triton": "triton"}
    operators = ("matmul",)
    widens = True

    def __init__(self, device: str = "cuda", tilings: tuple[tuple[int, ...], ...] = TILINGS):
        super().__init__(device)
        self.tilings = tilings

    def version(self) -> str:
        return version(f"Triton {installed('triton')}")

    def unsupported_reason(self, problem: Problem) -> str | None:
        large = " and ".join(t.name for t in problem.tensors if prod(t.shape[-2:]) >= 1 << 31)
        return super().unsupported_reason(problem) or (
            f"the kernel's indices have 32 bits, too few for {large}" if large else None
        )

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        import triton

        from bench.peers.gpu.triton_product import product

        settle(problem.dtype)
        a, b, c = matrices(problem, x, w, self.device)
        m, n, k, batch = (problem.extents.get(dim, 1) for dim in "mnkl")
        kernel = triton.autotune([config(tiling, problem) for tiling in self.tilings], key=["m", "n", "k"])(product)
        steps = [(0,) * (3 - matrix.ndim) + matrix.stride() for matrix in (a, b, c)]

        def grid(chosen: Mapping[str, int]) -> tuple[int, int]:
            return triton.cdiv(m, chosen["ROWS"]) * triton.cdiv(n, chosen["COLUMNS"]), batch

        def operator() -> Any:
            kernel[grid](a, b, c, m, n, k, *steps[0], *steps[1], *steps[2])
            return c

        return prepared(operator, "row-major", self.device)


def config(tiling: tuple[int, ...], problem: Problem) -> Any:
    """One of TILINGS as a configuration of Triton, with all constants of the kernel."""
    import triton

    rows, columns, depth_bytes, band, warps, stages = tiling
    sizes = {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth_bytes // DTYPE_BYTES[problem.dtype], "BAND": band}
    precision = "tf32" if problem.dtype == "tf32" else "ieee"
    return triton.Config({**sizes, "PRECISION": precision}, num_warps=warps, num_stages=stages)
