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

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
    reader = _PackedReader(problem, elements)

    def packed(array: Buffer) -> Buffer:
        return Buffer(WEIGHTS, (elements,), PACKED, array.dtype) if array.name == WEIGHTS else array

    return replace(kernel, arrays=tuple(map(packed, kernel.arrays)), body=reader.body(kernel.body, ()))


@dataclass(frozen=True)
class _PackedReader:
    """Follows the loops down to each product, and has it read the packed copy. `around` are the loops around a block.

    elements: how many numbers the copy has.
    """

    problem: Problem
    elements: int

    def body(self, body: Body, around: tuple[For, ...]) -> Body:
        return tuple(self.statement(statement, around) for statement in body)

    def statement(self, statement: Statement, around: tuple[For, ...]) -> Statement:
        """A statement inside these loops that reads the packed copy."""
        if isinstance(statement, Store):
            return with_values(statement, lambda part: self.load(part, around) if _reads_weights(part) else None)
        if isinstance(statement, If) and _multiplies(statement.body):
            # Lanes beyond the last column may multiply: the copy has zeros there.
            left = tuple(c for c in statement.conditions if not _is_past_last_column(c, statement.body))
            statement = replace(statement, conditions=left)
        inner = (*around, statement) if isinstance(statement, For) else around
        return with_blocks(statement, lambda block: self.body(block, inner))

    def load(self, load: Load, around: tuple[For, ...]) -> Load:
        """The same number in the packed copy: its group, then its panel, then its place in the panel."""
        access = access_of(self.problem)
        axis, index = next((a, i) for a, i in enumerate(access.packed.indices) if i.coefficient(access.panel_dim))
        groups, columns_before = ZERO, ZERO  # of the groups before this one
        for dim, group in self.groups(around):
            groups = groups + group * (self.elements // self.problem.extents[dim])
            columns_before = columns_before + group * index.coefficient(dim)
        panel, column = _split(load.at[axis] - columns_before, around)
        summed = self.summed(around)
        words = prod(steps_of(loop) for loop in summed if not loop.dim)
        at = groups + panel * (self.problem.reduction_length * words) + _in_panel(column, summed, around)
        return Load(WEIGHTS, (at,))

    def groups(self, around: tuple[For, ...]) -> Iterator[tuple[str, Index]]:
        """Each dim that counts groups of the weights, and the number of this group, as the innermost loop counts it.

        The groups of a grouped convolution follow each other in the copy, each with all its panels.
        """
        for dim in self.problem.looped_dims:
            if dim in access_of(self.problem).packed.dims:
                yield dim, next((variable(loop.name) for loop in reversed(around) if loop.dim == dim), ZERO)

    def summed(self, around: tuple[For, ...]) -> list[For]:
        """The loops over summed dims, and over the words of a dot group, which have no dim of their own."""
        return [loop for loop in around if loop.kind != "vector" and set(loop.dim) <= set(self.problem.reductions)]


def _in_panel(column: Index, summed: list[For], around: tuple[For, ...]) -> Index:
    """The place of a number in its panel: `column` of one point of the sums, which lie in the order of their loops."""
    columns = [loop for loop in around if column.coefficient(loop.name)]
    moving = [loop for loop in around if loop in summed or loop in columns]
    at = ZERO
    for loop in (*columns, *summed):
        numbers_inside = prod(steps_of(inner) for inner in moving[moving.index(loop) + 1 :])
        at = at + (variable(loop.name) - loop.start) * (numbers_inside // loop.step)
    return at


def _is_past_last_column(condition: Condition, body: Body) -> bool:
    """Whether a test only leaves out lanes beyond the last column, where no vector but the packed weights is read."""
    if len(stores := [statement for statement in body if isinstance(statement, Store)]) < len(body):
        return False
    loads = [part for store in stores for part in parts_of(store.value) if isinstance(part, Load)]
    vectors = {load.buffer for load in loads if any("lane" in index.names() for index in load.at)}
    packed = vectors <= {WEIGHTS, ACCUMULATORS}
    return isinstance(condition, Inside) and condition.index.coefficient("lane") > 0 and packed


def _reads_weights(part: Operand) -> TypeGuard[Load]:
    return isinstance(part, Load) and part.buffer == WEIGHTS


def _multiplies(body: Body) -> bool:
    return any(isinstance(s, Store) and any(_reads_weights(part) for part in parts_of(s.value)) for s in body)


def _split(index: Index, around: tuple[For, ...]) -> tuple[Index, Index]:
    """The part of a column's index that says where its panel begins, and the part inside: unrolled loops and lanes."""
    inner = {loop.name for loop in around if loop.kind in ("unrolled", "vector")}
    outside, column = index, ZERO
    for term, coefficient in index.terms:
        if term in inner:
            column = column + Index(((term, coefficient),))
            outside = outside - Index(((term, coefficient),))
    return outside, column
