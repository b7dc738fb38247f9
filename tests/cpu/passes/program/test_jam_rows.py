"""How many rows of a product go at once: as many as have registers, and those that are left over together."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cpu.passes.forms import program_forms
from cpu.passes.program.bound_loops import bound_loops
from cpu.passes.program.jam_rows import jam_rows
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.programs import inputs_of, interpreted
from tiling.loops.index import constant
from tiling.loops.language import For
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

PRODUCT = "y[i,j] = sum[c] q[i,c] * k[c,j]"


def jammed(rows, isa, columns=160):
    program = sized(read(PRODUCT), {}, {"q": (rows, 5), "k": (5, columns)})
    return program, dict(program_forms(program, isa, 1))["jam rows"]


@pytest.mark.parametrize(
    "rows, isa, wanted",
    [
        (12, AVX512F, [4]),  # 16 sums of 32 registers, as six rows take longer
        (12, AVX2, [3]),  # 12 sums, three factors and a vector are 16
        (12, PORTABLE, [2]),  # a product takes a register without an FMA
        (14, AVX2, [3, 2]),  # the two that are left go together
        (13, AVX2, [3, 1]),
        (15, AVX512F, [4, 3]),
        (2, AVX2, [2]),
    ],
)
def test_rows_go_together_as_registers_allow(rows, isa, wanted):
    program, kernel = jammed(rows, isa)
    assert [s.step for s in walk(kernel.body) if isinstance(s, For) and s.name == "i"] == wanted
    arrays = inputs_of(program, Random(rows))
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], evaluate(program, arrays)["y"])


def test_rows_left_over_of_a_loop_that_ends_early_go_one_by_one():
    """The pass that ends it takes no loop that begins between two runs."""
    program = sized(read(PRODUCT), {}, {"q": (5, 5), "k": (5, 160)})
    kernel = dict(program_forms(program, AVX2, 1))["pack columns"]
    limited = tuple(replace(s, limit=constant(4)) if isinstance(s, For) and s.name == "i" else s for s in kernel.body)
    assert limited != kernel.body
    several = jam_rows(replace(kernel, body=limited), AVX2.registers, fused=True)
    assert [s.step for s in walk(several.body) if isinstance(s, For) and s.name == "i"] == [3, 1]
    bound = bound_loops(several, AVX2.lanes)
    arrays = inputs_of(program, Random(5))
    rows = [found["y"][:4] for found in (interpreted(program, bound, arrays), evaluate(program, arrays))]
    np.testing.assert_array_equal(*rows)
