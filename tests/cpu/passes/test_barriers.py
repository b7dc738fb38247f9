"""The interpreter finds out that a team of threads lacks a barrier."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cpu.passes.program.bind_tasks as bind_tasks
from cpu.codegen.inside import facts_of
from cpu.passes.forms import product_forms, program_forms
from cpu.passes.order import SHARE_THREADS
from microkernels.tile.isa import PORTABLE
from tests.support.loops.loops import ones, result, without_each_barrier
from tests.support.programs.programs import inputs_of, interpreted
from tiling.epilogue import fused
from tiling.loops.meaning.memory import Fault
from tiling.loops.meaning.workers import Race
from tiling.operators import conv2d
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.text.notation import parse

# What a later thread would write is not there yet; else two threads meet.
MISSED = r"no barrier between|before anything is written"
# Each loop that threads share needs what all of them did in the one before.
PROGRAMS = {
    "a sum of all": ("s[] = sum[i,j] x[i,j]; y[i,j] = x[i,j] - s[]", (6, 40)),
    "columns, then their sum": ("m[j] = max[i] x[i,j]; s[] = sum[j] m[j]; y[i,j] = x[i,j] - m[j] + s[]", (6, 32)),
}


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_needs_each_of_its_barriers(name, threads, monkeypatch):
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    text, shape = PROGRAMS[name]
    program = sized(read(text), {}, {"x": shape})
    kernel = dict(program_forms(program, PORTABLE, threads))[SHARE_THREADS]
    arrays = inputs_of(program, Random(0))
    interpreted(program, kernel, arrays, threads=threads)
    found = without_each_barrier(kernel)
    assert found
    for changed in found:
        with pytest.raises((Race, Fault), match=MISSED):
            interpreted(program, changed, arrays, threads=threads)


@pytest.mark.parametrize("threads", [2, 3])
def test_parts_of_a_sum_are_added_after_a_barrier(threads):
    problem = fused(conv2d(c=6, h=3, w=2, k=6, r=3, s=1, padding=(1, 0)), "relu(y)")
    scheme = parse(problem, "T(c,3)@core R(h) R(k) S(y) T(r,3) T(c,2) U(w,2) V(k,4)")
    *_, (_, kernel) = product_forms(facts_of(scheme, PORTABLE, False, threads))
    given = {name: array for name, array in ones(kernel).items() if name != "Y"}
    assert np.isfinite(result(kernel, given, threads)).all()
    (changed,) = without_each_barrier(kernel)
    with pytest.raises((Race, Fault), match=MISSED):
        result(changed, given, threads)
