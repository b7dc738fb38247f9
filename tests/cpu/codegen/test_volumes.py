"""Kernels of convolutions of volumes: random schemes beside guard pages, the choices of a search, and a model."""

from contextlib import closing
from random import Random

import numpy as np
import pytest

from cpu.reference.oracle import integers, reference
from cpu.runtime.machine.host import supports
from cpu.runtime.processes.worker import Worker
from microkernels.tile.isa import ISAS
from search import generate_conv
from tests import exactness
from tests.support.kernels.random_cases import Case, followed, scheme, volume
from tiling.volumes import conv3d

RUNNABLE = [isa for isa in ISAS if supports(ISAS[isa].cpu_flags)]


@pytest.mark.slow
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
