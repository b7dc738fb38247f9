"""`--show-passes`: the loops of a kernel after each pass, in place of the report."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.order import PACK_WEIGHTS, PRODUCT
from cpu.runtime.machine.host import host
from microkernels.tile.isa import EVERY_ISA, ISAS
from search.commands.passes import CHANGED, PACKING, UNCHANGED
from search.matmul import main as matmul_command
from tests.support.search.searching import PROBLEM, SCHEME, SHAPE, conv
from tilewright_entry import TilewrightWarning
from tiling.dtypes.products import DTYPE_BYTES, LANE_BYTES
from tiling.loops.passes import LOWER, names
from tiling.text.notation import parse

GIVEN = ["--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable", "--show-passes"]
COMMAND = [sys.executable, "-m", "search.conv", *GIVEN]
FACTS = facts_of_scheme(parse(PROBLEM, SCHEME), ISAS["portable"], False)
FULL = Path("/dev/full")


def headings(printed: str) -> list[str]:
    return [line.strip("- ") for line in printed.splitlines() if line.startswith("--- ")]


def test_the_loops_after_each_pass(capsys):
    assert conv(*GIVEN) == 0
    printed = capsys.readouterr()
    problem, scheme, *_ = printed.out.splitlines()
    assert problem.startswith("# conv2d c=8,h=12,w=12,k=16,r=3,s=3,") and scheme == f"# {SCHEME}"
    kernel, packing = map(headings, printed.out.split(PACKING))
    assert kernel == [LOWER, *(each.name for each in PRODUCT if each.applies(FACTS))]
    assert packing == [PACK_WEIGHTS, *(each.name for each in PRODUCT if each.packs or each.whole)]
    assert "      tile 4wx4k:\n" in printed.out and "acc_0_0 = fma(x: x_0, w: w_0, acc: acc_0_0)" in printed.out
    assert "(as before)" in printed.out  # no core loops to bind
    assert "GFLOP" not in printed.out and printed.err == ""


def test_winograds_loops_are_those_around_a_product_and_its_own(capsys):
    winograd = [*GIVEN[:3], "F(2x2,3x3) B(6,16) T(n,4) S(c) T(k,8) U(m,6) V(n,4)", *GIVEN[4:]]
    assert conv(*winograd) == 0
    printed = capsys.readouterr().out
    assert headings(printed)[0] == "lower" and "share sums" in headings(printed)
    assert "\ninput_tile(x, v):\n" in printed and "\nproduct(v, u, m):\n" in printed
    assert conv(*winograd, "share sums") == 0
    assert "m_1_0_plus_m_2_0 = m_1_0 + m_2_0" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["split cases", "split-cases", "lower"])
def test_the_loops_after_one_pass(name, capsys):
    assert conv(*GIVEN, name) == 0
    assert headings(capsys.readouterr().out) == [name.replace("-", " ")]


def test_what_one_pass_changed_is_marked(capsys):
    assert conv(*GIVEN, "split cases") == 0
    loops, _, changes = capsys.readouterr().out.partition(f"\n\n{CHANGED}\n")
    begins = [line[:1] for line in changes.splitlines()]
    assert begins[0] == "@" and set(begins) == {"@", " ", "-", "+"}
    added = [line[1:] for line in changes.splitlines() if line.startswith("+")]
    assert {*added} <= {*loops.splitlines()} and "      if 4 <= w < 8:" in added
    assert conv(*GIVEN, "bind cores") == 0
    assert capsys.readouterr().out.endswith(f"\n\n{UNCHANGED}\n")


@pytest.mark.parametrize("name, loops", [("lower", 0), ("pack weights", 1), ("unroll", 0), ("share threads", 1)])
def test_the_loops_that_pack_the_weights_come_last(name, loops, capsys):
    assert conv(*GIVEN, name) == 0
    _, *packing = capsys.readouterr().out.split(PACKING)
    assert [headings(text) for text in packing] == [[name]] * loops
    assert ["] = W[k + lane, c, r, s]\n" in text for text in packing] == [True] * loops


def test_a_pass_that_changes_nothing_still_shows_its_loops_where_it_is_asked_for(capsys):
    assert conv(*GIVEN, "bind cores") == 0
    printed = capsys.readouterr().out
    assert "(as before)" not in printed and "tile0_4wx4k" in printed


def test_the_models_choice(capsys, monkeypatch):
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    monkeypatch.setattr("search.flow.find._measured", None)  # nothing is measured
    for options in (["--model-only"], []):
        shape = ["--shape", "m=24,n=50,k=18", "--isa", "portable"]
        assert matmul_command([*shape, *options, "--show-passes", "lower"]) == 0
        assert "# matmul m=24,n=50,k=18\n" in capsys.readouterr().out


def test_loops_are_shown_where_nothing_can_be_kept(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "file" / "below"))
    with pytest.warns(TilewrightWarning, match="now nothing is kept"):
        assert conv(*GIVEN, "lower") == 0
    assert headings(capsys.readouterr().out) == ["lower"]


@pytest.fixture
def bare(monkeypatch):
    """A CPU that runs nothing but the portable instruction set, where no kernel is compiled and none ranked."""
    lacking = replace(host(), flags=frozenset())
    of_target = [f"search.evaluator.cpu.{name}" for name in ("target", "backend", "machine")]
    for module in ("cpu.runtime.machine.host", *of_target):
        monkeypatch.setattr(f"{module}.host", lambda: lacking)
    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.build", None)
    monkeypatch.setattr("search.flow.ranked.rank_first", None)


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", [isa for isa in EVERY_ISA if isa != "portable"])
def test_an_instruction_set_that_this_cpu_does_not_run(isa, bare, capsys):
    dtype, lanes = EVERY_ISA[isa].dtype, EVERY_ISA[isa].lanes
    numbers = LANE_BYTES // DTYPE_BYTES[dtype]
    group = f"D(c,{numbers}) " if numbers > 1 else ""
    scheme = f"R(k) T(h,12) T(w,3) S(y) T(r,3) T(s,3) T(c,{8 // numbers}) U(w,4) {group}V(k,{lanes})"
    given = ["--shape", SHAPE, "--dtype", dtype, "--isa", isa]
    for chosen in ([], ["--scheme", scheme]):
        assert conv(*given, *chosen, "--show-passes") == 0
        printed = capsys.readouterr()
        assert {"lower", "vectorise", "share threads"} <= {*headings(printed.out)} and printed.err == ""
        assert ("tile_dot" in printed.out) == (isa.startswith("amx") and not chosen)
    assert conv(*given, "--scheme", scheme) == 2  # a kernel would run
    assert f"this CPU does not run {isa}: it lacks " in sentence(capsys)


def sentence(capsys) -> str:
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and "Traceback" not in printed.err
    return printed.err


def test_an_unknown_name_is_one_sentence_that_lists_the_names(capsys):
    assert conv(*GIVEN, "split") == 2
    said = sentence(capsys)
    assert "--show-passes split: there is no such pass (did you mean split cases?); there are lower, exchange " in said
    assert all(name in said for name in names(PRODUCT))


def test_a_pass_that_a_kernel_does_not_need(capsys):
    assert conv(*GIVEN, "load zero") == 2
    assert "this kernel needs no pass 'load zero'" in sentence(capsys)


@pytest.mark.slow
def test_a_kernel_of_clusters_is_shown_too(capsys):
    gpu = ["--target", "cuda", "--device", "H200", "--dtype", "f16", "--model-only"]
    # A row of 129 channels is copied to a whole one first, for a cluster.
    assert conv("--shape", "c=129,h=56,w=56,k=256,r=3,s=3,pad=1", *gpu, "--show-passes") == 0
    printed = capsys.readouterr()
    assert {"lower", "copy boxes", "specialise warps"} <= {*headings(printed.out)} and printed.err == ""


def test_a_gpu_that_is_not_here_needs_no_other_option(capsys):
    """No choice of a search is kept for it, so it is the model's that is shown."""
    gpu = ["--target", "cuda", "--device", "A100", "--dtype", "f16", "--show-passes", "multiply matrices"]
    assert conv("--shape", "c=16,h=4,w=4,k=16,r=1,s=1", *gpu) == 0
    printed = capsys.readouterr()
    assert headings(printed.out) == ["multiply matrices"] and printed.err == ""


