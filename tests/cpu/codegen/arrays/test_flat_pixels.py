"""Kernels that take the pixels of an image as one dim, hw: exact on integers wherever rows end, beside guard pages."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from cpu.codegen.arrays import stored
from cpu.kernel.callable import build
from cpu.kernel.measure import check_exact, largest_error
from cpu.reference.oracle import error_bound, reals, reference
from microkernels.tile.isa import isa_named
from tests.exactness import FAR
from tests.support.kernels.cases import ON_EVERY_ISA
from tests.support.kernels.flat_pixel_cases import CASES, SAME, scheme_of
from tests.support.kernels.guard import PLACES, check_guarded
from tests.support.kernels.matrix_cases import ISA
from tests.support.kernels.pytorch_cases import whole_numbers
from tiling.dtypes.products import OUTPUT_DTYPES
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import copies, scheme_in_dot_groups
from tiling.text.notation import parse


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize("case", CASES)
def test_exact_on_integers_beside_guard_pages(case, dtype, row):
    (extents, text, words), outputs, isa = CASES[case], OUTPUT_DTYPES[dtype], row(dtype)
    output = outputs[list(CASES).index(case) % len(outputs)]
    kernel = build(scheme_of(text, words, dtype, output=output, **extents), isa)
    assert kernel.emitted.isa == isa.name and "tile_dot(" in kernel.source
    for place in PLACES:
        check_guarded(kernel, place)


@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize(
    "text",
    [
        "T(c,{b}) R(n) R(k) T(hw,5) S(y) T(r,3) T(s,3) U(hw,11)",
        "R(k) T(r,3) L(hw, 1x15 + 2x20) T(c,{b}) T(n,2) S(y) T(s,3) U(hw,λ)",
    ],
)
def test_sums_are_taken_up_again_pixel_by_pixel(text, dtype, row):
    """What lies between two rows of points has no place in y to wait in."""
    output, epilogue = {"bf16": ("f32", "relu(y + b + z)"), "int8": ("s32", None)}[dtype]
    kernel = build(scheme_of(text, 8, dtype, epilogue, output, **SAME), row(dtype))
    assert not scheme_in_dot_groups(kernel.scheme).single_pass
    for place in PLACES:
        check_guarded(kernel, place)


@pytest.mark.parametrize(
    "text, padding",
    [
        ("T(hw,5)@core T(k,3)@core R(n) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,11)", 1),
        ("T(hw,3)@core T(n,2) T(k,3) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,11)", 0),
        ("T(n,2)@core T(hw,2)@core R(k) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,32)", 1),
    ],
)
@pytest.mark.parametrize("dtype", ISA)
def test_threads_and_epilogues(dtype, text, padding, row):
    output = {"bf16": "bf16", "int8": "u8"}[dtype]
    epilogue = "relu(y + b + z)" if dtype == "bf16" else "relu(y*0.01*s[k] + b - z)"
    kernel = build(scheme_of(text, 16, dtype, epilogue, output, **SAME | {"padding": padding}), row(dtype), 2)
    check_exact(kernel)
    problem = kernel.problem
    inputs = reals(problem, 5)
    largest_error(problem, kernel(*stored(problem, inputs)), reference(problem, *inputs), error_bound(problem, *inputs))


@pytest.mark.parametrize(
    "shape, text",
    [
        (SAME, "R(n) R(k) R(hw) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,11)"),
        (SAME | dict(r=1, s=1, padding=0), "R(n) R(k) R(hw) S(y) T(c,{b}) U(hw,7)"),
    ],
)
def test_arrays_of_an_epilogue_along_some_dims(shape, text, row):
    """Where rows of tiles are no pixels, arrays of pixels are read by the pixel, others by image and channel alone."""
    epilogue = "max(y - z[n,h,w], t[n,k])*u[n] + v[h,w,k]"
    kernel = build(scheme_of(text, 16, "bf16", epilogue, "f32", **shape), row("bf16"))
    for place in PLACES:
        check_guarded(kernel, place)


@pytest.mark.parametrize("output", OUTPUT_DTYPES["bf16"])
def test_streamed_and_as_if_far(output, row):
    """Stores past the caches, and requests for what comes next, as of arrays larger than the caches."""
    text = "T(hw,2) T(k,2) T(hw,2) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,16) U(k,2)"
    scheme = scheme_of(text, 16, "bf16", None, output, **SAME | dict(n=1, k=64))
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        kernel = build(scheme, row("bf16"), stream=True)
    assert "if (stream) {" in kernel.source and "l2_prefetch(w_next, w_end)" in kernel.source
    for place in PLACES:
        check_guarded(kernel, place)


def test_an_infinity_reaches_the_pixels_of_its_taps_alone(row):
    """The zero that two rows share is neither's, and channels that fill no block are followed by zeros."""
    extents = dict(c=40, h=5, w=6, k=16, r=3, s=3, padding=1)
    scheme = scheme_of("R(hw) S(y) T(r,3) T(s,3) T(c,{b}) U(hw,17)", 16, "bf16", None, "f32", **extents)
    x, w = np.ones((1, 5, 6, 40), np.float32), np.ones((16, 40, 3, 3), np.float32)
    x[0, 2, 5] = np.inf
    y = build(scheme, row("bf16"))(*stored(scheme.problem, (x, w)))
    touched = np.zeros(y.shape, bool)
    touched[0, 1:4, 4:6] = True
    assert np.array_equal(np.isinf(y), touched) and not np.any(np.isnan(y)) and y[0, 2, 2, 0] == 360


