"""Flattened pixels that are copied strip by strip: what is copied where, and what tiles then read."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import product_forms
from microkernels.tile.isa import EVERY_ISA
from tests.exactness import FAR
from tests.support.loops.loops import inputs, result, statements, sums
from tests.support.loops.packed_weights import packed
from tests.support.loops.small_kernels import Small
from tiling.loops.index import ZERO
from tiling.loops.language import Alloc, Call, Load, StagedPart, Team
from tiling.loops.machines import Aim
from tiling.loops.meaning.memory import Fault
from tiling.loops.rewrite import places
from tiling.loops.walk import walk
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse

NAME = "stage strips"
IMAGE = dict(n=2, c=2, h=3, w=3, k=17, r=3, s=3, padding=1, dtype="bf16", output_dtype="f32")
TEXT = "R(n) T(hw,2) S(x) R(k) T(hw,2) S(y) T(r,3) T(s,3) U(hw,3)"


def scheme_of(text: str = TEXT, **more):
    return parse(conv2d(**IMAGE | more), f"{text} D(c,4) V(k,16)")


def stages_of(text: str = TEXT, **more):
    """The problem in dot groups, and the kernel after each pass."""
    scheme = scheme_of(text, **more)
    dots = scheme_in_dot_groups(scheme)
    return dots.problem, dict(product_forms(facts_of_scheme(scheme, EVERY_ISA["amxbf16"], False)))


def computed(problem, found, kernel, text: str = TEXT):
    """What a kernel computes from x, and what the definition gives for all points of x."""
    given = inputs(problem)
    x, given["X"] = Small(scheme_of(text), EVERY_ISA["amxbf16"], False).strips(0)
    wanted = sums(problem, given)
    given["W"] = packed(found["lower"], found["pack weights"], given["W"])
    return result(kernel, given | {"X": x}), wanted


def copies(kernel):
    return [s for s in walk(kernel.body) if isinstance(s, Call) and s.function == "laid_out"]


def test_tiles_read_the_panel_and_nothing_else_of_x():
    problem, found = stages_of()
    before, after = found["pack weights"], found[NAME]
    assert [s for s in statements(before) if isinstance(s, StagedPart)]
    assert not [s for s in statements(after) if isinstance(s, StagedPart)]
    assert {p.buffer for p in places(after.body) if isinstance(p, Load)} == {"panel", "W", "acc"}
    (alloc,) = [s.buffer for s in after.body if isinstance(s, Alloc)]
    flat = problem.flat_pixels
    assert alloc.memory == "own" and alloc.shape == (1, 6 + flat.reach, 2)
    got, wanted = computed(problem, found, after)
    np.testing.assert_array_equal(got, wanted)


def test_a_copy_is_of_an_image_from_the_strip_on():
    _, found = stages_of()
    (copy,) = copies(found[NAME])
    image, panel = copy.views
    assert [str(index) for index in (*image.at, *copy.numbers)] == ["n", "0", "0", "0", "w_1"]
    assert (image.buffer, panel.buffer) == ("X", "panel")
    (copy,) = copies(stages_of(n=1)[1][NAME])
    assert copy.views[0].at[0] == ZERO


def test_x_is_what_the_caller_hands_over_from_there_on():
    problem, found = stages_of()
    assert found["pack weights"].arrays[0].shape == (2, 1, problem.extents["w"] + problem.flat_pixels.reach, 2)
    x = found[NAME].arrays[0]
    assert (x.shape, x.dtype) == ((2, 3, 3, 2), "bf16")


def test_every_worker_has_a_panel():
    text = "T(hw,2)@core R(n) S(x) R(k) T(hw,2) S(y) T(r,3) T(s,3) U(hw,3)"
    problem, found = stages_of(text)
    (team,) = found["bind cores"].body
    assert isinstance(team, Team) and isinstance(team.body[0], Alloc) and team.body[0].buffer.name == "panel"
    got, wanted = computed(problem, found, found["store lines"], text)
    np.testing.assert_array_equal(got, wanted)


def test_without_the_copy_tiles_read_what_nobody_wrote():
    problem, found = stages_of()

    def without(body):
        kept = (s for s in body if not isinstance(s, Call))
        return tuple(replace(s, body=without(s.body)) if hasattr(s, "body") and s.body else s for s in kept)

    with pytest.raises(Fault, match=r"panel.* is read before anything is written there"):
        computed(problem, found, replace(found[NAME], body=without(found[NAME].body)))


def test_tiles_prefetch_the_rows_that_the_next_strip_copies():
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        _, found = stages_of()
    (aim,) = [s for s in statements(found["prefetch"]) if isinstance(s, Aim) and s.cursor == "x"]
    # A strip is of 6 points and 10 that windows reach; 4 points make a row, of which 6 numbers are pixels of x.
    assert [str(index) for index in aim.address.at] == ["n", "(w_1 + 19) / 4 - 2", "0", "0"]
    assert str(aim.elements) == "6*((w_1 + 25) / 4) - 6*((w_1 + 19) / 4)"
