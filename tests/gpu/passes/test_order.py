"""Every pass keeps what loops compute, on programs of every kind and on random ones."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from gpu.codegen.loops.names import with_cuda_names
from gpu.passes.facts.workers import launches, threads_of
from gpu.passes.order import PROGRAM, program_forms
from gpu.passes.threads import bind_points
from tests.support.gpu.programs import PROGRAMS, expected, forms, program_of
from tests.support.loops.passes import different
from tests.support.programs.programs import inputs_of, interpreted, lines, random_program
from tiling.loops.language import Alloc, Barrier, For
from tiling.loops.passes import names
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

SMALL = {name: case for name, case in PROGRAMS.items() if name != "one long sum"}  # the interpreter takes long for it


@pytest.mark.parametrize("name", SMALL)
def test_every_form_computes_the_same(name, monkeypatch):
    monkeypatch.setattr(bind_points, "MANY", 64)
    program = program_of(name)
    arrays = inputs_of(program, Random(0))
    wanted = expected(program, arrays)
    for stage, kernel in different(program_forms(program)):
        for output, found in interpreted(program, kernel, arrays).items():
            np.testing.assert_array_equal(found, wanted[output], err_msg=stage)


@pytest.mark.parametrize("seed", range(12))
def test_every_form_of_random_programs_computes_the_same(seed):
    random = Random(seed)
    program = random_program(random)
    arrays = inputs_of(program, random)
    wanted = expected(program, arrays)
    if wanted is None:
        pytest.skip("its sums are too large to be exact")
    for stage, kernel in different(program_forms(with_cuda_names(program))):
        for output, found in interpreted(program, kernel, arrays).items():
            np.testing.assert_array_equal(found, wanted[output], err_msg=f"{stage}: {program.program}")


def test_every_pass_changes_some_program(monkeypatch):
    monkeypatch.setattr(bind_points, "MANY", 64)
    changed = set()
    for name in PROGRAMS:
        every = list(forms(program_of(name)).items())
        changed |= {stage for (_, before), (stage, after) in pairwise(every) if before != after}
    assert changed == set(names(PROGRAM)[1:])


def test_neighbours_of_the_output_are_for_neighbouring_threads():
    narrow = sized(read("y[j,i] = x[i,j]"), {}, {"x": (20, 70)})  # too narrow for tiles
    text = lines(forms(narrow)["bind points"])
    assert "point = 256*block + thread" in text and "i = point % 20" in text and "y[j, i] = x[i, j]" in text


def test_four_neighbours_are_one_access(monkeypatch):
    monkeypatch.setattr(bind_points, "MANY", 64)
    program = sized(read("y[i,j] = 2 * x[i,j] + (x[i,j+1] else 0)"), {"i": 8, "j": 64}, {"x": (8, 64)})
    text = lines(forms(program)["widen"])
    assert "get4(to: x_wide, p: x + [i, j])" in text and "put4(to: y + [i, j], v: y_wide)" in text
    assert any("x[i, j + part + 1] if" in line for line in text)  # may lie outside: taken by itself


def test_a_row_is_read_once_by_wide_accesses_and_stays_in_registers():
    text = "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
    kernel = forms(sized(read(text), {}, {"x": (5, 4096)}))["place barriers"]
    (row,) = (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.name == "e")
    assert row.memory == "registers" and row.shape == (512, 8)
    assert lines(kernel).count("get4(to: x_wide, p: x + [i, j])") == 2  # one text twice, so NVRTC loads once
    assert "put4(to: y + [i, j], v: y_wide)" in lines(kernel)


@pytest.mark.parametrize("at, width", [("j", 4096), ("j+1", 4096), ("j", 4098)])
def test_loops_that_keep_numbers_for_each_other_are_dealt_alike(at, width):
    text = f"e[i,j] = exp(x[i,j]); s[i] = sum[j] e[i,j]; y[i,j] = e[i,j] * s[i] + (z[i,{at}] else 0)"
    found = lines(forms(sized(read(text), {}, {"x": (3, width), "z": (3, width)}))["deal neighbours"])
    wide = (at, width) == ("j", 4096)  # else some row does not begin at a multiple of four
    assert [line for line in found if line.startswith("j = ")] == [
        "j = 4*thread + 2048*turn" if wide else "j = thread + 512*turn"
    ] * 3


def test_a_short_row_is_for_a_warp_and_a_long_one_for_a_block():
    short, long = (launches(forms(program_of(name))["place barriers"]) for name in ("short rows", "rows"))
    assert [threads_of(each) for each in short] == [128] and short[0].stop.offset == 2  # 7 rows, 4 a block
    assert [threads_of(each) for each in long] == [256] and long[0].stop.offset == 7


def test_rows_that_do_not_fit_into_shared_memory_lie_in_global_memory():
    text = "e[i,j] = exp(x[i,j]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
    kernel = forms(sized(read(text), {"i": 1000, "j": 50257}))["place barriers"]
    (row,) = (s.buffer for s in kernel.body if isinstance(s, Alloc))
    (launch,) = launches(kernel)
    assert row.axes == ("block", "j") and row.shape[0] == launch.stop.offset < 1000


def test_arrays_that_are_never_needed_at_once_share_their_bytes():
    text = "m[i] = max[j] x[i,j]; s[i] = sum[j] abs(x[i,j] - m[i]); y[i,j] = x[i,j] / s[i]"
    kernel = forms(sized(read(text), {"i": 3, "j": 5000}))["allocate shared"]
    shared = [s for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.memory == "shared"]
    assert len(shared) == 2 and {s.at.offset for s in shared} == {0}


def test_what_a_thread_wrote_itself_needs_no_barrier():
    text = "e[i,j] = exp(x[i,j]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
    kernel = forms(sized(read(text), {"i": 3, "j": 5000}))["place barriers"]
    barriers = [s for s in walk(kernel.body) if isinstance(s, Barrier)]
    assert len(barriers) == 1  # between the sums of warps and their sum


def test_the_names_of_workers_are_no_names_of_a_program():
    program = with_cuda_names(sized(read("thread[block] = 2 * warp[block]"), {"block": 300}))
    assert program.program.statements[0].array not in ("thread",) and "block" not in program.extents
    assert all(loop.kind != "serial" for loop in walk(forms(program)["bind points"].body) if isinstance(loop, For))
