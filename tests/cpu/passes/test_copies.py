"""The loops that copy x first: what they copy, and that every pass leaves the copy as it is."""

from __future__ import annotations

from itertools import count
from math import prod
from random import Random
from time import monotonic

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.codegen.arrays import stored
from cpu.codegen.check import check
from cpu.codegen.emit import forms_of
from cpu.codegen.inside import facts_of
from cpu.passes.facts import ProductFacts
from cpu.passes.forms import INPUT, copy_forms
from cpu.passes.order import PACK_WEIGHTS, PRODUCT
from cpu.reference.oracle import integers, reference
from cpu.runtime.numbers import to_bits
from microkernels.tile.isa import EVERY_ISA, Isa
from tests.support.kernels import random_cases
from tests.support.loops.loops import numbers_of, of_numbers, placed, result
from tests.support.loops.passes import by_loops, same_meaning
from tiling.arrays.access import access_of
from tiling.loops.language import Kernel
from tiling.loops.meaning.interpret import interpret
from tiling.loops.meaning.memory import NUMPY
from tiling.operators import conv2d
from tiling.rewrite.copies.laid_out import lower_points
from tiling.rewrite.copies.lower import CopyOfX, copy_of_x
from tiling.rewrite.copies.plan import ALIGNED
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile
from tiling.text.notation import parse

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


def numbers_in(loops: Kernel, words: np.ndarray) -> np.ndarray:
    """The numbers of a copy of x."""
    _, copy = loops.arrays
    return numbers_of(np.ascontiguousarray(words), copy).reshape(*words.shape[:-1], -1)


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
    for name, kernel in copy_forms(copy.loops, facts_of(scheme, isa, False)):
        if not same_meaning(kernel, before):
            found = copied(kernel, numbers)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{name}: {scheme.problem} {scheme.text} {isa.name}")
        before = kernel
    shared = as_a_whole(before, facts_of(scheme, isa, False, 2))
    for threads in (1, 2, 3):
        found = copied(shared, numbers, threads)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{threads} threads: {scheme.problem} {scheme.text}")


seeds = st.integers(0, 2**32)


@settings(max_examples=10)
@given(seeds)
def test_passes_keep_copies(seed):
    check_passes(seed)


@pytest.mark.slow
@settings(max_examples=200)
@given(seeds)
def test_passes_keep_200_copies(seed):
    check_passes(seed)


@pytest.mark.soak
def test_soak_passes_keep_copies(soak_seconds, soak_seed):
    """500 random copies, and more while there is time."""
    end, done = monotonic() + soak_seconds, 0
    while done < 500 or monotonic() < end:
        check_passes(soak_seed + done)
        done += 1
    print(f"{done} random copies are the same after every pass")


# ---- whole kernels, which copy x and then multiply


def check_whole(scheme: Scheme, isa: Isa, seed: int) -> None:
    """Every form of the kernel computes the definition, the last one also by several threads."""
    problem = scheme.problem
    values = integers(problem, seed)
    wanted = to_bits(reference(problem, *values), problem.output_dtype)
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
            np.testing.assert_array_equal(found.reshape(wanted.shape), wanted, err_msg=f"{name}: {problem} {scheme}")
        # A scheme without loops for cores has a kernel of one thread.
        threads = min(2, prod(s.trips for s in scheme.specifiers if isinstance(s, Tile) and s.worker == "core"))
        *_, (_, shared) = forms_of(scheme, isa, threads=threads)
        found = result(shared, given | {"W": packed.view(NUMPY[weights.dtype])}, threads=threads)
        np.testing.assert_array_equal(
            found.reshape(wanted.shape), wanted, err_msg=f"{threads} threads: {problem} {scheme}"
        )


def drawn_whole(seed: int) -> None:
    random = Random(seed)
    for _ in count():
        scheme, isa, _ = drawn(random)
        if scheme.problem.flops <= MOST_FLOPS:
            check_whole(scheme, isa, seed)
            return


@pytest.mark.slow
@settings(max_examples=3)
@given(seeds)
def test_kernels_that_copy_x_compute_the_definition(seed):
    drawn_whole(seed)


@pytest.mark.soak
@settings(max_examples=500)
@given(seeds)
def test_500_kernels_that_copy_x_compute_the_definition(seed):
    drawn_whole(seed)


