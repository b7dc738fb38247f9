"""Extents, shapes and dtypes of programs; an index that may lie outside is one sentence."""

from __future__ import annotations

from itertools import product

import pytest

from tiling.dtypes.formats import FLOATS
from tiling.program.dtypes import FRACTION, WHOLE, WIDTH, promoted
from tiling.program.infer import sized
from tiling.program.language import DTYPES
from tiling.program.names import ProgramError
from tiling.program.read import read

CONV = "y[n,h,w,k] = sum[c,r,s] x[n,2*h+r-1,w+s-1,c] * w[k,c,r,s]"


def shapes(text, extents=None, given=None, **options):
    found = sized(read(text), extents or {}, given, **options)
    return {array.name: array.shape for array in (*found.inputs, *found.assigned)}


def dtypes(text, extents=None, given=None, **options):
    found = sized(read(text), extents or {}, given, **options)
    return {array.name: array.dtype for array in (*found.inputs, *found.assigned)}


@pytest.mark.parametrize(
    "text, extents, wanted",
    [
        ("y[i] = 2 * x[i]", {"i": 5}, {"x": (5,), "y": (5,)}),
        ("y[i,j] = c[99-(i*50+j)] * 6", {"i": 2, "j": 50}, {"c": (100,), "y": (2, 50)}),
        ("y[i] = a[i // 50, i % 50]", {"i": 100}, {"a": (2, 50), "y": (100,)}),
        ("y[i] = a[2 * (i // 2) + i % 2]", {"i": 7}, {"a": (7,), "y": (7,)}),  # by parts: up to 7
        ("y = sum[i,j] x[i+j]", {"i": 3, "j": 4}, {"x": (6,), "y": ()}),
        # A convolution of even extents, and one of stride 1: padded by 1 on both sides.
        (CONV, {"n": 1, "h": 28, "w": 56, "k": 8, "c": 4, "r": 3, "s": 3}, {"x": (1, 56, 56, 4), "w": (8, 4, 3, 3)}),
        ("y[i] = x[i-1] else 0", {"i": 4}, {"x": (3,)}),
        ("y[i] = max[r] x[2*i+r-1] else -inf", {"i": 4, "r": 3}, {"x": (8,)}),
        ("y[i] = x[min(i, 2)]", {"i": 9}, {"x": (3,)}),
    ],
)
def test_an_input_is_as_long_as_its_indices_reach(text, extents, wanted):
    found = shapes(text, extents)
    assert wanted.items() <= found.items()


def test_extents_come_from_shapes_and_declarations():
    softmax = "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
    assert shapes(softmax, given={"x": (4, 5)}) == {"x": (4, 5), "m": (4,), "e": (4, 5), "d": (4,), "y": (4, 5)}
    assert shapes("x: [4,n]; y[i,n] = x[i,n]", {"n": 3}) == {"x": (4, 3), "y": (4, 3)}
    assert shapes("x: [4,n]; y[i,n] = x[i,n]", given={"x": (4, 3)}) == {"x": (4, 3), "y": (4, 3)}
    # An extent that is given may leave elements unread.
    assert shapes("y[i] = x[i]", {"i": 2}, {"x": (4,)}) == {"x": (4,), "y": (2,)}
    # A longer image than the window needs keeps the padding at its beginning.
    assert shapes("y[i] = sum[r] x[i+r-1]", {"i": 3, "r": 3}, {"x": (9,)})["x"] == (9,)


def test_windows_of_sums_count_inputs_as_zero_outside():
    found = sized(read("y[i] = sum[r] x[i+r-1] * w[r]"), {"i": 5, "r": 3}).program
    assert str(found) == "y[i] = sum[r] x[i + r - 1] else 0 * w[r]"
    inside = sized(read("y[i] = sum[r] x[i+r] * w[r]"), {"i": 5, "r": 3}).program
    assert str(inside) == "y[i] = sum[r] x[i + r] * w[r]"


