"""Reads the weights from a packed copy, in which they lie in the order in which the loops read them.

    W[60, 80] in global memory: k, n                    W[4800] in global memory: packed
    …                                             ->    …
    acc[m_u, 0, lane] += X[…] * W[k, n + lane]          acc[m_u, 0, lane] += X[…] * W[60*n + lane + 16*k]

A panel is as wide as a register tile, in vectors, or in rows where all lanes share a weight. It holds its reduction
points in the order of the loops around it, so a tile walks memory forwards. Beyond the last column the copy has zeros,
so a product needs no test where only its weights move with the lane.
Source: the micropanels of BLIS (Van Zee and van de Geijn, 2015).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TypeGuard

from tiling.arrays.access import access_of
from tiling.loops.buffer import PACKED, Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, Index, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Condition, For, If, Inside, Load, Operand, Statement, Store
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import parts_of, with_values
from tiling.loops.walk import with_blocks
from tiling.problem import Problem

WEIGHTS = "W"


def pack_weights(kernel: Kernel, problem: Problem, elements: int) -> Kernel:
    """The kernel with packed weights. elements: how many numbers the packed copy has."""
    packer = _Packer(problem, elements)

    def of(weights: Buffer) -> Buffer:
        return Buffer(WEIGHTS, (elements,), PACKED, weights.dtype)

    arrays = tuple(of(buffer) if buffer.name == WEIGHTS else buffer for buffer in kernel.arrays)
    return replace(kernel, arrays=arrays, body=packer.body(kernel.body, ()))


class _Packer:
    """Follows the loops down to each product, and knows the loops around it."""

    def __init__(self, problem: Problem, elements: int):
        self.problem, self.elements = problem, elements

    def body(self, body: Body, around: tuple[For, ...]) -> Body:
        return tuple(self.statement(statement, around) for statement in body)

    def statement(self, statement: Statement, around: tuple[For, ...]) -> Statement:
        """A statement inside these loops that reads the packed copy."""
        if isinstance(statement, Store):
            return with_values(statement, lambda part: self.load(part, around) if _reads_weights(part) else None)
        if isinstance(statement, If) and _multiplies(statement.body):
            # Lanes beyond the last column multiply zeros.
            left = tuple(c for c in statement.conditions if not self.beyond(c, statement.body))
            statement = replace(statement, conditions=left)
        inner = (*around, statement) if isinstance(statement, For) else around
        return with_blocks(statement, lambda block: self.body(block, inner))

    def beyond(self, condition: Condition, body: Body) -> bool:
        """Whether the condition only leaves out lanes beyond the last column, where the packed copy has zeros."""
        stores = [statement for statement in body if isinstance(statement, Store)]
        if len(stores) < len(body):
            return False
        loads = [part for store in stores for part in parts_of(store.value) if isinstance(part, Load)]
        vectors = {load.buffer for load in loads if any("lane" in index.names() for index in load.at)}
        packed = vectors <= {WEIGHTS, ACCUMULATORS}
        return isinstance(condition, Inside) and condition.index.coefficient("lane") > 0 and packed

    def load(self, load: Load, around: tuple[For, ...]) -> Load:
        """The same number in the packed copy."""
        problem = self.problem
        # The groups of a grouped convolution follow each other, each with all its panels.
        access = access_of(problem)
        axis, index = next((a, i) for a, i in enumerate(access.packed.indices) if i.coefficient(access.panel_dim))
        column, groups = load.at[axis], ZERO
        for dim in problem.looped_dims:
            group = next((variable(loop.name) for loop in reversed(around) if loop.dim == dim), ZERO)
            if dim in access.packed.dims:
                column = column - group * index.coefficient(dim)
                groups = groups + group * (self.elements // problem.extents[dim])
        panel, column = _split(column, around)
        # Loops over summed dims, and over the words of a dot group, which have no dim of their own.
        summed = [loop for loop in around if loop.kind != "vector" and set(loop.dim) <= set(problem.reductions)]
        columns = [loop for loop in around if column.coefficient(loop.name)]
        moving = [loop for loop in around if loop in summed or loop in columns]
        words = prod(steps_of(loop) for loop in summed if not loop.dim)
        at = groups + panel * (problem.reduction_length * words)
        for loop in (*columns, *summed):
            walked = prod(steps_of(inner) for inner in moving[moving.index(loop) + 1 :])
            at = at + (variable(loop.name) - loop.start) * (walked // loop.step)
        return Load(WEIGHTS, (at,))


def _reads_weights(part: Operand) -> TypeGuard[Load]:
    return isinstance(part, Load) and part.buffer == WEIGHTS


def _multiplies(body: Body) -> bool:
    return any(isinstance(s, Store) and any(_reads_weights(part) for part in parts_of(s.value)) for s in body)


def _split(index: Index, around: tuple[For, ...]) -> tuple[Index, Index]:
    """The part of an index that says where a panel begins, and the part inside the panel."""
    inner = {loop.name for loop in around if loop.kind in ("unrolled", "vector")}
    outside, column = index, ZERO
    for term, coefficient in index.terms:
        if term in inner:
            column = column + Index(((term, coefficient),))
            outside = outside - Index(((term, coefficient),))
    return outside, column
