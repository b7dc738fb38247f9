"""Operands that no scheme reads become arrays that one does."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.reference.programs import evaluate
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.program.rewrite.anchored import Anchored, anchored
from tiling.program.rewrite.lay_out_operands import laid_out

EXTENTS = {"i": 20, "j": 32, "k": 8}


def program_of(text, extents=None, **options):
    given = extents or EXTENTS
    return sized(read(text), {dim: given[dim] for dim in read(text).dims if dim in given}, **options)


def texts(text, **options):
    return [str(found.program) for found in laid_out(program_of(text, **options), "y")]


def test_one_operand_or_both():
    text = "y[i,j] = sum[k] x[i+5,k] * exp(w[7-k,j])"
    first, second, both = texts(text)
    assert first == str(read("x_laid[i,k] = x[i+5,k]; y[i,j] = sum[k] x_laid[i,k] * exp(w[7-k,j])"))
    assert second == str(read("y_laid[j,k] = exp(w[7-k,j]); y[i,j] = sum[k] x[i+5,k] * y_laid[j,k]"))
    assert both.startswith("x_laid") and "y_laid[j,k] = exp" in both


@pytest.mark.parametrize(
    "text",
    [
        "y[i,j] = max[k] x[i,k] * w[k,j]",
        "y[i,j] = sum[k] x[i,k] + w[k,j]",
        "y[i,j] = sum[k] exp(x[i,j]) * exp(w[i,j])",
    ],
)
def test_what_is_not_laid_out(text):
    assert not texts(text)


def test_a_factor_that_is_read_seldom_stays():
    """Each x is read 4 times only, and each w often."""
    program = program_of("y[i,j] = sum[k] x[i+1,k] * w[k,j]", {"i": 64, "j": 4, "k": 8})
    assert [str(found.program)[:6] for found in laid_out(program, "y")] == ["w_laid"]


def test_a_stored_dtype_stays_and_arithmetic_has_the_computed_one():
    text = "x: bf16; w: bf16; y: f32; y[i,j] = sum[k] x[19-i,k] * (w[k,j] + 1)"
    *_, both = laid_out(program_of(text), "y")
    assert [both.array(name).dtype for name in ("x_laid", "y_laid")] == ["bf16", "f32"]


@pytest.mark.parametrize(
    "text",
    [
        "y[i,j] = sum[k] x[19-i,k] * w[2*k+1,j]",
        "y[i,j] = sum[k] relu(x[i//2,k]) * (w[k,j] - v[j])",
        "y[i,j] = sum[k] (x[i-3,k] else 1) * w[k,31-j]",
    ],
)
def test_the_program_means_the_same(text):
    program = program_of(text)
    random = np.random.default_rng(0)
    given = {array.name: random.integers(-3, 4, array.shape) for array in program.inputs}
    wanted = evaluate(program, given)["y"]
    for found in laid_out(program, "y"):
        np.testing.assert_array_equal(evaluate(found, given)["y"], wanted)


LARGE = {"i": 100, "j": 96, "k": 512}


@pytest.mark.parametrize(
    "text, before",
    [
        ("y[i,j] = sum[k] x[i,k] * w[k,j]", ""),
        ("y[i,j] = sum[k] x[99-i,k] * w[k,j]", "x_laid[i,k] = x[99-i,k]"),
        ("y[i,j] = sum[k] x[i,k] * w[511-k,j]", "w_laid[j,k] = w[511-k,j]"),
        ("y[i,j] = sum[k] relu(x[i,k]) * exp(w[j,k])", "y_laid[i,k] = relu(x[i,k]); y_laid_[j,k] = exp(w[j,k])"),
    ],
)
def test_products_of_such_operands_are_anchors(text, before):
    found = anchored(program_of(text, LARGE))
    assert isinstance(found, Anchored)
    assert str(found.before.program if found.before else "") == (str(read(before)) if before else "")


def test_products_of_other_dtypes_are_anchors_where_there_are_instructions():
    program = program_of("y[i,j] = sum[k] x[i,k] * w[k,j]", LARGE, dtype="bf16")
    assert "no instructions for products of bf16" in anchored(program)
    found = anchored(program, ("f32", "bf16"))
    assert isinstance(found, Anchored) and found.anchor.problem.dtype == "bf16"
