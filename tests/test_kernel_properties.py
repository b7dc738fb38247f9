"""Emitted kernels on what nobody thought of: random problems and schemes, and arrays with forbidden pages beside them."""

from __future__ import annotations

import ctypes
import mmap
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.kernel import Kernel, build
from cpu.measure import WrongResult, check_exact
from cpu.oracle import integers, reference
from cpu.toolchain import ToolchainError, find_compiler
from microkernels.catalog import Catalog
from microkernels.isa import ISAS
from search.sample import random_schemes
from tests.test_kernels import CASES, ON_EVERY_ISA, kernel_of
from tiling.machine import CacheLevel, Machine
from tiling.problem import Problem, conv2d, matmul
from tiling.scheme import Scheme, SchemeError
from tiling.shapes import canonical

LEVELS = (CacheLevel("L1", 48 << 10, 64, 12, 500e9), CacheLevel("L2", 1 << 20, 64, 16, 200e9))
MACHINE = Machine("test", "portable", 4, 16, 70e9, 2, LEVELS, 25e9, 12e9, 20e9)

# A compilation that takes longer than this on a loaded machine hangs.
CHILD_SECONDS = 300

# ---- random problems and schemes

EXTENTS = st.sampled_from((1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17))
PER_AXIS = st.tuples(*[st.integers(1, 3)] * 2)
SIDES = st.tuples(*[st.integers(0, 3)] * 2)


@st.composite
def convolutions(draw):
    taps, dilation, padding = draw(st.tuples(*[st.sampled_from((1, 2, 3, 5))] * 2)), draw(PER_AXIS), draw(st.tuples(SIDES, SIDES))
    # The padded input is at least as long as the kernel reaches.
    least = [max(1, (t - 1) * d + 1 - sum(sides)) for t, d, sides in zip(taps, dilation, padding)]
    return conv2d(
        n=draw(st.integers(1, 3)),
        c=draw(EXTENTS),
        h=draw(st.integers(least[0], least[0] + 10)),
        w=draw(st.integers(least[1], least[1] + 10)),
        k=draw(EXTENTS),
        r=taps[0],
        s=taps[1],
        stride=draw(PER_AXIS),
        padding=padding,
        dilation=dilation,
    )


PROBLEMS = st.one_of(convolutions(), convolutions(), convolutions(), st.builds(matmul, m=EXTENTS, n=EXTENTS, k=EXTENTS))


def command_of(scheme: Scheme) -> str:
    """What repeats a failure; a matrix product has no command line, so there the test does it."""
    problem = scheme.problem
    if problem.op == "conv2d":
        return f"python -m search.conv --shape {canonical(problem)} --scheme '{scheme.text}' --isa portable"
    call = f"check_exact(build(parse(matmul({canonical(problem)}), '{scheme.text}'), ISAS['portable']))"
    return f'python -c "from tests.test_kernels import *; {call}"'


@settings(max_examples=25)
@given(PROBLEMS, st.integers(0, 1 << 16))
def test_random_schemes_of_random_problems_are_exact(problem: Problem, seed: int):
    for scheme in random_schemes(problem, MACHINE, Catalog("test", "portable", problem.op), 1, seed):
        try:
            check_exact(build(scheme, ISAS["portable"]))
        except (SchemeError, ToolchainError, WrongResult) as error:
            raise AssertionError(f"{error}\n{command_of(scheme)}") from error


# ---- guard pages


def guarded(elements: int, at_end: bool) -> np.ndarray:
    """float32 elements between two pages that may not be touched; they end at the second or start after the first."""
    size = elements * 4
    span = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, span + 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (start, start + mmap.PAGESIZE + span):
        nothing_allowed = 0
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), nothing_allowed):
            raise OSError("mprotect refused a page of our own")
    return np.frombuffer(memory, np.float32, elements, mmap.PAGESIZE + (span - size if at_end else 0))


def run_guarded(kernel: Kernel, at_end: bool) -> bool:
    """Calls the C function itself on guarded arrays; whether its result is exact."""
    problem = kernel.problem
    x, w = integers(problem)
    raw = guarded(w.size, at_end).reshape(w.shape)
    raw[...] = w
    packed = kernel.pack(raw).data
    arrays = [guarded(elements, at_end) for elements in (x.size, packed.size, problem.output.elements)]
    for array, values in zip(arrays, (x.ravel(), packed, np.nan)):
        array[...] = values
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(kernel.address)(*pointers)
    return np.array_equal(arrays[2].reshape(problem.output.shape), reference(problem, x, w))


def all_cases(isa: str, reports) -> None:
    """In a child: every case with both placements. Says what it is about to do, so that a crash has a name."""
    for case, (problem, text) in CASES.items():
        for stream in (False, True):
            kernel = kernel_of(problem, text, isa, stream=stream)
            for at_end in (True, False):
                name = f"{case}{', streamed' * stream}: guard page {'after' if at_end else 'before'}"
                reports.send(name)
                if not run_guarded(kernel, at_end):
                    raise WrongResult(f"{name}: the result is wrong")
    reports.send("done")


def overrun(at_end: bool, reports) -> None:
    """In a child: writes the float after the last or before the first one."""
    array = guarded(10, at_end)
    reports.send("overrun")
    ctypes.memset(array.ctypes.data + (array.nbytes if at_end else -4), 0, 4)
    reports.send("done")


def in_child(target, argument) -> tuple[int, str]:
    """Runs target(argument, reports) in a process of its own: its exit code, and what it reported last."""
    # Spawned, not forked: OpenMP and cffi of this process stay out of it.
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=target, args=(argument, sender))
    child.start()
    sender.close()
    last = "nothing"
    try:
        while receiver.poll(CHILD_SECONDS):
            last = receiver.recv()
    except EOFError:
        child.join()
    finally:
        child.kill()
        child.join()
    return child.exitcode, last


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_kernels_touch_nothing_beside_their_arrays(isa):
    code, last = in_child(all_cases, isa)
    assert (code, last) == (0, "done"), f"{last}: the child ended with {code} (-11 is a segmentation fault)"


@pytest.mark.parametrize("at_end", (True, False))
def test_guard_pages_end_who_touches_them(at_end):
    code, last = in_child(overrun, at_end)
    assert code < 0 and last == "overrun"


# ---- kernels that end


def drop_kernels(isa: str, reports) -> None:
    """In a child: kernels with threads that are no longer referenced are unloaded, while their OpenMP threads wait."""
    problem, text = CASES["loops for cores"]
    x, w = integers(problem)
    # Often, since it takes a thread that is awake just when its code goes.
    for count in range(100):
        kernel = kernel_of(problem, text, isa, threads=2)
        reports.send(f"kernel {count}")
        kernel(x, w)
        del kernel
    reports.send("done")


def test_kernels_with_threads_may_be_dropped():
    if not find_compiler().openmp:
        pytest.skip(f"{find_compiler().path} has no OpenMP")
    assert in_child(drop_kernels, "portable") == (0, "done")
