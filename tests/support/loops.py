"""Loops of any form: arrays for them, the definition that they compute, and what they hold."""

from __future__ import annotations

import numpy as np

from tiling.loops.index import Index
from tiling.loops.interpret import interpret
from tiling.loops.language import Body, Function, Inside, Kernel, Statement, walk
from tiling.loops.rewrite import conditions_of
from tiling.problem import Problem

Arrays = dict[str, np.ndarray]


def inputs(problem: Problem, seed: int = 0) -> Arrays:
    """Small whole numbers for every array that a kernel reads, as its problem's tensors lie."""
    rng = np.random.default_rng(seed)
    tensors = {"X": problem.broadcast, "W": problem.vector}
    tensors |= {f"E_{array.name}": array for array in problem.epilogue_arrays}
    return {name: rng.integers(-4, 5, t.shape).astype(np.float32) for name, t in tensors.items()}


def ones(kernel: Kernel) -> Arrays:
    """Ones for every array of a kernel, packed or not."""
    return {buffer.name: np.ones(buffer.shape, np.float32) for buffer in kernel.arrays}


def result(kernel: Kernel, arrays: Arrays, **flags: bool) -> np.ndarray:
    """What the kernel computes. Y holds numbers that are no result before."""
    y = next(buffer for buffer in kernel.arrays if buffer.name == "Y")
    given = arrays | {"Y": np.full(y.shape, np.nan, np.float32)}
    interpret(kernel, given, flags)
    return given["Y"]


def sums(problem: Problem, arrays: Arrays) -> np.ndarray:
    """Y by the definition, without its epilogue: each point of all dims, straight from the problem's indices."""
    at = dict(zip(problem.extents, np.indices(tuple(problem.extents.values()))))

    def places(tensor) -> list[np.ndarray]:
        shape = tuple(problem.extents.values())
        moved = (sum((at[d] * c for d, c in index.terms), np.full(shape, index.offset)) for index in tensor.indices)
        return list(moved)

    x, w, y = (places(tensor) for tensor in problem.tensors)
    exists = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(x, problem.broadcast.shape)])
    found = np.zeros(problem.output.shape, np.float32)
    products = arrays["X"][tuple(p[exists] for p in x)] * arrays["W"][tuple(p[exists] for p in w)]
    np.add.at(found, tuple(p[exists] for p in y), products)
    return found


# ---- what a kernel holds


def bodies(kernel: Kernel) -> list[Body]:
    """The body of the kernel and those of its functions."""
    return [kernel.body, *(function.body for function in kernel.functions)]


def statements(kernel: Kernel) -> list[Statement]:
    """Every statement of a kernel and of its functions."""
    return [statement for body in bodies(kernel) for statement in walk(body)]


def conditions(kernel: Kernel) -> list[Inside]:
    """Every condition on an index."""
    return [condition for body in bodies(kernel) for condition in conditions_of(body)]


def function(kernel: Kernel, name: str) -> Function:
    """The function of this name."""
    return next(each for each in kernel.functions if each.name == name)


def indices(*numbers: int) -> tuple[Index, ...]:
    """Numbers as indices."""
    return tuple(Index((), number) for number in numbers)
