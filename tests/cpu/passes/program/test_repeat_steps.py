"""Which loops over the steps of products are written out in part."""

from __future__ import annotations

import pytest

from cpu.passes.forms import program_forms
from cpu.passes.program.repeat_steps import repeat_steps
from microkernels.tile.isa import AVX2, AVX512F
from tests.support.programs.programs import ATTENTION, lines
from tiling.loops.index import ZERO, constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import For
from tiling.program.infer import sized
from tiling.program.read import read

PRODUCT = "y[i,j] = sum[c] q[i,c] * k[c,j]"


def repeated(text, shapes, isa=AVX2):
    forms = dict(program_forms(sized(read(text), {}, shapes), isa, 1))
    return [line for line in lines(list(forms.values())[-1]) if "together" in line]


@pytest.mark.parametrize(
    "columns, steps, wanted",
    [
        (512, 64, 2),  # three rows at once, and two that are left over
        (512, 16, 2),
        (512, 12, 0),  # too few steps
        (16, 64, 0),  # two vectors by three rows are six products
    ],
)
def test_steps_of_many_products_are_written_out(columns, steps, wanted):
    found = repeated(PRODUCT, {"q": (512, steps), "k": (steps, columns)})
    assert found == [f"for c in 0..{steps}, 8 together:"] * wanted


def test_both_products_of_attention_are():
    shapes = {name: (2, 64, 64) for name in "qkv"}
    names = {line.split()[1] for line in repeated(ATTENTION, shapes)}
    assert names == {"c", "j"}


@pytest.mark.parametrize(
    "numbers, wanted",
    [
        (64, ["for c in 0..64 by 32, 2 together:"]),  # four sums of two vectors
        (128, ["for c in 0..128 by 32, 4 together:"]),
        (72, ["for c in 0..64 by 32, 2 together:"]),  # the last vector stands behind the loop
        (160, []),  # more than registers hold
        (32, []),  # one sum of four vectors, which is no block
    ],
)
def test_a_short_product_of_lanes_is_written_out_as_a_whole(numbers, wanted):
    assert repeated("y[i] = sum[c] q[c] * k[i,c]", {"q": (numbers,), "k": (50, numbers)}) == wanted


def test_what_is_no_product_is_left_alone():
    assert not repeated("y[i] = sum[c] exp(k[i,c])", {"k": (50, 64)})


def test_long_vectors_are_left_alone():
    assert not repeated(PRODUCT, {"q": (512, 64), "k": (64, 512)}, AVX512F)


def test_a_loop_without_statements_stays():
    kernel = Kernel((), (For("i", ZERO, constant(64), 1, ()),))
    assert repeat_steps(kernel) == kernel
