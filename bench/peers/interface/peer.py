"""The interface of a peer, another way to compute a layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from bench.peers.interface.pointwise import pointwise
from tiling.canonical import lying_of
from tiling.problem import Problem

OPERATORS = ("conv2d", "depthwise2d", "grouped2d", "matmul")


@dataclass(frozen=True)
class Prepared:
    """One layer made ready: weights packed, graphs compiled, memory allocated, so that only `run` is timed.

    `run` is one call as a Python user makes it; it writes to the same output memory again and again wherever the
    library allows it. `result` is the output of the last run as the problem has it, (N,OH,OW,K), (N,K,OH,OW) or (M,N)
    float32; it may copy. `layout` says what the call reads and writes. `kernel_seconds(n)` gives n samples of the
    kernel alone; None where the library does not tell. `stepwise` says that the epilogue is computed in steps, and
    that each step stores its result in the output's dtype. `history` is that of the search for it, where there was one:
    (schedules that ran, seconds since it began, seconds of the fastest call so far), a point after each or some.
    """

    run: Callable[[], object]
    result: Callable[[], np.ndarray]
    layout: str
    kernel_seconds: Callable[[int], list[float]] | None = None
    stepwise: bool = False
    history: tuple[tuple[int, float, float], ...] = ()


class Peer(ABC):
    """A library as somebody who knows it well would call it. Stateless: what a layer needs is in its `Prepared`.

    `packages` maps the modules it imports to the names pip knows them by. `target` is what computes: "cpu", or "cuda"
    for an NVIDIA GPU; only peers of one target are compared. `layouts` are those of convolutions that a call takes and
    gives, conversions included; `dtypes` those of what is multiplied. `activations` are those that the library fuses
    behind a bias and an added array, "" for none of them; a peer without any is compared without an epilogue.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    packages: ClassVar[Mapping[str, str]]
    target: ClassVar[str] = "cpu"
    layouts: ClassVar[tuple[str, ...]] = ("nhwc",)
    dtypes: ClassVar[tuple[str, ...]] = ("f32",)
    activations: ClassVar[tuple[str, ...]] = ()
    patience: float = 60.0  # seconds that preparing a layer may take at most

    def missing(self) -> str | None:
        """A sentence on why the peer cannot run here and how to get it; None if it can run. Imports nothing."""
        absent = [package for module, package in self.packages.items() if find_spec(module) is None]
        if not absent:
            return None
        are = "is" if len(absent) == 1 else "are"
        return f"{' and '.join(absent)} {are} not installed: pip install 'tilewright[peers]'"

    @abstractmethod
    def version(self) -> str:
        """The versions that decide the peer's speed, such as `oneDNN 3.12.0 (PyTorch 2.13.0)`."""

    @abstractmethod
    def environment(self, threads: int) -> dict[str, str]:
        """Variables that the process must be started with, so that `threads` is obeyed and nobody else is disturbed."""

    def unsupported_reason(self, problem: Problem) -> str | None:
        """A sentence on why the peer cannot compute the problem; None if it can."""
        if problem.op not in OPERATORS:
            return f"{self.name} is compared on {' and '.join(OPERATORS)} only, not on {problem.op}"
        if problem.dtype not in self.dtypes:
            return f"{self.name} is compared in {' and '.join(self.dtypes)} only, not in {problem.dtype}"
        if lying_of(problem):
            return f"{self.name} is compared on arrays of their own only, not on parts of longer ones"
        return self.unsupported_epilogue(problem) or self.unsupported_layout(problem)

    def unsupported_epilogue(self, problem: Problem) -> str | None:
        """The sentence of `unsupported_reason` for a problem with an epilogue that the library does not fuse."""
        if problem.epilogue is None:
            return None
        if not self.activations:
            return f"{self.name} is compared without an epilogue only"
        if problem.dtype != "f32":
            return f"{self.name} is compared with an epilogue in f32 only"
        found = pointwise(problem)
        if found is None or found.activation not in self.activations:
            fused = ", ".join(filter(None, self.activations))
            return f"{self.name} fuses a bias b, an array z and then one of {fused}, not {problem.epilogue}"
        return None

    def unsupported_layout(self, problem: Problem) -> str | None:
        """The sentence of `unsupported_reason` for a convolution in a layout that the call does not take."""
        if problem.is_product or problem.layout in self.layouts:
            return None
        return f"{self.name} is called in layout {' and '.join(self.layouts)} only, not in {problem.layout}"

    @abstractmethod
    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        """Makes a problem ready that it can compute.

        x is (N,H,W,C), or (N,C,H,W) in layout nchw, and w is (K,C/groups,R,S). For a product they are a (M,K) and b
        (K,N). Both are float32, C-contiguous, with values that the problem's dtype has. `arrays` are the epilogue's,
        as the problem's `epilogue_arrays`; a peer that fuses no epilogue gets none. Raises what the library raises.
        """
