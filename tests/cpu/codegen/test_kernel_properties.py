"""Emitted kernels on what nobody thought of: random problems and schemes; and what guard pages beside arrays find."""

from __future__ import annotations

import ctypes
import re
from contextlib import closing
from dataclasses import replace
from math import prod
from multiprocessing import get_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.kernel.callable import CpuKernel, emitted
from cpu.reference.oracle import integers
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import supports
from cpu.runtime.processes.worker import CandidateError, Worker
from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import EVERY_ISA, isa_named
from search.space.sample import random_schemes
from tests import exactness
from tests.support.kernels import random_cases
from tests.support.kernels.cases import CASES
from tests.support.kernels.guard import PLACES, Guarded
from tests.support.kernels.random_cases import Case, visits
from tests.support.sampled import examples
from tiling.machine import CacheLevel, Machine
from tiling.rewrite.dot_groups import in_dot_groups, scheme_from_dot_groups, scheme_in_dot_groups
from tiling.rewrite.pointwise import along_pixels
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import canonical, problem_of

LEVELS = (CacheLevel("L1", 48 << 10, 64, 12, 500e9), CacheLevel("L2", 1 << 20, 64, 16, 200e9))
MACHINE = Machine("test", "portable", 4, 16, 70e9, 2, LEVELS, 25e9, 12e9, 20e9)
RANDOM = st.randoms(use_true_random=False)
RUNNABLE = tuple(isa.name for isa in EVERY_ISA.values() if supports(isa.cpu_flags))

# A compilation that takes longer than this on a loaded machine hangs.
CHILD_SECONDS = 300


def sampled(problem, isa: str, count: int, seed: int):
    """Schemes from the search's own sampler."""
    row = isa_named(isa)
    machine = replace(MACHINE, isa=isa, lanes=row.lanes, registers=row.registers)
    found = random_schemes(in_dot_groups(problem), machine, Catalog("test", isa, problem.op), count, seed)
    return tuple(scheme_from_dot_groups(problem, scheme) for scheme in found)


@pytest.fixture(scope="module")
def worker():
    with closing(Worker(packages=("tests",))) as worker:
        yield worker


def assert_exact(worker: Worker, drawn: Case) -> None:
    """The kernel of a case beside guard pages, in a worker, so that a crash has a name and shrinks too."""
    try:
        worker.call("tests.exactness:check", timeout=CHILD_SECONDS, **exactness.job(drawn))
    except CandidateError as error:
        raise AssertionError(f"{error.reason}; again with\n{drawn.command}") from error


# ---- random problems and schemes


@pytest.mark.slow
@examples(25)
@given(RANDOM)
def test_random_kernels_are_exact_beside_guard_pages(worker, random):
    threads = (1, 1, 2, 3) if find_compiler().openmp else (1,)
    assert_exact(worker, random_cases.case(random, RUNNABLE, threads))


@pytest.mark.slow
@settings(max_examples=8)
@given(RANDOM)
def test_schemes_of_the_search_are_exact_beside_guard_pages(worker, random):
    isa = random.choice(RUNNABLE)
    problem = along_pixels(random_cases.problem(random, isa_named(isa)), isa_named(isa).lanes)
    for scheme in sampled(problem, isa, 1, random.randrange(1 << 16)):
        assert_exact(worker, Case(scheme, isa, 1, stream=False))


@pytest.mark.slow
@examples(100)
@given(RANDOM)
def test_any_generated_scheme_covers_each_point_once(random):
    isa = isa_named(random.choice(list(EVERY_ISA)))
    found = random_cases.problem(random, isa, 8_000)
    for scheme in (random_cases.scheme(random, found, isa), *sampled(found, isa.name, 1, random.randrange(1 << 16))):
        dots = scheme_in_dot_groups(scheme)
        counted = visits(dots)
        assert len(counted) == prod(dots.problem.extents.values()) and set(counted.values()) == {1}


ALPHABET = "RTLUVMSDFB(),x+ \tλl0123456789@cohkwnrsmy"


@pytest.mark.slow
@examples(300)
@given(RANDOM)
def test_scheme_texts_that_parse_print_back(random):
    drawn = random_cases.case(random, tuple(EVERY_ISA)).scheme
    assert parse(drawn.problem, drawn.text) == drawn
    text = list(drawn.text.replace("λ", random.choice(("λ", "l", "lambda"))))
    for _ in range(random.randint(0, 2)):
        place = random.randrange(len(text))
        text[place : place + random.randint(0, 1)] = random.choice(ALPHABET)
    try:
        scheme = parse(drawn.problem, "".join(text))
    except SchemeError:
        return
    assert parse(drawn.problem, scheme.text) == scheme and parse(drawn.problem, scheme.text).text == scheme.text


@pytest.mark.slow
@examples(300)
@given(RANDOM)
def test_shapes_print_back(random):
    found = random_cases.problem(random, isa_named(random.choice(list(EVERY_ISA))))
    assert problem_of(found.op, canonical(found)) == found


@pytest.mark.slow
def test_a_kernel_that_writes_beside_its_output_is_a_finding():
    """The long run itself, over kernels whose y starts one float early: each is caught and says how to repeat it."""
    found: list[str] = []
    function = "tests.support.running.faults:check_early_kernel"
    passed, failed = exactness.run(3, lambda started: started == 4, 1, found.append, function=function)
    assert failed == 4 and not passed
    assert all("python -m tests.exactness " in line and "--scheme" in line for line in found)
    assert all(re.search("guard page|SIGSEGV", line) for line in found), found


# ---- guard pages


def overrun(at_end: bool, reports) -> None:
    """In a child: writes the float after the last or before the first one."""
    array = Guarded((10,), "after" if at_end else "before").array
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


@pytest.mark.slow
@pytest.mark.exhaustive(at_end=None)
@pytest.mark.parametrize("at_end", (True, False))
def test_guard_pages_end_who_touches_them(at_end):
    code, last = in_child(overrun, at_end)
    assert code < 0 and last == "overrun"


def test_writing_beside_an_array_is_seen():
    for place in PLACES:
        operand = Guarded((10,), place)
        assert not operand.spilled
        ctypes.memset(operand.array.ctypes.data + (-4 if place == "after" else operand.array.nbytes), 0, 4)
        assert operand.spilled


# ---- kernels that end


def drop_kernels(isa: str, reports) -> None:
    """In a child: kernels with threads that are no longer referenced are unloaded, while their OpenMP threads wait."""
    problem, text = CASES["loops for cores"]
    x, w = integers(problem)
    scheme = parse(problem, text.format(v=isa_named(isa).lanes))
    source = emitted(scheme, isa_named(isa), threads=2)
    # Often, since it takes a thread that is awake just when its code goes.
    for count in range(100):
        kernel = CpuKernel(scheme, source)
        reports.send(f"kernel {count}")
        kernel(x, w)
        del kernel
    reports.send("done")


@pytest.mark.slow
def test_kernels_with_threads_may_be_dropped():
    if not find_compiler().openmp:
        pytest.skip(f"{find_compiler().path} has no OpenMP")
    assert in_child(drop_kernels, "portable") == (0, "done")
