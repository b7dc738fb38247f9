"""Samples on a core that others leave alone for half a millisecond at a time."""

import pytest

from cpu.kernel.measure import TILE_SAMPLE
from cpu.runtime.machine.samples import SAMPLE_SECONDS, timed

CALL, ALONE, PERIOD, SLOWER = 2e-6, 0.0005, 0.0025, 2.0


class Shared:
    """Time passes by calls of a kernel. The first part of each PERIOD is undisturbed; then a call takes longer."""

    def __init__(self):
        self.now = 0.0

    def called(self, seconds, samples=1, warmup=1):
        return tuple(self.sample(seconds / samples) for _ in range(samples))

    def sample(self, seconds):
        begin, calls = self.now, 0
        while calls == 0 or self.now - begin < seconds:
            self.now += CALL if self.now % PERIOD < ALONE else CALL * SLOWER
            calls += 1
        return (self.now - begin) / calls


@pytest.mark.parametrize(("sample", "right"), [(TILE_SAMPLE, True), (SAMPLE_SECONDS, False)])
def test_only_samples_shorter_than_the_undisturbed_moments_show_the_speed_of_a_tile(monkeypatch, sample, right):
    monkeypatch.setattr("cpu.runtime.machine.samples.peak_gflops", lambda flags, lanes, seconds: 100.0)
    timing = timed(Shared().called, (), 8, 0.02, sample)
    assert (min(timing.samples) == pytest.approx(CALL, rel=0.01)) == right
    assert len(timing.samples) == round(0.02 / sample)
