"""What Winograd's products wait for, by prediction: what their tiles do not prefetch from beyond L2."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from search.cost.costs import COSTS
from search.space.winograd import predicted
from tests.support.search.model_cases import CATALOG, L1, L2, L3, MACHINE
from tiling.loops.lowering.prefetch.plan import left
from tiling.operators import conv2d
from tiling.text.notation import parse

PROBLEM = conv2d(c=64, h=56, w=56, k=64, r=3, s=3, padding=1)  # a block of 196 tiles, of 1.8 MB of V, in two parts
ROWS = "F(4x4,3x3) B(196,32) T(m,14) S(c) T(k,64) U(m,14) U(n,2) V(n,16)"
COLUMNS = "F(4x4,3x3) B(196,32) T(m,14) T(n,2) S(c) T(k,64) U(m,14) V(n,16)"
V, U = (4 * 36 * 64 * count for count in (196, 32))  # bytes of a block, and of a part


def waited(text: str, rate: float, cold: bool = False) -> float:
    """Seconds that the prediction adds for what is not prefetched. rate: bytes/s of L3."""
    machine, scheme = replace(MACHINE, caches=(L1, L2, replace(L3, bandwidth=rate))), parse(PROBLEM, text)

    def seconds() -> float:
        (found,) = predicted([scheme], machine, replace(CATALOG, op="matmul"), 1, cold)
        return found.prediction.seconds

    with patch("search.space.winograd.left", lambda plans, array: 0.0):
        at_least = seconds()
    return seconds() - at_least


def test_products_wait_for_rows_and_weights_that_no_tile_prefetches():
    share = COSTS.not_prefetched - COSTS.exposed
    assert waited(ROWS, 60e9) == pytest.approx(share * 2 * V / 14 / 60e9)  # the rows of the first tile of 14
    assert waited(COLUMNS, 60e9) == pytest.approx(share * (2 * V + 2 * U) / 60e9)
    rows, columns = (waited(text, 60e9, cold=True) - waited(text, 60e9) for text in (ROWS, COLUMNS))
    assert rows == pytest.approx(0) and columns == pytest.approx(share * 2 * U / MACHINE.memory_bandwidth)


def test_tiles_that_leave_weights_to_others_need_not_wait():
    """A loop of 13 tiles prefetches all weights, and the rows of 12. The tile before the loop prefetches none."""
    text = "F(4x4,3x3) B(196,32) L(m, 1x14 + 13x14) S(c) T(k,64) U(m,λ) U(n,2) V(n,16)"
    plans = parse(PROBLEM, text).prefetches
    assert [plan.next_weights and plan.next_weights.lines for plan in plans] == [0, 2]
    assert left(plans, "w") == 0
    assert left(plans, "x") == pytest.approx(28 / 196)
