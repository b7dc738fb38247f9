"""Planes that are copied strip by strip: what is copied where, and what tiles then read."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from cpu.codegen.inside import facts_of
from cpu.passes.order import stages
from microkernels.tile.isa import EVERY_ISA
from tests.exactness import FAR
from tests.support.loops import inputs, result, statements, sums
from tests.support.passes import packed
from tiling.loops.interpret import Fault
from tiling.loops.language import Address, Alloc, Do, Load, Stage, Team, walk
from tiling.loops.rewrite import places
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse

NAME = "stage strips"
IMAGE = dict(n=2, c=2, h=3, w=3, k=17, r=3, s=3, padding=1, dtype="bf16", output_dtype="f32")
TEXT = "R(n) T(hw,2) S(x) R(k) T(hw,2) S(y) T(r,3) T(s,3) U(hw,3)"


def stages_of(text: str = TEXT, **more):
    """The problem in words, and the kernel after each pass."""
    dots = scheme_in_dot_groups(parse(conv2d(**IMAGE | more), f"{text} D(c,4) V(k,16)"))
    return dots.problem, dict(stages(facts_of(dots, EVERY_ISA["amxbf16"], False)))


def computed(problem, found, kernel):
    given = inputs(problem)
    wanted = sums(problem, given)
    given["W"] = packed(found["lower"], found["pack weights"], given["W"])
    return result(kernel, given), wanted


def copies(kernel):
    return [s for s in walk(kernel.body) if isinstance(s, Do) and s.invoke.instruction.name == "lay_out"]


def test_tiles_read_the_panel_and_nothing_else_of_x():
    problem, found = stages_of()
    before, after = found["pack weights"], found[NAME]
    assert [s for s in statements(before) if isinstance(s, Stage)]
    assert not [s for s in statements(after) if isinstance(s, Stage)]
    assert {p.buffer for p in places(after.body) if isinstance(p, Load)} == {"panel", "W", "acc"}
    (alloc,) = [s.buffer for s in after.body if isinstance(s, Alloc)]
    flat = problem.flat_pixels
    assert alloc.memory == "own" and alloc.shape == (1, 6 + flat.reach, 2)
    got, wanted = computed(problem, found, after)
    np.testing.assert_array_equal(got, wanted)


def test_a_copy_is_of_an_image_from_the_strip_on():
    _, found = stages_of()
    (copy,) = copies(found[NAME])
    operands = dict(copy.invoke.operands)
    assert (str(operands["n"].number), str(operands["w"].number)) == ("n", "w_1")
    assert isinstance(operands["x"], Address) and operands["x"].buffer == "X"
    assert copy.invoke.instruction.text == "laid_out(input + {n} * IMAGE, {panel}, {w}, STRIP)"
    (copy,) = copies(stages_of(n=1)[1][NAME])
    assert copy.invoke.instruction.text == "laid_out(input, {panel}, {w}, STRIP)"


def test_every_worker_has_a_panel():
    problem, found = stages_of("T(hw,2)@core R(n) S(x) R(k) T(hw,2) S(y) T(r,3) T(s,3) U(hw,3)")
    (team,) = found["bind cores"].body
    assert isinstance(team, Team) and isinstance(team.body[0], Alloc) and team.body[0].buffer.name == "panel"
    got, wanted = computed(problem, found, found["store lines"])
    np.testing.assert_array_equal(got, wanted)


def test_without_the_copy_tiles_read_what_nobody_wrote():
    problem, found = stages_of()

    def without(body):
        kept = (s for s in body if not isinstance(s, Do))
        return tuple(replace(s, body=without(s.body)) if hasattr(s, "body") and s.body else s for s in kept)

    with pytest.raises(Fault, match=r"panel.* is read before anything is written there"):
        computed(problem, found, replace(found[NAME], body=without(found[NAME].body)))


def test_tiles_ask_for_the_rows_that_the_next_strip_copies():
    with patch.multiple("tiling.loops.prefetch", **FAR):
        _, found = stages_of()
    asked = [s.invoke for s in statements(found["prefetch"]) if isinstance(s, Do)]
    texts = [invoke.instruction.text for invoke in asked if invoke.instruction.name == "aim_at_rows"]
    assert texts == [
        "cursors->x = place(input, ({n} * IMAGE + row_at({w} + STRIP)) * sizeof *input, X_BYTES)",
        "cursors->x_end = place(input, ({n} * IMAGE + row_at({w} + STRIP + 6)) * sizeof *input, X_BYTES)",
    ]
