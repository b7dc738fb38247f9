"""What is known of a machine: how a timing tells itself."""

from tiling.machine import Timing


def test_a_timing_prints_as_a_line():
    timing = Timing((0.001, 0.00102, 0.00104, 0.001, 0.00103), 200.0)
    assert str(timing) == "1.02 ms, median of 5 samples, spread 2.9 %"
    doubtful = Timing(timing.samples, 200.0, "other programs took 0.9 cores")
    assert str(doubtful) == f"{timing}, in doubt: other programs took 0.9 cores"
