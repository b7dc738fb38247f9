"""Pointwise convolutions of channels-first images: which have vectors along their pixels, and what they become."""

import numpy as np
import pytest

from cpu.kernel.callable import build
from cpu.reference.oracle import integers, reference
from microkernels.tile.isa import ISAS
from microkernels.tile.microkernel import microkernel_of
from microkernels.tile.microkernel import parse as parse_microkernel
from search import generate_conv
from search.evaluator.cpu.backend import cpu_backend
from tiling.arguments import ArgumentError
from tiling.arrays.access import access_of
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.problem import ProblemError
from tiling.rewrite.pointwise import along_pixels, pointwise2d
from tiling.rewrite.winograd.algorithm import unsupported_reason
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import canonical, problem_of
from tiling.volumes import conv3d

FLATTENED = dict(n=2, c=6, h=8, w=10, k=9, r=1, s=1, layout="nchw")
VOLUME = FLATTENED | {"d": 3, "q": 1}


def test_the_pixels_of_an_image_become_one_dim():
    original = conv2d(**FLATTENED)
    problem = pointwise2d(original)
    assert problem.extents == {"n": 2, "k": 9, "c": 6, "w": 80} and problem.flops == original.flops
    assert [(t.name, t.role, t.shape) for t in problem.tensors] == [
        ("x", "vector", (2, 6, 80)),
        ("w", "broadcast", (9, 6)),
        ("y", "output", (2, 9, 80)),
    ]
    access = access_of(problem)
    assert (problem.row_dims, problem.looped_dims, access.sharing_dims) == (("k",), ("n",), ("n", "w"))
    assert access.weights_broadcast and access.packed.name == "w" and access.panel_dim == "k"
    assert not access.transposed_output and problem.layout == "nchw" and problem.original == original
    assert not access_of(original).weights_broadcast and access_of(original).panel_dim == "k"
    assert access_of(original).packed.name == "w"


def test_the_points_of_a_volume_become_one_dim():
    original = conv3d(**VOLUME)
    problem = pointwise2d(original)
    assert problem.extents == {"n": 2, "k": 9, "c": 6, "w": 240} and problem.flops == original.flops
    assert [t.shape for t in problem.tensors] == [(2, 6, 240), (9, 6), (2, 9, 240)]
    assert problem.original == original and cpu_backend("portable").problem(original) == problem


@pytest.mark.parametrize(
    ("convolution", "epilogue"),
    [
        *((conv2d(**FLATTENED), epilogue) for epilogue in (None, "relu(y + b) + z", "y * t[h,w]")),
        *((conv3d(**VOLUME), epilogue) for epilogue in (None, "relu(y + b) + z", "y * t[d,h,w]")),
    ],
)
def test_its_text_is_that_of_the_convolution(convolution, epilogue):
    original = fused(convolution, epilogue)
    problem = pointwise2d(original)
    assert canonical(problem) == canonical(original)
    assert problem_of("pointwise2d", canonical(problem)) == problem


def test_an_epilogue_comes_before_its_axes_are_one():
    with pytest.raises(ProblemError, match="before that becomes pointwise2d"):
        fused(pointwise2d(conv2d(**FLATTENED)), "y + t[h]")


