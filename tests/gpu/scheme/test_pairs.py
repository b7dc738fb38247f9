"""Pairs of neighbours that lanes store and load in one access: where, and nothing left where something is removed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gpu.codegen.loops.scheme import emit_loops
from gpu.twin.launch import TwinError
from tests.support.gpu.cases import product_scheme
from tests.support.gpu.schemes import on_twin
from tiling.epilogue import fused
from tiling.operators import conv2d, in_layout, matmul
from tiling.text.notation import parse

EPILOGUE = "relu(y + bias[n]) + z[m,n]"


def scheme(n=28, epilogue=EPILOGUE, **options):
    """A product whose last tile of columns reaches beyond the edge."""
    return product_scheme(fused(matmul(m=21, n=n, k=24, **options), epilogue), warps=(1, 2), unrolled=(1, 2, 1))


@pytest.mark.parametrize("stored", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("n", [28, 27])
def test_rows_of_an_even_length_are_stored_in_pairs(stored, n):
    pairs = scheme(n, dtype="bf16" if stored == "f32" else stored, output_dtype=stored)
    text = emit_loops(pairs).text
    assert (f"put2_{stored}(Y" in text, f"put_{stored}(Y" in text) == (n == 28, n != 28)
    assert (f"get2_{stored}(E_z" in text, f"get_{stored}(E_z" in text) == (n == 28, n != 28)
    assert (f"get2_{stored}(E_bias" in text, f"get_{stored}(E_bias" in text) == (n == 28, n != 28)
    assert on_twin(pairs, seeds=(0,))


def test_an_array_of_rows_is_loaded_once_for_a_pair():
    rows = scheme(dtype="f16", epilogue="y + s[m]")
    assert "put2_f16(Y" in emit_loops(rows).text and "get2_f16(E_s" not in emit_loops(rows).text
    assert on_twin(rows, seeds=(0,))


def test_neighbours_that_lie_apart_are_stored_one_by_one():
    """Channels first: a lane holds two channels of a pixel."""
    image = in_layout(conv2d(n=1, c=16, h=3, w=16, k=16, r=1, s=1, dtype="f16"), "nchw")
    apart = parse(image, "T(n,1)@block T(h,3)@block S(y) T(c,1) T(r,1) T(s,1) S(x) S(w) T(w,1)@warp U(k,2) M(w16k8c16)")
    assert "put2" not in emit_loops(apart).text and on_twin(apart, seeds=(0,))


@pytest.mark.parametrize(
    "call", [r"put2_f16\(Y.*\);", r"get2_f16\(E_z.*\);", r"if \([^{]*\) (?={\n *unsigned|{\n *float E_z)"]
)
def test_nothing_is_one_too_many(call):
    pairs = scheme(dtype="f16")
    source = emit_loops(pairs)
    text = re.sub(call, "", source.text)
    assert text != source.text
    try:
        same = on_twin(pairs, replace(source, text=text), seeds=range(2))
    except TwinError:
        return
    assert not same
