"""Between which bounds indices lie, over the extents of their dims, and how far they reach along an axis.

h + r - 1 over h = 56, r = 3      from -1 to 56
2 * i over i <= 512               from 0 to 2 * i_extent - 2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from tiling.loops.index import Index, Range, constant, variable
from tiling.program.indices import affine, check_index, is_window
from tiling.program.language import Access, Expression, Program, Statement
from tiling.program.names import ProgramError
from tiling.program.runtime import ends, extent_name, larger

# Bounds of // and % from the bounds of their parts are too wide. Up to this many points, all are tried.
MOST_TRIED = 1 << 16


@dataclass(frozen=True)
class Extents:
    """The extent of each dim, for a runtime dim the largest. runtime: the dims whose extents each call gives."""

    extents: Mapping[str, int]
    runtime: tuple[str, ...]

    @property
    def numbers(self) -> dict[str, Range]:
        """The values of each runtime extent."""
        return {extent_name(dim): (1, self.extents[dim]) for dim in self.runtime}

    def count(self, dim: str) -> Index:
        """The extent of a dim, whenever it is known."""
        return variable(extent_name(dim)) if dim in self.runtime else constant(self.extents[dim])

    def least(self, index: Index) -> int:
        """The least value of an index over runtime extents."""
        return index.within(self.numbers)[0]

    def bounds(self, index: Expression) -> tuple[Index, Index]:
        """The least and the largest value of an index that has no elements of arrays in it."""
        found = affine(index)
        assert found is not None
        names = sorted(set(found.names()))
        if any(name in self.runtime for name in names):
            return ends(found, {name: self.count(name) for name in names})
        low, high = self.fixed_bounds(found, names)
        return constant(low), constant(high)

    def fixed_bounds(self, found: Index, names: list[str]) -> tuple[int, int]:
        """The least and the largest value of an index over dims of fixed extents."""
        simple = all(isinstance(term, str) for term, _ in found.terms)
        if simple or prod(self.extents[name] for name in names) > MOST_TRIED:
            return found.within({name: (0, self.extents[name] - 1) for name in names})
        points = product(*(range(self.extents[name]) for name in names))
        values = [found.at(dict(zip(names, point))) for point in points]
        return min(values), max(values)

    def reached(self, program: Program, name: str) -> tuple[Index, ...]:
        """The shape of an input, as far as its indices reach."""
        accesses = [(access, s) for s in program.statements for access in s.accesses if access.array == name]
        found = []
        for access, statement in accesses:
            number = program.statements.index(statement)
            for index in access.at:
                check_index(index, f"statement {number + 1}, {access}")
        for axis in range(len(accesses[0][0].at)):
            longest: Index | None = constant(1)
            for access, statement in accesses:
                longest = longest and larger(longest, self.reach(access, axis, statement), self.numbers)
            if longest is None:
                raise ProgramError(
                    f"how long axis {axis} of {name} is depends on which runtime extent is larger: declare it, as in "
                    f"{name}: [{', '.join(program.dims[: len(accesses[0][0].at)])}]"
                )
            found.append(longest)
        return tuple(found)

    def reach(self, access: Access, axis: int, statement: Statement) -> Index:
        """How many elements along an axis an access needs."""
        index = affine(access.at[axis])
        if index is None:
            raise ProgramError(
                f"{access}: how long axis {axis} of {access.array} is depends on numbers that are known later: declare "
                f"its shape, as in {access.array}: [{', '.join(['100'] * len(access.at))}]"
            )
        low, high = self.bounds(access.at[axis])
        if self.least(low) >= 0 or not is_window(access.at[axis], statement):
            return high + 1
        # A stride may leave some elements at the end unread.
        stride = max(abs(index.coefficient(dim)) for dim in statement.dims)
        return high + 1 + low + stride - 1
