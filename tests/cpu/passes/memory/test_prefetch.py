"""Prefetches change no number, and cursors are aimed where tiles advance them."""

from __future__ import annotations

from unittest.mock import patch

from tests.exactness import FAR
from tests.support.loops import statements
from tests.support.passes import around
from tiling.loops.language import Advance, Aim, Cursors, For, Prefetch
from tiling.operators import matmul

TEXT = "T(m,2) R(n) S(c) T(k,16) U(m,4) V(n,{v})"


def kinds(kernel):
    return [type(s) for s in statements(kernel) if isinstance(s, (Prefetch, Cursors, Aim, Advance))]


def test_small_arrays_need_none():
    before, after = around("prefetch", matmul(m=8, n=8, k=16), TEXT)
    assert before == after


def test_large_arrays_come_before_they_are_needed():
    with patch.multiple("tiling.loops.lowering.prefetch", **FAR):
        before, after = around("prefetch", matmul(m=8, n=8, k=16), TEXT)
    assert not kinds(before) and {Prefetch, Cursors, Aim, Advance} >= set(kinds(after)) >= {Cursors, Aim, Advance}
    assert isinstance(after.body[0], Cursors)  # of this worker
    aimed = {s.cursor for s in statements(after) if isinstance(s, Aim)}
    assert aimed == {s.cursor for s in statements(after) if isinstance(s, Advance)}


def test_a_panel_is_aimed_at_by_the_loop_that_goes_to_the_next():
    """Weights change with n, and m stands outside: the next panel is that of n + 4."""
    with patch.multiple("tiling.loops.lowering.prefetch", **FAR):
        _, after = around("prefetch", matmul(m=8, n=8, k=16), "R(n) T(m,2) S(c) T(k,16) U(m,4) V(n,{v})")
    (loop,) = [s for s in statements(after) if isinstance(s, For) and any(isinstance(i, Aim) for i in s.body)]
    (aim,) = [s for s in loop.body if isinstance(s, Aim)]
    assert (loop.name, aim.cursor, str(aim.address.at[0]), str(aim.elements)) == ("n", "w", "16*n + 64", "64")
