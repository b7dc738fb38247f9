"""The loops that copy x first: what they copy, and that every pass leaves the copy as it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import copy_forms
from microkernels.tile.isa import EVERY_ISA
from tests.support.loops.copies import (
    as_a_whole,
    check_passes,
    check_whole,
    copied,
    drawn_whole,
    seeds,
)
from tests.support.loops.loops import numbers_of
from tests.support.sampled import examples
from tiling.loops.kernel import Kernel
from tiling.operators import conv2d
from tiling.rewrite.copies.laid_out import lower_points
from tiling.rewrite.copies.lower import copy_of_x
from tiling.rewrite.copies.plan import ALIGNED
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse


def numbers_in(loops: Kernel, words: np.ndarray) -> np.ndarray:
    """The numbers of a copy of x."""
    _, copy = loops.arrays
    return numbers_of(np.ascontiguousarray(words), copy).reshape(*words.shape[:-1], -1)


@settings(max_examples=10)
@given(seeds)
def test_passes_keep_copies(seed):
    check_passes(seed)


@pytest.mark.slow
@examples(200)
@given(seeds)
def test_passes_keep_200_copies(seed):
    check_passes(seed)


# ---- whole kernels, which copy x and then multiply


@pytest.mark.slow
@settings(max_examples=3)
@given(seeds)
def test_kernels_that_copy_x_compute_the_definition(seed):
    drawn_whole(seed)


@pytest.mark.slow
@pytest.mark.exhaustive(cores=None)
@pytest.mark.parametrize("cores", ["", "@core"])
def test_a_kernel_copies_an_x_that_does_not_begin_with_a_line(cores):
    problem = conv2d(c=32, h=2, w=4, k=16, r=3, s=3, padding=(1, 0), dtype="bf16", output_dtype="f32")
    text = f"T(h,2){cores} R(n) R(k) R(w) S(y) R(r) R(s) R(c) D(c,32) V(k,16)"
    scheme = parse(problem, text)
    copy = copy_of_x(scheme, 16)
    assert copy and copy.kind == ALIGNED and not copy.always
    check_whole(scheme, EVERY_ISA["amxbf16"], 0)


TRANSPOSED = {
    "f32": ("f32", dict(c=19, k=19, groups=19, r=1, s=1), "R(n) R(h) R(w) R(c) S(y) V(c,8)", "avx2"),
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
    facts = facts_of_scheme(scheme, EVERY_ISA[isa], False)
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