@pytest.mark.parametrize("other", [["--json"], ["--explain"], ["--emit", "kernel"]])
def test_it_prints_nothing_else(other, capsys):
    assert conv(*GIVEN, *other) == 2
    assert "leave out --json, --explain and --emit" in sentence(capsys)


def test_a_bad_scheme_is_refused_as_ever(capsys):
    assert conv(*GIVEN[:-1], "--scheme", SCHEME.replace("S(y) ", ""), "--show-passes") == 2
    assert "S(y) is missing" in sentence(capsys)


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_loops_that_cannot_be_written_are_one_sentence():
    with FULL.open("w") as full:
        ended = subprocess.run(COMMAND, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr == "the result cannot be written to standard output: No space left on device\n"


@pytest.mark.slow
def test_a_terminal_of_ascii_and_a_reader_that_has_enough():
    """λ in the line on the scheme is no letter of ASCII."""
    composed = "R(k) T(h,12) L(w, 1x5 + 1x7) S(y) T(r,3) T(s,3) T(c,8) U(w,λ) V(k,4)"
    command = [composed if word == SCHEME else word for word in COMMAND]
    ended = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert b"tile 5wx4k" in ended.stdout and ended.stdout.isascii() and ended.stderr == b""
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert running.stderr.read() == b"" and running.wait() == 0
