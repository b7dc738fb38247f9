"""A program at one point of the first axis of its arrays, where its points are apart."""

import numpy as np
import pytest

from cpu.reference.programs import evaluate
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.program.rewrite.first_axis import at_one_point

SHAPES = {"x": (4, 3), "b": (3,), "t": (4,), "z": (4, 4)}
APART = {
    "a map": ("y[n,c] = max(x[n,c] + b[c], 0)", {"x", "y"}),
    "two statements": ("m[i] = max[c] x[i,c]; y[n,c] = x[n,c] - m[n]", {"x", "m", "y"}),
    "a gather": ("t: s64; y[n,c] = x[n,c] * b[t[n] % 3]", {"x", "t", "y"}),
    "a declared shape": ("x: f32[4,3]; y[n,c] = 2 * x[n,c]", {"x", "y"}),
    "an array read whole": ("y[n,c] = b[c] + z[0,0] + x[n,c]", {"x", "y"}),
}
NOT_APART = {
    "a sum over points": "y[c] = sum[n] x[n,c]",
    "a neighbour": "y[n,c] = x[n,c] + (x[n-1,c] else 0)",
    "a diagonal": "y[n] = z[n,n]",
    "its number": "y[n,c] = x[n,c] * n",
    "two points": "y[n,c] = x[n,c] + x[0,c]",
    "an axis in another place": "y[c,n] = x[n,c]",
    "one dim in two places": "a[n] = z[n,0]; y[i,n] = z[i,n] + a[i]",
}


def given(text):
    program = read(text)
    return sized(program, {}, {name: SHAPES[name] for name in program.inputs})


@pytest.mark.parametrize("name", APART)
def test_each_point_by_itself_gives_the_same(name):
    text, split = APART[name]
    whole = given(text)
    one, names = at_one_point(whole, 4)
    assert names == split
    random = np.random.default_rng(0)
    arrays = {array.name: random.integers(-3, 4, array.shape).astype(np.float32) for array in whole.inputs}
    arrays = {name: x.astype(np.int64) if name == "t" else x for name, x in arrays.items()}
    expected = evaluate(whole, arrays)["y"]
    for point in range(4):
        parts = {name: x[point : point + 1] if name in split else x for name, x in arrays.items()}
        np.testing.assert_array_equal(evaluate(one, parts)["y"], expected[point : point + 1])


@pytest.mark.parametrize("name", NOT_APART)
def test_points_that_depend_on_one_another_stay_together(name):
    whole = given(NOT_APART[name])
    assert at_one_point(whole, whole.assigned[-1].shape[0]) is None


def test_another_number_of_points_is_no_such_axis():
    assert at_one_point(given(APART["a map"][0]), 3) is None
