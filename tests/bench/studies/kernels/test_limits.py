"""`python -m bench.limits`: what each variant of a kernel changes, and the line of a layer."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bench.studies.kernels import limits
from cpu.codegen.emit import emit
from cpu.kernel.callable import CpuKernel
from microkernels.tile.isa import isa_named
from search.evaluator.cpu.backend import cpu_backend
from tiling.machine import Timing
from tiling.operators import conv2d
from tiling.problem import ProblemError
from tiling.text.notation import parse

PROBLEM = conv2d(c=8, h=6, w=6, k=16, r=1, s=1)
SCHEME = parse(PROBLEM, "T(h,6) T(w,3) S(y) T(c,8) U(w,2) U(k,4) V(k,4)")
TWO_IMAGES = parse(conv2d(n=2, c=8, h=6, w=6, k=16, r=1, s=1), f"T(n,2) {SCHEME.text}")


def strides(source, array):
    return {axis: int(step) for axis, step in re.findall(rf"static const long {array}_(\w) = (\d+);", source.text)}


def test_variants_change_the_strides_of_one_array():
    plain = emit(TWO_IMAGES, isa_named("portable"))
    assert strides(plain, "X") == {"n": 288, "h": 48, "w": 8, "c": 1}
    still = limits.still(plain, "X")
    assert strides(still, "X") == {"n": 0, "h": 0, "w": 8, "c": 1} and strides(still, "Y") == strides(plain, "Y")
    apart = limits.apart(plain, "X", 8)
    assert strides(apart, "X") == {"n": 36 * 24, "h": 6 * 24, "w": 24, "c": 1}
    with pytest.raises(ProblemError, match="no strides of Q"):
        limits.still(plain, "Q")


def test_pixels_that_lie_apart_are_still_the_same_convolution():
    source = limits.apart(emit(SCHEME, isa_named("portable")), "X", 8)
    rng = np.random.default_rng(0)
    x, w = rng.integers(-3, 4, (6, 6, 8)).astype(np.float32), rng.integers(-3, 4, (16, 8, 1, 1)).astype(np.float32)
    kernel, plain = CpuKernel(SCHEME, source), CpuKernel(SCHEME, emit(SCHEME, isa_named("portable")))
    wide = limits.area(36 * 24, False)
    wide.reshape(36, 24)[:, :8] = x.reshape(36, 8)
    y, packed = kernel.empty(), plain.pack(w).data
    kernel.measure(wide, packed, y, 0.0001)
    assert (y == plain(x[None], w)).all()


def test_a_line_a_layer(monkeypatch, capsys):
    monkeypatch.setattr(limits, "ROUNDS", 1)
    monkeypatch.setattr(limits, "TURN_SECONDS", 0.0005)
    assert limits.main(["--shape", "c=16,h=6,w=6,k=32,r=1,s=1"]) == 0
    head, _, row, _, said = capsys.readouterr().out.splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")][2:]
    assert names == ["pages of 4 KB", "y streamed", "a line more a pixel", "x in cache", "y in cache", "both in cache"]
    assert row.startswith("| c=16,h=6,w=6,k=32,r=1,s=1 |") and row.count("|") == 9
    assert said.startswith("+ takes longer")


def test_rows_of_one_register_tile_do_not_lie_at_one_place():
    """A compiler would find that they are equal, and multiply only one of them."""
    backend = cpu_backend("portable")
    rows = parse(PROBLEM, "T(h,3) T(w,6) S(y) T(c,8) U(h,2) U(k,4) V(k,4)")
    assert set(limits.variants(SCHEME, backend)) == {"as it is", *limits.CHANGES, *limits.IN_CACHE}
    assert set(limits.variants(rows, backend)) == {"as it is", *limits.CHANGES}
    timings = dict.fromkeys(("as it is", "y streamed"), Timing((1.0,), 1.0))
    found = limits.Limits(rows, timings)
    assert (found.change("y streamed"), found.change("x in cache")) == ("+0.0 %", "–")


@pytest.mark.parametrize(
    "asked, said", [([], "no layer is named"), (["--shape", "c=16,k=32,h=6,w=6,r=1,s=1,layout=nchw"], "channels last")]
)
def test_what_cannot_be_changed_so_is_a_sentence(asked, said, capsys):
    assert limits.main(asked) != 0
    assert said in capsys.readouterr().err
