"""Winograd's algorithm run by the interpreter: its loops and the product, with U as the product's form reads it."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np

from cpu.codegen.winograd import winograd_forms_of
from cpu.kernel.measure import exact_case
from cpu.passes.order import PACK_WEIGHTS, SHARE_THREADS
from microkernels.tile.isa import ISAS
from tests.support.kernels import random_cases
from tests.support.loops.packed_weights import by_loops
from tests.support.loops.passes import same_meaning
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.passes import LOWER
from tiling.rewrite.winograd.algorithm import Winograd, tile_grid, transforms

# More only takes the interpreter longer. 12 tiles are in whole blocks, in blocks the last of which is smaller, in one.
# Kernels of more tiles, which take it three times as long, run before all passes and after them.
MOST_FLOPS, MOST_TILES, FEW_TILES = 10_000, 36, 12


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


def small(random: Random) -> tuple[Winograd, str, int]:
    """A random kernel that the interpreter runs in a moment, its instruction set, and how many workers share it."""
    found = None
    while found is None or found.problem.flops > MOST_FLOPS or tiles_of(found) > MOST_TILES:
        isa = random.choice(("portable", "avx2"))
        problem = random_cases.followed(random, random_cases.transformable(random))
        found = random_cases.winograd(random, problem, ISAS[isa])
    return found, isa, random.choice((1, 2, 3))


def tiles_of(winograd: Winograd) -> int:
    """How many tiles the images of a kernel have."""
    return winograd.problem.extents["n"] * prod(tile_grid(winograd.problem, winograd.m))


def check(winograd: Winograd, isa: str, workers: int) -> set[str]:
    """The plain loops compute the convolution, and each pass leaves that as it is; of many tiles, all together do.

    Returns the passes that change loops.
    """
    (x, w, *arrays), expected, _ = exact_case(winograd)
    forms = list(winograd_forms_of(winograd, ISAS[isa], workers))
    shown = [name for name, _ in forms]
    assert shown[0] == LOWER and {PACK_WEIGHTS, "vectorise", "order step", SHARE_THREADS} <= {*shown}
    run_all, before, u = tiles_of(winograd) <= FEW_TILES, None, points(winograd, w)
    changed = {LOWER}
    for name, kernel in forms:
        assert {"product", "output_tile"} <= {function.name for function in kernel.functions}
        if name == PACK_WEIGHTS:
            u = transformed(winograd, w)
        if before is not None and not same_meaning(kernel, before):
            changed.add(name)
        if name in changed if run_all else name in (LOWER, shown[-1]):
            found = run(winograd, kernel, u, x, *arrays)
            np.testing.assert_array_equal(found, expected, f"{name}: {winograd.text}")
        before = kernel
    for threads in range(2, 4 if workers > 1 else 2):
        found = run(winograd, kernel, u, x, *arrays, threads=threads)
        np.testing.assert_array_equal(found, expected, f"{threads} threads: {winograd.text}")
    return changed - {LOWER}
