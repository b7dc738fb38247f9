"""A product whose a is (K,M) may read a copy of a as (M,K), which its kernel makes first: S(a), outermost.

    S(a) T(n,12) T(m,128) S(c) T(k,768) U(m,4) U(n,3) V(n,8)        ->      T(n,12) T(m,128) S(c) …, of an a of (M,K)

A step over k then finds the next number in the same line. Where a lies, it is on another line, or on another page.
"""

from __future__ import annotations

from functools import lru_cache

from tiling.arrays.access import access_of, axis_before_last, with_axis_last
from tiling.dtypes.products import LANE_BYTES
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Stage


def summed_axis(problem: Problem) -> int | None:
    """The axis of a product's x that is summed over, where it is not the last one and numbers have 32 bits."""
    x, access = problem.broadcast, access_of(problem)
    if not problem.is_product or access.lanewise or access.weights_broadcast or access.x_bytes != LANE_BYTES:
        return None
    return axis_before_last(x, problem.reductions)


@lru_cache(maxsize=4096)
def in_rows(problem: Problem) -> Problem | None:
    """The product of the copy, whose sums run along rows of x; None where there is none."""
    axis = summed_axis(problem)
    return None if axis is None else with_axis_last(problem, axis)


def copies_rows(scheme: Scheme) -> bool:
    """Whether a scheme's kernel copies the rows of x first."""
    return scheme.specifiers[0] == Stage(scheme.problem.broadcast.name) and summed_axis(scheme.problem) is not None


def with_rows(problem: Problem, scheme: Scheme) -> Scheme:
    """A scheme of the product of the copy, as one of the product itself."""
    return Scheme(problem, (Stage(problem.broadcast.name), *scheme.specifiers))


def scheme_in_rows(scheme: Scheme) -> Scheme:
    """The same loops for the product of the copy. Every other scheme stays itself."""
    rows = in_rows(scheme.problem) if copies_rows(scheme) else None
    return scheme if rows is None else Scheme(rows, scheme.specifiers[1:])
