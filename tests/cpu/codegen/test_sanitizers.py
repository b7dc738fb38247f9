"""The emitted C under AddressSanitizer and UBSan: a program around a kernel, compiled with both and run by itself.

Guard pages see every access that leaves a page; these see every access that leaves an array, and what C leaves
undefined.
"""

from __future__ import annotations

import pytest

from cpu.codegen.emit import emit
from microkernels.tile.isa import ISAS, isa_named
from tests.support.kernels import low_precision_cases
from tests.support.kernels.cases import ALL_CASES, FLATTENED
from tests.support.kernels.random_cases import Case
from tests.support.kernels.sanitized import check_sanitized, driver, named
from tests.support.kernels.sanitizers import without_sanitizers
from tests.support.kernels.winograd_cases import CASES, EPILOGUES, text_of
from tests.support.sampled import traits
from tiling.text.notation import parse


@pytest.fixture(autouse=True)
def sanitizers():
    if without_sanitizers():
        pytest.skip(without_sanitizers())


SAMPLE = [
    ("stem", "avx512f", False),
    ("masked and accumulated", "avx512f", False),
    ("one window looped, one clipped", "avx512f", True),
    ("masked last vector", "avx2", False),
    ("composed rows in two dims", "avx2", True),
    ("strides, dilation, asymmetric padding, batch", "portable", False),
    ("padding wider than the image, clipped twice", "portable", False),
    ("matrix product, k unrolled", "portable", False),
    ("accumulated, then gelu", "avx2", False),
    ("strided, then a residual", "avx512f", True),
    ("product, then arrays of every shape", "portable", False),
    ("masked and accumulated, channels first", "avx512f", False),
    ("depthwise, then a residual, channels first", "avx2", False),
    ("rows of two lines, arrays in one of them, channels first", "avx2", False),
    ("pixels, accumulated", "portable", False),
    ("pixels, a panel of all", "avx2", False),
    ("pixels, panels of channels", "avx512f", True),
]

NARROW = [
    ("three channels, strided", "bf16", "bf16", "relu(y + b)", False),
    ("six channels, composed", "bf16", "bf16", None, True),
    ("product", "bf16", "f32", "y*t[m] + b", False),
    ("groups of odd channels", "int8", "u8", "y*0.001 + b", False),
    ("groups of whole words", "int8", "s32", None, True),
    ("whole words", "int8", "s8", "y*0.002*scale[k] + z", True),
]

TRANSFORMED = [
    (CASES["odd image, primes, batch"], "avx512f"),
    (CASES["padding wider than the image"], "avx2"),
    (CASES["asymmetric padding"], "portable"),
    (EPILOGUES["arrays of every shape"], "portable"),
]


@pytest.mark.slow
@pytest.mark.exhaustive(name=lambda name: traits(*ALL_CASES[name][:2]))
@pytest.mark.parametrize("name, isa, stream", [pytest.param(*s, marks=pytest.mark.isa(s[1])) for s in SAMPLE])
def test_emitted_c_is_clean(name, isa, stream, tmp_path):
    check_sanitized(named(name, isa, stream), tmp_path)


def test_a_panel_inside_branches_is_large_enough(tmp_path):
    """The second branch begins at a sum, 40 pixels past the loop around both."""
    text = "T(w,1)@core R(n) L(w, 1x2 + 1x3) S(x) T(k,9) T(w,5) S(y) T(c,12) U(k,2) U(w,λ) V(w,4)"
    check_sanitized(Case(parse(FLATTENED, text), "portable", 1, False), tmp_path)


@pytest.mark.slow
def test_a_panel_that_is_too_small_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr("tiling.rewrite.copies.panels.panel_elements", lambda scheme: 12 * 100 - 16)
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        check_sanitized(named("pixels, a panel of all", "portable"), tmp_path)


@pytest.mark.parametrize(
    "name, dtype, output, epilogue, stream",
    [pytest.param(*s, marks=pytest.mark.isa(low_precision_cases.ISA[s[1]])) for s in NARROW],
)
def test_kernels_of_narrow_numbers_are_clean(name, dtype, output, epilogue, stream, tmp_path):
    scheme = low_precision_cases.scheme_of(name, dtype, output, epilogue)
    check_sanitized(Case(scheme, low_precision_cases.ISA[dtype], 1, stream), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case, isa", [pytest.param(*t, marks=pytest.mark.isa(t[1])) for t in TRANSFORMED])
def test_winograds_algorithm_is_clean(case, isa, tmp_path):
    check_sanitized(Case(parse(case[0], text_of(*case, ISAS[isa].lanes)), isa, 1, stream=False), tmp_path)


def test_a_read_beside_an_array_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        check_sanitized(named("single rows", "portable"), tmp_path, prefix=" X += 1;")


@pytest.mark.slow
def test_a_read_beside_an_array_of_the_epilogue_is_caught(tmp_path, monkeypatch):
    case = named("product, then arrays of every shape", "portable")
    right = driver(case.scheme.problem, emit(case.scheme, isa_named(case.isa)))
    short = case.scheme.problem.epilogue_arrays[-1].elements
    assert right.count(f"given({short}, sizeof(float), offset);") == 1
    text = right.replace(f"given({short}, sizeof(float), offset);", f"given({short - 1}, sizeof(float), offset);")
    monkeypatch.setattr("tests.support.kernels.sanitized.driver", lambda *_: text)
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        check_sanitized(case, tmp_path)


def test_undefined_behaviour_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="misaligned"):
        check_sanitized(named("single rows", "portable"), tmp_path, prefix=" X = (const float *)((const char *)X + 1);")
