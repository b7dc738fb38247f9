"""Kernels that travel: pickled, copied, and sent to other processes, where they are loaded or compiled again."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from cpu.codegen.emit import emit
from cpu.kernel.callable import CpuKernel, build
from cpu.kernel.opened import CpuError
from cpu.kernel.saved import load
from cpu.reference.oracle import integers, reference
from microkernels.tile.isa import ISAS
from search import generate_matmul, generate_program
from tests.support.kernels.cases import CASES, kernel_of
from tests.support.kernels.saved import LACKED
from tiling.machine import Timing
from tiling.operators import conv2d
from tiling.text.notation import parse

WINOGRAD = conv2d(c=5, h=7, w=7, k=37, r=3, s=3, padding=1)
KERNELS = {
    "masked last vector": lambda: kernel_of(*CASES["masked last vector"], "portable"),
    "pixels in vectors": lambda: kernel_of(*CASES["pixels, rows of weights"], "portable"),
    "Winograd": lambda: build(parse(WINOGRAD, "F(2x2,3x3) B(4,40) R(m) R(n) S(c) T(k,5) V(n,4)"), ISAS["portable"]),
}


def is_the_same(kernel: CpuKernel, other: CpuKernel) -> bool:
    inputs = integers(kernel.original)
    packed = other.pack(inputs[1])
    return (
        kernel.scheme == other.scheme
        and kernel.source == other.source
        and np.array_equal(other(*inputs), reference(kernel.original, *inputs))
        and np.array_equal(kernel(inputs[0], packed), other(*inputs))
    )


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_pickled_and_copied(name):
    kernel = KERNELS[name]()
    for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), copy.copy(kernel)):
        assert is_the_same(kernel, other)


def test_what_was_measured_travels_with_the_kernel():
    kernel = KERNELS["masked last vector"]()
    kernel.timing = Timing((1.0, 2.0), 3.0)
    assert copy.deepcopy(kernel).timing == Timing((1.0, 2.0), 3.0)


def test_packed_weights_travel_and_begin_with_a_cache_line():
    kernel = KERNELS["masked last vector"]()
    x, w = integers(kernel.original)
    for _ in range(8):
        packed = pickle.loads(pickle.dumps(kernel.pack(w)))
        assert packed.data.ctypes.data % 64 == 0
        assert np.array_equal(kernel(x, packed), reference(kernel.original, x, w))


def test_a_saved_kernel_travels_with_its_library(tmp_path, monkeypatch):
    KERNELS["masked last vector"]().save(tmp_path / "saved")
    text = pickle.dumps(load(tmp_path / "saved"))
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "empty"))
    kernel = pickle.loads(text)
    assert is_the_same(kernel, kernel)


def called(kernel: Callable[..., np.ndarray], *arrays: object) -> np.ndarray:
    return kernel(*arrays)


@pytest.mark.slow
def test_a_pool_takes_kernels_and_those_of_the_twin():
    kernel = KERNELS["masked last vector"]()
    x, w = integers(kernel.original)
    a = np.arange(256, dtype=np.float32).reshape(16, 16) % 5
    product = generate_matmul(m=16, n=16, k=16, target="cuda-twin")
    sums = generate_program("y[i] = sum[j] a[i,j]", i=16, j=16, target="cuda-twin")
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        results = [pool.submit(called, kernel, x, kernel.pack(w)) for _ in range(2)]
        others = [pool.submit(called, product, a, a), pool.submit(called, sums, a)]
        assert all(np.array_equal(result.result(), reference(kernel.original, x, w)) for result in results)
        assert np.array_equal(others[0].result(), a @ a) and np.array_equal(others[1].result(), a.sum(axis=1))


def test_a_kernel_that_arrives_where_no_cpu_runs_it_says_so(monkeypatch):
    kernel = KERNELS["masked last vector"]()
    kernel.emitted = emit(kernel.scheme, LACKED)
    text = pickle.dumps(kernel)
    with pytest.raises(CpuError, match="this CPU does not run portable"):
        pickle.loads(text)