OTHERS = {
    "channels last": (conv2d(**FLATTENED | {"layout": "nhwc"}), "channels first"),
    "taps": (conv2d(**FLATTENED | {"r": 3, "padding": (1, 0)}), "1 x 1"),
    "a stride": (conv2d(**FLATTENED | {"stride": 2}), "stride 1"),
    "padding": (conv2d(**FLATTENED | {"padding": ((0, 1), (0, 0))}), "without padding"),
    "groups": (conv2d(**FLATTENED | {"k": 12, "groups": 3}), "without groups"),
    "depthwise": (conv2d(**FLATTENED | {"k": 6, "groups": 6}), "without groups"),
    "narrow numbers": (conv2d(**FLATTENED | {"dtype": "bf16"}), "of f32"),
    "an array of rows": (fused(conv2d(**FLATTENED), "y + t[h]"), "rows or columns alone"),
    "an array of columns": (fused(conv2d(**FLATTENED), "y + t[k,w]"), "rows or columns alone"),
    "images of too many pixels": (conv2d(c=1, h=5000, w=4000, k=1, r=1, s=1, layout="nchw"), "more than 16777216"),
    "volumes of taps": (conv3d(**VOLUME | {"q": 3}), "1 x 1 x 1"),
    "volumes of a stride": (conv3d(**VOLUME | {"stride": (2, 1, 1)}), "stride 1"),
    "an array of slices": (fused(conv3d(**VOLUME), "y + t[d]"), "slices, rows or columns alone"),
    "an array of some axes": (fused(conv3d(**VOLUME), "y + t[h,w]"), "slices, rows or columns alone"),
    "a product": (matmul(m=5, n=6, k=7), "only convolutions"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_others_stay_as_they_are(case):
    problem, why = OTHERS[case]
    assert along_pixels(problem, 16) is problem
    with pytest.raises(ProblemError, match=why):
        pointwise2d(problem)


def test_pixels_must_fill_the_vectors():
    def taken(pixels: int, lanes: int) -> bool:
        return along_pixels(conv2d(**FLATTENED | {"h": 1, "w": pixels}), lanes).op == "pointwise2d"

    assert [pixels for pixels in range(1, 50) if not taken(pixels, 16)] == [
        *range(1, 12),
        *range(17, 24),
        *range(33, 36),
    ]
    assert not taken(1, 4) and taken(3, 4) and taken(49, 16)


@pytest.mark.parametrize("isa", [pytest.param(name, marks=pytest.mark.isa(name)) for name in ISAS])
def test_arrays_have_the_shapes_of_the_convolution(isa):
    original = fused(conv2d(**FLATTENED), "relu(y + b) + z")
    scheme = parse(pointwise2d(original), f"R(n) R(w) T(k,3) S(y) T(c,6) U(k,3) V(w,{ISAS[isa].lanes})")
    kernel = build(scheme, ISAS[isa])
    x, w, b, z = integers(scheme.problem)
    assert x.shape == (2, 6, 8, 10) and w.shape == (9, 6, 1, 1) and z.shape == (2, 9, 8, 10)
    expected = reference(scheme.problem, x, w, b, z)
    assert kernel.empty().shape == (2, 9, 8, 10)
    assert np.array_equal(kernel(x, w, b, z), expected)
    assert np.array_equal(kernel(x, kernel.pack(w), b, z, out=z), expected)  # a residual may be the output
    with pytest.raises(ArgumentError, match=r"x has shape \(2, 6, 80\), but this kernel was made for \(2, 6, 8, 10\)"):
        kernel(x.reshape(2, 6, 80), w, b, z)


def test_weights_are_packed_in_panels_of_rows():
    problem = pointwise2d(conv2d(c=3, h=4, w=4, k=7, r=1, s=1, layout="nchw"))
    kernel = build(parse(problem, "R(w) L(k, 1x3 + 1x4) S(y) T(c,3) U(k,λ) V(w,4)"), ISAS["portable"])
    w = np.arange(21, dtype=np.float32).reshape(7, 3)
    packed = kernel.pack(w.reshape(7, 3, 1, 1)).data
    assert np.array_equal(packed, np.concatenate([w[:3].T.ravel(), w[3:].T.ravel()]))


def test_a_tile_names_its_rows_and_pixels():
    problem = pointwise2d(conv2d(**FLATTENED))
    kernel = microkernel_of(problem, {"n": 1, "k": 9, "c": 1, "w": 2}, "avx512f")
    assert str(kernel) == "f32_pointwise2d_ukernel_9kx32w__avx512f"
    assert parse_microkernel(str(kernel)) == kernel


@pytest.mark.parametrize("loops", ["R(n) R(h) R(w)", "R(n) T(w,4)"])
def test_a_scheme_that_counts_rows_is_told_of_flattened_pixels(loops):
    with pytest.raises(SchemeError, match=r"w counts all 80 flattened pixels, h and w as one"):
        parse(pointwise2d(conv2d(**FLATTENED)), f"{loops} R(k) S(y) T(c,6) V(w,16)")
    with pytest.raises(SchemeError, match=r"w counts all 240 flattened pixels, d, h and w as one"):
        parse(pointwise2d(conv3d(**VOLUME)), f"{loops} R(k) S(y) T(c,6) V(w,16)")


def test_a_scheme_along_pixels_of_another_layout_is_told_which_it_is_for():
    with pytest.raises(SchemeError, match=r"conv2d is vectorised over k \(1 x 1 ones of f32, stride 1 and layout nchw"):
        parse(conv2d(**FLATTENED | {"layout": "nhwc"}), "R(n) R(h) R(w) R(k) S(y) T(c,6) V(w,16)")


def test_a_scheme_is_vectorised_along_pixels():
    with pytest.raises(SchemeError, match="pointwise2d is vectorised over w"):
        parse(pointwise2d(conv2d(**FLATTENED)), "R(n) R(w) S(y) T(c,6) V(k,16)")


def test_a_scheme_of_the_convolution_is_still_one():
    backend = cpu_backend("portable")
    problem = backend.problem(conv2d(**FLATTENED))
    transposed, pixels = "R(n) R(k) R(h) R(w) S(y) T(c,6) V(k,4)", "R(n) R(k) R(w) S(y) T(c,6) V(w,4)"
    assert (
        backend.parsed(problem, transposed).problem == conv2d(**FLATTENED)
        and backend.parsed(problem, pixels).problem == problem
    )


def test_winograd_refuses_what_was_asked_for():
    assert "kernels of 3 x 3, not 1 x 1" in unsupported_reason(pointwise2d(conv2d(**FLATTENED)))


def test_the_search_takes_them():
    kernel = generate_conv(c=5, h=6, w=8, k=7, r=1, s=1, layout="nchw", epilogue="relu(y + b)")
    assert kernel.problem.op == "pointwise2d"
    inputs = integers(kernel.problem)
    assert np.array_equal(kernel(*inputs), reference(kernel.problem, *inputs))
