"""Runtime extents: dims whose number of points is an argument of each call, up to a bound.

    y[i,j] = 2 * x[i,j], i <= 512, j = 768      x: f32[i_extent, 768], and i_extent is an argument of the kernel

Properties that must hold for every extent are proved for indices over the names of the extents.
"""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.index import Index, Range, applied, constant
from tiling.program.language import Apply, Dim, Expression, Number


def extent_name(dim: str) -> str:
    """The name of the extent of a dim, as a variable of indices and an argument of the kernel."""
    return f"{dim}_extent"


def ends(index: Index, counts: Mapping[str, Index]) -> tuple[Index, Index]:
    """The least and the largest value of an index over dims, as indices over runtime extents. counts: the extents."""
    low = high = constant(index.offset)
    for term, coefficient in index.terms:
        if isinstance(term, str):
            least, most = constant(0), counts[term] - 1
        elif term.operation == "%":
            least, most = constant(0), term.right - 1
        else:  # the value grows with both sides, since a divisor is a number
            left, right = ends(term.left, counts), ends(term.right, counts)
            least, most = (applied(term.operation, one, other) for one, other in zip(left, right))
        low = low + (least if coefficient > 0 else most) * coefficient
        high = high + (most if coefficient > 0 else least) * coefficient
    return low, high


def larger(one: Index, other: Index, ranges: Mapping[str, Range]) -> Index | None:
    """The one of two indices that is never smaller than the other; None where neither is. ranges: each name with its
    bounds.
    """
    least, most = (one - other).within(ranges)
    return one if least >= 0 else other if most <= 0 else None


def written(index: Index) -> Expression:
    """An index over runtime extents as an expression."""
    found: Expression | None = None
    for term, coefficient in index.terms:
        if isinstance(term, str):
            one: Expression = Dim(term)
        else:
            function = {"/": "floordiv", "%": "mod"}.get(term.operation, term.operation)
            one = Apply(function, (written(term.left), written(term.right)))
        one = one if coefficient == 1 else Apply("mul", (Number(coefficient), one))
        found = one if found is None else Apply("add", (found, one))
    if found is None or index.offset:
        number = Number(index.offset)
        return number if found is None else Apply("add", (found, number))
    return found


def solved(size: Index, length: int) -> tuple[str, int] | None:
    """The name and the value of the runtime extent that gives an axis this length; None where there is none."""
    if len(size.terms) != 1 or not isinstance(size.terms[0][0], str):
        return None
    ((name, coefficient),) = size.terms
    value, rest = divmod(length - size.offset, coefficient)
    return None if rest else (str(name), value)
