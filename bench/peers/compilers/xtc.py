"""XTC, the follow-up of TTile by its authors: schedules drawn by one of its strategies, compiled by TVM."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes.util import find_library
from typing import ClassVar

import numpy as np

from bench.peers.compilers import tvm_library
from bench.peers.interface.convolution import convolution
from bench.peers.interface.peer import Peer, Prepared
from bench.peers.interface.versions import installed
from tiling.problem import Problem


class Xtc(Peer):
    """The best of `trials` schedules that XTC's strategy draws at random and measures, one to two seconds each.

    XTC's convolution has neither padding nor dilation, so the input is padded before the clock starts, to its favour.
    Weights are (R,S,C,K), as it needs them. Importing XTC needs LLVM's OpenMP library on the machine.
    """

    # TVM is the fastest of XTC's back ends. On 3x3 64 to 64 at 56², the best of 20 schedules of the strategy
    # `tile_pprprp_vr` (vectors, no more accumulators than registers) took 0.89 ms; all that MLIR compiled took over 13.

    name = "xtc"
    title = "XTC (TVM back end), best of its random schedules"
    packages: ClassVar[Mapping[str, str]] = {"xtc": "xtc-tools", "tvm": "apache-tvm"}

    def __init__(self, trials: int = 32):
        self.trials = trials
        self.patience = tvm_library.patience(trials)

    def missing(self) -> str | None:
        reason = super().missing()
        if reason is None and find_library("omp") is None:
            return "xtc needs LLVM's libomp: apt install libomp5, and its packages by pip install 'tilewright[peers]'"
        return reason

    def version(self) -> str:
        return f"XTC {installed('xtc-tools')} (TVM {installed('apache-tvm')}), best of {self.trials} schedules"

    def environment(self, threads: int) -> dict[str, str]:
        return tvm_library.environment(threads)

    def unsupported_reason(self, problem: Problem) -> str | None:
        if reason := super().unsupported_reason(problem):
            return reason
        if not problem.is_product:
            conv = convolution(problem)
            if conv.dilation != (1, 1) or conv.groups != 1:
                return "XTC's convolution has neither dilation nor groups"
        return None

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        matrix = problem.is_product
        given, weights = (x, w) if matrix else (_padded(problem, x), np.ascontiguousarray(w.transpose(2, 3, 1, 0)))
        request = {"op": problem.op, "x": given.shape, "w": weights.shape}
        if not matrix:
            request["stride"] = convolution(problem).stride
        search = "bench.peers.compilers.xtc_search"
        library = tvm_library.found(search, request, threads, self.trials, self.version())
        layout = "row-major" if matrix else "NHWC, input padded ahead, weights (R,S,C,K)"
        return tvm_library.load(library, given, weights, problem.output.shape, layout)


def _padded(problem: Problem, x: np.ndarray) -> np.ndarray:
    """x with zeros around it, in the extents that XTC's convolution reads: OH·stride + R - 1 rows."""
    conv = convolution(problem)
    rows, cols = conv.out_h * conv.stride[0] + conv.r - 1, conv.out_w * conv.stride[1] + conv.s - 1
    padded = np.zeros((conv.n, max(rows, conv.padded[0]), max(cols, conv.padded[1]), conv.c), np.float32)
    padded[:, conv.before[0] : conv.before[0] + conv.h, conv.before[1] : conv.before[1] + conv.w] = x
    return np.ascontiguousarray(padded[:, :rows, :cols])
