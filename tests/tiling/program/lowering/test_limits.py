"""Where loops may end early, and where they may not."""

from __future__ import annotations

import pytest

from cpu.codegen.program.explain import explained
from microkernels.tile.isa import PORTABLE
from tests.support.programs.programs import MASKED_ATTENTION
from tiling.program.infer import sized
from tiling.program.lowering.limits import limits
from tiling.program.read import read
from tiling.program.rewrite.inline import inlined

SHAPES = {"q": (20, 3), "k": (20, 3), "v": (20, 3), "x": (20, 20), "z": (20,)}


def found(text: str, outputs: tuple[str, ...] = ()) -> dict[str, str]:
    program = read(text)
    shapes = {name: shape for name, shape in SHAPES.items() if name in program.inputs}
    extents = {dim: 30 for dim in program.dims if dim == "l"}
    known = limits(inlined(sized(program, extents, shapes, outputs=outputs)))
    return {f"{array} {dim}": str(limit) for (array, dim), limit in known.items()}


@pytest.mark.parametrize(
    "mask, limit",
    [
        ("j <= i", "i + 1"),
        ("j < i + 3", "i + 3"),
        ("i >= j", "i + 1"),
        ("2 * i > j - 1", "2*i + 1"),
        ("j <= i and j < 12", "i + 1"),
        ("j < 7", "7"),
    ],
)
def test_a_mask_ends_every_loop_of_attention(mask, limit):
    assert found(MASKED_ATTENTION.format(mask=mask)) == dict.fromkeys(("m j", "d j", "a j", "e j", "s j"), limit)


@pytest.mark.parametrize("mask", ["j >= i", "j == i + 30", "j < i", "j <= i or j < 3", "j != i", "z[j] > 0", "j < 20"])
def test_a_mask_that_gives_no_end_ends_nothing(mask):
    """Not from below, nor where a row may have nothing to do, nor by values."""
    assert found(MASKED_ATTENTION.format(mask=mask)) == {}


@pytest.mark.parametrize(
    "text, limit",
    [
        ("y[i] = sum[j] where(j <= i, x[i,j], 0)", "y j: i + 1"),
        ("y[i] = mean[j] where(j <= i, x[i,j], 0)", "y j: i + 1"),
        ("y[i] = prod[j] where(j <= i, x[i,j], 1)", "y j: i + 1"),
        ("y[i] = min[j] where(j <= i, x[i,j], inf)", "y j: i + 1"),
        ("y[i] = max[j] -where(j <= i, x[i,j], inf)", "y j: i + 1"),
        ("y[i] = max[j] where(j <= i, x[i,j], -inf) * 2 - z[i]", "y j: i + 1"),
        ("y[i] = sum[j] where(j <= i, x[i,j], 0) / z[i] * x[j,i]", "y j: i + 1"),
        ("y[i] = sum[j] where(j <= i, x[i,j], 1)", ""),
        ("y[i] = max[j] where(j <= i, x[i,j], 0)", ""),
        ("y[i] = max[j] where(j <= i, x[i,j], -inf) * z[i]", ""),  # z may be negative
        ("y[i] = sum[j] where(j <= i, x[i,j], 0) + z[i]", ""),
        ("y[i] = sum[j] where(j <= i, x[i,j], 0) * inf", ""),
        ("y[i] = max[j] where(j <= i, x[i,j], -inf) + inf", ""),
        ("y[i,j] = where(j <= i, x[i,j], 0)", ""),  # all of an output is written
        ("e[i,j] = where(j <= i, exp(x[i,j]), 0); y[i] = sum[l] (e[i,l] else 0) * 2", "y l: i + 1, e j: i + 1"),
        ("e[i,j] = where(j <= i, exp(x[i,j]), 0); y[i] = sum[l] (e[i,l] else 5) * 2", ""),
        ("y[j] = sum[i] where(j <= i, x[i,j], 0)", ""),
        ("y[i] = sum[j] where(j - j % 4 <= i, x[i,j], 0)", ""),
        ("y[i] = sum[j] where(j - j // 2 <= i, x[i,j], 0)", ""),
        ("y: bool; y[i] = max[j] where(j <= i, x[i,j], 0)", ""),  # the accumulator is no truth
        ("x: s64; y: s32; y[i] = min[j] where(j <= i, x[i,j], 2147483647)", ""),
        ("e: u8; e[i,j] = where(j <= i, exp(x[i,j]), 256); y[i] = min[j] where(j <= i, e[i,j], 255) + e[i,j]", ""),
        ("x: bool; y[i] = any[j] where(j <= i, x[i,j], 0)", "y j: i + 1"),
    ],
)
def test_reductions_end_where_nothing_changes_them(text, limit):
    assert ", ".join(": ".join(pair) for pair in found(text).items()) == limit


def test_the_explanation_says_where_loops_end():
    program = sized(read(MASKED_ATTENTION.format(mask="j <= i")), {}, {name: SHAPES[name] for name in "qkv"})
    assert "loops over j for m d a e s end at i + 1" in explained(program, PORTABLE, 1)


def test_what_is_wanted_or_read_elsewhere_is_computed_whole():
    whole = found(MASKED_ATTENTION.format(mask="j <= i"), outputs=("e", "y"))
    assert "e j" not in whole and whole["a j"] == "i + 1"
    elsewhere = MASKED_ATTENTION.format(mask="j <= i") + "; b[i] = sum[j] e[i,j] + y[i,0]"
    assert "e j" not in found(elsewhere) and found(elsewhere)["a j"] == "i + 1"


def test_the_farthest_reader_decides():
    text = (
        "e[i,j] = exp(x[i,j] * x[i,j]) * z[j]; a[i] = sum[j] where(j <= i, e[i,j], 0); "
        "b[i] = sum[j] where(j < i + 4, e[i,j], 0); y[i] = a[i] + b[i]"
    )
    assert found(text) == {"a j": "i + 1", "b j": "i + 4", "e j": "i + 4"}
