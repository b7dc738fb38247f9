"""The pass that sums columns row by row."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cpu.codegen.program.names import with_c_names
from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F
from tests.support.programs.programs import inputs_of, interpreted, lines
from tiling.loops.language import Alloc, For
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

COLUMNS = "y[j] = sum[i] x[i,j]"


def forms_of(text, threads=1, isa=AVX2, **shapes):
    return dict(program_forms(sized(read(text), {}, shapes), isa, threads))


def summed_at_once(forms):
    """How many columns are summed at once; 0 where the pass leaves them as they are."""
    own = [s.buffer for s in walk(forms["sum rows"].body) if isinstance(s, Alloc) and s.buffer.memory == "own"]
    return own[0].shape[0] if forms["sum rows"] != forms["spread reads"] else 0


@pytest.mark.parametrize(
    "text, shape, threads, columns",
    [
        (COLUMNS, (64, 1024), 1, 1024),
        (COLUMNS, (512, 768), 1, 768),
        (COLUMNS, (512, 768), 2, 0),  # halves of rows are short
        (COLUMNS, (64, 2048), 2, 0),
        (COLUMNS, (64, 4096), 2, 2048),
        (COLUMNS, (64, 4096), 3, 0),  # no even shares
        (COLUMNS, (64, 8192), 1, 4096),  # more sums than L1 holds
        (COLUMNS, (16, 4096), 1, 0),  # few rows
        (COLUMNS, (32, 256), 1, 0),  # which L1 holds
        (COLUMNS, (4096, 64), 1, 0),  # short rows
        (COLUMNS, (2048, 128), 1, 128),
        ("y[n,j] = mean[h,w] x[n,h,w,j]", (6, 7, 7, 768), 3, 768),
        ("y[i,k] = sum[j] x[i,j,k]", (2, 64, 1000), 2, 1000),
        ("y[i,k] = sum[j] x[j,i,k]", (64, 2, 2048), 2, 2048),
        ("y[i,k] = sum[j] x[j,i,k]", (64, 2, 1000), 2, 0),  # rows that lie apart, and are short
        ("y[j] = max[i] x[i,j] * x[i,j]", (64, 1024), 1, 1024),
        ("x: bf16; " + COLUMNS, (64, 1024), 1, 0),
        ("x: bf16; " + COLUMNS, (64, 2048), 1, 2048),
        ("y[j] = sum[i] x[i,j] * i", (64, 1024), 1, 0),
        ("y[j] = sum[i] x[i//2,j]", (64, 1024), 1, 0),
        ("y[j] = sum[i] x[i,j] * x[0,j]", (64, 1024), 1, 0),
        ("y[k,j] = sum[i] x[i,j]", (64, 1024), 1, 0),  # read again for each k
        ("y[j] = prod[i] x[i,j]", (64, 1024), 1, 0),
        ("y[j] = sum[i] x[j,i]", (1024, 64), 1, 0),
    ],
)
def test_long_columns_are_summed_by_rows(text, shape, threads, columns):
    extents = {"k": 3} if "y[k" in text else {}
    extents |= {"i": 64} if "//" in text or "* i" in text else {}
    program = sized(read(text), extents, {"x": shape})
    assert summed_at_once(dict(program_forms(program, AVX2, threads))) == columns


def test_long_vectors_read_long_runs_as_they_are():
    assert "sum rows" not in forms_of(COLUMNS, isa=AVX512F, x=(64, 1024))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["sum rows", "split lanes", "the last"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "text, shape",
    [
        (COLUMNS, (27, 4096)),
        ("y[j] = mean[h,w] x[h,w,j]", (5, 5, 4096)),
        ("y[n,j] = max[i] x[n,i,j] + 1", (2, 25, 1001)),
        ("x: s32; y[j] = sum[i] x[i,j]", (25, 4096)),
        # Dims whose names the pass would give to its own loops.
        ("y[h_w_walked,j] = sum[h,w] x[h_w_walked,h,w,j]", (2, 5, 5, 4096)),
        ("y[j_part,j] = sum[i] x[j_part,i,j]", (2, 25, 4096)),
    ],
)
def test_sums_by_rows_keep_every_bit(text, shape, threads, form):
    program = with_c_names(sized(read(text), {}, {"x": shape}))
    arrays = inputs_of(program, Random(threads))
    if "s32" not in text:  # sums that are rounded: the order of the terms shows
        arrays["x"] = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    forms = dict(program_forms(program, AVX2, threads))
    (output,) = program.outputs
    assert forms["sum rows"] != forms["spread reads"]
    wanted = interpreted(program, forms["spread reads"], arrays)[output]
    kernel = forms[list(forms)[-1] if form == "the last" else form]
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)[output], wanted)
    np.testing.assert_allclose(wanted, evaluate(program, arrays)[output], rtol=1e-4, atol=1e-4)


def test_nested_loops_are_walked_as_one():
    text = lines(forms_of("y[j] = mean[h,w] x[h,w,j]", x=(7, 7, 1024))["sum rows"])
    assert "for h_w_walked in 0..48 by 4:" in text
    assert "acc_y[j] += x[6, 6, j]" in text  # one row is left


def test_a_part_of_a_row_becomes_vectors():
    """Both its sums and what is made of them."""
    text = lines(forms_of("y[j] = sum[i] x[i,j] * 2", threads=2, x=(64, 4096))["vectors"])
    assert any(line.startswith("store(p: y + [j_part + j]") for line in text)
    assert not any("each" in line or "first" in line for line in text)


def test_a_row_of_sums_is_no_sum_over_rows():
    """One row that is left over, inside a loop over images: its sums have a place for each column."""
    forms = forms_of("y[n,j] = sum[i] x[n,i,j]", x=(3, 25, 1024))
    loops = [s.name for s in walk(forms["split lanes"].body) if isinstance(s, For) and s.kind == "vector"]
    assert loops and not any("across" in line for line in lines(forms["split lanes"]))
