"""Many random models give exactly what onnx's reference does."""

from __future__ import annotations

import time
from random import Random

from tests.support.models.random_graphs.checks import check_compiled, check_steps


def test_many_random_models_are_exact(soak_seconds, soak_seed, monkeypatch):
    end, seeds, done = time.monotonic() + soak_seconds, Random(soak_seed), 0
    while time.monotonic() < end or not done:
        for _ in range(20):
            check_steps(seeds.randrange(2**32))
        check_compiled(seeds.randrange(2**32), monkeypatch)
        done += 1
    print(f"{done} random models compiled, and the steps of {20 * done} more")
