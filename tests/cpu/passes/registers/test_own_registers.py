"""Accumulators that begin with a bias."""

from __future__ import annotations

from tests.support.loops.loops import statements
from tests.support.loops.passes import SAME, TILES, around, instructions
from tiling.epilogue import fused
from tiling.loops.language import Do, Let


def test_each_is_owned_where_it_begins():
    _, after = around("own registers", fused(SAME, "y + b"))
    for function in after.functions:
        begun = [place for place, s in enumerate(function.body) if isinstance(s, Let) and s.name.startswith("acc")]
        assert len(begun) == 3
        for place in begun:
            own = function.body[place + 1]
            assert isinstance(own, Do) and own.invoke.instruction.name == "own"
            assert own.invoke.operands[0][1].name == function.body[place].name


def test_zeros_need_none():
    before, after = around("own registers", SAME, TILES)
    assert before == after and not instructions(after, "own")
    # An array that the epilogue multiplies by is no bias.
    _, after = around("own registers", fused(SAME, "relu(y*scale)"))
    assert not instructions(after, "own") and statements(after)
