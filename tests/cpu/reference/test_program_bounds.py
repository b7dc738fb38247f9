"""Bounds of the errors of programs: no rounding leads out of them, and what is wrong does."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.reference.program_bounds import UnboundedError, bounds, roundings
from cpu.reference.programs import evaluate
from tiling.program.infer import sized
from tiling.program.read import read

SIZES = {"i": 40, "j": 300}


def program(text: str):
    names = set(read(text).dims)
    return sized(read(text), {dim: size for dim, size in SIZES.items() if dim in names})


def rounded_at_every_step(found: np.ndarray) -> np.ndarray:
    """A sum over the last axis in f32, one number after the other."""
    total = np.zeros(found.shape[:-1], np.float32)
    for column in np.moveaxis(found.astype(np.float32), -1, 0):
        total = total + column
    return total


@pytest.mark.parametrize("spread", [1.0, 1e4])
def test_a_sum_of_products_lies_within_its_bound_in_any_order(spread):
    rng = np.random.default_rng(0)
    x, w = ((rng.standard_normal(shape) * spread).astype(np.float32) for shape in ((40, 300), 300))
    given = {"x": x, "w": w}
    one = program("y[i] = sum[j] x[i,j] * w[j]")
    wanted, most = evaluate(one, given)["y"], bounds(one, given)["y"]
    for order in (slice(None), slice(None, None, -1), rng.permutation(300)):
        apart = np.abs(rounded_at_every_step((x * w)[:, order]) - wanted)
        assert apart.max() > 0 and (apart <= most).all()
    without_one = rounded_at_every_step((x * w)[:, 1:])
    assert (np.abs(without_one - wanted) > most).any()


@pytest.mark.parametrize(
    "text, count",
    [
        ("y[i] = x[i]", 0),
        ("y[i] = max(x[i], relu(z[i]))", 0),
        ("y[i] = x[i] + z[i]", 1),
        ("y[i] = x[i - 1] else 0.1", 1),
        ("y[i] = x[i] * z[i] - x[i]", 2),
        ("y[i] = sum[j] x[i,j] * z[j]", 301),
        ("m[i] = mean[j] x[i,j]; y[i,j] = x[i,j] - m[i]", 303),
        ("y[i] = x[i] / 4", 3),
        ("x: s32; y: s64; y[i] = sum[j] x[i,j] * 3", 0),
        ("x: u8; y[i] = max[j] x[i,j]", 0),
        ("y[i] = where(i % 2 == 0, x[i], -z[i])", 0),
        ("y[i] = where(i % 2 == 0 and not 3 < i, x[i], -z[i])", 0),
        ("t: s8; y[i] = where(t[i] * 2 < i, x[i], -z[i])", 0),
        ("y: bf16; y[i] = x[i]", 131072),
    ],
)
def test_terms_are_rounded_so_often(text, count):
    assert roundings(program(text))["y"] == count


@pytest.mark.parametrize(
    "text, why",
    [
        ("y[i] = exp(x[i])", "exp has no bound"),
        ("y[i] = x[i] / z[i]", "div has no bound"),
        ("y[i] = where(x[i] > 0, x[i], z[i])", "only if positions and whole numbers decide"),
        ("y[i] = where(i * 0.01 < 0.1, x[i], z[i])", "only if positions and whole numbers decide"),
        ("x: f64; y[i] = x[i] + 1", "y is f64, and bounds are known of f32 or bf16"),
        ("x: s32; y[i] = max(x[i] * 3, 5)", "whole numbers in between may wrap around"),
        ("x: u64; y: bool; y[i] = -1 < x[i]", "whole numbers in between may wrap around"),
    ],
)
def test_what_has_no_bound_says_why(text, why):
    with pytest.raises(UnboundedError, match=why):
        roundings(program(text))


def test_numbers_of_bf16_may_be_rounded_to_either_neighbour():
    middle, little = 1 + 2.0**-8, 0.75 * 2.0**-24  # in f32 middle + little is middle
    given = {"x": np.full(40, middle, np.float32), "z": np.full(40, little, np.float32)}
    one = program("t: bf16; t[i] = x[i] + z[i] + z[i]; y[i] = t[i] + 0")
    wanted, most = evaluate(one, given)["y"], bounds(one, given)["y"]
    below = np.float32(1)
    assert (wanted > below).all() and (wanted - below <= most).all()


def test_numbers_that_f32_cannot_hold_have_no_bound():
    with pytest.raises(UnboundedError, match="too large for f32"):
        bounds(program("y[i] = x[i] * x[i]"), {"x": np.full(40, 1e30, np.float32)})
