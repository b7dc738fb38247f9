"""The text of schemes without a matrix instruction on the twin, and nothing left of it where something is removed."""

from __future__ import annotations

import re

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from tests.support.gpu.schemes import SCHEMES, on_twin, scheme_of, survives
from tiling.operators import matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse


@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_are_exact(name):
    assert on_twin(scheme_of(name))


@pytest.mark.parametrize("name", ["product", "convolution", "staged outside the sums", "groups"])
def test_no_barrier_is_one_too_many(name):
    scheme = scheme_of(name)
    source = emit_scheme(scheme)
    found = list(re.finditer(r"__syncthreads\(\);", source.text))
    assert len(found) >= 2
    for place in found:
        without = source.text[: place.start()] + source.text[place.end() :]
        assert not survives(scheme, without), source.text[place.start() - 200 : place.end()]


@pytest.mark.parametrize("name", ["convolution", "strided convolution", "channels first"])
def test_no_zero_of_a_tile_is_one_too_many(name):
    scheme = scheme_of(name)
    source = emit_scheme(scheme)
    text = re.sub(r", [^,?]* \? (get_\w+\(X .*?\)) : 0\.0f\)", r", \1)", source.text)
    assert text != source.text
    assert not survives(scheme, text)


@pytest.mark.parametrize("name", ["wide convolution", "depthwise"])
def test_no_zero_of_four_neighbours_is_one_too_many(name):
    scheme = scheme_of(name)
    source = emit_scheme(scheme)
    for part in (r"\n *X_wide\[part\] = 0\.0f;", r"if \([^{]*\) (?={\n *get4_f32\(X_wide)"):
        text = re.sub(part, "" if "part" in part else "if (1) ", source.text)
        assert not survives(scheme, text)


def test_one_element_of_a_tile_too_few_is_found():
    scheme = scheme_of("product")
    source = emit_scheme(scheme)
    text = source.text.replace("element < 32;", "element < 28;")
    assert not survives(scheme, text)


def test_too_large_a_tile_is_refused():
    scheme = parse(matmul(m=64, n=64, k=1024), "S(c) S(a) R(k) T(m,8)@lane T(n,4)@lane U(m,8) U(n,16)")
    with pytest.raises(SchemeError, match="bytes of shared memory"):
        emit_scheme(scheme)
