"""A convolution or product written with NumPy alone: the lowest bar of the comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from bench.peers.interface.convolution import Convolution, convolution
from bench.peers.interface.peer import Peer, Prepared
from tiling.problem import Problem


class NumPy(Peer):
    """A convolution as one matrix product: the taps of every output are gathered into a row (im2col), then BLAS.

    All memory is allocated beforehand. The copy into rows is part of a call, because the input changes between calls. A
    1x1 layer with stride 1 needs no copy.
    """

    name = "numpy"
    title = "NumPy, im2col and BLAS"
    packages: ClassVar[Mapping[str, str]] = {"numpy": "numpy", "threadpoolctl": "threadpoolctl"}

    def version(self) -> str:
        blas = _pools()
        return f"NumPy {np.__version__}" + (f" ({blas[0].internal_api} {blas[0].version})" if blas else "")

    def environment(self, threads: int) -> dict[str, str]:
        # An idle OpenBLAS thread spins for 2^26 clock ticks before it sleeps; 2^20 are some 0.3 ms, longer than the gap
        # between two calls and shorter than the pause between two peers.
        return {"OPENBLAS_NUM_THREADS": str(threads), "OPENBLAS_THREAD_TIMEOUT": "20"}

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        if problem.is_product:
            y = np.empty(problem.output.shape, np.float32)
            return Prepared(_limited(partial(np.matmul, x, w, out=y), threads), lambda: y, "row-major")
        conv = convolution(problem)
        columns, gather = _im2col(conv, x)
        weights = _columns_of_weights(conv, w)
        y = np.empty((conv.groups, columns.shape[1], conv.k // conv.groups), np.float32)

        def call() -> None:
            gather()
            np.matmul(columns, weights, out=y)

        return Prepared(
            _limited(call, threads),
            lambda: np.ascontiguousarray(y.transpose(1, 0, 2)).reshape(problem.output.shape),
            "NHWC, im2col, weights as a matrix",
        )


def _columns_of_weights(conv: Convolution, w: np.ndarray) -> np.ndarray:
    """(groups, R·S·C/groups, K/groups), in the order of the rows that `_im2col` gathers."""
    grouped = w.reshape(conv.groups, conv.k // conv.groups, conv.c // conv.groups, conv.r, conv.s)
    return np.ascontiguousarray(grouped.transpose(0, 3, 4, 2, 1)).reshape(conv.groups, -1, conv.k // conv.groups)


def _im2col(conv: Convolution, x: np.ndarray) -> tuple[np.ndarray, Callable[[], None]]:
    """(groups, N·OH·OW, R·S·C/groups), and what fills it from x."""
    rows, per_group = conv.n * conv.out_h * conv.out_w, conv.c // conv.groups
    if (conv.r, conv.s, conv.stride, conv.padded, conv.groups) == (1, 1, (1, 1), (conv.h, conv.w), 1):
        return x.reshape(1, rows, conv.c), lambda: None
    padded = np.zeros((conv.n, *conv.padded, conv.groups, per_group), np.float32)
    (top, left), (stride_h, stride_w), (dilation_h, dilation_w) = conv.before, conv.stride, conv.dilation
    inside = padded[:, top : top + conv.h, left : left + conv.w]
    rows_seen = sliding_window_view(padded, (conv.r - 1) * dilation_h + 1, 1)
    seen = sliding_window_view(rows_seen, (conv.s - 1) * dilation_w + 1, 2)
    seen = seen[:, ::stride_h, ::stride_w, :, :, ::dilation_h, ::dilation_w][:, : conv.out_h, : conv.out_w]
    columns = np.empty((conv.groups, conv.n, conv.out_h, conv.out_w, conv.r, conv.s, per_group), np.float32)
    image = x.reshape(inside.shape)

    def gather() -> None:
        inside[...] = image
        columns[...] = seen.transpose(3, 0, 1, 2, 5, 6, 4)

    return columns.reshape(conv.groups, rows, -1), gather


def _limited(call: Callable[[], object], threads: int) -> Callable[[], None]:
    """The call with BLAS on this many threads, whatever another library set since."""
    pools = _pools()

    def run() -> None:
        for pool in pools:
            if pool.num_threads != threads:
                pool.set_num_threads(threads)
        call()

    return run


def _pools() -> list[Any]:
    """NumPy's BLAS libraries whose thread pool can be set."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
