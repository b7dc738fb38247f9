"""Pairs of neighbours that lanes store and load in one access: where, and nothing left where something is removed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.passes.matrices.load_once import load_once
from gpu.passes.matrices.multiply_matrices import PAIR
from gpu.passes.matrices.store_pairs import store_pairs
from gpu.passes.order import scheme_forms
from tests.support.gpu.cases import product_scheme
from tests.support.gpu.schemes import on_twin, survives
from tiling.epilogue import fused
from tiling.loops.index import ZERO, constant
from tiling.loops.language import Comment, Do, Flag, For, If
from tiling.loops.walk import walk, with_blocks
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
    text = emit_scheme(pairs).text
    assert (f"put2_{stored}(Y" in text, f"put_{stored}(Y" in text) == (n == 28, n != 28)
    assert (f"get2_{stored}(E_z" in text, f"get_{stored}(E_z" in text) == (n == 28, n != 28)
    assert (f"get2_{stored}(E_bias" in text, f"get_{stored}(E_bias" in text) == (n == 28, n != 28)
    assert on_twin(pairs, seeds=(0,))


def test_an_array_of_rows_is_loaded_once_for_a_pair():
    rows = scheme(dtype="f16", epilogue="y + s[m]")
    assert "put2_f16(Y" in emit_scheme(rows).text and "get2_f16(E_s" not in emit_scheme(rows).text
    assert on_twin(rows, seeds=(0,))


@pytest.mark.parametrize("epilogue", ["y + b[n] + b_once[n]", "y + z[m,n] + z_pair[m,n]", "y + b[n] + b_pair[m]"])
def test_no_name_is_that_of_an_array_of_the_epilogue(epilogue):
    assert on_twin(scheme(dtype="bf16", epilogue=epilogue), seeds=(0,))


def test_neighbours_that_lie_apart_are_stored_one_by_one():
    """Channels first: a lane holds two channels of a pixel."""
    image = in_layout(conv2d(n=1, c=16, h=3, w=16, k=16, r=1, s=1, dtype="f16"), "nchw")
    apart = parse(image, "T(n,1)@block T(h,3)@block S(y) T(c,1) T(r,1) T(s,1) S(x) S(w) T(w,1)@warp U(k,2) M(w16k8c16)")
    assert "put2" not in emit_scheme(apart).text and on_twin(apart, seeds=(0,))


@pytest.mark.parametrize("change", ["a test that is no place", "pairs are loaded deeper inside"])
def test_nothing_is_loaded_once_where_that_would_leave_out_a_test(change):
    """What stays is each load where it was."""
    kernel = dict(scheme_forms(scheme(dtype="f16", epilogue="y + bias[n]")))["store pairs"]
    assert load_once(kernel) != kernel

    def changed(statement):
        inner = with_blocks(statement, lambda block: tuple(map(changed, block)))
        if not isinstance(inner, If) or not any(isinstance(s, Do) for s in inner.body):
            return inner
        if change == "a test that is no place":
            return replace(inner, conditions=(*inner.conditions, Flag("ok")))
        deeper = For("deeper", ZERO, constant(1), 1, inner.body, "unrolled")
        return replace(inner, body=(Comment("not here"), deeper))

    given = replace(kernel, body=tuple(map(changed, kernel.body)))
    assert given != kernel and load_once(given) == given


def test_what_is_done_where_no_pair_is_stored_stays():
    kernel = dict(scheme_forms(scheme(dtype="f16")))["load ahead"]
    other = Comment("not here")

    def changed(statement):
        inner = with_blocks(statement, lambda block: tuple(map(changed, block)))
        if not isinstance(inner, For) or inner.name != PAIR or not isinstance(inner.body[0], If):
            return inner
        return replace(inner, body=(replace(inner.body[0], otherwise=(other,)),))

    given = replace(kernel, body=tuple(map(changed, kernel.body)))
    comments = [s for s in walk(given.body) if s == other]
    assert comments and [s for s in walk(store_pairs(given).body) if s == other] == comments


@pytest.mark.parametrize(
    "call", [r"put2_f16\(Y.*\);", r"get2_f16\(E_z.*\);", r"if \([^{]*\) (?={\n *unsigned|{\n *float E_z)"]
)
def test_nothing_is_one_too_many(call):
    pairs = scheme(dtype="f16")
    assert not survives(pairs, re.sub(call, "", emit_scheme(pairs).text), seeds=range(2))
