"""Every schedule through NVRTC."""

from __future__ import annotations

import random
import time

import pytest

from gpu.model.devices import DEVICES
from gpu.model.space import candidates
from tests.support.gpu.compiling import check_compiles, needs_nvrtc
from tests.support.gpu.large_problems import LARGE, OTHERS, check_schedules, kernels_of


@needs_nvrtc
@pytest.mark.parametrize("kind", LARGE, ids="-".join)
def test_every_schedule_compiles_without_spills(kind, lasting_cache):
    """More than a minute of two cores each."""
    lasting_cache("-".join(kind))
    check_schedules(list(kernels_of(kind).values()))


@needs_nvrtc
def test_every_schedule_of_other_problems_compiles_without_spills(soak_seconds, soak_seed):
    """In a random order, until the time is over; all of them take about three minutes."""
    everything = [
        (scheme, name) for p in OTHERS for name in ("A100", "H200") for scheme in candidates(p, DEVICES[name])
    ]
    random.Random(soak_seed).shuffle(everything)
    end, done = time.monotonic() + soak_seconds, 0
    for scheme, device in everything:
        check_compiles(scheme, device)
        done += 1
        if time.monotonic() > end:
            break
    print(f"{done} of {len(everything)} kernels compiled without spills")
