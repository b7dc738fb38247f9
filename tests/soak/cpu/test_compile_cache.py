"""Races for the compile cache, large, small and damaged."""

from __future__ import annotations

import random
import time

from cpu.runtime.compiler.cache_folder import (
    clear,
    keep_limit,
)
from tests.support.running.cache_races import KERNELS, PROCESSES, race, started


def test_races_in_a_large_small_and_damaged_cache(soak_seconds, soak_seed, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    until, races, spoiled = time.monotonic() + soak_seconds, 0, 0
    rng = random.Random(soak_seed)
    while True:
        clear()
        keep_limit(rng.choice((512 << 20, 100_000, 1)))
        spoiler = started("--spoil", 5, rng.randrange(2**32)) if rng.random() < 0.7 else None
        race(rounds=2, seed=rng.randrange(2**32))
        races += 1
        spoiled += int(spoiler.communicate()[0]) if spoiler else 0
        if time.monotonic() > until:
            break
    loads = races * PROCESSES * KERNELS * 2
    print(
        f"{races} races, {loads} loads by {PROCESSES} processes at once, {spoiled} entries damaged meanwhile, 0 wrong"
    )
