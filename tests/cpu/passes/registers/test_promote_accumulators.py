"""Accumulators as registers of their own."""

from __future__ import annotations

from tests.support.loops.loops import statements
from tests.support.loops.passes import SAME, around
from tiling.loops.language import Alloc, Let, Load, Set, Store
from tiling.loops.rewrite import parts_of

TWO = "R(k) T(h,4) T(w,2) S(y) T(r,3) T(c,2) T(s,3) U(w,3) U(k,2) V(k,{v})"


def test_each_vector_of_the_buffer_has_a_name():
    before, after = around("promote accumulators", text=TWO)
    assert [s.buffer.shape for s in statements(before) if isinstance(s, Alloc)] == [(3, 2, 4)] * len(before.functions)
    assert not [s for s in statements(after) if isinstance(s, (Alloc, Store))]
    names = [f"acc_{row}_{vector}" for row in range(3) for vector in range(2)]
    for function in after.functions:
        lets = [s for s in function.body if isinstance(s, Let) and s.name.startswith("acc")]
        assert [let.name for let in lets] == names and all(let.changes and let.value is not None for let in lets)
    values = [s.value for s in statements(after) if isinstance(s, (Let, Set)) and s.value is not None]
    assert not [part for value in values for part in parts_of(value) if isinstance(part, Load)]


def test_what_begins_in_two_ways_is_declared_first():
    """Sums of a later pass begin with what the first has stored: the declaration has no value yet."""
    _, after = around("promote accumulators", SAME, "T(c,2) R(k) T(h,4) T(w,2) S(y) T(r,3) T(s,3) U(w,3) V(k,{v})")
    for function in after.functions:
        assert [(s.name, s.value) for s in function.body[:3]] == [(f"acc_{row}_0", None) for row in range(3)]
        assert function.flags == ("first",)
