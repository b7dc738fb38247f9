"""The zero of an epilogue, read once a tile."""

from __future__ import annotations

from tests.support.loops.loops import statements
from tests.support.loops.passes import SAME, TILES, around, forms_by_name, instructions
from tiling.epilogue import fused
from tiling.loops.language import Let, Register


def test_one_zero_for_all_stores_of_a_tile():
    before, after = around("load zero", fused(SAME, "relu(y + b)"))
    assert len(instructions(before, "zeros")) == 3 * len(before.functions)
    assert len(instructions(after, "zeros")) == len(after.functions)
    assert [s.name for s in statements(after) if isinstance(s, Let)].count("zero") == len(after.functions)
    assert {dict(e.operands)["zero"] for e in instructions(after, "epilogue")} == {Register("zero")}


def test_an_epilogue_without_a_comparison_reads_none():
    assert "load zero" not in forms_by_name(fused(SAME, "y*scale + b"), TILES)
    assert "load zero" not in forms_by_name(SAME, TILES)
