"""On a device, schemes of every kind that passes know are exact, those without a matrix instruction too."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.model.loops_space import loop_schemes
from gpu.runtime.arrays import from_device, poisoned, to_device
from gpu.runtime.kernel import load
from tests.support.gpu.cases import integers
from tests.support.gpu.schemes import MOVING, SCHEMES, WARPGROUPS, expected, scheme_of
from tiling.epilogue import fused
from tiling.operators import conv2d, in_layout, matmul
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme

pytestmark = pytest.mark.gpu

_IMAGE = dict(n=2, c=32, h=15, w=13, k=40, r=3, s=3, padding=1)


def _runs(scheme: Scheme, problem: Problem) -> np.ndarray:
    return from_device(problem, load(scheme)(*to_device(problem, integers(problem)), out=poisoned(problem)))


@pytest.mark.parametrize("name", (*SCHEMES, *WARPGROUPS, *MOVING))
def test_a_scheme_of_each_kind_is_exact(name):
    scheme = scheme_of(name)
    wanted = expected(scheme.problem, *integers(scheme.problem))
    np.testing.assert_array_equal(_runs(scheme, scheme.problem), wanted)


@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=301, n=299, k=150),
        matmul(m=65, n=70, k=64, batch=3, transpose_a=True, dtype="f16"),
        fused(matmul(m=128, n=130, k=64, dtype="bf16"), "relu(y + bias[n]) + z[m,n]"),
        conv2d(**_IMAGE),
        conv2d(**_IMAGE | {"stride": 2}, dtype="f16"),
        in_layout(conv2d(**_IMAGE), "nchw"),
        conv2d(**_IMAGE, groups=4),
        conv2d(**_IMAGE | {"k": 32}, groups=32),
        in_layout(conv2d(**_IMAGE | {"k": 32}, groups=32, dtype="bf16"), "nchw"),
    ],
    ids=str,
)
def test_every_fifth_schedule_without_a_matrix_instruction_is_exact(problem):
    wanted = expected(problem, *integers(problem))
    for scheme in loop_schemes(problem)[::5]:
        np.testing.assert_array_equal(_runs(scheme, problem), wanted, scheme.text)
