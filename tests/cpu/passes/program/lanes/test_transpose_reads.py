"""Columns that are read in blocks: how many blocks stand side by side, and what is left."""

from random import Random

import numpy as np
import pytest

from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.programs import inputs_of, interpreted, lines
from tiling.program.infer import sized
from tiling.program.read import read


def forms_of(text, isa, **shapes):
    return dict(program_forms(sized(read(text), {}, shapes), isa, 1))


@pytest.mark.parametrize("isa, blocks", [(AVX512F, 1), (AVX2, 2), (PORTABLE, 4)])
def test_the_blocks_of_a_line_stand_side_by_side(isa, blocks):
    text = lines(forms_of("y[j,i] = x[i,j]", isa, x=(192, 64))["store columns"])
    assert text.count("for j_block in 0..64 by 16:") == 1 and len([s for s in text if "j_block in" in s]) == 1
    found = [s for s in text if s.startswith("transposed_to(")]
    at = [f"p: x + [i, {'j_block' if not n else f'j_block + {n * isa.lanes}'}]" for n in range(blocks)]
    assert len(found) == blocks and all(place in one for place, one in zip(at, found))


def test_what_is_no_line_has_blocks_of_a_vector():
    text = lines(forms_of("y[j,i] = x[i,j]", AVX2, x=(200, 43))["store columns"])
    assert [s for s in text if s.startswith("for j")][:2] == [
        "for j_block in 0..32 by 16:",
        "for j_block in 32..40 by 8:",
    ]
    assert "for j in 40..43:" in text


@pytest.mark.parametrize(
    "text, shapes, side_by_side",
    [
        ("y[j,i] = x[i,j]", {"x": (1024, 32)}, False),  # rows of y are a page apart
        ("y[j,i] = x[i,j]", {"x": (1024, 1024)}, True),  # those of x as well
        ("y[j,i] = x[i,j]", {"x": (32, 1024)}, True),
        ("y[j,i] = x[i,j]", {"x": (1040, 32)}, True),
        ("y[i,j] = x[i,j] - z[j,i]", {"x": (1024, 1024), "z": (1024, 1024)}, False),  # x and y against z
        ("y[i,j] = x[i,j] - z[j,i]", {"x": (1040, 1040), "z": (1040, 1040)}, True),
    ],
)
def test_rows_that_share_a_set_are_few(text, shapes, side_by_side):
    text = lines(forms_of(text, AVX2, **shapes)["transpose reads"])
    assert any(s.startswith("for") and s.endswith(f"by {16 if side_by_side else 8}:") and "_block" in s for s in text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", [AVX2, PORTABLE])
@pytest.mark.parametrize("shape", [(1024, 19), (9, 43), (17, 64)])
def test_the_definition_stays(isa, shape):
    program = sized(read("y[j,i] = x[i,j]"), {}, {"x": shape})
    arrays = inputs_of(program, Random(3))
    wanted = np.ascontiguousarray(arrays["x"].T)
    np.testing.assert_array_equal(evaluate(program, arrays)["y"], wanted)
    forms = dict(program_forms(program, isa, 1))
    for name in ("transpose reads", "store columns", "vectors"):
        np.testing.assert_array_equal(interpreted(program, forms[name], arrays)["y"], wanted)
