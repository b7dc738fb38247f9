"""Kernels of every case, and random ones, under AddressSanitizer and UBSan."""

from __future__ import annotations

from random import Random
from time import monotonic

import pytest

from cpu.runtime.machine.host import supports
from microkernels.tile.isa import EVERY_ISA, ISAS
from tests.support.kernels import low_precision_cases
from tests.support.kernels.cases import ALL_CASES
from tests.support.kernels.random_cases import Case, case
from tests.support.kernels.sanitized import check_sanitized, named
from tests.support.kernels.sanitizers import without_sanitizers

SUMS = {"bf16": "f32", "int8": "s32"}


def test_soak_sanitizers(soak_seconds, soak_seed, tmp_path):
    """Every case of tests/cpu/codegen/test_kernels.py on every instruction set, streamed too, every one of narrow
    numbers; then random ones while there is time.

    Epilogues are among all of them.
    """
    if without_sanitizers():
        pytest.skip(without_sanitizers())
    deadline = monotonic() + soak_seconds
    runnable = tuple(isa.name for isa in EVERY_ISA.values() if supports(isa.cpu_flags))
    of_f32 = [isa for isa in runnable if isa in ISAS]
    cases = [named(name, isa, stream) for name in ALL_CASES for isa in of_f32 for stream in (False, True)]
    narrow = [(dtype, isa) for dtype, isa in low_precision_cases.ISA.items() if isa in runnable]
    cases += [
        # Sums that wait in y between steps need a y of their own dtype.
        Case(low_precision_cases.scheme_of(n, dtype, SUMS[dtype] if "accumulated" in n else None), isa, 1, True)
        for n in low_precision_cases.CASES
        for dtype, isa in narrow
    ]
    for one in cases:
        check_sanitized(one, tmp_path)
    drawn = 0
    while monotonic() < deadline:
        check_sanitized(case(Random(f"{soak_seed}:{drawn}"), runnable, threads=(1,), volumes=True), tmp_path)
        drawn += 1
    print(f"{len(cases)} cases and {drawn} random kernels under AddressSanitizer and UBSan, arrays aligned and offset")
