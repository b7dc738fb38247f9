"""`graph.calls.differences`: what two ways of computing a model are compared by."""

import numpy as np
import pytest

from graph.calls.differences import apart
from graph.compile import _error

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("y", "other", "expected"),
    [
        ([1.0, 4.0], [1.5, 4.0], 0.125),
        ([0.0], [0.0], 0.0),
        ([0.5], [0.0], 0.5),
        ([NAN], [1.0], INF),
        ([1], [1], 0.0),
        ([1], [2], INF),
        ([INF, -INF, NAN, 1.0], [INF, -INF, NAN, 2.0], 0.5),
        ([INF], [-INF], INF),
        ([1.0], [NAN], INF),
        ([[1.0], [1.0]], [1.0], INF),
        ([3e38], [3e38], 0.0),
        ([1.7e308], [-1.7e308], 2.0),
        ([5e-324], [0.0], 0.0),
    ],
)
def test_arrays_lie_so_far_apart(y, other, expected):
    assert apart(np.array(y), np.array(other)) == expected


def test_a_model_of_whole_numbers_alone_has_no_error():
    class Whole:
        inputs = ()

        def __call__(self):
            return [np.array([3])]

        def empty_inputs(self):
            return []

    assert _error(Whole(), Whole()) == 0.0
