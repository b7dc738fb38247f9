"""Stores past the caches, where Y is aligned."""

from __future__ import annotations

import numpy as np

from tests.support.loops.loops import inputs, ones, result, statements, sums
from tests.support.loops.passes import SAME, TILES, around, forms_by_name, instructions
from tiling.loops.language import Aligned, Call, Decide, Do, Flag, For, If


def test_a_flag_chooses_between_equal_stores():
    before, after = around("stream stores", stream=True)
    choices = [s for s in statements(after) if isinstance(s, If) and s.conditions == (Flag("stream"),)]
    assert len(choices) == len(after.functions)
    for choice in choices:
        assert [s.invoke.operands for s in choice.body] == [s.invoke.operands for s in choice.otherwise]
        assert {s.invoke.instruction.name for s in choice.body} == {"stream"}
        assert {s.invoke.instruction.name for s in choice.otherwise} == {"store"}
    assert len(instructions(after, "store")) == len(instructions(after, "stream")) == len(instructions(before, "store"))
    assert all("stream" in f.flags for f in after.functions)
    assert all("stream" in s.flags for s in statements(after) if isinstance(s, Call))


def test_each_worker_waits_for_its_stores_at_its_end():
    _, after = around("stream stores", stream=True)
    assert isinstance(after.body[-1], Do) and after.body[-1].invoke.instruction.name == "stream_fence"
    text = "T(h,2)@core T(h,2) R(k) T(w,2) S(y) T(r,3) T(c,2) T(s,3) U(w,3) V(k,{v})"
    _, after = around("stream stores", SAME, text, stream=True)
    decided, loop = after.body
    assert decided == Decide("stream", (Aligned("Y", 16),))
    assert isinstance(loop, For) and loop.body[-1].invoke.instruction.name == "stream_fence"


def test_both_branches_store_the_same():
    _, after = around("stream stores", stream=True)
    arrays = ones(after) | {"X": inputs(SAME)["X"]}
    wanted = sums(SAME, arrays | {"W": np.ones(SAME.vector.shape, np.float32)})
    for aligned in (False, True):
        np.testing.assert_array_equal(result(after, arrays, aligned=aligned), wanted)


def test_without_streaming_there_is_no_such_pass():
    assert "stream stores" not in forms_by_name(SAME, TILES)
