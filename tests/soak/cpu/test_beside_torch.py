"""Many random programs, beside what PyTorch computes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")
from tests.support.programs.beside_torch import check_bounded, check_exact

SEEDS = st.integers(0, 2**32)


@settings(max_examples=200)
@given(SEEDS)
def test_soak_whole_numbers_are_the_same(seed):
    check_exact(seed)


@settings(max_examples=100)
@given(SEEDS)
def test_soak_real_numbers_are_within_the_bound(seed):
    check_bounded(seed)
