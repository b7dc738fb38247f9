"""Random programs under AddressSanitizer and UBSan."""

from __future__ import annotations

from random import Random
from time import monotonic

import pytest

from cpu.runtime.machine.host import supports
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.kernels.sanitizers import without_sanitizers
from tests.support.programs.programs import random_program
from tests.support.programs.sanitized import check


def test_soak_programs_under_sanitizers(soak_seconds, soak_seed, tmp_path):
    """Random programs while there is time."""
    if without_sanitizers():
        pytest.skip(without_sanitizers())
    deadline, random, done = monotonic() + soak_seconds, Random(soak_seed), 0
    runnable = [isa.name for isa in (PORTABLE, AVX2, AVX512F) if supports(isa.cpu_flags)]
    while monotonic() < deadline or not done:
        seed = random.randrange(2**32)
        check(random_program(Random(seed)), random.choice(runnable), tmp_path, seed)
        done += 1
    print(f"{done} random programs under AddressSanitizer and UBSan")
