"""Random loops that copy x, and whole kernels with such a copy, as the interpreter runs them."""

from __future__ import annotations

from itertools import count
from math import prod
from random import Random

import numpy as np
from hypothesis import strategies as st

from cpu.codegen.arrays import stored
from cpu.codegen.check import check
from cpu.codegen.emit import forms_of
from cpu.codegen.inside import facts_of_scheme
from cpu.passes.facts import ProductFacts
from cpu.passes.forms import INPUT, copy_forms
from cpu.passes.order import PACK_WEIGHTS, PRODUCT
from cpu.reference.oracle import exact_bound, integers, reference, wrong
from microkernels.tile.isa import EVERY_ISA, Isa
from tests.support.kernels import random_cases
from tests.support.loops.loops import of_numbers, placed, result
from tests.support.loops.packed_weights import by_loops
from tests.support.loops.passes import same_meaning
from tiling.arrays.access import access_of
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.meaning.memory import NUMPY
from tiling.rewrite.copies.lower import CopyOfX, copy_of_x
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile

MOST_NUMBERS = 800  # of a copy: more only takes the interpreter longer
MOST_FLOPS = 2000
UNWRITTEN = 0x5A


def copied(loops: Kernel, numbers: np.ndarray, threads: int = 1) -> np.ndarray:
    """What loops leave in the copy, from the numbers of x."""
    x, copy = loops.arrays
    fill = np.frombuffer(bytes([UNWRITTEN]) * 4, np.uint8)
    given = {"X": of_numbers(numbers.reshape(*x.shape, 1), x)}
    given[copy.name] = np.resize(fill, 4 * np.prod(copy.shape)).view(np.uint32).astype(NUMPY[copy.dtype])
    given[copy.name] = given[copy.name].reshape(copy.shape)
    interpret(loops, given, threads=threads)
    return given[copy.name]


def drawn(random: Random) -> tuple[Scheme, Isa, CopyOfX]:
    """A random kernel that copies x first."""
    for _ in count():
        isa = random.choice(list(EVERY_ISA.values()))
        problem = random_cases.followed(random, random_cases.problem(random, isa, 40_000))
        if isa.dtype == "f32" and not access_of(problem).transposes_x:
            continue
        scheme = random_cases.scheme(random, problem, isa)
        check(scheme_in_dot_groups(scheme) if isa.dtype == "f32" else scheme, isa)
        copy = copy_of_x(scheme, isa.lanes)
        if copy and np.prod(copy.loops.arrays[1].shape) <= MOST_NUMBERS:
            return scheme, isa, copy
    raise AssertionError


def as_a_whole(kernel: Kernel, facts: ProductFacts) -> Kernel:
    """The copy after the passes that a kernel takes when its parts are one."""
    for each in PRODUCT:
        kernel = each.run(kernel, facts) if each.whole else kernel
    return kernel


def check_passes(seed: int) -> None:
    scheme, isa, copy = drawn(Random(seed))
    x, _ = copy.loops.arrays
    numbers = np.random.default_rng(seed).integers(0, 5, x.shape)
    wanted, before = copied(copy.loops, numbers), copy.loops
    for name, kernel in copy_forms(copy.loops, facts_of_scheme(scheme, isa, False)):
        if not same_meaning(kernel, before):
            found = copied(kernel, numbers)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{name}: {scheme.problem} {scheme.text} {isa.name}")
        before = kernel
    shared = as_a_whole(before, facts_of_scheme(scheme, isa, False, 2))
    for threads in (1, 2, 3):
        found = copied(shared, numbers, threads)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{threads} threads: {scheme.problem} {scheme.text}")


seeds = st.integers(0, 2**32)


def check_whole(scheme: Scheme, isa: Isa, seed: int) -> None:
    """Every form of the kernel computes the definition, the last one also by several threads.

    An epilogue of fractions before a narrow output may round to either side of a tie.
    """
    problem = scheme.problem
    values = integers(problem, seed)
    wanted, bound = reference(problem, *values), exact_bound(problem, *values)
    x, w, *arrays = stored(problem, values)
    forms = dict(forms_of(scheme, isa))
    packed = by_loops(scheme, w)
    given = {f"E_{array.name}": value for array, value in zip(problem.epilogue_arrays, arrays)}
    for aligned in (False, True):
        given[INPUT] = placed(x, aligned)
        for name in list(forms)[list(forms).index(PACK_WEIGHTS) :]:
            kernel = forms[name]
            weights = next(buffer for buffer in kernel.arrays if buffer.name == "W")
            found = result(kernel, given | {"W": packed.view(NUMPY[weights.dtype])})
            assert not wrong(problem, found.reshape(wanted.shape), wanted, bound).any(), f"{name}: {problem} {scheme}"
        # A scheme without loops for cores has a kernel of one thread.
        threads = min(2, prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and s.worker == "core"))
        *_, (_, shared) = forms_of(scheme, isa, threads=threads)
        found = result(shared, given | {"W": packed.view(NUMPY[weights.dtype])}, threads=threads)
        assert not wrong(problem, found.reshape(wanted.shape), wanted, bound).any(), (
            f"{threads} threads: {problem} {scheme}"
        )


def drawn_whole(seed: int) -> None:
    random = Random(seed)
    for _ in count():
        scheme, isa, _ = drawn(random)
        if scheme.problem.flops <= MOST_FLOPS:
            check_whole(scheme, isa, seed)
            return
