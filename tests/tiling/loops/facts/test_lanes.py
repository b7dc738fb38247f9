"""Which instructions bring lanes of a vector together."""

from __future__ import annotations

import pytest

from cpu.passes.program.lanes.instructions import across, spread
from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa import EVERY_ISA
from tiling.loops.facts.lanes import crosses_lanes
from tiling.loops.index import LANE, ZERO
from tiling.loops.language import Address, Invoke, Load, Number

VECTOR = Load("acc", (LANE,))


@pytest.mark.parametrize("isa", ["portable", "avx512f", "avx512bf16"])
def test_instructions_that_combine_or_exchange_lanes_cross_them(isa):
    row = instructions_of(EVERY_ISA[isa])
    for function in ("add", "max"):
        assert crosses_lanes(Invoke(across(function, "f32", 8), (("v", VECTOR),)))
    assert crosses_lanes(Invoke(row.exchange, (("x", VECTOR), ("c", Number(1)))))
    assert not crosses_lanes(Invoke(row.fma, (("x", VECTOR), ("w", VECTOR), ("acc", VECTOR))))
    assert not crosses_lanes(Invoke(row.arithmetic["add"], (("a", VECTOR), ("b", VECTOR))))


def test_memory_has_no_lanes():
    place = Address("X", (ZERO,))
    for gathered in instructions_of(EVERY_ISA["avx512bf16"]).gathered:
        for instruction in gathered:
            assert not crosses_lanes(Invoke(instruction, (("p", place),)))
    assert not crosses_lanes(Invoke(spread("f32", 8), (("value", Number(2)),)))
