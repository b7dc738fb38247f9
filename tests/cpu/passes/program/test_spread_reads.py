"""The pass that swaps loops around a copy whose reads would share a set of the first cache."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX512F
from tests.support.programs.programs import after, inputs_of, interpreted
from tiling.loops.language import For
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

HEADS = "y[i,h,c] = x[h,i,c]"


def loops(text, **shapes):
    return "".join(s.name for s in walk(after("spread reads", text, **shapes).body) if isinstance(s, For))


@pytest.mark.parametrize(
    "text, shape, wanted",
    [
        (HEADS, (12, 128, 64), "hic"),
        (HEADS, (12, 16, 64), "hic"),
        ("y[i,h,c] = relu(x[h,i,c]) + 1", (12, 128, 64), "hic"),
        ("y[n,i,h,c] = x[n,h,i,c]", (8, 12, 128, 64), "nhic"),
        (HEADS, (12, 128, 65), "ihc"),  # no whole pages apart
        (HEADS, (12, 8, 64), "ihc"),  # half a page apart
        (HEADS, (16, 128, 64), "ihc"),  # then the stores would go from page to page
        ("y[i,h,c] = x[h,i,c] + x[h,i,0]", (12, 128, 64), "ihc"),  # two reads
        ("y[i,h,c] = x[i,h,c]", (128, 12, 64), "ihc"),
        ("y[i,h,c] = x[h,c,i]", (12, 64, 128), "ihc"),  # columns, which other passes read
    ],
)
def test_copies_do_not_read_from_page_to_page(text, shape, wanted):
    assert loops(text, x=shape) == wanted


def test_elements_of_another_width_count_as_bytes():
    assert loops("x: f64; " + HEADS, x=(12, 8, 64)) == "hic"
    assert loops("x: bf16; " + HEADS, x=(12, 8, 64)) == "ihc"


def test_a_runtime_extent_keeps_its_loops():
    program = sized(read(HEADS), {"h": "<=12", "i": 128, "c": 64})
    kernel = dict(program_forms(program, AVX512F, 1))["spread reads"]
    assert "".join(s.name for s in walk(kernel.body) if isinstance(s, For)) == "ihc"


@pytest.mark.parametrize("threads", [1, 2])
def test_the_copy_is_the_same(threads):
    program = sized(read(HEADS), {}, {"x": (3, 16, 64)})
    arrays = inputs_of(program, Random(threads))
    kernel = after("spread reads", HEADS, threads, x=(3, 16, 64))
    assert loops(HEADS, x=(3, 16, 64)) == "hic"
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], evaluate(program, arrays)["y"])
