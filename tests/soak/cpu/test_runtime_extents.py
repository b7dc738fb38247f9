"""Many random programs with runtime extents are exactly the definition."""

from __future__ import annotations

import time
from random import Random

from cpu.passes.program import bind_tasks
from cpu.runtime.machine.host import supports
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.runtime_extents import check


def test_many_random_programs_are_exact(soak_seconds, soak_seed, monkeypatch):
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    end, random = time.monotonic() + soak_seconds, Random(soak_seed)
    isas = [isa.name for isa in (PORTABLE, AVX2, AVX512F) if supports(isa.cpu_flags)]
    check(random.randrange(2**32), random.choice(isas), 2)
    while time.monotonic() < end:
        check(random.randrange(2**32), random.choice(isas), random.randint(1, 3))