@pytest.mark.parametrize(
    "text, options, wanted",
    [
        ("y[i] = x[i]", {"dtype": "bf16"}, {"x": "bf16", "y": "bf16"}),
        ("y[i] = x[i] / 2; z[i] = y[i] > 1", {"dtype": "bf16"}, {"y": "f32", "z": "bool"}),
        ("y[i] = x[i] / 2; z[i] = y[i] > 1", {"dtype": "bf16", "outputs": ("y", "z")}, {"y": "bf16", "z": "bool"}),
        ("x: s8; y[i] = x[i] + 1", {}, {"y": "s8"}),
        ("x: s8; y[i] = x[i] + 0.5", {}, {"y": "f32"}),
        ("x: s8; y[i] = x[i] / 2", {}, {"y": "f32"}),
        ("x: s8; u: u8; y[i] = x[i] * u[i]", {}, {"y": "s32"}),
        ("x: f64; y[i] = exp(x[i]) * z[i]", {}, {"y": "f64", "z": "f32"}),
        ("y[i] = i // 2", {}, {"y": "s64"}),
        ("y[i] = bf16(x[i])", {}, {"y": "bf16"}),
        ("y: u8; y[i] = x[i]", {}, {"y": "u8"}),
        ("y[i] = where(i < 2, x[i], 0)", {"dtype": "f16"}, {"y": "f16"}),
        ("y[i] = x[i] == 0 or i > 1", {}, {"y": "bool"}),
        ("y = argmax[i] x[i]", {}, {"y": "s64"}),
        ("y = any[i] x[i] > 0", {}, {"y": "bool"}),
        ("x: s32; y = sum[i] x[i]", {}, {"y": "s64"}),
        ("x: s32; y = mean[i] x[i]", {}, {"y": "f32"}),
        ("x: s32; y = max[i] x[i]", {}, {"y": "s32"}),
    ],
)
def test_dtypes(text, options, wanted):
    assert wanted.items() <= dtypes(text, {"i": 4}, **options).items()


@pytest.mark.exhaustive
@pytest.mark.parametrize("left, right", list(product(DTYPES, repeat=2)))
def test_values_of_two_dtypes_meet_in_one_that_is_no_narrower(left, right):
    met = promoted(left, right)
    assert met == promoted(right, left) and met in DTYPES and promoted(met, left) == met
    assert WIDTH[met] >= max(WIDTH[left], WIDTH[right]) or met in FLOATS
    assert (met in FLOATS) == (left in FLOATS or right in FLOATS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("left, right", list(product((*DTYPES, WHOLE, FRACTION), repeat=2)))
def test_no_order_decides_where_values_meet(left, right):
    assert promoted(left, right) == promoted(right, left)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("y[i,j] = x[i,j]", "i_extent, 7"),
        ("y[i] = max[r] x[2*i+r]", "2*i_extent + 5"),
        ("y[i] = sum[r] x[i+r-3] * w[r]", "i_extent"),
        ("y[i] = x[i//2]", "(i_extent - 1) / 2 + 1"),
        ("y[i] = x[3-i%2]", "4"),
        ("y[i] = x[i+2]", "i_extent + 2"),
    ],
)
def test_an_input_is_as_long_as_runtime_extents_reach(text, wanted):
    program = read(text)
    found = sized(program, {dim: "<=9" if dim == "i" else 7 for dim in program.dims})
    assert ", ".join(map(str, found.array("x").sizes)) == wanted and found.runtime == ("i",)
    for points in (1, 4, 9):
        fixed = {dim: points if dim == "i" else 7 for dim in program.dims}
        assert found.at({"i": points}).inputs == sized(program, fixed).inputs


