"""Loops that end early compute the same, and less."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cpu.passes.program.bind_tasks as bind_tasks
from cpu.passes.program.order import stages
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs import MASKED_ATTENTION, after, inputs_of, interpreted, lines
from tiling.loops.language import For, walk
from tiling.program.infer import Sized, sized
from tiling.program.read import read

# Whole numbers, so that every order of sums gives the same.
MASKED = (
    "s[i,j] = sum[c] q[i,c] * k[j,c]; m[i] = max[j] where({mask}, s[i,j], -inf); "
    "e[i,j] = where({mask}, max(s[i,j] - m[i], -3), 0) * 2; d[i] = sum[j] e[i,j]; "
    "a[i,c] = sum[j] e[i,j] * v[j,c]; y[i,c] = a[i,c] + d[i] - m[i]"
)


def masked(mask: str, rows: int, columns: int, channels: int) -> Sized:
    shapes = {"q": (rows, channels), "k": (columns, channels), "v": (columns, channels)}
    return sized(read(MASKED.format(mask=mask)), {}, shapes)


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_every_pass_keeps_masked_products(seed):
    """The interpreter ends where something is read that no loop has written."""
    random = Random(seed)
    mask = random.choice(("j <= i", "j < i + 5", "j <= 2 * i", "j < 9", "j <= i and j < 20", "j <= 30 - i"))
    program = masked(mask, random.randint(1, 12), random.randint(1, 45), random.choice((1, 4, 17)))
    arrays = inputs_of(program, random)
    wanted = evaluate(program, arrays)["y"]
    isa = random.choice((PORTABLE, AVX2, AVX512F))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
        for name, kernel in stages(program, isa, random.randint(1, 3)):
            np.testing.assert_array_equal(
                interpreted(program, kernel, arrays)["y"], wanted, err_msg=f"after {name}: {mask}"
            )


def test_a_loop_ends_at_its_limit():
    loops = lines(after("bound loops", MASKED_ATTENTION.format(mask="j <= i"), q=(128, 16), k=(128, 16), v=(128, 16)))
    ends = [line for line in loops if line.startswith("for j in 0..min(")]
    assert len(ends) == 3 and all("64*((i + 67) / 64), 128)" in line for line in ends), "four rows, and vectors by four"
    assert not any("needed" in line for line in loops)


def test_half_of_a_causal_product_is_left_out():
    def iterations(stage: str) -> int:
        """Of loops over j, all rows."""
        kernel = after(stage, MASKED_ATTENTION.format(mask="j <= i"), q=(512, 16), k=(512, 16), v=(512, 16))
        (rows,) = [s for s in walk(kernel.body) if isinstance(s, For) and s.name == "i"]
        columns = [s for s in walk(rows.body) if isinstance(s, For) and s.name == "j"]
        return sum(len(range(0, loop.stop.at({"i": i}), loop.step)) for i in range(0, 512, 4) for loop in columns)

    assert iterations("bound loops") <= 0.57 * iterations("bind tasks")


def test_what_a_mask_hides_is_not_read():
    program = masked("j <= i", 20, 40, 4)
    arrays = inputs_of(program, Random(1))
    wanted = evaluate(program, arrays)["y"]
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    arrays["k"][32:] = arrays["v"][32:] = np.nan
    (*_, (_, kernel)) = stages(program, AVX2, 1)
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], wanted)