def test_pytorch_computes_the_same(row):
    torch = pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")
    extents = dict(n=2, c=40, h=6, w=8, k=37, r=3, s=2, dilation=(1, 2), padding=((0, 1), (2, 0)))
    text = "R(n) L(hw, 2x13 + 1x22) R(k) S(y) T(r,3) T(s,2) T(c,{b}) U(hw,λ)"
    scheme = scheme_of(text, 16, "bf16", None, "f32", **extents)
    x, w = whole_numbers((2, 6, 8, 40), 1), whole_numbers((37, 40, 3, 2), 2)
    padded = torch.nn.functional.pad(torch.from_numpy(x).double().permute(0, 3, 1, 2), (2, 0, 0, 1))
    expected = torch.nn.functional.conv2d(padded, torch.from_numpy(w).double(), dilation=(1, 2))
    y = build(scheme, row("bf16"))(*stored(scheme.problem, (x, w)))
    assert np.array_equal(y, expected.permute(0, 2, 3, 1).numpy())


# Extents of unpadded 1 x 1 convolutions of f32, a scheme, the epilogue and the threads.
UNPADDED = dict(n=2, c=20, h=7, w=7, k=48, r=1, s=1)
OF_F32 = {
    "composed": (UNPADDED, "R(n) R(k) L(hw, 5x5 + 4x6) S(y) T(c,20) U(hw,λ)", None, 1),
    "sums are taken up again, some lanes are empty": (
        UNPADDED | dict(k=43),
        "T(c,4) R(n) R(k) T(hw,7) S(y) T(c,5) U(hw,7)",
        "relu(y + b + z)",
        1,
    ),
    "arrays of pixels and of images": (
        UNPADDED | dict(h=3, w=5),
        "R(n) R(k) R(hw) S(y) T(c,20) U(hw,3)",
        "max(y - z[n,h,w], t[n,k]) + v[h,w,k]",
        1,
    ),
    "shared by cores": (UNPADDED, "T(hw,7)@core R(k) T(n,2) S(y) T(c,20) U(hw,7)", "y + z", 2),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("case", OF_F32)
def test_vectors_of_f32_run_on_over_the_ends_of_rows(case, isa):
    extents, loops, epilogue, threads = OF_F32[case]
    problem = fused(conv2d(**extents), epilogue)
    kernel = build(parse(problem, f"{loops} V(k,{isa_named(isa).lanes})"), isa_named(isa), threads)
    assert scheme_in_dot_groups(kernel.scheme).problem.flat_pixels and not copies(kernel.scheme)
    for place in PLACES:
        check_guarded(kernel, place)