@pytest.mark.parametrize(
    "text, extents, given, sentence",
    [
        ("y[i] = x[i+1]", {"i": 4}, {"x": (4,)}, "statement 1, x[i + 1]: axis 0 of x has 4 elements, and i + 1 is 4"),
        ("y[i] = x[i-1]", {"i": 4}, {}, "and i - 1 is -1 for some point; write x[i - 1] else 0 if 0 counts there"),
        ("z[i] = x[i]; y[j] = z[j]", {"i": 3, "j": 4}, {}, "statement 2, z[j]: axis 0 of z has 3 elements"),
        ("y[i] = max[r] x[i+r-1]", {"i": 4, "r": 3}, {}, "and i + r - 1 is -1 for some point"),
        ("y[i] = sum[r] x[i+r-1] * x[r-1]", {"i": 4, "r": 3}, {}, "x[r - 1]: axis 0 of x"),
        ("y[i] = x[i*i]", {"i": 4}, {"x": (16,)}, "i * i is no index"),
        ("y[i] = x[i//0]", {"i": 4}, {"x": (16,)}, "i // 0 is no index"),
        ("y[i] = x[i/2]", {"i": 4}, {"x": (16,)}, "i / 2 is no index"),
        ("y[i] = x[0.5]", {"i": 4}, {"x": (16,)}, "0.5 is no index"),
        ("y[i] = z[i]; u[i] = x[i/2]", {"i": 4}, {}, "statement 2, x[i / 2]: i / 2 is no index"),
        ("y[i] = x[i%0]", {"i": 4}, {}, "statement 1, x[i % 0]: i % 0 is no index"),
        ("y[i] = x[t[i]]", {"i": 4}, {}, "declare its shape, as in x: [100]"),
        ("x: [9]; y[i] = x[t[i]]", {"i": 4}, {}, "t[i] is f32, and an index is a whole number"),
        ("y[i] = a[i] + b[i]", {}, {"a": (3,), "b": (4,)}, "statement 1, b[i]: dim i has two extents, 3 and 4"),
        ("y[i] = x[i]", {}, {}, "statement 1, y: dim i has no extent: give i=…"),
        ("x: [n]; y[i] = x[i]", {"i": 2}, {}, "x: [n]: dim n has no extent: give n=…"),
        ("x: [5]; y[i] = x[i]", {}, {"x": (6,)}, "x: [5] is given with 6 elements"),
        ("y[i] = x[i]", {}, {"x": (3, 4)}, "x[i] has 1 index, but x has 2 axes"),
        ("y[i] = x[i]", {"q": 3}, {}, "q=3: the program has no dim q; its dims are i"),
        ("y[i] = x[i]", {"i": 0}, {}, "i=0: an extent is a whole number"),
        ("y[i] = x[i]", {"i": 3}, {"z": (3,)}, "z is no input of the program; its inputs are x"),
        ("x: s32; y[i] = x[i-1] else -inf", {"i": 4}, {}, "x[i - 1] else -inf: -inf is no s32, which x is made of"),
        ("x: s32; y[i] = x[i-1] else 0.5", {"i": 4}, {}, "0.5 is no s32"),
        ("x: bool; y[i] = x[i-1] else 2", {"i": 4}, {}, "2 is no bool"),
        (
            "y[i] = z[i]; u[i] = bitand(x[i], 3)",
            {"i": 4},
            {},
            "statement 2, bitand(x[i], 3): x[i] is f32, and bitand takes",
        ),
        (
            "x: s32; y[i] = 2 * shl(x[i], 0.5)",
            {"i": 4},
            {},
            "statement 1, shl(x[i], 0.5): 0.5 is a float, and shl takes",
        ),
        ("x: bf16; y[i] = bitnot(x[i])", {"i": 4}, {}, "bitnot(x[i]): x[i] is bf16, and bitnot takes whole numbers"),
        ("y[i,j,k] = x[i,j,k]", dict.fromkeys("ijk", 1 << 20), {}, "more than any machine holds"),
    ],
)
def test_what_does_not_fit_is_one_sentence(text, extents, given, sentence):
    with pytest.raises(ProgramError) as error:
        sized(read(text), extents, given)
    assert sentence in str(error.value)


def test_an_output_is_an_assigned_array():
    with pytest.raises(ProgramError, match="no statement assigns q, which is wanted as an output"):
        sized(read("y[i] = x[i]"), {"i": 3}, outputs=("q",))
