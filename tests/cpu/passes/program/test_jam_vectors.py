"""How many vectors of a sum are taken at once."""

from __future__ import annotations

import pytest

from cpu.passes.forms import program_forms
from microkernels.tile.isa import AVX2, AVX512F
from tiling.loops.language import Alloc
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

COLUMNS = "y[j] = sum[i] x[i,j]"


@pytest.mark.parametrize(
    "text, columns, isa, threads, wanted",
    [
        (COLUMNS, 2048, AVX512F, 1, 16),
        (COLUMNS, 2048, AVX2, 1, 8),
        (COLUMNS, 64, AVX512F, 1, 4),
        (COLUMNS, 48, AVX512F, 1, 3),
        (COLUMNS, 24 * 16, AVX512F, 1, 12),  # two runs alike
        (COLUMNS, 17 * 16, AVX512F, 1, 4),  # none are
        (COLUMNS, 48 * 16, AVX512F, 1, 16),
        (COLUMNS, 48 * 16, AVX512F, 2, 12),  # three runs would be two and one
        ("y[j] = max[i] x[i,j]", 256, AVX512F, 1, 16),
        ("y[j] = sum[i] exp(x[i,j])", 256, AVX512F, 1, 4),
        ("y[j] = sum[i] x[i,j] * z[i]", 256, AVX512F, 1, 16),
        ("y[j] = sum[i] x[i,j] * z[i]", 256, AVX2, 1, 8),
        ("y[k,j] = sum[i] x[i,j] * z[i] * k", 256, AVX512F, 1, 4),  # all k read the same vectors
        ("y[k,j] = sum[i] exp(x[i,j]) * z[i]", 256, AVX512F, 1, 4),
    ],
)
def test_runs_are_as_wide_as_registers_and_threads_allow(text, columns, isa, threads, wanted):
    assert _sums(text, columns, isa, threads) == wanted


@pytest.mark.parametrize(
    "images, isa, columns, wanted", [(4, AVX512F, 768, 16), (3, AVX512F, 768, 12), (12, AVX2, 64, 8)]
)
def test_threads_that_share_a_loop_around_need_no_even_runs(images, isa, columns, wanted):
    """In attention of one query they share the heads."""
    program = sized(read("y[n,j] = sum[i] x[n,i,j] * z[n,i]"), {}, {"x": (images, 20, columns), "z": (images, 20)})
    assert _widest(program, isa, 2) == wanted


def test_a_runtime_extent_may_be_short():
    program = sized(read(COLUMNS), {"j": "<=2048", "i": 20})
    assert _widest(program, AVX512F, 1) == 4


def _sums(text, columns, isa, threads):
    shapes = {"x": (20, columns)} | ({"z": (20,)} if "z[" in text else {})
    return _widest(sized(read(text), {"k": 4} if "k" in text else {}, shapes), isa, threads)


def _widest(program, isa, threads):
    """The sums of the first loop that jams any."""
    kernel = dict(program_forms(program, isa, threads))["jam vectors"]
    sums = [s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.name.startswith("acc_y")]
    return len(dict.fromkeys(sums))
