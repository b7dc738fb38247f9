"""Attention of random sizes, masks and threads is within its bound."""

from __future__ import annotations

import time
from random import Random

from cpu.runtime.machine.host import supports
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.attention import (
    AFTER,
    BEFORE,
    MASKS,
    check,
)


def test_soak_attention(soak_seconds, soak_seed):
    end, random = time.monotonic() + soak_seconds, Random(soak_seed)
    isas = [isa.name for isa in (PORTABLE, AVX2, AVX512F) if supports(isa.cpu_flags)]
    while time.monotonic() < end:
        shared = random.choice((1, 1, 2))
        sizes = (2 * random.randint(1, 2), random.randint(2, 300), random.randint(2, 700), random.randint(1, 70))
        mask, text = random.choice(list(MASKS)), random.choice((AFTER, BEFORE))
        check(random.choice(isas), mask, sizes, text, shared, random.randint(1, 3), random.randrange(2**32))
