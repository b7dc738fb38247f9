"""Kernels of convolutions of volumes: random schemes beside guard pages, the choices of a search, and a model."""

from contextlib import closing
from random import Random

import numpy as np
import pytest

from cpu.reference.oracle import integers, reference
from cpu.runtime.machine.host import supports
from cpu.runtime.processes.worker import Worker
from microkernels.tile.isa import ISAS
from search import fold_batch_norm, generate_conv
from tests import exactness
from tests.support.kernels.random_cases import Case, scheme
from tests.support.kernels.random_problems import followed, volume
from tiling.epilogue import fused
from tiling.rewrite.pointwise import along_pixels
from tiling.volumes import conv3d

RUNNABLE = [isa for isa in ISAS if supports(ISAS[isa].cpu_flags)]


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_random_kernels_are_exact_beside_guard_pages(isa):
    random = Random(3)
    with closing(Worker(packages=("tests",))) as worker:
        for number in range(6):
            drawn = scheme(random, followed(random, volume(random)), ISAS[isa])
            case = Case(drawn, isa, 1 + number % 3, stream=number % 2 == 0, far=number % 3 == 0)
            worker.call("tests.exactness:check", timeout=300, **exactness.job(case))


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_a_kernel_from_python(layout):
    sizes = {"c": 5, "d": 4, "h": 6, "w": 7, "k": 9, "q": 3, "r": 2, "s": 3}
    given = {**sizes, "stride": (1, 2, 1), "padding": ((1, 1), (0, 0), (2, 1)), "layout": layout}
    kernel, problem = generate_conv(**given, epilogue="relu(y + b)", isa="portable"), conv3d(**given)
    x, w, *_ = integers(problem)
    b = np.arange(9, dtype=np.float32) - 4
    along = b if layout == "nhwc" else b[:, None, None, None]
    np.testing.assert_array_equal(kernel(x, w, b), np.maximum(reference(problem, x, w) + along, 0))


@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_pixels_of_volumes_are_one_dim_beside_guard_pages(isa):
    random = Random(5)
    problem = conv3d(n=2, c=12, d=3, h=5, w=7, k=18, q=1, r=1, s=1, layout="nchw")
    with closing(Worker(packages=("tests",))) as worker:
        for text in (None, "relu(y + b) * t[d,h,w] + z"):
            found = along_pixels(fused(problem, text), ISAS[isa].lanes)
            assert found.op == "pointwise2d"
            case = Case(scheme(random, found, ISAS[isa]), isa, threads=2, stream=False)
            worker.call("tests.exactness:check", timeout=300, **exactness.job(case))


def test_a_tensor_that_lies_channels_last_is_taken_as_it_is():
    torch = pytest.importorskip("torch")
    kernel = generate_conv(c=3, d=3, h=4, w=5, k=8, q=2, r=2, s=2, dtype="float32", isa="portable")
    x, w = (torch.randint(-3, 4, shape).float() for shape in ((1, 3, 3, 4, 5), (8, 3, 2, 2, 2)))
    y = kernel(x.to(memory_format=torch.channels_last_3d), w)
    assert torch.equal(y, torch.nn.functional.conv3d(x, w))


def test_a_batch_normalisation_folds_into_its_weights():
    w, of = np.arange(48.0).reshape(2, 3, 2, 2, 2), {"gamma": [1, 2], "beta": [3, 4], "mean": [5, 6], "var": [3, 15]}
    folded, bias = fold_batch_norm(w, **of, eps=1.0)
    np.testing.assert_array_equal(folded, w * np.array([0.5, 0.5])[:, None, None, None, None])
    np.testing.assert_array_equal(bias, [0.5, 1])
