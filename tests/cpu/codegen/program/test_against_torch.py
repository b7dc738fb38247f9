"""Kernels of random programs, beside what PyTorch computes: the same on whole numbers, else within a derived bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")
from tests.support.programs.beside_torch import check_bounded, check_exact

SEEDS = st.integers(0, 2**32)


@pytest.mark.slow
@settings(max_examples=12)
@given(SEEDS)
def test_whole_numbers_are_the_same(seed):
    check_exact(seed)


@pytest.mark.slow
def test_real_numbers_are_within_the_bound():
    """And there is one for most of them."""
    assert np.mean([check_bounded(seed) for seed in range(12)]) > 0.5
