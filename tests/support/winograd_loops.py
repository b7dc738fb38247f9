"""Winograd's algorithm run by the interpreter: its loops, a product in plain ones, and U in packed order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cpu.passes.memory.pack_weights import pack_weights
from tests.support.passes import by_loops
from tiling.loops.index import ZERO, Index
from tiling.loops.language import Body, Kernel, Load, Operand, Statement, Store
from tiling.loops.lowering.lower import lower
from tiling.loops.meaning.interpret import interpret
from tiling.loops.rewrite import with_values
from tiling.loops.walk import with_blocks
from tiling.rewrite.weight_groups import packed_lanes
from tiling.rewrite.winograd import Winograd, transforms
from tiling.rewrite.winograd_loops import product_function


def run(
    winograd: Winograd, kernel: Kernel, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray, threads: int = 1
) -> np.ndarray:
    """y, by these loops around a product that multiplies in plain ones."""
    problem = winograd.problem
    given = {"X": x, "W": transformed(winograd, w), "Y": np.full(problem.output.shape, np.nan, np.float32)}
    given |= {f"E_{array.name}": value for array, value in zip(problem.epilogue_arrays, arrays, strict=True)}
    whole = replace(kernel, functions=(*kernel.functions, product_function(_product(winograd))))
    interpret(whole, given, threads=threads)
    return given["Y"]


def transformed(winograd: Winograd, w: np.ndarray) -> np.ndarray:
    """U of every part and point, a row each, in the order in which the product's loops read it."""
    g = np.array(transforms(winograd.m).weights, np.float64)
    u = np.einsum("ir,kcrs,js->ijck", g, w.astype(np.float64), g).astype(np.float32)
    u = np.pad(u, [*[(0, 0)] * 3, (0, winograd.parts * winograd.channels - u.shape[-1])])
    parts = np.split(u.reshape(-1, *u.shape[2:]), winograd.parts, axis=-1)
    return np.stack([by_loops(winograd.product, point) for part in parts for point in part])


def _product(winograd: Winograd) -> Body:
    """One product in plain loops over packed weights, where V and M are rows of floats."""
    product = winograd.product
    kernel = pack_weights(lower(product), product.problem, packed_lanes(product))
    strides = {"X": product.problem.broadcast.strides, "Y": product.problem.output.strides, "W": (1,)}

    def flat(buffer: str, at: tuple[Index, ...]) -> tuple[Index, ...]:
        return ZERO, sum((index * step for index, step in zip(at, strides[buffer], strict=True)), ZERO)

    def change(operand: Operand) -> Operand | None:
        known = isinstance(operand, Load) and operand.buffer in strides
        return Load(operand.buffer, flat(operand.buffer, operand.at)) if known else None

    def statement(each: Statement) -> Statement:
        if isinstance(each, Store) and each.buffer in strides:
            return replace(each, at=flat(each.buffer, each.at))
        return with_blocks(each, lambda body: tuple(map(statement, body)))

    return tuple(statement(with_values(each, change)) for each in kernel.body)
