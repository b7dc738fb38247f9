"""Sums are divided instead of their values."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.reference.programs import evaluate
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.program.rewrite.factor_sums import factored_sums

EXTENTS = {"i": 3, "j": 4, "c": 5}
SUM = "m[i] = max[j] t[i,j]; e[i,j] = exp(t[i,j] - m[i]); d[i] = sum[j] e[i,j]; "
WHOLE = SUM + "p[i,j] = e[i,j] / d[i]; y[i,c] = sum[j] p[i,j] * v[j,c]"


def program_of(text, **options):
    return sized(read(text), {dim: EXTENTS[dim] for dim in read(text).dims}, **options)


def factored(text, **options):
    return factored_sums(program_of(text, **options))


@pytest.mark.parametrize(
    "text, wanted",
    [
        (WHOLE, SUM + "y_sum[i,c] = sum[j] e[i,j] * v[j,c]; y[i,c] = y_sum[i,c] / d[i]"),
        (
            SUM + "y[i,c] = sum[j] v[j,c] * (e[i,j] / d[i])",
            SUM + "y_sum[i,c] = sum[j] v[j,c] * e[i,j]; y[i,c] = y_sum[i,c] / d[i]",
        ),
        # Where another reads the quotients they stay.
        (
            WHOLE + "; z[i] = max[j] p[i,j]",
            SUM + "p[i,j] = e[i,j] / d[i]; y_sum[i,c] = sum[j] e[i,j] * v[j,c]; y[i,c] = y_sum[i,c] / d[i]; "
            "z[i] = max[j] p[i,j]",
        ),
    ],
)
def test_a_quotient_is_drawn_out(text, wanted):
    outputs = ("y", "z") if "z" in text else ("y",)
    found = factored(text, outputs=outputs)
    assert str(found.program) == str(read(wanted))
    random = np.random.default_rng(0)
    given = {array.name: random.random(array.shape) for array in found.inputs}
    before, after = evaluate(program_of(text, outputs=outputs), given), evaluate(found, given)
    for name in outputs:
        np.testing.assert_allclose(after[name], before[name], rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("/ d[i]", "/ d[2-i]"),
        WHOLE.replace("/ d[i]", "/ b[i]"),  # no sum that was waited for
        WHOLE.replace("sum[j] p", "max[j] p"),
        "p: bf16; " + WHOLE,  # quotients are rounded
        "m: bf16; " + WHOLE,  # the largest value is, so exponentials may be above 1
        SUM + "y[i,c] = sum[j] d[i] / d[i] * v[j,c]",  # a sum of exponentials may be too
        SUM + "y[i] = sum[j] e[i,j] / d[i]",
        # The sum of what is not divided yet might be too large.
        WHOLE.removeprefix("m[i] = max[j] t[i,j]; e[i,j] = exp(t[i,j] - m[i]); "),
        WHOLE.replace("- m[i]", "- 1"),
        WHOLE.replace("max[j] t", "min[j] t"),
        WHOLE.replace("max[j] t[i,j]", "max[j] t[i,j] - 100"),
        "d[j] = sum[c] v[j,c]; p[i,j] = e[i,j] / d[j]; y[i,c] = sum[j] p[i,j] * v[j,c]",
    ],
)
def test_what_stays(text):
    assert str(factored(text).program) == str(program_of(text).program)


def test_an_output_stays():
    assert "p[i,j]" in str(factored(WHOLE, outputs=("p", "y")).program)
