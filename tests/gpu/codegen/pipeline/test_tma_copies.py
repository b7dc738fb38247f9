"""Inputs that the copy engine cannot read where they lie: a kernel copies them first."""

from dataclasses import replace

import numpy as np
import pytest

from gpu.codegen.copies.aligned import copied_bytes, slices
from gpu.codegen.loops.copier import copier
from gpu.codegen.loops.scheme import emit_scheme
from gpu.twin.launch import Twin
from tests.support.gpu.cases import (
    check_on_twin,
    image,
    product,
    survives,
    tma_scheme,
)
from tiling.epilogue import fused

ODD = product(n=131, k=203)
ACROSS = product(m=201, n=131, k=203, transpose_a=True, transpose_b=False, dtype="bf16")


@pytest.mark.parametrize(
    ("problem", "copied", "options"),
    [
        (ODD, "ab", {"cluster": (2, 1)}),
        (ACROSS, "ab", {"cluster": (1, 2)}),
        (product(k=75, transpose_b=False, output_dtype="f32"), "a", {"cluster": (1, 2), "groups": (2, 1)}),
        (fused(product(n=132, transpose_b=False), "relu(y + b + z)"), "b", {"columns": 128, "rows": 2}),
        (product(m=71, n=73, k=99, batch=3, transpose_a=True), "ab", {"depth": 4}),
        (image(c=20), "xw", {}),
        (product(n=131, k=99, dtype="tf32"), "ab", {"cluster": (2, 1)}),
        (product(k=98, dtype="tf32", transpose_b=False), "ab", {"cluster": (1, 2)}),
        (product(n=132, k=100, dtype="tf32", transpose_b=False), "b", {"groups": (2, 1)}),
        (product(m=131, dtype="tf32", transpose_a=True), "a", {"depth": 4}),
        (product(m=71, n=73, k=99, batch=3, dtype="tf32", transpose_a=True, transpose_b=False), "ab", {}),
        (image(c=18, dtype="tf32"), "xw", {}),
    ],
    ids=str,
)
def test_inputs_whose_rows_are_not_aligned_are_copied_first(problem, copied, options):
    scheme = tma_scheme(problem, **options)
    assert "".join(copy.name for copy in emit_scheme(scheme).copied) == copied
    check_on_twin(scheme, seeds=(1, 2))


def copies_of(program, first, second):
    """What the copying kernel makes of two arrays of bits: rows, with the zeros behind them. No two loads of a warp may
    meet in a bank.
    """
    room = np.full(copied_bytes(program.copied), 0x77, np.uint8)
    run = Twin(copier(program)).launch(first, second, room)
    assert run.conflicts == 0
    return [
        run.output[place].view(first.dtype).reshape(copy.shape)
        for copy, place in zip(program.copied, slices(program.copied))
    ]


@pytest.mark.parametrize(("dtype", "k", "zeros"), [("f16", 203, 5), ("tf32", 97, 7)])
def test_a_copy_has_zeros_behind_its_rows(dtype, k, zeros):
    source = emit_scheme(tma_scheme(product(m=70, n=65, k=k, dtype=dtype)))
    element = {"f16": np.uint16, "tf32": np.uint32}[dtype]
    bits = [np.arange(1, 1 + rows * k, dtype=element).reshape(rows, k) for rows in (70, 65)]
    for found, given in zip(copies_of(source, *bits), bits):
        np.testing.assert_array_equal(found, np.pad(given, ((0, 0), (0, zeros))))


def test_words_that_lie_across_the_reduction_are_transposed():
    source = emit_scheme(tma_scheme(product(m=70, n=64, k=97, dtype="tf32", transpose_a=True, transpose_b=False)))
    bits = [np.arange(1, 1 + n * 97, dtype=np.uint32).reshape(97, n) for n in (70, 64)]
    for found, given in zip(copies_of(source, *bits), bits):
        np.testing.assert_array_equal(found, np.pad(given.T, ((0, 0), (0, 7))))


ROWS = product(m=70, n=65, k=203)
COLUMNS = product(m=70, n=65, k=99, dtype="tf32", transpose_a=True, transpose_b=False)


@pytest.mark.parametrize(
    ("problem", "old", "new"),
    [
        (ROWS, "column < 203", "column < 202"),
        (ROWS, "column < 203 ?", "1 ?"),
        (ROWS, "point % 208", "point % 200"),
        (ROWS, "203 * row", "208 * row"),
        (ROWS, "+ 14560", "+ 14559"),
        (ROWS, "block < 57", "block < 56"),
        (ROWS, "- 14592", "- 14591"),
        (ROWS, "point - 14560 < 0", "1"),
        (COLUMNS, "row < 70 &&", "1 &&"),
        (COLUMNS, "&& column < 104", "&& column < 103"),
        (COLUMNS, "column < 99 ?", "1 ?"),
        (COLUMNS, "33 * (element % 32) + element / 32", "33 * (element / 32) + element % 32"),
        (COLUMNS, "element < 1024", "element < 1023"),
        (COLUMNS, "block - 12", "block"),
        (COLUMNS, "row_first = 32 * (block / 4)", "row_first = 32 * (block / 3)"),
        (COLUMNS, "__syncthreads();", ""),
    ],
)
def test_mistakes_about_copies_are_found(problem, old, new, monkeypatch):
    source = emit_scheme(tma_scheme(problem))
    wrong = copier(source)
    assert old in wrong.text
    wrong = replace(wrong, text=wrong.text.replace(old, new))
    monkeypatch.setattr("gpu.twin.launch.copier", lambda program: wrong)
    assert not survives(source)
