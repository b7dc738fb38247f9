"""Pointers of each loop: what is left of an index is a number."""

from __future__ import annotations

from tests.support.loops.loops import statements
from tests.support.loops.passes import SAME, around
from tiling.loops.language import For, View
from tiling.loops.rewrite import places

TEXT = "R(k) T(h,4) T(w,2) S(y) T(c,2) T(r,3) T(s,3) U(w,3) V(k,{v})"


def test_only_views_move_with_loops():
    before, after = around("walk pointers", SAME, TEXT)
    for function in after.functions:
        names = {s.name for s in statements(after) if isinstance(s, For) and s.kind == "serial"}
        for statement in function.body:
            if isinstance(statement, For) and statement.kind == "serial":
                moving = [p for p in places(statement.body) if names & {n for i in p.at for n in i.names()}]
                views = [s.address for s in statements(after) if isinstance(s, View)]
                assert moving and all(place in views for place in moving)
    assert not [s for s in statements(before) if isinstance(s, View)]


def test_a_view_begins_at_that_of_the_loop_outside():
    _, after = around("walk pointers", SAME, TEXT)
    views = {s.name: s.address.buffer for s in statements(after) if isinstance(s, View)}
    assert views == {"w_c": "w", "x_c": "x", "w_r": "w_c", "x_r": "x_c", "w_s": "w_r", "x_s": "x_r"}
    loops = [s for s in statements(after) if isinstance(s, For) and s.name in "crs"]
    assert all({s.address.at for s in loop.body if isinstance(s, View)} for loop in loops)