@pytest.mark.slow
@pytest.mark.parametrize("cores", ["", "@core"])
def test_a_kernel_copies_an_x_that_does_not_begin_with_a_line(cores):
    problem = conv2d(c=32, h=2, w=4, k=16, r=3, s=3, padding=(1, 0), dtype="bf16", output_dtype="f32")
    text = f"T(h,2){cores} R(n) R(k) R(w) S(y) R(r) R(s) R(c) D(c,32) V(k,16)"
    scheme = parse(problem, text)
    copy = copy_of_x(scheme, 16)
    assert copy and copy.kind == ALIGNED and not copy.always
    check_whole(scheme, EVERY_ISA["amxbf16"], 0)


TRANSPOSED = {
    "f32": ("f32", dict(c=19, k=19, groups=19, r=1, s=1), "R(n) R(h) R(w) R(c) V(c,8)", "avx2"),
    "words": ("bf16", dict(c=37, k=17, r=1, s=1), "R(n) R(h) R(w) R(k) S(y) R(c) D(c,2) V(k,16)", "avx512bf16"),
    "bytes of groups": (
        "int8",
        dict(c=12, k=32, r=1, s=1, groups=2),
        "R(n) R(h) R(w) R(g) R(k) S(y) R(c) D(c,4) V(k,16)",
        "avx512vnni",
    ),
    "blocks": ("bf16", dict(c=37, k=17, r=1, s=1), "R(n) R(h) R(w) R(k) S(y) R(c) D(c,20) V(k,16)", "amxbf16"),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_the_channels_of_a_pixel_come_side_by_side(name):
    dtype, more, text, isa = TRANSPOSED[name]
    problem = conv2d(n=2, h=9, w=31, dtype=dtype, layout="nchw", **more)
    scheme = parse(problem, text)
    copy = copy_of_x(scheme, EVERY_ISA[isa].lanes)
    numbers = np.random.default_rng(0).integers(0, 9, problem.broadcast.shape)
    facts = facts_of(scheme, EVERY_ISA[isa], False)
    *_, (_, kernel) = copy_forms(copy.loops, facts)
    kernel = as_a_whole(kernel, facts)
    found = numbers_in(copy.loops, copied(kernel, numbers)).reshape(2, 9, 31, -1)
    # Each group of channels begins a word, and a block is as long as others.
    groups = numbers.reshape(2, problem.extents.get("g", 1) if more.get("groups") == 2 else 1, -1, 9, 31)
    wanted = np.moveaxis(groups, (1, 2), (3, 4))
    wanted = np.pad(wanted, [*[(0, 0)] * 4, (0, found.shape[-1] // groups.shape[1] - wanted.shape[-1])])
    np.testing.assert_array_equal(found, wanted.reshape(found.shape))


def test_lines_of_blocks_have_zeros_on_both_sides():
    problem = conv2d(n=2, c=7, h=3, w=19, k=16, r=1, s=3, padding=(0, 1), dtype="bf16", layout="nchw")
    scheme = parse(problem, "R(n) R(k) R(h) R(w) S(y) R(s) R(c) D(c,8) V(k,16)")
    copy = copy_of_x(scheme, EVERY_ISA["amxbf16"].lanes)
    numbers = np.random.default_rng(0).integers(1, 9, problem.broadcast.shape)
    found = numbers_in(copy.loops, copied(copy.loops, numbers))
    wanted = np.pad(np.moveaxis(numbers, 1, 3), [(0, 0), (0, 0), (1, 1), (0, 1)])[:, :, np.newaxis]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("channels", [5, 16])
def test_points_have_zeros_between_rows(channels):
    problem = conv2d(n=2, c=channels, h=3, w=4, k=16, r=3, s=3, padding=1, dtype="bf16", output_dtype="f32")
    scheme = parse(problem, f"R(n) T(hw,4) R(k) S(y) T(r,3) T(s,3) U(hw,4) D(c,{-(-channels // 2) * 2}) V(k,16)")
    dots = scheme_in_dot_groups(scheme).problem
    loops = lower_points(problem, dots)
    numbers = np.random.default_rng(0).integers(1, 9, problem.broadcast.shape)
    found = numbers_in(loops, copied(loops, numbers))
    points, flat = found.shape[2], dots.flat_pixels
    wanted = np.zeros((2, 1, points, -(-channels // 2) * 2))
    for row in range(3):
        first = flat.lead + row * flat.pitch
        wanted[:, 0, first : first + 4, :channels] = numbers[:, row]
    np.testing.assert_array_equal(found, wanted)
