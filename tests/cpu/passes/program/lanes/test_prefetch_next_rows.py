"""Which rows are prefetched while one is stored."""

from __future__ import annotations

import pytest

from cpu.passes.forms import program_forms
from microkernels.tile.isa import AVX2
from tests.support.programs.programs import SOFTMAX, lines
from tiling.program.infer import sized
from tiling.program.read import read

RMS = "v[i] = mean[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(v[i] + 1) * g[j]"
NORM = (
    "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); "
    "y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i] + 1)"
)
# The maximum needs the sum, so t is written two loops before the last one.
RESIDUAL = "t[i,j] = x[i,j] + z[i,j]; s[i] = sum[j] t[i,j]; m[i] = max[j] t[i,j] * s[i]; y[i,j] = t[i,j] * m[i]"


@pytest.mark.parametrize(
    "text, shapes, wanted",
    [
        (RMS, {"x": (2048, 768), "g": (768,)}, ["x[i + 1, j] to L1"]),  # g is the same for all rows
        (RMS, {"x": (512, 4096), "g": (4096,)}, ["x[i + 1, j] to L2"]),
        (RMS, {"x": (64, 65536), "g": (65536,)}, []),  # L2 does not hold two rows
        (RMS, {"x": (128, 768), "g": (768,)}, []),  # L2 holds all of it
        (RMS, {"x": (8192, 256), "g": (256,)}, []),  # the CPU sees the next row
        (RMS, {"x": (2048, 776), "g": (776,)}, []),  # what is left of a row has a loop of its own
        (NORM, {"x": (512, 768)}, []),  # four rows in step
        (SOFTMAX, {"x": (6144, 512)}, ["x[i + 1, j] to L1"]),
        ("y[i] = sum[j] x[i,j] * x[i,j]", {"x": (2048, 768)}, []),  # reads each row once, and the CPU ahead
    ],
)
def test_rows_of_large_arrays_that_are_read_again_are_prefetched(text, shapes, wanted):
    found = _prefetched(text, shapes)
    further = [line.replace("j]", "j + 16]") for line in wanted]
    assert [line for line in found if "written" not in line] == [*wanted, *further]
    level = wanted[0][-2:] if wanted else ""
    claimed = [f"y[i, {place}] to {level}, to be written" for place in ("j", "j + 16")] if wanted else []
    assert [line for line in found if "written" in line] == claimed


def test_rows_that_are_not_stored_late_are_prefetched_in_the_last_loop():
    found = _prefetched(RESIDUAL, {"x": (512, 768), "z": (512, 768)})
    assert found == [
        *(f"y[i, {place}] to L1, to be written" for place in ("j", "j + 16")),
        *(f"{array}[i + 1, j] to L1" for array in "xz"),
    ]


def test_each_line_is_prefetched_once():
    text = lines(_last_form(RESIDUAL, {"x": (512, 768), "z": (512, 768)}))
    assert "for j in 0..768 by 16:" in text and sum("to L1" in line for line in text) == 4


def _last_form(text, shapes):
    return dict(program_forms(sized(read(text), {}, shapes), AVX2, 1))["prefetch next rows"]


def _prefetched(text, shapes):
    found = lines(_last_form(text, shapes))
    return [line.removeprefix("prefetch ") for line in found if line.startswith("prefetch ")]
