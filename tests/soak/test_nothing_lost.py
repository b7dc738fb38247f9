"""Rankings and searches that are killed at many random moments lose nothing."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from tests.support.running.killed import (
    RANK,
    TUNE,
    check_complete,
    killed_run,
    prepared_store,
    site,
)

# Which processes a signal is sent to: the one that was started, or its whole group as a terminal does.
SIGNALS = [(signal.SIGKILL, "process"), (signal.SIGKILL, "group"), (signal.SIGINT, "process"), (signal.SIGINT, "group"),
           (signal.SIGTERM, "process")]  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepared_store(tmp_path_factory.mktemp("prepared"))


def kill_again_and_again(folder: Path, prepared: Path, command: list[str], enough, rng: random.Random) -> str:
    """Signals runs at random moments until `enough(count)`; each site is used until a run on it ends by itself."""
    started = time.monotonic()
    place = site(folder, prepared, command)
    check_complete(place, more=())
    whole = time.monotonic() - started
    counts, resumed, waits = {f"{s.name} to the {whom}": 0 for s, whom in SIGNALS}, 0, []
    place = site(folder, prepared, command)
    while not enough(sum(counts.values())):
        number, whom = SIGNALS[sum(counts.values()) % len(SIGNALS)]
        if killed_run(place, lambda _: time.sleep(rng.uniform(0, whole)), number, whom):
            waits += place.gone_after
            place = site(folder, prepared, command)
        else:
            counts[f"{number.name} to the {whom}"] += 1
        if rng.random() < 0.1:
            check_complete(place)
            resumed += 1
            waits += place.gone_after
            place = site(folder, prepared, command)
    check_complete(place)
    waits += place.gone_after
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    return (
        f"{command[1]}: {sum(counts.values())} runs of {whole:.1f} s ended at random moments ({told}); {resumed + 1} "
        f"resumed to the end; no record lost, none measured twice; all its processes gone after {max(waits):.2f} s at "
        f"most"
    )


@pytest.mark.parametrize("command", [RANK, TUNE], ids=["rank", "tune"])
def test_runs_killed_at_fifty_random_moments_resume(tmp_path, prepared, command, soak_seconds, soak_seed):
    until = time.monotonic() + soak_seconds

    def enough(count: int) -> bool:
        return count >= 50 and time.monotonic() > until

    print(kill_again_and_again(tmp_path / "site", prepared, command, enough, random.Random(soak_seed)))
