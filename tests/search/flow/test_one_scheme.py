"""One scheme without V and M is a kernel of a CPU and of a GPU, and both are exact."""

from __future__ import annotations

import json

import pytest

from cpu.runtime.machine.host import host
from microkernels.tile.isa import best_isa
from search.conv import main as conv
from search.matmul import main as product

PRODUCT = "T(m,2)@block T(n,2)@block S(c) T(k,4) S(a) S(b) T(m,2)@warp T(m,16)@lane T(n,2)@lane U(k,4) U(m,2) U(n,16)"
IMAGE = "T(h,6)@block S(y) T(c,4) S(x) S(w) T(w,8)@lane T(k,4)@lane U(c,2) U(r,3) U(s,3) U(k,16)"
CASES = {
    "product": (product, "m=128,n=64,k=16", PRODUCT),
    "convolution": (conv, "c=8,h=6,w=8,k=64,r=3,s=3,pad=1", IMAGE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_one_text_on_both_machines(name, capsys):
    command, shape, scheme = CASES[name]
    given = ["--shape", shape, "--scheme", scheme, "--json"]
    assert command([*given, "--model-only"]) == 0
    on_cpu = json.loads(capsys.readouterr().out)
    assert command([*given, "--target", "cuda-twin", "--dtype", "f32"]) == 0
    on_gpu = json.loads(capsys.readouterr().out)
    assert on_gpu["scheme"] == scheme and "@core" in on_cpu["scheme"]
    assert on_cpu["scheme"].endswith(f",{best_isa(host().flags).lanes})")
    assert on_gpu["block"] in (32, 64) and on_gpu["spilled_bytes"] in (0, None)


GROUPS = {
    "c=8,h=4,w=8,k=16,r=3,s=3,pad=1,groups=2": "T(g,2)@block S(y) T(c,2) S(x) T(h,4)@warp T(w,8)@lane T(k,4)@lane "
    "U(r,3) U(s,3) U(c,2) U(k,2)",
    "c=32,h=6,w=5,k=32,r=3,s=3,pad=1,groups=32": "T(h,3)@block S(y) S(x) S(w) T(h,2)@warp T(c,32)@lane U(r,3) U(s,3) "
    "U(w,5)",
    "c=4,h=6,w=8,k=8,r=3,s=3,pad=1,layout=nchw": "T(k,2)@block S(y) T(c,2) S(x) S(w) T(h,3)@warp T(k,4)@lane "
    "T(w,8)@lane U(c,2) U(r,3) U(s,3) U(h,2)",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", GROUPS)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_groups_and_layouts_on_a_gpu(shape, dtype, capsys):
    assert conv(["--shape", shape, "--scheme", GROUPS[shape], "--target", "cuda-twin", "--dtype", dtype]) == 0
    assert "exact on small integers, on the twin" in capsys.readouterr().out


def test_the_passes_of_a_scheme_are_shown(capsys):
    given = ["--shape", "m=128,n=64,k=16", "--scheme", CASES["product"][2], "--target", "cuda-twin", "--dtype", "f32"]
    assert product([*given, "--show-passes", "stage-tiles"]) == 0
    assert "X_tile[64, 4] in shared memory" in capsys.readouterr().out
    assert product([*given[:2], "--target", "cuda-twin", "--show-passes", "load-ahead"]) == 0
    assert "X_part[" in capsys.readouterr().out
