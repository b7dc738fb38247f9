"""Checks the names of a program: each stands for a dim or an array where it is used."""

from __future__ import annotations

from tiling.problem import ProblemError
from tiling.program.language import Access, Dim, Program, parts


class ProgramError(ProblemError):
    """A program that cannot be read or computed. The message says which part, where, and why."""


def checked(program: Program) -> Program:
    """The program, if every name in it is known where it is used. Raises ProgramError."""
    assigned = {s.array: number for number, s in enumerate(program.statements)}
    axes: dict[str, int] = {}
    for number, statement in enumerate(program.statements):
        where = f"statement {number + 1}, {statement.array}"
        for part in parts(statement.expression):
            if isinstance(part, Dim) and part.name not in (*statement.dims, *statement.reduced):
                raise ProgramError(
                    f"{where}: {part.name} is neither a dim of {statement.array} nor reduced over; an element of an "
                    f"array is written {part.name}[…]"
                )
            if not isinstance(part, Access):
                continue
            if assigned.get(part.array, -1) >= number:
                later = "itself" if part.array == statement.array else f"{part.array}, which is assigned later"
                raise ProgramError(f"{where} uses {later}")
            if axes.setdefault(part.array, len(part.at)) != len(part.at):
                raise ProgramError(f"{where}: {part} has {len(part.at)} indices, elsewhere {axes[part.array]}")
        axes[statement.array] = len(statement.dims)
    for declaration in program.declarations:
        if declaration.array not in axes:
            raise ProgramError(f"{declaration.array} is declared and not used")
        if declaration.extents is None:
            continue
        if declaration.array in assigned:
            raise ProgramError(f"{declaration}: an assigned array has the extents of its dims; declare its dtype alone")
        if len(declaration.extents) != axes[declaration.array]:
            raise ProgramError(
                f"{declaration} has {len(declaration.extents)} axes, elsewhere {axes[declaration.array]}"
            )
    return program
