"""A declared dtype between statements: numbers are rounded, or wrap around, wherever the array lies or not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from cpu.kernel.anchored import AnchoredKernel
from search.flow.programs import generate_program

NUMPY = {"u8": np.uint8, "s8": np.int8, "s32": np.int32, "s64": np.int64, "bool": np.bool_}
NUMPY |= {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
FLOATS = ("f16", "bf16", "f32", "f64")
NARROW = {"u8": "s32", "s8": "s32", "f16": "f32", "bf16": "f32", "bool": "s64"}  # computed in
# a is some x + x, and y is made of 2 a: where a lies, and y of a. {n} tells these apart, which are one program.
PLACES = {
    "inlined": ("a{n}[i,j] = x[i,j] * {some} + x[i,j]; y{n}[i,j] = a{n}[i,j] * 2", lambda a: a * 2),
    "inlined, with elements outside": (
        "a{n}[i,k] = x[i,k] * {some} + x[i,k]; y{n}[i,k] = (a{n}[i,k-1] else 0) * 2",
        lambda a: np.concatenate([a[:, :1] * 0, a[:, :-1]], 1) * 2,
    ),
    "a row": (
        "a{n}[i,j] = x[i,j] * {some} + x[i,j] + x[i,0] * x[i,j] * 0; m[i] = max[j] a{n}[i,j]; "
        "y{n}[i,j] = a{n}[i,j] * 2 - m[i]",
        lambda a: a * 2 - a.max(1, keepdims=True),
    ),
    "whole": (
        "a{n}[i,j] = x[i,j] * {some} + x[i,j] + x[i,0] * x[i,j] * 0; "
        "y{n}[j,i] = a{n}[i,j] * 2 + a{n}[4-i,j] * 0 + a{n}[i,36-j] * 0",
        lambda a: a.T * 2,
    ),
}
SOME = 3  # of the first place; one more of each other


def computed(values, dtype):
    """Stored numbers as they are computed with."""
    return values.astype(NUMPY[NARROW.get(dtype, dtype)])


def stored(values, dtype):
    """Numbers as an array of a dtype holds them."""
    if dtype in ("u8", "s8") and values.dtype.kind == "f":
        values = values.astype(np.int32)
    return values != 0 if dtype == "bool" else values.astype(NUMPY[dtype])


def drawn(dtype, fraction=0):
    whole = np.random.default_rng(5).integers(0, 2 if dtype == "bool" else 100, (5, 37))
    return stored(whole + (fraction if dtype in FLOATS else 0), dtype)


def called(text, dtype, x, outputs=()):
    declared = f"x: {dtype}; {text}"
    kernel = generate_program(declared, shapes={"x": x.shape}, isa="portable", outputs=outputs)
    return kernel(x.view(np.uint16) if dtype == "bf16" else x)


def program_of_places(between):
    wide = "f64" if between in FLOATS else "s64"
    declared = [f"a{n}: {between}; y{n}: {wide}" for n in range(len(PLACES))]
    return "; ".join([*declared, *(text.format(n=n, some=SOME + n) for n, (text, _) in enumerate(PLACES.values()))])


@pytest.mark.slow
@pytest.mark.exhaustive(between=lambda dtype: dtype.rstrip("0123456789"))
@pytest.mark.parametrize("between", NUMPY)
def test_a_map_has_its_dtype(between):
    text, wide = program_of_places(between), "f64" if between in FLOATS else "s64"
    for dtype in {between, "u8", "f32"}:
        x = drawn(dtype)
        one = computed(x, dtype)
        found = called(text, dtype, x, tuple(f"y{n}" for n in range(len(PLACES))))
        for n, (place, (_, meaning)) in enumerate(PLACES.items()):
            a = stored(one * (SOME + n) + one, between)
            wanted = meaning(computed(a, between)).astype(NUMPY[wide])
            np.testing.assert_array_equal(found[f"y{n}"], wanted, err_msg=f"{place}, x: {dtype}")


@pytest.mark.parametrize("between", FLOATS)
def test_a_fraction_is_rounded_once(between):
    """A product of two numbers of 8 bits needs 16, and so on: every dtype but the widest rounds here."""
    x = drawn("f32", 0.37)
    a = stored(x * np.float32(3.3), between)
    text = f"a: {between}; y: f64; a[i,j] = x[i,j] * 3.3; y[i,j] = f64(a[i,j]) * 3"
    np.testing.assert_array_equal(called(text, "f32", x), a.astype(np.float64) * 3)
    x = drawn(between, 0.37)
    one = computed(x, between)
    a = stored(one * NUMPY[NARROW.get(between, between)](3.3), between)
    np.testing.assert_array_equal(called(text, between, x), a.astype(np.float64) * 3)


@pytest.mark.exhaustive(between=lambda dtype: dtype.rstrip("0123456789"))
@pytest.mark.parametrize("between", NUMPY)
def test_a_reduction_has_its_dtype(between):
    """Held in a register for a row: a maximum, and of whole numbers a sum, which needs more bits than most have."""
    wide = "f64" if between in FLOATS else "s64"
    for dtype, kind in ((between, "max"), ("s32", "sum"), ("u8", "sum")):
        x = drawn(dtype)
        total = x.max(1) if kind == "max" else x.astype(np.int64).sum(1) * 7
        scaled = "x[i,j]" if kind == "max" else "x[i,j] * 7"
        a = computed(stored(total, between), between)
        found = called(f"a: {between}; y: {wide}; a[i] = {kind}[j] {scaled}; y[i,j] = a[i] * 2", dtype, x)
        wanted = np.broadcast_to((a * 2)[:, None], x.shape).astype(NUMPY[wide])
        np.testing.assert_array_equal(found, wanted, err_msg=f"{kind}, x: {dtype}")


@pytest.mark.parametrize("between", NUMPY)
def test_what_is_an_output_too_is_read_as_it_is_stored(between):
    wide = "f64" if between in FLOATS else "s64"
    x = drawn(between)
    one = computed(x, between)
    a = stored(one * 3 + one, between)
    text = f"a: {between}; y: {wide}; a[i,j] = x[i,j] * 3 + x[i,j]; y[i,j] = a[i,j] * 2"
    found = called(text, between, x, ("a", "y"))
    np.testing.assert_array_equal(found["a"].view(a.dtype), a)
    np.testing.assert_array_equal(found["y"], (computed(a, between) * 2).astype(NUMPY[wide]))


@pytest.mark.slow
@pytest.mark.parametrize("between", NUMPY)
def test_a_dtype_after_an_anchor(between):
    """A product, then a map of another dtype, which is no part of its stores, and one that reads it."""
    random = np.random.default_rng(3)
    x, w = (random.integers(-3, 4, shape).astype(np.float32) for shape in ((96, 256), (256, 128)))
    wide = "f64" if between in FLOATS else "s64"
    text = f"a: {between}; z: {wide}; y[i,j] = sum[k] x[i,k] * w[k,j]; a[i,j] = y[i,j] * 5; z[i,j] = a[i,j] * 2"
    kernel = generate_program(text, shapes={"x": x.shape, "w": w.shape}, isa="portable")
    assert isinstance(kernel, AnchoredKernel)
    a = computed(stored((x @ w) * 5, between), between)
    np.testing.assert_array_equal(kernel(x, w), (a * 2).astype(NUMPY[wide]))


def test_a_number_is_computed_in_the_dtype_that_it_is_cast_to():
    """And not in that of the array that is made of it, here an f32."""
    text = "a: f64; a[i] = 0.1 * 3; y: f32; y[i] = a[i] == x[i]"
    kernel = generate_program(text, i=3, dtype="f64", isa="portable")
    np.testing.assert_array_equal(kernel(np.full(3, 0.1) * 3), np.ones(3, np.float32))


def test_what_counts_outside_has_the_dtype_of_the_array():
    text = "a: s32; y: s64; a[i] = x[i] + 1; y[i] = a[i-1] else 1.0"
    x = np.array([2**30, 2**30 + 1, 2**30 + 2], np.int32)
    kernel = generate_program(f"x: s32; {text}", shapes={"x": (3,)}, isa="portable")
    np.testing.assert_array_equal(kernel(x), [1, 2**30 + 1, 2**30 + 2])


def test_a_truth_that_does_not_hold_is_a_zero_without_a_sign():
    kernel = generate_program("y: f32; y[i] = x[i] > 0", shapes={"x": (20,)}, isa="portable")
    assert not np.signbit(kernel(np.zeros(20, np.float32))).any()
