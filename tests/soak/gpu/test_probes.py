"""The probes of every combination on the twin."""

from __future__ import annotations

import time

import numpy as np

from gpu.probes.calibrate import on_twin
from tests.support.gpu.probes import (
    ORDINARY,
    PROBES,
    expected_words,
)


def test_the_twin_does_what_the_document_says_in_every_combination(soak_seconds):
    end, done = time.monotonic() + soak_seconds, 0
    for name in sorted(set(PROBES) - set(ORDINARY)):
        np.testing.assert_array_equal(on_twin(PROBES[name]), expected_words(PROBES[name]))
        done += 1
        if time.monotonic() > end:
            break
    print(f"{done} more probes as the document says")
