"""Prefetches change no number, and cursors are aimed where tiles advance them."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from cpu.passes.prefetch.next_outputs import NEXT_OUTPUTS
from cpu.passes.prefetch.next_panel import NEXT
from microkernels.tile.isa import EVERY_ISA
from tests.exactness import FAR
from tests.support.loops.loops import ones, result, statements
from tests.support.loops.passes import around
from tests.support.loops.small_kernels import Small, small
from tiling.loops.language import LINE, Block, For, Prefetch
from tiling.loops.lowering.prefetch.plan import plan_prefetches, prefetched
from tiling.loops.machines import Advance, Aim, Cursors
from tiling.loops.meaning.prefetches import Prefetched
from tiling.loops.walk import walk
from tiling.operators import conv2d, matmul
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse

TEXT = "T(m,2) R(n) S(c) T(k,16) U(m,4) V(n,{v})"


def kinds(kernel):
    return [type(s) for s in statements(kernel) if isinstance(s, (Prefetch, Cursors, Aim, Advance))]


def test_small_arrays_need_none():
    before, after = around("prefetch", matmul(m=8, n=8, k=16), TEXT)
    assert before == after


def test_large_arrays_come_before_they_are_needed():
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        before, after = around("prefetch", matmul(m=8, n=8, k=16), TEXT)
    assert not kinds(before) and {Prefetch, Cursors, Aim, Advance} >= set(kinds(after)) >= {Cursors, Aim, Advance}
    assert isinstance(after.body[0], Cursors)  # of this worker
    aimed = {s.cursor for s in statements(after) if isinstance(s, Aim)}
    assert aimed == {s.cursor for s in statements(after) if isinstance(s, Advance)}


def test_a_piece_that_would_leave_l2_before_its_turn_is_not_prefetched():
    """Rows of 70 KB. Cores whose vectors have 8 lanes mostly have an L2 of 512 KB, those with 16 one of 1 to 2 MB."""
    problem = conv2d(c=128, h=136, w=136, k=64, r=1, s=1)

    def prefetched(rows, lanes):
        text = f"T(h,{136 // rows}) T(k,{32 // lanes}) T(h,{rows}) T(w,34) S(y) T(c,128) U(w,4) U(k,2) V(k,{lanes})"
        (plan,) = plan_prefetches(parse(problem, text))
        return [(piece.array, piece.elements) for piece in plan.pieces]

    assert prefetched(2, 8) == prefetched(2, 16) == [("x", 2 * 136 * 128)]
    assert prefetched(8, 8) == [] and prefetched(8, 16) == [("x", 8 * 136 * 128)]


@pytest.mark.parametrize(
    "k, lanes, text, elements",
    [
        # Every eight rows take the same two panels of 74 KB: what comes next are the two behind them.
        (768, 8, "T(n,16) T(m,16) T(n,2) T(m,2) S(c) T(k,768) U(m,4) U(n,3) V(n,8)", [48 * 768]),
        # Two halves of panels: those that come next do not lie behind one another.
        (3072, 8, "T(n,16) T(k,2) T(m,16) T(n,2) T(m,2) S(c) T(k,1536) U(m,4) U(n,3) V(n,8)", []),
        # Every 32 rows take all panels, which L2 does not hold.
        (3072, 8, "T(m,4) T(k,2) T(n,32) T(m,8) S(c) T(k,1536) U(m,4) U(n,3) V(n,8)", [24 * 1536]),
        # What cores with vectors of 16 lanes gain by it is not known.
        (3072, 16, "T(n,8) T(k,2) T(m,16) T(n,2) T(m,2) S(c) T(k,1536) U(m,4) U(n,3) V(n,16)", [48 * 1536]),
    ],
)
def test_weights_that_l2_holds_are_not_prefetched_again(k, lanes, text, elements):
    (plan,) = plan_prefetches(parse(matmul(m=128, n=768, k=k), text))
    assert plan.tile.register.lanes == lanes
    assert [piece.elements for piece in plan.pieces if piece.array == "w"] == elements


def test_a_panel_is_aimed_at_by_the_loop_that_goes_to_the_next():
    """Weights change with n, and m stands outside: the next panel is that of n + 4."""
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        _, after = around("prefetch", matmul(m=8, n=8, k=16), "R(n) T(m,2) S(c) T(k,16) U(m,4) V(n,{v})")
    (loop,) = [s for s in statements(after) if isinstance(s, For) and any(isinstance(i, Aim) for i in s.body)]
    (aim,) = [s for s in loop.body if isinstance(s, Aim)]
    assert (loop.name, aim.cursor, str(aim.address.at[0]), str(aim.elements)) == ("n", "w", "16*n + 64", "64")


def test_the_tiles_prefetch_every_line_of_the_next_panels_once():
    """Four panels of n, of 16 x 4 floats each. The first is there when it is needed, the last aims behind W."""
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        _, after = around("prefetch", matmul(m=8, n=16, k=16), "R(n) T(m,2) S(c) T(k,16) U(m,4) V(n,{v})")
    found: list[Prefetched] = []
    result(after, ones(after), prefetched=found)
    panel, all_panels = 16 * 4 * 4, 16 * 16 * 4
    assert [(a.array, a.byte) for a in found if a.level == 2] == [
        ("W", byte) for byte in range(panel, all_panels, LINE)
    ]


def test_a_line_of_a_panel_is_the_same_by_any_pointer():
    problem = conv2d(c=5, h=4, w=2, k=8, r=1, s=1, layout="nchw")
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        forms = around("walk pointers", pointwise2d(problem), "T(w,2) S(x) T(k,2) S(y) T(c,5) U(k,4) V(w,{v})")
    found: list[list[Prefetched]] = [[], []]
    for form, lines in zip(forms, found):
        result(form, ones(form), prefetched=lines)
    assert found[0] == found[1] and "panel" in {line.array for line in found[0]}


def arrays_of(tile):
    """The arrays of which a tile prefetches lines that another tile needs, or for those that it stores to itself."""
    found, arrays = set(), {NEXT: "x", NEXT_OUTPUTS: "y", "Y": "y"}
    for statement in walk((tile,)):
        if isinstance(statement, Advance):
            found.add(statement.cursor)
        elif isinstance(statement, Prefetch) and statement.address.buffer in arrays:
            found.add(arrays[statement.address.buffer])
    return frozenset(found)


def planned(kernel):
    """What the model takes for prefetched in a kernel, which must be what every tile asks for."""
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        after, plans = dict(kernel.forms())["prefetch"], plan_prefetches(kernel.scheme, kernel.stream)
    tiles = [arrays_of(statement) for statement in walk(after.body) if isinstance(statement, Block)]
    assert tiles and prefetched(plans) == frozenset.intersection(*tiles)
    return prefetched(plans)


@pytest.mark.parametrize("seed", range(40))
def test_the_plan_that_the_model_prices_is_what_every_tile_prefetches(seed):
    planned(small(Random(seed)))


@pytest.mark.parametrize(
    "isa, problem, text, arrays",
    [
        # A panel of x that tiles of several rows read in place.
        (
            "avx512f",
            pointwise2d(conv2d(c=8, h=8, w=8, k=16, r=1, s=1, layout="nchw")),
            "T(w,4) T(k,2) S(y) T(c,8) U(k,8) V(w,16)",
            "x",
        ),
        ("avx512f", matmul(m=8, n=32, k=16), "R(n) T(m,2) S(c) T(k,16) U(m,4) V(n,16)", "w"),
        # Sums of matrix instructions that leave for two rows of an image at once.
        (
            "amxint8",
            conv2d(c=3, h=2, w=64, k=32, r=3, s=3, padding=1, dtype="int8"),
            "T(w,4) S(y) T(r,3) U(h,2) U(w,16) U(k,2) D(sc,12) V(k,16)",
            "y",
        ),
    ],
)
def test_panels_and_outputs_of_next_tiles_are_in_the_plan(isa, problem, text, arrays):
    assert set(arrays) <= planned(Small(parse(problem, text), EVERY_ISA[isa], False))
