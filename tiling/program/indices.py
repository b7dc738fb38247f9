"""Indices of programs: expressions over dims, seen as sums (`tiling.loops.index`)."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.index import Index, Range, applied, constant, variable
from tiling.loops.language import Inside
from tiling.loops.quotients import from_zero
from tiling.program.language import Access, Apply, Dim, Expression, Number, Statement, parts
from tiling.program.names import ProgramError

# A comparison of a with b holds where low <= sign * (a - b) < high.
_BOUNDS: dict[str, tuple[int, int, int | None]] = {
    **{"lt": (-1, 1, None), "le": (-1, 0, None), "gt": (1, 1, None), "ge": (1, 0, None), "eq": (1, 0, 1)},
}


def tests(condition: Expression, ranges: Mapping[str, Range]) -> tuple[Inside, ...]:
    """A condition on positions as bounds of indices; empty for any other condition. ranges: the bounds of each dim."""
    if not isinstance(condition, Apply):
        return ()
    if condition.function == "and":
        both = tuple(tests(each, ranges) for each in condition.arguments)
        return both[0] + both[1] if all(both) else ()
    if condition.function not in _BOUNDS:
        return ()
    left, right = (affine(each) for each in condition.arguments)
    if left is None or right is None:
        return ()
    sign, low, high = _BOUNDS[condition.function]
    return (Inside(from_zero((left - right) * sign, ranges), low, high),)


def is_window(index: Expression, statement: Statement) -> bool:
    """Whether an index moves with a dim of the statement's array and with one that it reduces over."""
    names = {part.name for part in parts(index) if isinstance(part, Dim)}
    return (
        affine(index) is not None and not names.isdisjoint(statement.dims) and not names.isdisjoint(statement.reduced)
    )


def check_index(index: Expression, where: str) -> None:
    """Raises ProgramError for a value that cannot be an index, whatever numbers its arrays hold."""
    if affine(index) is None and not any(isinstance(part, Access) for part in parts(index)):
        raise ProgramError(
            f"{where}: {index} is no index: dims and whole numbers with + - * // % min max are, if one factor of "
            f"a product is a number, and what stands right of // and % is one above 0"
        )


def affine(index: Expression) -> Index | None:
    """An index expression over dims alone; None for any other value."""
    if isinstance(index, Number):
        return constant(index.value) if isinstance(index.value, int) else None
    if isinstance(index, Dim):
        return variable(index.name)
    if not isinstance(index, Apply):
        return None
    found = [affine(argument) for argument in index.arguments]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return None
    left, right = parts[0], parts[-1]
    match index.function:
        case "add":
            return left + right
        case "sub":
            return left - right
        case "neg":
            return left * -1
        case "mul" if right.is_constant:
            return left * right.offset
        case "mul" if left.is_constant:
            return right * left.offset
        case "floordiv" | "mod" if right.is_constant and right.offset > 0:
            return applied({"floordiv": "/", "mod": "%"}[index.function], left, right)
        case "min" | "max":
            return applied(index.function, left, right)
    return None
