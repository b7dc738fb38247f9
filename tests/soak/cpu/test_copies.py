"""Many random copies of x, and kernels that make them, mean the same after every pass."""

from __future__ import annotations

from time import monotonic

from hypothesis import given, settings

from tests.support.loops.copies import (
    check_passes,
    drawn_whole,
    seeds,
)


def test_soak_passes_keep_copies(soak_seconds, soak_seed):
    """500 random copies, and more while there is time."""
    end, done = monotonic() + soak_seconds, 0
    while done < 500 or monotonic() < end:
        check_passes(soak_seed + done)
        done += 1
    print(f"{done} random copies are the same after every pass")


@settings(max_examples=500)
@given(seeds)
def test_500_kernels_that_copy_x_compute_the_definition(seed):
    drawn_whole(seed)
