"""Loops of any form: arrays for them, the definition that they compute, and what they hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import prod

import numpy as np

from tiling.arrays.flat_pixels import passes_gaps
from tiling.loops.buffer import Buffer
from tiling.loops.conditions import conditions_of
from tiling.loops.index import Index
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Barrier, Body, Inside, Statement
from tiling.loops.lowering.arrays import arrays as arrays_of
from tiling.loops.meaning.memory import NUMPY
from tiling.loops.meaning.prefetches import Prefetched
from tiling.loops.walk import walk, with_blocks
from tiling.problem import Problem

Arrays = dict[str, np.ndarray]


def inputs(problem: Problem, seed: int = 0) -> Arrays:
    """Small whole numbers for every array that a kernel reads, as its plain loops see it."""
    rng = np.random.default_rng(seed)
    buffers = [buffer for buffer in arrays_of(problem) if buffer.name != "Y"]
    return {
        buffer.name: of_numbers(rng.integers(-4, 5, (*buffer.shape, numbers(buffer))), buffer) for buffer in buffers
    }


def numbers(buffer: Buffer) -> int:
    """How many numbers an element holds."""
    return int(buffer.dtype.partition("x")[2] or 1)


def of_numbers(values: np.ndarray, buffer: Buffer) -> np.ndarray:
    """Whole numbers, those of an element along a last axis, as elements of a buffer. x of int8 has no sign.

    A number that is alone in a word has zeros beside it.
    """
    if buffer.dtype.endswith("x1"):
        values = np.pad(values, [*[(0, 0)] * (values.ndim - 1), (0, 1 if buffer.dtype.startswith("bf16") else 3)])
    if buffer.dtype.startswith("bf16"):
        values = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    elif buffer.dtype.startswith("int8"):
        values = np.abs(values).astype(np.uint8) if buffer.name == "X" else values.astype(np.int8)
    elif buffer.dtype == "u8":
        values = np.abs(values).astype(np.uint8)
    else:
        values = values.astype(np.float32)
    return values.view(NUMPY[buffer.dtype])[..., 0]


def numbers_of(elements: np.ndarray, buffer: Buffer) -> np.ndarray:
    """The inverse of `of_numbers`, as floats."""
    if buffer.dtype.startswith("bf16"):
        halves = elements[..., np.newaxis].view(np.uint16)
        return (halves.astype(np.uint32) << 16).view(np.float32)
    if buffer.dtype.startswith("int8"):
        return elements[..., np.newaxis].view(np.uint8 if buffer.name == "X" else np.int8).astype(np.float32)
    return elements[..., np.newaxis]


def ones(kernel: Kernel) -> Arrays:
    """Ones for every array of a kernel, packed or not."""
    return {buffer.name: np.ones(buffer.shape, np.float32) for buffer in kernel.arrays}


def result(
    kernel: Kernel, arrays: Arrays, threads: int = 1, aligned: bool = False, prefetched: list[Prefetched] | None = None
) -> np.ndarray:
    """What the kernel computes. Y holds numbers that are no result before. aligned: it begins with a cache line.

    prefetched: gets what the kernel prefetches.
    """
    y = next(buffer for buffer in kernel.arrays if buffer.name == "Y")
    empty = np.full(y.shape, np.nan if y.dtype == "f32" else 99, NUMPY[y.dtype])
    given = arrays | {"Y": placed(empty, aligned)}
    interpret(kernel, given, threads=threads, prefetched=prefetched)
    return given["Y"]


def placed(array: np.ndarray, aligned: bool) -> np.ndarray:
    """A copy of an array that begins with a cache line of 64 bytes, or does not."""
    memory = np.zeros(array.nbytes + 128, np.uint8)
    first = -memory.__array_interface__["data"][0] % 64 + (0 if aligned else array.itemsize)
    found = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def sums(problem: Problem, given: Arrays) -> np.ndarray:
    """Y by the definition, without its epilogue: each point of all dims, straight from the problem's indices."""
    at = dict(zip(problem.extents, np.indices(tuple(problem.extents.values()))))

    def places(tensor) -> list[np.ndarray]:
        shape = tuple(problem.extents.values())
        moved = (sum((at[d] * c for d, c in index.terms), np.full(shape, index.offset)) for index in tensor.indices)
        return list(moved)

    x, w, y = (places(tensor) for tensor in problem.tensors)
    exists = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(x, problem.broadcast.shape)])
    if (flat := problem.flat_pixels) and passes_gaps(problem):
        line, column = np.divmod(at["w"], flat.pitch)
        exists &= (line < flat.rows) & (column < flat.columns)
        y[1] = line * flat.columns + column
    found = np.zeros(problem.output.shape, np.float32)
    factors = []
    for buffer, at in zip(arrays_of(problem), (x, w)):
        elements = numbers_of(given[buffer.name], buffer)
        # An element of the problem may be a dot group of words.
        taken = elements[tuple(p[exists] for p in at)]
        factors.append(taken.reshape(len(taken), prod(taken.shape[1:])))
    np.add.at(found, tuple(p[exists] for p in y), (factors[0] * factors[1]).sum(axis=-1))
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


def without_each_barrier(kernel: Kernel) -> list[Kernel]:
    """The kernel without its first barrier, without its second one, and so on."""

    def without(left_out: int) -> Kernel:
        number = count()

        def kept(body: Body) -> Body:
            left = (s for s in body if not isinstance(s, Barrier) or next(number) != left_out)
            return tuple(with_blocks(s, kept) for s in left)

        return replace(kernel, body=kept(kernel.body))

    return [without(number) for number in range(sum(isinstance(s, Barrier) for s in walk(kernel.body)))]
