"""A convolution with the parameters of libraries, read from a `Problem`: extents, strides, padding, groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiling.problem import Problem
from tiling.tensor import Window


@dataclass(frozen=True)
class Convolution:
    """`h` and `w` are the input's extents, `out_h` and `out_w` the output's; pairs are (vertical, horizontal).

    `before` is the padding at the top and left, `after` at the bottom and right.
    """

    n: int
    c: int
    h: int
    w: int
    k: int
    r: int
    s: int
    out_h: int
    out_w: int
    stride: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]
    groups: int

    @property
    def symmetric(self) -> bool:
        """Whether one number per axis describes the padding."""
        return self.before == self.after

    @property
    def padded(self) -> tuple[int, int]:
        """Extents of the input with its padding around it."""
        return self.h + self.before[0] + self.after[0], self.w + self.before[1] + self.after[1]


def convolution(problem: Problem) -> Convolution:
    """The parameters of a `conv2d`, `depthwise2d` or `grouped2d` problem, in whichever order its weights lie."""
    n, h, w, c = (dict(zip(problem.layout, problem.broadcast.shape))[axis] for axis in "nhwc")
    r, s = problem.extents["r"], problem.extents["s"]
    _, out_h, out_w, k = (dict(zip(problem.layout, problem.output.shape))[axis] for axis in "nhwc")
    per_group = problem.vector.elements // (k * r * s)
    down, along = problem.windows
    return Convolution(
        *(n, c, h, w, k, r, s, out_h, out_w),
        stride=(down.stride, along.stride),
        dilation=(down.dilation, along.dilation),
        before=(down.before, along.before),
        after=(_after(down, out_h, r), _after(along, out_w, s)),
        groups=c // per_group,
    )


def channels_first(problem: Problem, x: np.ndarray) -> np.ndarray:
    """The input as (N,C,H,W), C-contiguous: itself, or a copy where the problem has it channels last."""
    return x if problem.layout == "nchw" else x.transpose(0, 3, 1, 2).copy()


def as_problem_has_it(problem: Problem, y: np.ndarray) -> np.ndarray:
    """An output (N,K,OH,OW) with its axes in the problem's order."""
    return y if problem.layout == "nchw" else y.transpose(0, 2, 3, 1)


def _after(window: Window, outputs: int, taps: int) -> int:
    """Padding after the last point. A problem keeps only `before`; with equal sides, a library need not pad by hand."""
    least = (outputs - 1) * window.stride + (taps - 1) * window.dilation + 1 - window.extent - window.before
    return window.before if least <= window.before < least + window.stride else max(0, least)
