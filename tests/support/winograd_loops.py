"""Winograd's algorithm run by the interpreter: its loops and the product, with U as the product's form reads it."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.support.passes import by_loops
from tiling.loops.language import Kernel
from tiling.loops.meaning.interpret import interpret
from tiling.rewrite.winograd import Winograd, transforms


def run(winograd: Winograd, kernel: Kernel, u: np.ndarray, *given: np.ndarray, threads: int = 1) -> np.ndarray:
    """y, by all loops of the kernel. u: a row for each part and point. given: x and the epilogue's arrays."""
    problem = winograd.problem
    names = ("X", *(f"E_{array.name}" for array in problem.epilogue_arrays))
    arrays = dict(zip(names, given, strict=True)) | {"W": u, "Y": np.full(problem.output.shape, np.nan, np.float32)}
    interpret(kernel, arrays, threads=threads)
    return arrays["Y"]


def points(winograd: Winograd, w: np.ndarray) -> np.ndarray:
    """U of every part and point, a row each, in the layout of the product's problem."""
    g = np.array(transforms(winograd.m).weights, np.float64)
    u = np.einsum("ir,kcrs,js->ijck", g, w.astype(np.float64), g).astype(np.float32)
    u = np.pad(u, [*[(0, 0)] * 3, (0, winograd.parts * winograd.channels - u.shape[-1])])
    parts = np.split(u.reshape(-1, *u.shape[2:]), winograd.parts, axis=-1)
    return np.stack([np.ascontiguousarray(point) for part in parts for point in part]).reshape(
        -1, prod(winograd.product.problem.vector.shape)
    )


def transformed(winograd: Winograd, w: np.ndarray) -> np.ndarray:
    """U of every part and point, a row each, in the order in which the product's loops read it."""
    shape = winograd.product.problem.vector.shape
    return np.stack([by_loops(winograd.product, point.reshape(shape)) for point in points(winograd, w)])
