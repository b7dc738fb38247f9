"""bf16 and int8 where every lane has an x of its own: depthwise convolutions, and groups side by side in a vector."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cpu.codegen.arrays import stored
from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from cpu.kernel.measure import check_exact
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.numbers import from_bits
from microkernels.tile.isa import isa_named
from tests.support.kernels.assembly import assembly_of, spills_of
from tests.support.kernels.guard import PLACES, check_guarded
from tests.support.kernels.low_precision_cases import ISA, NUMBERS, ON_BOTH, check_all, check_saved
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import in_dot_groups
from tiling.rewrite.grouped import grouped2d
from tiling.text.notation import parse

INSTRUCTION = {"bf16": "vdpbf16ps", "int8": "vpdpbusd"}


def side_by_side(**extents):
    """A convolution whose groups share a vector."""
    return grouped2d(conv2d(**extents))


# Operator, its extents, and a scheme without its D and V; {c}: the words of a group.
CASES = {
    "depthwise, taps unrolled": (
        conv2d,
        dict(n=2, c=37, k=37, groups=37, h=9, w=8, r=3, s=3, padding=1),
        "R(n) R(c) T(h,9) T(w,2) S(y) U(r,3) U(s,3) U(w,4)",
    ),
    "depthwise, strided, dilated, taps looped": (
        conv2d,
        dict(c=50, k=50, groups=50, h=12, w=13, r=3, s=2, stride=(2, 1), dilation=(1, 3), padding=((0, 2), (3, 1))),
        "R(c) R(h) T(w,2) S(y) T(r,3) T(s,2) U(w,7) U(c,2)",
    ),
    "depthwise, composed, for cores": (
        conv2d,
        dict(c=16, k=16, groups=16, h=5, w=9, r=5, s=5, padding=2),
        "T(h,5)@core L(w, 1x4 + 1x5) S(y) T(r,5) U(s,5) U(w,λ)",
    ),
    "depthwise, one channel, pointwise": (
        conv2d,
        dict(n=3, c=2, k=2, groups=2, h=3, w=4, r=1, s=1),
        "R(n) T(h,3) S(y) U(w,4)",
    ),
    "depthwise, channels first": (
        conv2d,
        dict(n=2, c=37, k=37, groups=37, h=9, w=8, r=3, s=3, padding=1, layout="nchw"),
        "R(n) R(c) T(h,9) T(w,2) S(y) U(r,3) U(s,3) U(w,4)",
    ),
    "depthwise, channels first, whole blocks": (
        conv2d,
        dict(c=64, k=64, groups=64, h=4, w=19, r=1, s=2, padding=(0, 1), layout="nchw"),
        "R(h) R(c) L(w, 1x4 + 1x16) S(y) T(s,2) U(w,λ)",
    ),
    "pairs side by side, everything odd": (
        side_by_side,
        dict(
            **dict(c=38, k=38, groups=19, h=11, w=10, r=2, s=3),
            **dict(stride=(2, 1), dilation=(3, 2), padding=((2, 0), (1, 3))),
        ),
        "R(k) R(h) T(w,2) S(y) T(s,3) U(c,{c}) U(r,2) U(w,5)",
    ),
    "fours side by side, taps unrolled": (
        side_by_side,
        dict(n=2, c=44, k=44, groups=11, h=9, w=8, r=3, s=3, padding=1),
        "R(n) R(k) T(h,9) T(w,2) S(y) T(r,3) U(c,{c}) U(s,3) U(w,4)",
    ),
    "fours side by side, composed, for cores": (
        side_by_side,
        dict(c=32, k=32, groups=8, h=5, w=23, r=3, s=1, padding=(1, 0)),
        "T(h,5)@core L(w, 1x9 + 1x14) S(y) T(r,3) U(c,{c}) U(w,λ) U(k,2)",
    ),
    "eights side by side, registers for the weights of one exchange": (
        side_by_side,
        dict(c=40, k=40, groups=5, h=7, w=21, r=3, s=3, padding=1),
        "T(h,7) R(k) S(y) T(r,3) U(c,{c}) U(s,3) U(w,21)",
    ),
}
# Each case gives, for either dtype of the inputs, the output's dtype and its epilogue.
STORED = {
    "depthwise, taps unrolled": {"bf16": ("bf16", "relu(y + b)"), "int8": ("u8", "y*0.1*scale[c] + b")},
    "depthwise, strided, dilated, taps looped": {"bf16": ("bf16", None), "int8": ("s32", None)},
    "depthwise, composed, for cores": {"bf16": ("f32", "relu6(y) + z"), "int8": ("s8", "y*0.1 + z")},
    "depthwise, one channel, pointwise": {"bf16": ("f32", None), "int8": ("u8", None)},
    "depthwise, channels first": {"bf16": ("bf16", "relu(y + b) - z"), "int8": ("f32", "gelu(y/1000 + b)")},
    "depthwise, channels first, whole blocks": {"bf16": ("bf16", None), "int8": ("s8", "y*0.02*scale[c] + z")},
    "pairs side by side, everything odd": {"bf16": ("bf16", None), "int8": ("s32", None)},
    "fours side by side, taps unrolled": {"bf16": ("bf16", "relu(y*scale + b)"), "int8": ("u8", "y*0.02 + b")},
    "fours side by side, composed, for cores": {"bf16": ("f32", None), "int8": ("s8", "y*0.02 + z")},
    "eights side by side, registers for the weights of one exchange": {
        "bf16": ("bf16", "relu(y + b)"),
        "int8": ("f32", "gelu(y/1000 + b)"),
    },
}


def kernel_of(case, dtype, output_dtype, epilogue=None):
    operator, extents, text = CASES[case]
    problem = fused(operator(**extents, dtype=dtype, output_dtype=output_dtype), epilogue)
    words = f"D(c,{NUMBERS[dtype]}) " if problem.op == "grouped2d" else ""
    text = f"{text.format(c=in_dot_groups(problem).extents['c'])} {words}V({problem.vector_dim},16)"
    return build(parse(problem, text), isa_named(ISA[dtype]))


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("case", CASES)
def test_exact_on_integers_bounded_on_reals_and_nothing_beside_the_arrays_is_touched(case, dtype):
    check_all(kernel_of(case, dtype, *STORED[case][dtype]))


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_threads_share_a_depthwise_convolution_and_the_copy_of_its_x(layout, dtype):
    problem = conv2d(n=2, c=21, k=21, groups=21, h=9, w=8, r=3, s=3, padding=1, dtype=dtype, layout=layout)
    scheme = parse(problem, "T(h,3)@core T(n,2) T(h,3) T(c,2) S(y) U(r,3) U(s,3) U(w,8) V(c,16)")
    kernel = build(scheme, isa_named(ISA[dtype]), threads=3)
    for place in PLACES:
        check_guarded(kernel, place)


@pytest.mark.parametrize("dtype", ON_BOTH)
def test_depthwise_sums_wait_for_taps_outside(dtype):
    output = {"bf16": "f32", "int8": "s32"}[dtype]
    problem = conv2d(n=2, c=37, k=37, groups=37, h=9, w=8, r=3, s=3, padding=1, dtype=dtype, output_dtype=output)
    text = "T(r,3) R(n) R(c) T(h,3) T(w,4) S(y) U(s,3) U(h,3) U(w,2) V(c,16)"
    check_exact(build(parse(problem, text), isa_named(ISA[dtype])))


@pytest.mark.isa("avx512bf16")
def test_an_infinity_in_one_channel_is_no_part_of_its_neighbours():
    kernel = kernel_of("depthwise, taps unrolled", "bf16", "bf16")
    x = np.ones(kernel.problem.broadcast.shape, np.float32)
    x[..., 20] = np.inf
    y = from_bits(kernel(*stored(kernel.problem, (x, np.ones(kernel.problem.vector.shape, np.float32)))), "bf16")
    assert np.all(np.isinf(y[..., 20])) and np.all(np.delete(y, 20, axis=3) <= 9)


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("case", ["depthwise, channels first", "pairs side by side, everything odd"])
def test_saved_kernels_run_without_python_and_load_again(case, dtype, tmp_path):
    check_saved(kernel_of(case, dtype, None), tmp_path)


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("tile, taps", [("U(w,20)", 9), ("U(h,2) U(w,10)", 9), ("U(w,6) U(c,2)", 9)])
def test_depthwise_tiles_widen_each_x_as_they_load_it(tile, taps, dtype):
    """Read off the assembly: one load of each vector of x, which widens it, and no spills."""
    rows = {dim: int(count) for dim, count in re.findall(r"U\((\w),(\d+)\)", tile)}
    h, w, vectors = rows.get("h", 1), rows["w"], rows.get("c", 1)
    channels = 16 * vectors
    problem = conv2d(c=channels, k=channels, groups=channels, h=h + 2, w=w + 2, r=3, s=3, dtype=dtype)
    source = emit(parse(problem, f"S(y) U(r,3) U(s,3) {tile} V(c,16)"), isa_named(ISA[dtype]))
    assembly = assembly_of(source)
    assert len(re.findall(rf"{INSTRUCTION[dtype]}\s", assembly)) == h * w * vectors * taps
    widened = {"bf16": "vpmovzxwd", "int8": "vpmovzxbd"}[dtype]
    assert len(re.findall(rf"{widened}\s+-?\w*\(", assembly)) == (h + 2) * (w + 2) * vectors
    assert not spills_of(assembly)


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("size, rows, vectors", [(2, 14, 1), (4, 14, 1), (4, 9, 2), (8, 14, 1)])
def test_tiles_of_groups_side_by_side_multiply_by_words(size, rows, vectors, dtype):
    """Read off the assembly: as many products as the group has words, and no spills."""
    channels, words = 16 * vectors, max(1, size // NUMBERS[dtype])
    problem = side_by_side(c=channels, k=channels, groups=channels // size, h=3, w=rows + 2, r=3, s=3, dtype=dtype)
    text = f"S(y) T(r,3) U(s,3) U(c,{words}) U(w,{rows}) U(k,{vectors}) D(c,{NUMBERS[dtype]}) V(k,16)"
    assembly = assembly_of(emit(parse(problem, text), isa_named(ISA[dtype])))
    assert len(re.findall(rf"{INSTRUCTION[dtype]}\s", assembly)) == 3 * words * rows * vectors
    if find_compiler().kind == "gcc":
        assert not spills_of(assembly)
