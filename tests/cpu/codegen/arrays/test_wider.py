"""Kernels of arrays that lie in wider ones are exact, and what lies beside is neither read nor written."""

import numpy as np
import pytest

from cpu.kernel.callable import build
from cpu.reference.oracle import integers, part_written, reference
from cpu.reference.winograd import winograd_integers
from microkernels.tile.isa import isa_named
from search.evaluator.cpu.backend import cpu_backend
from search.flow.kernels import kernel_for
from tests.support.kernels.cases import ON_EVERY_ISA
from tiling.epilogue import fused
from tiling.operators import conv2d, in_order, in_wider, matmul
from tiling.text.notation import parse

# Extents, and the channels of the arrays around x and y.
CASES = {
    "3 x 3": (dict(c=8, h=7, w=9, k=32, r=3, s=3, padding=1), 8, 48),
    "pointwise, x too": (dict(c=24, h=6, w=7, k=48, r=1, s=1), 40, 112),
    "lines are cut": (dict(n=2, c=5, h=6, w=5, k=19, r=3, s=1, stride=2), 7, 37),
    "depthwise": (dict(c=40, h=8, w=8, k=40, r=3, s=3, groups=40, padding=1), 56, 72),
    "narrow groups": (dict(c=32, h=5, w=6, k=32, r=3, s=3, groups=8, padding=1), 48, 33),
    "groups": (dict(c=32, h=5, w=6, k=64, r=1, s=1, groups=2), 32, 80),
}


def check(kernel, inputs):
    """The kernel on an x whose other channels are NaN, into a y whose other channels hold 7."""
    problem = kernel.original
    x, w, *arrays = inputs
    beside = np.full(x.shape, np.nan, np.float32)
    own = tuple(map(slice, problem.broadcast.reached(problem.extents)))
    own = own if problem.op == "matmul" else (..., own[-1])
    beside[own] = x[own]
    y = np.full(problem.output.shape, 7, np.float32)
    kernel(beside, kernel.pack(w), *arrays, out=y)
    expected = np.full(problem.output.shape, 7.0)
    part_written(problem, expected)[...] = reference(problem, *inputs)
    assert y.tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epilogue", [None, "relu(y + b[{last}] + z)"])
def test_only_the_own_channels_are_read_and_written(name, isa, epilogue):
    sizes, c_of, k_of = CASES[name]
    plain = conv2d(**sizes)
    problem = in_wider(fused(plain, epilogue and epilogue.format(last=plain.output_axes[-1])), c_of, k_of)
    check(kernel_for(problem, cpu_backend(isa).target), integers(problem))


@pytest.mark.isa("avx512f")
def test_winograds_algorithm_writes_into_wider_images():
    problem = in_wider(conv2d(c=20, h=9, w=10, k=32, r=3, s=3, padding=1), 24, 80)
    scheme = parse(problem, "F(4x4,3x3) B(9,32) R(k) R(m) S(c) T(k,20) U(m,9) U(n,2) V(n,16)")
    check(build(scheme, isa_named("avx512f")), winograd_integers(problem, 4))


ORDERS = {
    "heads beside each other": {"a": "mlk", "b": "kln", "c": "mln"},
    "of wider rows": {"a": "ml9k", "b": "kl9n", "c": "ml5n"},
    "of longer heads": {"a": "mlk24", "b": "nlk24", "c": "lmn40"},
    "b as it is transposed": {"b": "lnk"},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", ORDERS)
def test_products_read_and_write_axes_in_any_order(name, isa):
    for epilogue in (None, "relu(0.5 * y + b[n])"):
        problem = in_order(fused(matmul(m=14, n=33, k=20, batch=3), epilogue), ORDERS[name])
        check(kernel_for(problem, cpu_backend(isa).target), integers(problem))
