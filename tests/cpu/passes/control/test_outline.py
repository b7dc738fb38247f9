"""A function for each kind of register tile."""

from __future__ import annotations

from tests.support.loops.loops import statements
from tests.support.loops.passes import SAME, TILES, around
from tiling.loops.language import Address, Block, Call
from tiling.loops.rewrite import places
from tiling.operators import conv2d, matmul


def test_a_call_stands_in_the_place_of_each_tile():
    before, after = around("outline")
    tiles = [s for s in statements(before) if isinstance(s, Block)]
    calls = [s for s in statements(after) if isinstance(s, Call)]
    assert len(tiles) == len(calls) == 2 and not [s for s in statements(after) if isinstance(s, Block)]
    assert [call.function for call in calls] == [f.name for f in after.functions]
    assert [f.name for f in after.functions] == ["tile0_3wx4kx3s_wpad0", "tile1_3wx4kx3s_wpad1"]
    assert calls[0].numbers and after.functions[0].numbers == ("r_begin", "r_end")


def test_equal_tiles_share_their_function():
    """The two branches have tiles of 2 rows both, at different places."""
    _, after = around("outline", matmul(m=6, n=8, k=2), "L(m, 1x2 + 2x2) R(n) S(c) T(k,2) U(m,λ) V(n,{v})")
    calls = [s for s in statements(after) if isinstance(s, Call)]
    assert len(calls) == 2 and len({call.function for call in calls}) == len(after.functions) == 1
    assert [str(call.views[0].at[0]) for call in calls] == ["0", "m"]


def test_other_tiles_have_functions_of_their_own():
    _, after = around("outline", matmul(m=7, n=8, k=2), "L(m, 1x3 + 2x2) R(n) S(c) T(k,2) U(m,λ) V(n,{v})")
    assert [f.name for f in after.functions] == ["tile0_3mx4n", "tile1_2mx4n"]


def test_views_begin_where_the_tile_reads_first():
    """So no index inside is negative, and none knows where the tile stands."""
    problem = conv2d(c=2, h=5, w=6, k=8, r=3, s=3, padding=1, dilation=(2, 1), stride=(1, 2))
    for given in ((SAME, TILES), (problem, "R(k) R(h) S(y) T(c,2) U(r,3) U(s,3) U(w,3) V(k,{v})")):
        _, after = around("outline", *given)
        outside = {"k", "h", "w"}
        for function in after.functions:
            shown = [view for view, _ in function.views]
            inner = [place for place in places(function.body) if place.buffer in shown]
            assert inner and not [i for place in inner for i in place.at if i.offset < 0 or outside & set(i.names())]
        calls = [s for s in statements(after) if isinstance(s, Call)]
        assert all(isinstance(view, Address) for call in calls for view in call.views)
