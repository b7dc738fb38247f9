"""Many random kernels mean the same after every pass."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.passes.order import PRODUCT
from tests.support.loops.random_kernels import drawn_with_winograd
from tiling.loops.passes import LOWER, names


def test_passes_keep_the_meaning_of_500_kernels():
    """Every pass of the list changes some of them. The figures are printed.

    Hypothesis draws the seeds: kernels from its own random choices hardly ever copy strips.
    """
    changed, done = Counter(), 0

    @settings(max_examples=500)
    @given(st.integers(0, 2**32 - 1))
    def run(seed):
        nonlocal done
        changed.update(drawn_with_winograd(Random(seed)))
        done += 1

    run()
    print(f"{done} random kernels mean the same after every pass; so many of them each pass changed:")
    print(*(f"{name}: {changed[name]}" for name in names(PRODUCT)[1:]), sep="\n")
    assert done >= 500 and set(changed) == set(names(PRODUCT)) - {LOWER}
