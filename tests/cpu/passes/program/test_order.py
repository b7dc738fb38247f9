"""The passes of programs: each keeps what the loops compute, and does what its docstring shows."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cpu.passes.program.bind_tasks as bind_tasks
import cpu.passes.program.lanes.claim_lines as claim_lines
import cpu.passes.program.repeat_steps as repeat_steps
import cpu.passes.program.rows.long_rows as long_rows
import cpu.passes.program.rows.sum_rows as sum_rows
from cpu.passes.forms import program_forms
from cpu.passes.order import DIVIDE, PLACE_BARRIERS, PROGRAM
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.passes import check, check_runtime
from tests.support.programs.programs import (
    ATTENTION,
    PRODUCTS,
    SOFTMAX,
    after,
    inputs_of,
    interpreted,
    lines,
    random_program_for_passes,
    with_runtime_extents,
)
from tests.support.sampled import examples
from tiling.loops.language import Alloc, For
from tiling.loops.passes import names
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read


@pytest.mark.slow
@examples(60)
@given(st.integers(0, 2**32))
def test_every_pass_keeps_the_definition(seed):
    with pytest.MonkeyPatch.context() as patch:
        check(seed, patch)


@pytest.mark.slow
@examples(60)
@given(st.integers(0, 2**32))
def test_every_pass_keeps_runtime_extents(seed):
    with pytest.MonkeyPatch.context() as patch:
        check_runtime(seed, patch)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", [False, True])
def test_random_programs_need_every_pass(runtime, monkeypatch):
    """What these tests draw, up to the program with which each pass has changed one."""
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    monkeypatch.setattr(claim_lines, "LEAST", 1)
    monkeypatch.setattr(long_rows, "LEAST", 1)
    monkeypatch.setattr(long_rows, "AHEAD", 0)
    monkeypatch.setattr(sum_rows, "LEAST", 1)
    monkeypatch.setattr(sum_rows, "LEAST_ROWS", 2)
    monkeypatch.setattr(sum_rows, "LEAST_ROW", 4)
    monkeypatch.setattr(sum_rows, "LEAST_PART", 32)
    monkeypatch.setattr(repeat_steps, "STEPS", 2)
    monkeypatch.setattr(repeat_steps, "LEAST_PRODUCTS", 1)
    apart = {"pack columns", "interleave rows", "spread reads", "store columns", "braid rows", DIVIDE}  # seldom
    missing = set(names(PROGRAM)[1:]) - apart
    for seed in range(1000):
        random = Random(seed)
        program = random_program_for_passes(random)
        program = with_runtime_extents(program, random) if runtime and random.random() < 0.5 else program
        forms = program_forms(program, random.choice((PORTABLE, AVX2, AVX512F)), random.randint(1, 3))
        missing -= {name for (_, before), (name, kernel) in pairwise(forms) if kernel != before}
        if not missing:
            return
    raise AssertionError(f"no program needs {', '.join(sorted(missing))}")


def test_the_passes_have_names_and_an_order():
    program = sized(read("y[i] = x[i]"), {}, {"x": (3,)})
    assert tuple(name for name, _ in program_forms(program, AVX2, 1)) == names(PROGRAM)  # which takes all


def test_a_row_that_two_loops_walk_is_walked_once():
    shared = after("share loops", SOFTMAX, x=(4, 100))
    loops = [s for s in walk(shared.body) if isinstance(s, For)]
    assert [loop.name for loop in loops] == ["i", "j", "j", "j"]  # four before: exponentials and their sum are one
    assert "acc_d[0] = acc_d[0] + e_here" in lines(shared) or "acc_d[0] += e_here" in lines(shared)


def test_lanes_walk_what_lies_side_by_side():
    split = after("split lanes", "y[i,j] = x[j,i] + 1", x=(64, 64))
    assert "y[i, j + lane] = x[j + lane, i] + 1" in lines(split)
    split = after("split lanes", "y[i] = sum[j] x[i,j]", x=(64, 4))
    assert any(line.startswith("for i in 0..64 by 16") for line in lines(split))  # few points to sum: rows as lanes


def test_a_tail_stands_behind_its_loop():
    text = lines(after("vectors", "y[i] = sum[j] x[i,j]", x=(2, 100)))
    assert "for j in 0..96 by 16:" in text and not any("if " in line for line in text)
    assert any("load_tail(p: x + [i, 96], lanes: 4)" in line for line in text)
    # The lanes of the sum that the tail does not use keep what they have.
    assert any(line.startswith("acc_y_lanes[lane] = where(first_lanes(4), ") for line in text)


def test_a_tail_without_a_whole_vector_leaves_no_loop():
    """The loop computes two vectors of 36 columns at once, and four columns are left."""
    text = lines(after("peel tails", "y[i,j] = sum[k] x[k,i,j]", x=(3, 2, 36)))
    assert [line for line in text if line.startswith("for j")] == ["for j in 0..32 by 32:"]
    assert "y[i, lane + 32] = acc_y[lane]" in text


@pytest.mark.parametrize("rows, threads, workers", [(100, 4, 4), (3, 2, 2), (1, 3, 3), (1, 1, 1)])
def test_every_worker_gets_about_as_much(rows, threads, workers):
    bound = after("bind tasks", "y[i,j] = x[i,j] * 2", threads, x=(rows, 120_000))
    (loop,) = bound.body
    found = loop.stop.offset if isinstance(loop, For) and loop.kind == "core" else 1
    assert found == workers


def test_few_points_stay_on_one_core():
    assert all(s.kind != "core" for s in after("vectors", SOFTMAX, 8, x=(4, 100)).body if isinstance(s, For))


def test_rows_lie_on_the_stack_where_they_are_short():
    for columns, memory in ((16_384, "stack"), (16_400, "own")):
        placed = after("place rows", SOFTMAX, x=(4, columns))
        assert {s.buffer.memory for s in walk(placed.body) if isinstance(s, Alloc)} == {memory, "registers"}


def test_many_rows_do_not_fill_the_stack():
    names = [f"e{number}" for number in range(9)]
    text = "; ".join(f"{name}[i,j] = exp(x[i,j] + {number})" for number, name in enumerate(names))
    text += "; m[i] = max[j] " + " + ".join(f"{name}[i,j]" for name in names)
    text += "; y[i,j] = m[i] + " + " + ".join(f"{name}[i,j]" for name in names)
    placed = after("place rows", text, x=(4, 16_000))
    memory = [s.buffer.memory for s in walk(placed.body) if isinstance(s, Alloc)]
    assert memory.count("stack") == 4 and memory.count("own") == 5


def test_a_guarded_vector_that_lies_inside_is_loaded_at_once():
    text = lines(after("vectors", "y[i] = x[i-1] else 2", x=(99,), i=100))
    at = text.index("if i - 1 >= 0:")
    assert text[at + 1].endswith("= load(x + [i - 1])") and text[at + 3] == "else:"
    assert text[at + 4] == "for each in 0..16:" and text[at + 5] == "if i + each - 1 >= 0:"


def test_an_index_that_is_read_is_tested_before_it_is_used():
    text = lines(after("vectors", "t: s32; y[i,j] = x[t[i],j]", t=(40,), x=(5, 40)))
    at = next(number for number, line in enumerate(text) if line.startswith("if 0 <= at_0 < 5"))
    assert "x + [at_0, j]" in text[at + 1] and "outside" in text[at + 3]


def test_columns_are_read_in_blocks():
    text = lines(after("vectors", "y[j,i] = x[i,j] + 1", x=(37, 40)))
    at = text.index("transposed(to: x_columns_0, p: x + [i, j_block], apart: 40)")
    assert text[at - 3 : at] == ["for j_block in 0..32 by 16:", "for i in 0..32 by 16:", text[at - 1]]
    assert text[at + 1] == "for j in j_block..(j_block + 16):" and "for j in 32..40:" in text


@pytest.mark.parametrize("rows, columns", [(1024, 1024), (50_000, 20)])
def test_cores_share_blocks_of_columns(rows, columns):
    bound = after("bind tasks", "y[j,i] = x[i,j] + 1", 4, x=(rows, columns))
    assert all(isinstance(s, For) and s.kind == "core" and s.stop.offset == 4 for s in bound.body)


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", ["y[j,i] = x[i,j]", "y[j,k,i] = x[i,j,k+1] * 2", "y[i,j] = x[i,j] - z[j,i]"])
@pytest.mark.parametrize("isa", [PORTABLE, AVX2])
def test_blocks_of_columns_keep_the_definition(text, isa):
    shapes = {"x": (34, 37) if "k" not in text else (34, 3, 12), "z": (37, 34)}
    shapes = {name: shape for name, shape in shapes.items() if name in text}
    program = sized(read(text), {"k": 11} if "k" in text else {}, shapes)
    arrays = inputs_of(program, Random(1))
    forms = dict(program_forms(program, isa, 1))
    assert forms["transpose reads"] != forms["split lanes"]
    for kernel in forms.values():
        np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], evaluate(program, arrays)["y"])


@pytest.mark.parametrize(
    "text, shape, extents, braids",
    [
        ("y[n,h,w,c] = x[n,c,h,w]", (2, 3, 4, 32), {}, True),
        ("y[h,w,c] = x[c,h,w]", (3, 2, 37), {}, True),  # its last block begins earlier
        ("y[h,w,c] = x[c,h,w+1]", (2, 2, 18), {"w": 17}, True),
        ("y[h,w,c] = x[c,h,w]", (3, 2, 15), {}, False),  # no whole vector
        ("y[h,w,c] = x[c,h,w]", (9, 2, 20), {}, False),  # too many rows
        ("y[w,c] = x[c,w] + 1", (3, 32), {}, False),
        ("y[w,c] = x[c,2*w]", (3, 64), {"w": 32}, False),
        ("x: s32; y[w,c] = x[c,w]", (3, 32), {}, False),
    ],
)
def test_a_few_rows_are_stored_side_by_side(text, shape, extents, braids):
    program = sized(read(text), extents, {"x": shape})
    arrays = inputs_of(program, Random(6))
    forms = dict(program_forms(program, AVX512F, 1))
    assert (forms["braid rows"] != forms["store columns"]) == braids
    np.testing.assert_array_equal(
        interpreted(program, forms["braid rows"], arrays)["y"], evaluate(program, arrays)["y"]
    )


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["lower", "split lanes", "jam vectors", "jam rows", "vectors"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_keep_the_definition(name, form):
    text, shapes = PRODUCTS[name]
    program = sized(read(text), {"h": 5, "w": 9} if name == "convolution" else {}, shapes)
    arrays = inputs_of(program, Random(2))
    (output,) = program.outputs
    wanted = evaluate(program, arrays)[output]
    forms = dict(program_forms(program, PORTABLE, 2))
    np.testing.assert_array_equal(interpreted(program, forms[form], arrays)[output], wanted)


def test_products_share_what_they_load():
    text = lines(after("vectors", "y[i,j] = sum[k] x[i,k] * w[k,j]", x=(64, 32), w=(32, 64)))
    sums = [line for line in text if line.endswith("] in registers") and line.startswith("acc_y")]
    # Four vectors of four rows.
    assert len(sums) == 16 and "for i in 0..64 by 4:" in text and "for j in 0..64 by 64:" in text


@pytest.mark.parametrize("rows, columns, isa, step", [(8, 128, AVX512F, 4), (6, 128, AVX512F, 2), (7, 128, AVX512F, 1)])
def test_short_rows_go_in_step(rows, columns, isa, step):
    program = sized(read(SOFTMAX), {}, {"x": (rows, columns)})
    arrays = inputs_of(program, Random(3))
    changed = dict(program_forms(program, isa, 1))
    before, kernel = changed["jam rows"], changed["interleave rows"]
    (loop,) = (s for s in walk(kernel.body) if isinstance(s, For) and s.name == "i")
    assert loop.step == step and (kernel == before) == (step == 1)
    y, wanted = (interpreted(program, form, arrays)["y"] for form in (kernel, before))
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_allclose(y, evaluate(program, arrays)["y"], rtol=1e-5)


IN_STEP = {
    "several reductions": (
        "m[i] = max[j] x[i,j]; v[i] = sum[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); y[i,j] = (x[i,j] - m[i]) * g[j] + v[i]",
        {"x": (8, 32), "g": (32,)},
    ),
    "rows by an index that is read": (
        "t: s32; m[i] = max[j] x[t[i],j]; y[i,j] = x[t[i],j] - m[i]",
        {"x": (9, 32), "t": (8,)},
    ),
    "loops that end under a mask": (
        "m[i] = max[j] x[i,j]; s[i,j] = x[i,j] - m[i]; y[i] = sum[j] where(j <= i, s[i,j] * s[i,j], 0)",
        {"x": (8, 32)},
    ),
    "rows of a batch": ("m[n,i] = max[j] x[n,i,j]; y[n,i,j] = x[n,i,j] - m[n,i]", {"x": (3, 6, 16)}),
}


@pytest.mark.parametrize("name", IN_STEP)
def test_rows_in_step_keep_the_definition(name):
    text, shapes = IN_STEP[name]
    program = sized(read(text), {}, shapes)
    arrays = inputs_of(program, Random(1))
    forms = dict(program_forms(program, AVX512F, 1))
    assert forms["interleave rows"] != forms["jam rows"]
    for form in ("jam rows", "interleave rows", "bound loops", PLACE_BARRIERS):
        found = interpreted(program, forms[form], arrays)["y"]
        np.testing.assert_array_equal(found, evaluate(program, arrays)["y"], err_msg=form)


@pytest.mark.parametrize("isa", [AVX512F, AVX2])
@pytest.mark.parametrize("columns, together", [(128, True), (1000, False)])
def test_long_rows_stay_apart_and_few_registers_keep_none_apart(columns, together, isa):
    program = sized(read(SOFTMAX), {}, {"x": (8, columns)})
    changed = dict(program_forms(program, isa, 1))
    assert (changed["interleave rows"] != changed["jam rows"]) == together


LAYER_NORM = (
    "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i])"
)


@pytest.mark.parametrize(
    "text, rows, columns, together",
    [
        (LAYER_NORM, 8, 768, True),
        (LAYER_NORM, 8, 3136, False),  # too long a row
        (LAYER_NORM, 8192, 768, False),  # more than a cache holds
        ("v[i] = mean[j] x[i,j]; y[i,j] = x[i,j] * v[i]", 8, 1024, False),  # which waits once
    ],
)
def test_sums_that_wait_for_each_other_take_longer_rows_in_step(text, rows, columns, together):
    forms = dict(program_forms(sized(read(text), {}, {"x": (rows, columns)}), AVX512F, 1))
    assert (forms["interleave rows"] != forms["jam rows"]) == together


def test_attention_keeps_rows_and_turns_its_keys():
    text = lines(after("place rows", ATTENTION, q=(2, 64, 64), k=(2, 64, 64), v=(2, 64, 64)))
    assert "k_columns[2, 64, 64] in global memory" in text
    rows = [line for line in text if "in memory of the function" in line]
    # Rows of s and e for four queries, and the block that transposes keys. All else is in registers.
    assert [line.split()[0] for line in rows[1:]] == [f"{a}{q}[64]" for a in "se" for q in ("", "_i1", "_i2", "_i3")]


def test_an_operand_that_is_read_seldom_stays():
    text = lines(after("lower", "y[i,j] = sum[k] x[i,k] * w[j,k]", x=(3, 32), w=(64, 32)))
    assert not any("columns" in line for line in text)
