"""Loops that end early compute the same, and less."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cpu.passes.program.bind_tasks as bind_tasks
from cpu.passes.forms import program_forms
from cpu.passes.order import PLACE_BARRIERS
from cpu.reference.programs import evaluate, rounded
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.programs.programs import MASKED_ATTENTION, after, inputs_of, interpreted, lines
from tests.support.sampled import examples
from tiling.loops.language import For
from tiling.loops.walk import walk
from tiling.program.infer import Sized, sized
from tiling.program.read import read

# Whole numbers, so that every order of sums gives the same. {m}: a condition on i and j.
ATTENTION = (
    "s[i,j] = sum[c] q[i,c] * k[j,c]; m[i] = max[j] where({m}, s[i,j], -inf); "
    "e[i,j] = where({m}, max(s[i,j] - m[i], -3), 0) * 2; d[i] = sum[j] e[i,j]; "
    "a[i,c] = sum[j] e[i,j] * v[j,c]; y[i,c] = a[i,c] + d[i] - m[i]"
)
PROGRAMS = (
    ATTENTION,
    ATTENTION,
    "y[i] = sum[j] where({m}, x[j,i], 0)",  # lanes along i, on which the limit depends
    "y[i] = mean[j] where({m}, x[i,j], 0) * 2; z[j] = sum[i] where({m}, x[i,j], 0)",
    "y[] = sum[i,j] where({m}, x[i,j], 0)",
    "e[i,j] = where({m}, x[i,j] * x[j,i] + u[j], 0); y[i,c] = sum[j] e[i,j] * q[j,c]; "
    "z[i] = sum[j] where(j < i + 7, e[i,j], 0)",  # readers with limits of their own
    "e[i,j] = where({m}, x[i,j] - u[i], 0); f[i,j] = e[i,j] * 2 + where({m}, u[j], 0); "
    "z[i] = sum[l] (f[i,l] else 1) * u[l]; y[i] = sum[j] f[i,j] * e[i,j]",
    "s: bf16; s[h,i,j] = sum[c] q[i,c] * k[j,c] + h; e: bf16; e[h,i,j] = where({m}, s[h,i,j] * u[j], 0); "
    "y[h,i,c] = sum[j] e[h,i,j] * v[j,c]",
)
MASKS = ("j <= i", "j < i + 5", "j <= 2 * i", "j < 9", "j <= i and j < 20", "i >= j - 4", "j <= 30 - i")


def masked(random: Random) -> Sized:
    """A random program with a mask; its y is wanted, and z where it has one."""
    program = read(random.choice(PROGRAMS).replace("{m}", random.choice(MASKS)))
    rows, channels = random.randint(1, 36), random.choice((1, 4, 17))
    extents = {"i": rows, "j": rows, "c": channels, "h": 2, "l": rows}
    shapes = {"x": (rows, rows), "u": (rows,)} | dict.fromkeys("qkv", (rows, channels))
    return sized(
        program,
        {dim: extent for dim, extent in extents.items() if dim in program.dims},
        {name: shape for name, shape in shapes.items() if name in program.inputs},
        outputs=tuple(s.array for s in program.statements if s.array in "yz"),
    )


@pytest.mark.slow
@examples(40)
@given(st.integers(0, 2**32))
def test_masked_programs_keep_the_definition(seed):
    """The interpreter ends where something is read that no loop has written."""
    random = Random(seed)
    program = masked(random)
    arrays = inputs_of(program, random)
    wanted = evaluate(program, arrays)
    isa, threads = random.choice((PORTABLE, AVX2, AVX512F)), random.randint(1, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
        forms = dict(program_forms(program, isa, threads))
        for name in ("bound loops", PLACE_BARRIERS):
            for output, found in interpreted(program, forms[name], arrays).items():
                expected = rounded(wanted[output], program.array(output).dtype)
                np.testing.assert_array_equal(found, expected, err_msg=f"after {name}: {program.program}")


def test_a_loop_ends_at_its_limit():
    """Rows of four are computed together, and vectors by four."""
    sizes = {"q": (128, 16), "k": (128, 16), "v": (128, 16)}
    text = MASKED_ATTENTION.format(mask="j <= i").replace("exp(t[i,j] - m[i])", "exp(t[i,j] - m[i] * 2)")
    loops = lines(after("bound loops", text, **sizes))
    ends = [line for line in loops if line.startswith("for j in 0..min(")]
    assert len(ends) == 4 and all("64*((i + 67) / 64), 128)" in line for line in ends)
    assert not any("needed" in line for line in loops)


def attention_in_blocks(stage: str):
    """The loops over blocks of rows, blocks of columns, rows, and columns."""
    sizes = {"q": (512, 16), "k": (512, 16), "v": (512, 16)}
    kernel = after(stage, MASKED_ATTENTION.format(mask="j <= i"), **sizes)
    found = [s for s in walk(kernel.body) if isinstance(s, For)]
    (all_rows,) = [loop for loop in found if loop.name == "i_begin"]
    (blocks,) = [loop for loop in walk(all_rows.body) if isinstance(loop, For) and loop.name == "j_begin"]
    (rows,) = [loop for loop in walk(blocks.body) if isinstance(loop, For) and loop.name == "i"]
    return all_rows, blocks, rows, [s for s in walk(rows.body) if isinstance(s, For) and s.name == "j"]


def test_blocks_end_at_the_limit_of_their_last_row():
    *_, blocks, rows, columns = attention_in_blocks("bound loops")
    assert str(blocks.stop) == "min(256*((i_begin + 287) / 256), 512)"
    assert rows.limit is None and all("64*((i_begin + i - j_begin + 67) / 64), 256)" in str(c.stop) for c in columns)


def test_half_of_a_causal_product_is_left_out():
    def iterations(stage: str) -> int:
        """Iterations of the loops over j, in all rows together."""
        all_rows, blocks, rows, columns = attention_in_blocks(stage)
        total = 0
        for begin in range(0, 512, all_rows.step):
            for block in range(0, blocks.stop.at({"i_begin": begin}), blocks.step):
                for i in range(0, rows.stop.offset, rows.step):
                    here = {"i_begin": begin, "j_begin": block, "i": i}
                    total += sum(len(range(0, loop.stop.at(here), loop.step)) for loop in columns)
        return total

    assert iterations("bound loops") <= 0.57 * iterations("bind tasks")


def test_what_a_mask_hides_is_not_read():
    program = sized(read(ATTENTION.replace("{m}", "j <= i")), {}, {"q": (20, 4), "k": (40, 4), "v": (40, 4)})
    arrays = {name: array.astype(np.float32) for name, array in inputs_of(program, Random(1)).items()}
    wanted = evaluate(program, arrays)["y"]
    arrays["k"][32:] = arrays["v"][32:] = np.nan
    (*_, (_, kernel)) = program_forms(program, AVX2, 1)
    np.testing.assert_array_equal(interpreted(program, kernel, arrays)["y"], wanted)
