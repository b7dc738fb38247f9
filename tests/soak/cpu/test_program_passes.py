"""Many random programs mean the same after every pass."""

from __future__ import annotations

import time
from random import Random

from tests.support.programs.passes import check, check_runtime


def test_every_pass_keeps_many_definitions(soak_seconds, soak_seed, monkeypatch):
    """500 random programs, and more while there is time."""
    end, seeds, done = time.monotonic() + soak_seconds, Random(soak_seed), 0
    while done < 500 or time.monotonic() < end:
        check(seeds.randrange(2**32), monkeypatch)
        check_runtime(seeds.randrange(2**32), monkeypatch)
        done += 1
    print(f"{done} random programs mean the same after every pass")
