"""Threads of kernels: as many as asked for, at once from several callers, after a fork, and the same bits from any
number.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from cpu.kernel.callable import build
from cpu.kernel.measure import exact_case
from cpu.reference.oracle import integers, reals, reference
from cpu.runtime.compiler.toolchain import find_compiler
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import CASES, SAME_3X3, kernel_of
from tests.support.running.own_cache import shared_object
from tiling.operators import conv2d
from tiling.text.notation import parse

SPLIT = CASES["loops for cores"]  # 6 tasks
# The same problem: 9 blocks of tiles, whose memory a call allocates.
TRANSFORMED = (SAME_3X3, "F(4x4,3x3) B(1,48) R(m) R(n) S(c) T(k,8) V(n,{v})")
# 6 tasks, and a copy of x that the threads share.
COPIED = CASES["depthwise, for cores, channels first"]
# 3 tasks, the first of each thread packs a panel of x.
PANELS = CASES["pixels, a panel for a core's tasks"]
# A child that has not answered by then waits for threads that it does not have.
CHILD_SECONDS = 60


@pytest.fixture(autouse=True)
def openmp():
    if not find_compiler().openmp:
        pytest.skip(f"{find_compiler().path} has no OpenMP")


# ---- threads= is obeyed

COUNT = """
import os, sys
import tests.cpu.kernel.test_threads as here
if sys.argv[2:]:
    openmp = here.openmp_library()
    openmp.omp_set_dynamic(1)
    openmp.omp_set_num_threads(int(sys.argv[2]))
kernel = here.kernel_of(*here.SPLIT, "portable", threads=int(sys.argv[1]))
x, w = here.integers(here.SAME_3X3)
before = len(os.listdir("/proc/self/task"))
assert (kernel(x, w) == here.reference(here.SAME_3X3, x, w)).all()
print(1 + len(os.listdir("/proc/self/task")) - before)
"""


def openmp_library():
    """The OpenMP that kernels share with other libraries of the process: a symbol is looked for in what a kernel needs,
    too.
    """
    source = kernel_of(*SPLIT, "portable", threads=2).emitted
    return ctypes.CDLL(str(shared_object(source.text, source.compiler_flags, openmp=True)))


def threads_used(asked: int, *others: str, **environment: str) -> int:
    """Threads that run a kernel made for `asked`, counted in a process of its own."""
    command = [sys.executable, "-c", COUNT, str(asked), *others]
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        command, env={**os.environ, **environment}, cwd=root, capture_output=True, text=True, timeout=CHILD_SECONDS
    )
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("asked", (1, 2, 3))
def test_threads_are_as_many_as_asked_for(asked):
    assert threads_used(asked) == asked


@pytest.mark.slow
def test_the_environment_does_not_change_them():
    assert threads_used(3, OMP_NUM_THREADS="1") == 3
    assert threads_used(2, OMP_NUM_THREADS="7", OMP_DYNAMIC="true") == 2
    assert threads_used(3, OMP_DYNAMIC="true") == 3


@pytest.mark.slow
def test_another_library_does_not_change_them():
    assert threads_used(3, "1") == 3
    assert threads_used(2, "5") == 2


def test_a_kernel_leaves_the_settings_of_others_alone():
    kernel, openmp = kernel_of(*SPLIT, "portable", threads=2), openmp_library()
    x, w = integers(SAME_3X3)
    for dynamic in (1, 0):
        openmp.omp_set_dynamic(dynamic)
        before = openmp.omp_get_max_threads()
        kernel(x, w)
        assert (openmp.omp_get_dynamic(), openmp.omp_get_max_threads()) == (dynamic, before)


# ---- several callers


@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("case", [SPLIT, COPIED, PANELS], ids=["direct", "copied", "panels"])
def test_one_kernel_from_several_python_threads(case, threads):
    kernel = kernel_of(*case, "portable", threads=threads)
    inputs = [integers(kernel.problem, seed) for seed in range(4)]
    expected = [reference(kernel.problem, *arrays) for arrays in inputs]
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda call: kernel(*inputs[call % 4]), range(64))
        assert all(np.array_equal(y, expected[call % 4]) for call, y in enumerate(results))


def test_the_gil_is_released_meanwhile():
    """While one thread is inside a long call, another one's Python goes on."""
    problem = conv2d(c=64, h=66, w=66, k=256, r=3, s=3)
    kernel = build(parse(problem, "R(k) R(h) R(w) S(y) T(c,64) T(r,3) T(s,3) V(k,4)"), ISAS["portable"])
    x, w = reals(problem)
    packed = kernel.pack(w)
    spans, turns = [], []

    def call():
        begin = time.perf_counter()
        kernel(x, packed)
        spans.append((begin, time.perf_counter()))

    caller = threading.Thread(target=call)
    caller.start()
    while caller.is_alive():
        turns.append(time.perf_counter())
        time.sleep(0.001)
    ((begin, end),) = spans
    # With the GIL held all the while there would be no turn strictly inside.
    assert sum(begin + 0.2 * (end - begin) < turn < end - 0.2 * (end - begin) for turn in turns) >= 2


# ---- after a fork


def in_fork(work) -> int:
    """Runs `work` in a forked child: its wait status, -14 (SIGALRM) where it hung."""
    child = os.fork()
    if child == 0:
        signal.alarm(CHILD_SECONDS)
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@pytest.fixture(params=[SPLIT, COPIED, TRANSFORMED], ids=["direct", "copied", "winograd"])
def case(request):
    return request.param


@pytest.fixture
def used(case):
    """A kernel of two threads that this process has called, and whether a call of it is right."""
    kernel = kernel_of(*case, "portable", threads=2)
    (x, w), expected, _ = exact_case(kernel.scheme)

    def right(kernel=kernel) -> bool:
        return np.array_equal(kernel(x, w), expected)

    assert right()
    return right


def test_a_kernel_works_after_a_fork(used):
    assert in_fork(used) == 0 and used()


def test_the_child_has_all_its_threads(used):
    def threads_there():
        return used() and len(os.listdir("/proc/self/task")) == 2

    assert in_fork(threads_there) == 0


def test_a_kernel_built_in_the_child_works_too(case, used):
    assert in_fork(lambda: used(kernel_of(*case, "portable", threads=3))) == 0


def test_a_child_may_fork_again(used):
    assert in_fork(lambda: used() and in_fork(used) == 0 and used()) == 0


def test_forks_beside_running_calls(used):
    """Other Python threads are inside the kernel while this one forks."""
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(lambda: all(used() for _ in range(200))) for _ in range(2)]
        assert [in_fork(used) for _ in range(10)] == [0] * 10
        assert all(call.result() for call in calls)


# ---- results


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", [pytest.param(name, marks=pytest.mark.isa(name)) for name in ISAS])
def test_results_do_not_depend_on_the_number_of_threads(isa):
    """To the bit, on random reals: cores share output dims only, so no sum is split between them."""
    problem, lanes = conv2d(c=16, h=14, w=14, k=64, r=3, s=3, padding=1), ISAS[isa].lanes
    text = f"T(k,{64 // lanes})@core T(h,2)@core T(c,2) T(h,7) T(w,7) S(y) T(r,3) T(s,3) T(c,8) U(w,2) V(k,{lanes})"
    x, w = reals(problem)
    results = [build(parse(problem, text), ISAS[isa], threads)(x, w) for threads in (1, 2, 3, 4)]
    assert all(np.array_equal(result, results[0]) for result in results)
