"""The weights behind a panel are prefetched where products in turn have weights of their own, as those of Winograd."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import numpy as np
import pytest

from cpu.codegen.winograd import winograd_forms_of
from cpu.kernel.measure import exact_case
from microkernels.tile.isa import isa_named
from tests.support.loops.loops import statements
from tests.support.loops.winograd_loops import run, small, transformed
from tiling.loops.language import LINE, Prefetch
from tiling.loops.lowering.prefetch.plan import plan_prefetches
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse

ALWAYS = {"FEW_WEIGHTS": 0, "MOST_A_LINE": 1 << 30, "LOADS_AN_FMA": 1 << 30, "MOST_OF_A_PANEL": 1 << 30}


def prefetched(problem, text):
    """The weights that the products of a kernel prefetch into L2: the index of each prefetch."""
    forms = dict(winograd_forms_of(parse(problem, text), isa_named("avx512f"), 1))
    found = [s for s in statements(forms["prefetch"]) if isinstance(s, Prefetch) and s.level == 2]
    assert {s.address.buffer for s in found} <= {"UP"}
    return [str(s.address.at[0]) for s in found]


def test_tiles_of_the_most_rows_prefetch_the_next_product():
    """A product has 256 x 32 weights, so what lies behind them is the next one's; 9 of its 16 rows prefetch."""
    problem = conv2d(c=256, h=14, w=14, k=256, r=3, s=3, padding=1)
    text = "F(4x4,3x3) B(16,32) L(m, 1x7 + 1x9) S(c) T(k,256) U(m,λ) U(n,2) V(n,16)"
    assert prefetched(problem, text) == ["32*k + 8192", "32*k + 8208"]


def test_tiles_prefetch_the_next_panel_of_their_product():
    problem = conv2d(c=512, h=7, w=7, k=512, r=3, s=3, padding=1)
    text = "F(2x2,3x3) B(16,128) L(n, 1x2 + 2x3) T(m,2) S(c) T(k,512) U(m,8) U(n,λ) V(n,16)"
    narrow = ["32*k + 16384", "32*k + 16400"]
    assert prefetched(problem, text) == [*narrow, *(f"512*n + 48*k + {at}" for at in (24576, 24592, 24608))]


@pytest.mark.exhaustive(seed=lambda seed: seed % 4)
@pytest.mark.parametrize("seed", range(12))
def test_every_line_behind_the_first_product_is_prefetched(seed):
    """The lines of W lie in the order in which products read them, so all but those of the first are prefetched."""
    winograd, isa, workers = small(Random(seed))
    (x, w, *arrays), expected, _ = exact_case(winograd)
    none = patch("tiling.loops.lowering.prefetch.plan.pieces", lambda problem, tile: ())  # cursors stay in a product
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **ALWAYS), none:
        kernel = dict(winograd_forms_of(winograd, isa_named(isa), workers))["prefetch"]
    found: set[int] = set()

    def prefetch(self, array, level):
        if array.name in ("W", "UP") and level == 2:
            found.add((array.first + array.origin[-1] * 4) // LINE)

    u = transformed(winograd, w)
    with patch("tiling.loops.meaning.prefetches.Prefetches.prefetch", prefetch):
        np.testing.assert_array_equal(run(winograd, kernel, u, x, *arrays), expected)
    assert found >= set(range(-(-u[0].nbytes // LINE), u.nbytes // LINE))


def test_panels_that_a_cursor_brings_are_prefetched_once():
    """2 MB of weights in 32 panels."""
    text = "T(n,32) T(m,2) S(c) T(k,512) U(m,8) U(n,2) V(n,16)"
    (plan,) = plan_prefetches(parse(matmul(m=16, n=1024, k=512), text), weights_in_turn=16)
    assert [piece.array for piece in plan.pieces] == ["w"] and not plan.next_weights


def planned(text, in_turn, m=32, n=32, k=64):
    """What the tiles of a product with 8 KB of weights prefetch."""
    return [plan.next_weights for plan in plan_prefetches(parse(matmul(m=m, n=n, k=k), text), weights_in_turn=in_turn)]


def test_nothing_is_prefetched_where_it_would_gain_nothing():
    two = "T(m,4) S(c) T(k,64) U(m,8) U(n,2) V(n,16)"
    (found,) = planned(two, 64)
    assert found and (found.elements, found.lines, found.in_line) == (2048, 2, 16)
    assert planned(two, 63) == [None]  # less than 512 KB in all
    assert planned("T(n,64) " + two, 1, n=2048) == [None]  # as much, but one product
    assert planned("T(m,8) S(c) T(k,64) U(m,4) V(n,16)", 128, n=16) == [None]  # 6 loads for 4 FMAs
    assert planned(two.replace("T(m,4)", "T(m,128)"), 64, m=1024) == [found]
    assert planned(two.replace("T(m,4)", "T(m,129)"), 64, m=1032) == [None]  # each line for 1032 rows


def test_many_tiles_of_short_vectors_prefetch_no_panel_again():
    short = "T(m,12) S(c) T(k,64) U(m,4) U(n,3) V(n,8)"
    (found,) = planned(short, 128, m=48, n=24)
    assert found and (found.elements, found.lines, found.in_line) == (1536, 2, 16)
    assert planned(short.replace("T(m,12)", "T(m,13)"), 128, m=52, n=24) == [None]
    (found,) = planned("T(m,13) S(c) T(k,64) U(m,4) U(n,2) V(n,16)", 128, m=52)
    assert found and found.lines == 2
