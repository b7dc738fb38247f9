"""Random programs after each pass, as the interpreter runs them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cpu.passes.program.bind_tasks as bind_tasks
import cpu.passes.program.interleave_rows as interleave_rows
import cpu.passes.program.lanes.claim_lines as claim_lines
import cpu.passes.program.repeat_steps as repeat_steps
import cpu.passes.program.rows.long_rows as long_rows
import cpu.passes.program.rows.sum_rows as sum_rows
import cpu.passes.program.spread_reads as spread_reads
from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate, rounded
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.loops.passes import different
from tests.support.programs.programs import (
    inputs_of,
    interpreted,
    random_program_for_passes,
    runtime_values,
    with_runtime_extents,
)
from tiling.loops.kernel import Kernel
from tiling.loops.language import THREADS, For
from tiling.loops.walk import walk

PAGE = 24  # bytes: rows of f32 lie whole pages apart now and then


def check(seed: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The plain loops of a random program give the definition, and each pass leaves that as it is.

    Returns the passes that change loops.
    """
    random = Random(seed)
    program = random_program_for_passes(random)
    arrays = inputs_of(program, random)
    isa, threads = random.choice((PORTABLE, AVX2, AVX512F)), random.randint(1, 3)
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", random.choice((1, 100)))
    monkeypatch.setattr(claim_lines, "LEAST", 1)
    monkeypatch.setattr(long_rows, "LEAST", 1)
    monkeypatch.setattr(long_rows, "AHEAD", 0)
    monkeypatch.setattr(sum_rows, "LEAST", 1)
    monkeypatch.setattr(sum_rows, "LEAST_ROWS", 2)
    monkeypatch.setattr(sum_rows, "LEAST_ROW", 4)
    monkeypatch.setattr(sum_rows, "LEAST_PART", 32)
    monkeypatch.setattr(repeat_steps, "STEPS", 2)
    monkeypatch.setattr(repeat_steps, "LEAST_PRODUCTS", 1)
    monkeypatch.setattr(spread_reads, "PAGE", PAGE)
    monkeypatch.setattr(interleave_rows, "MOST_IN_CACHE", random.choice((1, interleave_rows.MOST_IN_CACHE)))
    wanted = evaluate(program, arrays)
    forms = list(different(program_forms(program, isa, threads)))
    for name, kernel in forms:
        for output, found in interpreted(program, kernel, arrays).items():
            expected = rounded(wanted[output], program.array(output).dtype)
            np.testing.assert_array_equal(found, expected, err_msg=f"after {name}: {program.program}")
    for team in range(2, 4 if is_shared(kernel) else 2):
        for output, found in interpreted(program, kernel, arrays, threads=team).items():
            expected = rounded(wanted[output], program.array(output).dtype)
            np.testing.assert_array_equal(found, expected, err_msg=f"{team} threads: {program.program}")
    return {name for name, _ in forms[1:]}


def is_shared(kernel: Kernel) -> bool:
    """Whether the last form of a kernel is what one of several threads does."""
    ends = [index for s in walk(kernel.body) if isinstance(s, For) for index in (s.start, s.stop)]
    return any(THREADS in index.names() for index in ends)


def check_runtime(seed: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The same of a program whose extents are known when it runs."""
    random = Random(seed)
    program = with_runtime_extents(random_program_for_passes(random), random)
    isa, threads = random.choice((PORTABLE, AVX2, AVX512F)), random.randint(1, 3)
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", random.choice((1, 100)))
    monkeypatch.setattr(claim_lines, "LEAST", 1)
    monkeypatch.setattr(spread_reads, "PAGE", PAGE)
    monkeypatch.setattr(interleave_rows, "MOST_IN_CACHE", random.choice((1, interleave_rows.MOST_IN_CACHE)))
    forms = list(different(program_forms(program, isa, threads)))
    for values in runtime_values(program, random):
        fixed = program.at(values)
        arrays = inputs_of(fixed, random)
        wanted = evaluate(fixed, arrays)
        for name, kernel in forms:
            for output, found in interpreted(fixed, kernel, arrays, values).items():
                expected = rounded(wanted[output], fixed.array(output).dtype)
                np.testing.assert_array_equal(found, expected, err_msg=f"after {name}, {values}: {program.program}")
        for team in range(2, 4 if is_shared(kernel) else 2):
            for output, found in interpreted(fixed, kernel, arrays, values, team).items():
                expected = rounded(wanted[output], fixed.array(output).dtype)
                np.testing.assert_array_equal(found, expected, err_msg=f"{team} threads: {program.program}")
    return {name for name, _ in forms[1:]}
