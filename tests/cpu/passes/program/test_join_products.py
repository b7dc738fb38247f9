"""The pass that multiplies each part of a row as soon as it is computed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cpu.codegen.program.names import with_c_names
from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F
from tests.support.programs.programs import ATTENTION, inputs_of, interpreted, lines
from tiling.program.infer import sized
from tiling.program.read import read

ROW = "e[j] = max(x[j], 1) * x[j] - 1; y[c] = sum[j] e[j] * v[j,c]"


def forms_of(text, isa=AVX2, **shapes):
    return dict(program_forms(sized(read(text), {}, shapes), isa, 1))


def joined(forms):
    """The loops over steps that stand behind a part of a row."""
    return [line for line in lines(forms["join products"]) if line.startswith("for j_now in")]


def test_attention_of_one_query_takes_exponentials_beside_its_values():
    shapes = {"q": (2, 1, 64), "k": (2, 512, 64), "v": (2, 512, 64)}
    assert joined(forms_of(ATTENTION, **shapes)) == ["for j_now in j..(j + 32), 8 together:"]
    assert "join products" not in forms_of(ATTENTION, AVX512F, **shapes)  # of which nothing was measured


def test_products_of_several_queries_go_over_a_row_more_than_once():
    assert not joined(forms_of(ATTENTION, q=(2, 6, 64), k=(2, 512, 64), v=(2, 512, 64)))


@pytest.mark.parametrize(
    "text, points, columns, wanted",
    [
        (ROW, 64, 64, "for j_now in j..(j + 8), 8 together:"),
        (ROW, 64, 8, "for j_now in j..(j + 8):"),  # one vector
        (ROW, 64, 72, None),  # two runs of columns
        (ROW, 64, 128, None),
        (ROW, 60, 64, None),  # the last part is no whole vector
        (ROW, 4, 64, None),
        ("e[j] = max(x[j], 1) * x[j] - 1; y[c] = sum[j] e[63-j] * v[j,c]", 64, 64, None),  # from the other end
        ("e[j] = max(x[j], 1) * x[j] - 1; y[c] = sum[j] e[j] * e[j//2] * v[j,c]", 64, 64, None),  # another place too
        ("e[j] = max(x[j], 1) * x[j] - 1; y[c] = max[j] e[j] * v[j,c]", 64, 64, None),  # no sum of products
        ("e[j] = max(x[j], 1) * x[j] - 1; s[] = sum[j] e[j]; y[c] = sum[j] (e[j] * s[]) * v[j,c]", 64, 64, None),
        ("e[c] = max(x[c], 1) * x[c] - 1; y[c] = sum[j] e[j] * v[j,c]", 64, 64, "for j_now in j..(j + 8), 8 together:"),
    ],
)
def test_a_row_and_its_product_are_joined_where_each_part_is_read_once(text, points, columns, wanted):
    program = sized(read(text), {}, {"x": (points,), "v": (points, columns)})
    forms = dict(program_forms(program, AVX2, 1))
    assert joined(forms) == [wanted] * (wanted is not None)
    given = inputs_of(program, Random(1))
    expected = evaluate(program, given)["y"]
    for name, kernel in forms.items():
        np.testing.assert_array_equal(interpreted(program, kernel, given)["y"], expected, err_msg=f"after {name}")


def test_the_loop_over_steps_has_a_name_that_no_dim_has():
    text = ROW.replace("y[", "u[") + "; y[j_now] = u[0] + z[j_now]"
    program = with_c_names(sized(read(text), {}, {"x": (64,), "v": (64, 64), "z": (64,)}))
    forms = dict(program_forms(program, AVX2, 1))
    assert len(joined(forms)) == 1 and any(line.startswith("for j_now_ in") for line in lines(forms["join products"]))
    given = inputs_of(program, Random(1))
    found = interpreted(program, forms["join products"], given)["y"]
    np.testing.assert_array_equal(found, evaluate(program, given)["y"])
