"""Values are multiplied by the inverse of a sum of exponentials."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.reference.programs import evaluate
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.program.rewrite.invert_sums import inverted_sums

EXTENTS = {"i": 3, "j": 4, "c": 5}
SUM = "m[i] = max[j] t[i,j]; e[i,j] = exp(t[i,j] - m[i]); d[i] = sum[j] e[i,j]; "
INVERSE = SUM + "d_inverse[i] = 1.0 / d[i]; "
SOFTMAX = SUM + "y[i,j] = e[i,j] / d[i]"


def program_of(text, **options):
    return sized(read(text), {dim: EXTENTS[dim] for dim in read(text).dims}, **options)


@pytest.mark.parametrize(
    "text, wanted",
    [
        (SOFTMAX, INVERSE + "y[i,j] = e[i,j] * d_inverse[i]"),
        # Beside other arithmetic.
        (SUM + "y[i,j] = 2.0 + t[i,j] * (e[i,j] / d[i])", INVERSE + "y[i,j] = 2.0 + t[i,j] * (e[i,j] * d_inverse[i])"),
        # With exponentials that are not stored.
        (
            "m[i] = max[j] t[i,j]; d[i] = sum[j] exp(t[i,j] - m[i]); y[i,j] = exp(t[i,j] - m[i]) / d[i]",
            "m[i] = max[j] t[i,j]; d[i] = sum[j] exp(t[i,j] - m[i]); d_inverse[i] = 1.0 / d[i]; "
            "y[i,j] = exp(t[i,j] - m[i]) * d_inverse[i]",
        ),
        # Over several dims.
        (
            "m[] = max[i,j] t[i,j]; d[] = sum[j,i] exp(t[i,j] - m[]); y[i,j] = exp(t[i,j] - m[]) / d[]",
            "m[] = max[i,j] t[i,j]; d[] = sum[j,i] exp(t[i,j] - m[]); d_inverse[] = 1.0 / d[]; "
            "y[i,j] = exp(t[i,j] - m[]) * d_inverse[]",
        ),
        # A name that is taken.
        (
            SUM + "d_inverse[i,j] = e[i,j] / d[i]; y[i,j] = 2.0 * d_inverse[i,j]",
            SUM + "d_inverse_[i] = 1.0 / d[i]; d_inverse[i,j] = e[i,j] * d_inverse_[i]; y[i,j] = 2.0 * d_inverse[i,j]",
        ),
    ],
)
def test_a_quotient_becomes_a_product(text, wanted):
    found = inverted_sums(program_of(text))
    assert str(found.program) == str(read(wanted))
    random = np.random.default_rng(0)
    given = {array.name: random.random(array.shape) for array in found.inputs}
    np.testing.assert_allclose(evaluate(found, given)["y"], evaluate(program_of(text), given)["y"], rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        SUM + "y[i] = 2.0 / d[i]",  # as many quotients as sums
        SUM + "y[i,c] = v[i,c] / d[i]",  # may be a whole number
        SUM + "y[i,c] = v[i,c] + d[i] / d[i]",  # is one
        SOFTMAX.replace("/ d[i]", "/ d[2-i]"),
        SOFTMAX.replace("- m[i]", "- 1"),  # may be infinite
        SOFTMAX.replace("max[j] t", "min[j] t"),
        SOFTMAX.replace("exp(", "tanh("),
        SOFTMAX.replace("sum[j] e", "max[j] e"),
        SOFTMAX.replace("sum[j] e[i,j]", "sum[j] e[i,3-j]"),  # a sum over other elements
        SOFTMAX.replace("sum[j] e[i,j]", "sum[c] exp(t[i,c] - m[i])"),
        "m: bf16; " + SOFTMAX,  # the largest value is rounded
        "d: bf16; " + SOFTMAX,
        "t: f64; d: f32; " + SOFTMAX,  # the quotients have more digits
    ],
)
def test_what_stays(text):
    assert str(inverted_sums(program_of(text)).program) == str(program_of(text).program)
