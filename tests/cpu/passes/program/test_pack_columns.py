"""Arrays that a product reads in panels: which ones are packed, and that nothing else changes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.programs import ATTENTION, after, inputs_of, interpreted, lines
from tiling.loops.language import Alloc
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

TURNED = "y[i,j] = sum[c] q[i,c] * k[j,c]"
HEADS = "y[h,i,j] = sum[c] q[h,i,c] * k[h//2,j,c]"
BETWEEN = "u[c,j] = sum[l] a[c,l] * b[l,j]; "  # an array that no pass made
FACTORS = {"a": (20, 3), "b": (3, 150), "q": (5, 20)}


def shape_of(kernel, name="k_columns"):
    return next(s.buffer.shape for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.name == name)


def packed(text, isa=AVX512F, threads=1, dims=None, **shapes):
    forms = dict(program_forms(sized(read(text), dims or {}, shapes), isa, threads))
    return shape_of(forms["jam vectors"]), shape_of(forms["pack columns"])


@pytest.mark.parametrize(
    "text, shapes, isa, wanted",
    [
        (TURNED, {"q": (9, 20), "k": (128, 20)}, AVX512F, (2, 20, 64)),
        (TURNED, {"q": (9, 20), "k": (128, 20)}, AVX2, (4, 20, 32)),
        (TURNED, {"q": (9, 20), "k": (150, 20)}, AVX512F, (3, 20, 64)),  # the last panel has 22 columns
        (TURNED, {"q": (9, 20), "k": (64, 20)}, AVX512F, (20, 64)),  # one panel is what there was
        (HEADS, {"q": (4, 9, 20), "k": (2, 128, 20)}, AVX512F, (2, 2, 20, 64)),
    ],
)
def test_panels_are_as_wide_as_a_product_reads(text, shapes, isa, wanted):
    assert packed(text, isa, **shapes)[1] == wanted


def test_an_array_with_another_reader_stays():
    text = (
        "t[c,j] = exp(k[j,c]); m[c] = max[j] t[c,j]; z[c] = sum[j] exp(t[c,j] - m[c]); "
        "y[i,j] = sum[c] t[c,j] * z[c] * q[i,c]"
    )
    kernel = dict(program_forms(sized(read(text), {}, {"q": (9, 20), "k": (128, 20)}), AVX512F, 1))["pack columns"]
    assert shape_of(kernel, "t") == (20, 128)


def test_an_extent_of_a_call_stays():
    assert packed(TURNED, dims={"j": "<=512", "i": 64, "c": 20}) == ((20, 512), (20, 512))


@pytest.mark.parametrize(
    "text, extents, panels",
    [
        ("y[i,w] = sum[c] q[i,c] * u[c,w+1]", {"w": 134}, False),  # a vector would lie in two panels
        ("y[i,j] = sum[c] q[i,c] * u[c,j]; z[c] = u[c,c]", {}, False),  # no row of vectors
        ("y[i,j] = sum[c] q[i,c] * u[c,j]; z[n] = sum[c] u[c,2*n]", {"n": 5}, False),
        ("y[i,w] = sum[c] q[i,c] * u[c,w+16] * u[c,w]", {"w": 134}, True),
        ("y[i,w] = sum[c] q[i,c] * (u[c,w-16] else 0)", {"w": 134}, True),
        ("y[i,j] = sum[c] q[i,c] * u[c,j]; z[n,j] = sum[c] q[n,c] * u[19-c,j]", {"n": 5}, True),
    ],
)
def test_columns_are_read_where_they_were(text, extents, panels):
    program = sized(read(BETWEEN + text), extents, FACTORS, outputs=("y", "z") if "z" in text else ("y",))
    arrays = inputs_of(program, Random(len(text)))
    kernel = dict(program_forms(program, AVX512F, 2))["pack columns"]
    assert shape_of(kernel, "u") == ((3, 20, 64) if panels else (20, 150))
    wanted = evaluate(program, arrays)
    for name, found in interpreted(program, kernel, arrays).items():
        np.testing.assert_array_equal(found, wanted[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", [PORTABLE, AVX2, AVX512F], ids=lambda isa: isa.name)
@pytest.mark.parametrize("keys", [70, 128, 150])
@pytest.mark.parametrize("text", [TURNED, HEADS])
def test_products_of_panels_keep_the_definition(text, keys, isa):
    shapes = {"q": (9, 7), "k": (keys, 7)} if text == TURNED else {"q": (4, 5, 7), "k": (2, keys, 7)}
    program = sized(read(text), {}, shapes)
    arrays = inputs_of(program, Random(keys))
    forms = dict(program_forms(program, isa, 2))
    assert shape_of(forms["pack columns"]) != shape_of(forms["jam vectors"])
    wanted = evaluate(program, arrays)["y"]
    for form in ("pack columns", "jam rows", "vectors", "place barriers"):
        np.testing.assert_array_equal(interpreted(program, forms[form], arrays)["y"], wanted, err_msg=form)


def test_blocks_of_attention_read_whole_panels():
    text = lines(after("pack columns", ATTENTION, q=(2, 8, 16), k=(2, 320, 16), v=(2, 320, 16)))
    assert "k_columns[2, 5, 16, 64] in global memory" in text
    assert any("k_columns[h, (j_begin + j) / 64, c, lane + 48]" in line for line in text)
