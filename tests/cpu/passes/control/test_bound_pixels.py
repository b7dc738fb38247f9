"""Tiles that run on over the ends of image rows: which of their points are stored, and by which loops."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.control.bound_pixels import LINE, bound_pixels
from cpu.passes.forms import product_forms
from microkernels.tile.isa import EVERY_ISA
from tests.exactness import FAR
from tests.support.loops.loops import conditions, inputs, result, statements, sums
from tests.support.loops.packed_weights import packed
from tiling.loops.index import Operation, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Define, For, If, Inside, Store
from tiling.loops.lowering.nest import counter
from tiling.loops.meaning.memory import Fault
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse

NAME = "bound pixels"
ROW = counter("w")
IMAGE = dict(c=2, h=3, w=3, k=5, r=3, s=3, padding=1, dtype="bf16", output_dtype="f32")


def stages_of(text: str, **more):
    """The problem in dot groups, and the kernel after each pass."""
    dots = scheme_in_dot_groups(parse(conv2d(**IMAGE | more), f"{text} D(c,4) V(k,16)"))
    return dots.problem, dict(product_forms(facts_of_scheme(dots, EVERY_ISA["amxbf16"], False)))


def check(problem, found: dict[str, Kernel], name: str) -> None:
    """A form computes the definition, and stores nothing else."""
    given = inputs(problem)
    wanted = sums(problem, given)
    if name != "lower":
        given["W"] = packed(found["lower"], found["pack weights"], given["W"])
    np.testing.assert_array_equal(result(found[name], given), wanted)


def by_quotient(kernel: Kernel) -> bool:
    """Whether a test asks where in its row a point lies."""
    return any(isinstance(term, Operation) for test in conditions(kernel) for term, _ in test.index.terms)


@pytest.mark.parametrize("points", [1, 2, 5, 11])
def test_the_loops_visit_exactly_the_pixels(points):
    problem, found = stages_of(f"T(hw,{-(-11 // points)}) S(y) T(r,3) T(s,3) U(hw,{points})")
    check(problem, found, "lower")
    check(problem, found, NAME)
    assert by_quotient(found["prefetch"]) and not by_quotient(found[NAME])


def test_a_line_begins_and_ends_inside_the_tile():
    """Rows of 4 points, 3 of them pixels: by hand, for every tile of 5 points."""
    _, found = stages_of("T(hw,3) S(y) T(r,3) T(s,3) U(hw,5)")
    (line,) = [s for s in statements(found[NAME]) if isinstance(s, For) and s.name == LINE]
    (row,) = [s for s in statements(found[NAME]) if isinstance(s, For) and s.name == ROW and s.kind == "serial"]
    stored = []
    for first in (0, 5, 10):
        at = {"point": first}
        for number in range(line.start.at(at), line.stop.at(at)):
            at[LINE] = number
            stored += [first + here for here in range(row.start.at(at), row.stop.at(at))]
    assert stored == [4 * line + column for line, column in product(range(3), range(3))]


def test_branches_of_a_composition_have_points_of_their_own():
    problem, found = stages_of("T(hw,2) L(hw, 1x2 + 1x4) S(y) T(r,3) T(s,3) U(hw,λ)")
    names = [s.name for s in statements(found[NAME]) if isinstance(s, Define)]
    assert names == ["point", "point_too"]
    check(problem, found, NAME)


def test_a_point_at_a_number_needs_no_loop():
    """Branches of one point each, the second of them in the gap between two rows: nothing of it is stored."""
    image = dict(h=2, w=1, r=2, s=2, padding=((1, 0), (1, 0)))
    problem, found = stages_of("L(hw, 1x1 + 1x1 + 1x1) S(y) T(r,2) T(s,2) U(hw,λ)", **image)
    assert not [s for s in statements(found[NAME]) if isinstance(s, For) and s.name == LINE]
    check(problem, found, NAME)
    check(problem, found, "matrix tiles")


def test_a_point_at_a_number_that_is_no_output_still_begins():
    """A later pass over a point in a gap: nothing is taken up, and the sums begin with 0."""
    image = dict(c=8, h=2, w=1, r=2, s=2, padding=((1, 0), (1, 0)))
    problem, found = stages_of("T(c,2) L(hw, 1x1 + 1x1 + 1x1) S(y) T(r,2) T(s,2) U(hw,λ)", **image)
    for name in (NAME, "matrix tiles", "vectorise", "store lines"):
        check(problem, found, name)


def test_what_is_no_output_begins_with_zero():
    """A later pass takes up the pixels. Gaps have no place in y to wait in."""
    problem, found = stages_of("T(c,2) T(hw,2) S(y) T(r,3) T(s,3) U(hw,6)", c=8)
    check(problem, found, NAME)
    check(problem, found, "matrix tiles")


def test_points_beyond_a_line_would_be_wrong():
    """Without the bound on columns a tile stores what lies in the gaps."""
    problem, found = stages_of("R(hw) S(y) T(r,3) T(s,3) U(hw,11)")

    def wider(statement):
        if isinstance(statement, For) and statement.name == ROW and statement.kind == "serial":
            return For(ROW, statement.start, statement.stop + 1, 1, statement.body)
        if isinstance(statement, Store) or not hasattr(statement, "body"):
            return statement
        return type(statement)(**{f: getattr(statement, f) for f in statement.__slots__ if f != "body"},
                               body=tuple(map(wider, statement.body)))  # fmt: skip

    kernel = found[NAME]
    changed = {**found, NAME: Kernel(kernel.arrays, tuple(map(wider, kernel.body)), kernel.functions)}
    with pytest.raises((AssertionError, Fault)):
        check(problem, changed, NAME)


def test_what_is_prefetched_every_so_many_taps_is_no_point():
    """A line of x comes with every second tap: `r % 2` looks like a column of rows of two points."""
    image = dict(c=5, h=1, w=2, k=5, r=3, s=1, padding=((1, 2), (0, 0)), output_dtype="bf16")
    dots = scheme_in_dot_groups(
        parse(conv2d(**IMAGE | image), "T(hw,5) L(hw, 1x1 + 1x1) S(y) R(r) U(hw,λ) D(c,6) V(k,16)")
    )
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        found = dict(product_forms(facts_of_scheme(dots, EVERY_ISA["amxbf16"], False)))
    assert "r % 2" in {str(test.index) for test in conditions(found["prefetch"])}
    points = [s.index for s in statements(found[NAME]) if isinstance(s, Define)]
    assert [str(point) for point in points] == ["w", "w + 1"]


def test_a_name_that_no_loop_has_may_be_divided_by_another_number():
    """Such as that of a thread: only what is divided by the length of a row may be a point."""
    problem, found = stages_of("T(hw,3) S(y) T(r,3) T(s,3) U(hw,5)")
    store = next(s for s in statements(found["prefetch"]) if isinstance(s, Store))
    test = Inside(applied("%", variable("thread"), constant(7)), 1, None)
    other = Block("", (If((test,), (store,)),))
    kernel = replace(found["prefetch"], body=(*found["prefetch"].body, other))
    assert bound_pixels(kernel, problem).body == (*found[NAME].body, other)
