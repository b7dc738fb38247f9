"""TVM: what MetaSchedule finds for this CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bench.peers.compilers import tvm_library
from bench.peers.interface.convolution import convolution
from bench.peers.interface.peer import Peer, Prepared
from bench.peers.interface.versions import installed
from tiling.problem import Problem


class Tvm(Peer):
    """The best of `trials` schedules of MetaSchedule's evolutionary search, one to two seconds each.

    TVM's wheel has MetaSchedule, but no longer AutoTVM or Ansor. Its cost model is XGBoost's, and it ends processes
    through psutil; the wheel asks for neither. Names change between versions; this is for 0.26, which
    XTC needs. Padding is part of the compiled function. Weights have the order of TVM's NHWC convolution, (R,S,C,K);
    only a layer in a Relax model could repack them ahead. Before the first schedule MetaSchedule reads the tensor
    instructions of every GPU, which takes a core 20 s for each layer.
    """

    name = "tvm"
    title = "TVM MetaSchedule, best of its evolutionary search"
    packages: ClassVar[Mapping[str, str]] = {"tvm": "apache-tvm", "xgboost": "xgboost", "psutil": "psutil"}

    def __init__(self, trials: int = 64):
        self.trials = trials
        self.patience = tvm_library.patience(trials)

    def version(self) -> str:
        return f"TVM {installed('apache-tvm')}, best of {self.trials} schedules"

    def environment(self, threads: int) -> dict[str, str]:
        return tvm_library.environment(threads)

    def unsupported_reason(self, problem: Problem) -> str | None:
        if reason := super().unsupported_reason(problem):
            return reason
        if not problem.is_product and convolution(problem).groups != 1:
            return "TVM's NHWC convolution has no groups"
        return None

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        matrix = problem.is_product
        weights = w if matrix else np.ascontiguousarray(w.transpose(2, 3, 1, 0))
        request = {"op": problem.op, "x": x.shape, "w": weights.shape, "y": problem.output.shape}
        if not matrix:
            conv = convolution(problem)
            padding = (*conv.before, *conv.after)
            request |= {"stride": conv.stride, "dilation": conv.dilation, "padding": padding}
        search = "bench.peers.compilers.tvm_search"
        library = tvm_library.found(search, request, threads, self.trials, self.version())
        layout = "row-major" if matrix else "NHWC, weights (R,S,C,K)"
        return tvm_library.load(library, x, weights, problem.output.shape, layout)
