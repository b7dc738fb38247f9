"""Maps are computed where they are read, and the program means the same."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu.reference.programs import evaluate
from tests.support.programs.programs import inputs_of, random_program
from tests.support.sampled import examples
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.program.rewrite.inline import inlined


def after(text, extents=None, shapes=None, **options):
    return str(inlined(sized(read(text), extents or {}, shapes, **options)).program)


@pytest.mark.slow
@examples(300)
@given(st.integers(0, 2**32))
def test_the_program_means_the_same(seed):
    random = Random(seed)
    program = random_program(random)
    arrays, fused = inputs_of(program, random), inlined(program)
    wanted, found = evaluate(program, arrays), evaluate(fused, {a.name: arrays[a.name] for a in fused.inputs})
    for name in program.outputs:
        np.testing.assert_array_equal(found[name], wanted[name], err_msg=f"{program.program}\n{fused.program}")
    assert {a.name: a.dtype for a in fused.assigned if a.name in program.outputs}.items() <= {
        a.name: a.dtype for a in program.assigned
    }.items()


@pytest.mark.parametrize(
    "text, extents, wanted",
    [
        # Hidet's example: reversed, times 3, 50 columns.
        (
            "r[k] = c[99-k] * 2; t[k] = r[k] * 3; y[i,j] = t[50*i+j]",
            {"i": 2, "j": 50, "k": 100},
            "y[i,j] = c[99 - (50 * i + j)] * 2 * 3",
        ),
        ("e[i] = exp(x[i]); y[i] = e[i] + 1", {"i": 4}, "y[i] = exp(x[i]) + 1"),
        # An element that is read more than once is computed once, unless that is cheaper than to read it.
        ("e[i] = exp(x[i]); y[i] = e[i] * e[i]", {"i": 4}, "e[i] = exp(x[i]); y[i] = e[i] * e[i]"),
        ("e[i] = x[i] + 1; y[i] = e[i] * e[i]", {"i": 4}, "y[i] = (x[i] + 1) * (x[i] + 1)"),
        # Outside of the map nothing of it is computed.
        (
            "e[i] = x[i] + 1; y[i] = e[i-1] else 5",
            {"i": 3},
            "y[i] = where(i - 1 >= 0 and i - 1 < 3, x[i - 1] else 0 + 1, 5)",
        ),
        # A dtype of its own stays.
        ("e: s32; e[i] = x[i] * 3; y[i] = e[i] / 2", {"i": 3}, "y[i] = s32(x[i] * 3) / 2"),
        ("e[i] = 2; x: s8; y[i] = x[i] * e[i]", {"i": 3}, "x: s8; y[i] = x[i] * s64(2)"),
        # A prologue of a sum, which reads it once, and one that would be computed for each output.
        ("e[j] = exp(x[j]); y = sum[j] e[j]", {"j": 3}, "y[] = sum[j] exp(x[j])"),
        (
            "e[j] = exp(x[j]); y[i] = sum[j] e[j] * w[i,j]",
            {"i": 2, "j": 3},
            "e[j] = exp(x[j]); y[i] = sum[j] e[j] * w[i, j]",
        ),
    ],
)
def test_what_is_inlined(text, extents, wanted):
    assert after(text, extents) == wanted


def test_an_output_stays():
    text = "e[i] = exp(x[i]); y[i] = e[i] + 1"
    assert after(text, {"i": 4}, outputs=("e", "y")) == "e[i] = exp(x[i]); y[i] = e[i] + 1"


def test_a_reduction_stays():
    text = "m[i] = max[j] x[i,j]; e[i,j] = x[i,j] - m[i]; y[i] = sum[j] e[i,j]"
    assert after(text, {}, {"x": (3, 4)}) == "m[i] = max[j] x[i, j]; y[i] = sum[j] x[i, j] - m[i]"
