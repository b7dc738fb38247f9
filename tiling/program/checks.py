"""Checks the statements of a program whose sizes are known: what operators take, and that every index lies inside."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.dtypes.formats import FLOATS, INTEGERS
from tiling.loops.index import Index
from tiling.program.bounds import Extents
from tiling.program.dtypes import FRACTION, dtype_in
from tiling.program.functions import BITWISE
from tiling.program.indices import affine, check_index
from tiling.program.language import Access, Apply, Expression, Statement, parts
from tiling.program.names import ProgramError


def check(
    where: str,
    statement: Statement,
    dtypes: Mapping[str, str],
    shapes: Mapping[str, tuple[Index, ...]],
    known: Extents,
) -> None:
    """Every index of a statement is a whole number inside its array, or says what counts outside. Raises ProgramError.

    where: the statement, as messages name it. dtypes, shapes: those of the arrays that it reads.
    """
    for part in parts(statement.expression):
        if isinstance(part, Apply) and part.function in BITWISE:
            _check_bitwise(part, where, dtypes)
    for access in statement.accesses:
        _check_outside(access, where, dtypes[access.array])
        for axis, index in enumerate(access.at):
            _check_whole(index, f"{where}, {access}", dtypes)
            if affine(index) is not None and access.outside is None:
                _check_inside(access, axis, where, shapes[access.array][axis], known)


def _check_bitwise(part: Apply, where: str, dtypes: Mapping[str, str]) -> None:
    for argument in part.arguments:
        dtype = dtype_in(argument, dtypes)
        if dtype in (*FLOATS, FRACTION):
            named = "a float" if dtype == FRACTION else dtype
            raise ProgramError(f"{where}, {part}: {argument} is {named}, and {part.function} takes whole numbers")


def _check_outside(access: Access, where: str, dtype: str) -> None:
    """What counts outside of an array is one of its numbers."""
    if dtype in FLOATS or access.outside in (None, 0, 1) or (isinstance(access.outside, int) and dtype != "bool"):
        return
    raise ProgramError(f"{where}, {access}: {access.outside} is no {dtype}, which {access.array} is made of")


def _check_whole(index: Expression, where: str, dtypes: Mapping[str, str]) -> None:
    for part in parts(index):
        if isinstance(part, Access) and dtypes[part.array] not in INTEGERS:
            raise ProgramError(f"{where}: {part} is {dtypes[part.array]}, and an index is a whole number")
    check_index(index, where)


def _check_inside(access: Access, axis: int, where: str, extent: Index, known: Extents) -> None:
    index = access.at[axis]
    low, high = known.bounds(index)
    below = known.least(low) < 0
    if below or known.least(extent - high) < 1:
        raise ProgramError(
            f"{where}, {access}: axis {axis} of {access.array} has {extent} element{'s' * (str(extent) != '1')}, and "
            f"{index} is {low if below else high} for some point; write {access} else 0 if 0 counts there"
        )
