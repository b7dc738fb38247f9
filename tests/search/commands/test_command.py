"""The command line, down to what it says about bad input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cpu.runtime.machine.host import fingerprint, host
from microkernels.scores.records import load
from microkernels.tile.isa import ISAS_OF, PORTABLE
from microkernels.tile.space import quick
from search.evaluator.cpu.backend import cpu_backend
from search.matmul import main as matmul_command
from search.tuner import store
from tests.support.microkernels.made_up_ranking import make_up_portable
from tests.support.search.searching import SCHEME, SHAPE, conv
from tiling.choices import either
from tiling.dtypes.products import GPU_DTYPES, OUTPUT_DTYPES
from tiling.machine import Timing
from tiling.operators import conv2d, matmul
from tiling.text.shapes import canonical


@pytest.fixture
def ranked(data_folder):
    """A store with a made-up ranking, so that a search on portable C begins at once."""
    make_up_portable()


@pytest.mark.slow
def test_a_matrix_product_on_the_command_line(capsys):
    arguments = ["--shape", "m=24 n=50,k=18", "--isa", "portable", "--scheme", "T(m,4) R(n) S(c) T(k,18) U(m,6) V(n,4)"]
    assert matmul_command([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["shape"] == "m=24,n=50,k=18" and report["correct"] is True
    assert report["microkernels"] == ["f32_matmul_ukernel_6mx4n__portable"]
    assert report["repeat"].split()[2:5] == ["search.matmul", "--shape", "m=24,n=50,k=18"]
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable", "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) == set(report)


@pytest.mark.slow
def test_a_model_only_matrix_product_is_explained(capsys, monkeypatch):
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    assert matmul_command(["--shape", "m=24,n=50,k=18", "--isa", "portable", "--model-only", "--explain"]) == 0
    printed = capsys.readouterr().out
    assert "chosen" in printed and "c stays in registers over k" in printed


@pytest.mark.parametrize(
    "shape, message",
    [
        ("m=4,n=4", "the shape lacks k"),
        ("m=4,n=4,k=4,trans_a=2", "trans_a=2: expected 0 or 1"),
        ("m=0,n=4,k=4", "m=0 must be"),
        ("c=4", "unknown key 'c'; known are m n k"),
    ],
)
def test_a_bad_matmul_shape_gets_one_sentence(shape, message, capsys):
    assert matmul_command(["--shape", shape]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and printed.out == ""


@pytest.mark.slow
def test_a_scheme_that_shares_no_work_says_so(capsys):
    shared = "T(h,2)@core R(k) T(h,6) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,4)"
    for scheme, said in ((SCHEME, 1), (shared, 0)):
        assert conv("--shape", SHAPE, "--scheme", scheme, "--isa", "portable", "--threads", "2") == 0
        assert capsys.readouterr().err.count("such as T(h,2)@core one of 2 does all") == said
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable") == 0
    assert "@core" not in capsys.readouterr().err


@pytest.mark.slow
def test_running_exactly_one_scheme(capsys, tmp_path):
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable", "--json", "--emit", str(tmp_path)) == 0
    printed = capsys.readouterr()
    (line,) = printed.out.splitlines()
    report = json.loads(line)
    required = "shape scheme seconds gflops peak_gflops percent_of_peak threads correct max_error trials machine"
    assert {*required.split(), "search_seconds"} <= set(report)
    assert report["scheme"] == SCHEME and report["shape"] == SHAPE and report["correct"] is True
    assert report["percent_of_peak"] == pytest.approx(100 * report["gflops"] / report["peak_gflops"])
    assert {Path(path).suffix for path in report["emitted"]} == {".c", ".h", ".so", ".json", ".mk", ""}


@pytest.mark.slow
def test_the_repeat_command_repeats(capsys):
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable") == 0
    text = capsys.readouterr().out
    for fact in ("problem", "scheme", "composed of", "time", "speed", "check", "search", "machine", "repeat with"):
        assert f"\n{fact}" in f"\n{text}"
    repeat = (
        next(line for line in text.splitlines() if line.startswith("repeat with")).removeprefix("repeat with").strip()
    )
    words = shlex.split(repeat)
    words[0] = sys.executable if words[0] == "python" else words[0]
    again = subprocess.run(words, capture_output=True, text=True)
    assert again.returncode == 0 and SCHEME in again.stdout, again.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--shape", "resnet18:R99"], "R99"),
        (["--shape", SHAPE + ",layout=nchw", "--layout", "NHWC"], "give one of them"),
        (["--shape", "resnet99:R1"], "there is no suite 'resnet99'"),
        (["--shape", "c=8,h=12,w=12,k=16,r=3"], "the shape lacks s"),
        (["--shape", "c=8,h=12,w=12,k=16,r=3,s=3,colour=4"], "colour"),
        (["--shape", "c=0,h=12,w=12,k=16,r=3,s=3"], "c=0 must be at least 1"),
        (["--shape", "c=-1,h=12,w=12,k=16,r=3,s=3"], "c=-1"),
        (["--shape", SHAPE, "--scheme", ""], "an empty scheme covers nothing"),
        (["--shape", SHAPE, "--explain", "--scheme", SCHEME.replace("S(y) ", "")], "S(y) is missing"),
        (["--shape", SHAPE, "--threads", "4096"], "threads must be a whole number from 1 to 1024"),
        (["--shape", "c=8,h=2,w=12,k=16,r=3,s=3"], "the kernel reaches over 3 points along h"),
        (["--shape", SHAPE, "--scheme", "T(k"], "cannot read 'T(k'"),
        (["--shape", SHAPE, "--scheme", "T(k,3) V(k,4)"], "cover 3 vectors of dim k, which has 4"),
        (["--shape", SHAPE, "--scheme", SCHEME.replace("V(k,4)", "V(k,16)").replace("R(k)", "T(k,1)")], "lanes"),
        (["--shape", SHAPE, "--isa", "sse9"], "unknown instruction set 'sse9'"),
        (["--shape", SHAPE, "--dtype", ""], "dtype '' is not covered on a CPU: f32, bf16, int8 are"),
        (["--shape", SHAPE, "--cluster", "tcp://h:1", "--model-only"], "candidates, and --model-only tries none"),
        (["--shape", SHAPE, "--cluster", "tcp://h:1", "--scheme", SCHEME], "candidates, and --scheme tries none"),
        (["--shape", SHAPE, "--cluster", "tcp://h:1", "--show-passes"], "candidates, and --show-passes tries none"),
        (["--shape", SHAPE, "--budget", "5", "--model-only"], "how long to try candidates, and --model-only tries"),
        (["--shape", SHAPE, "--trials", "5", "--scheme", SCHEME], "how many candidates to try, and --scheme tries"),
        (["--shape", SHAPE, "--forget", "--scheme", SCHEME], "tries candidates again, and --scheme tries none"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message, capsys):
    isa = [] if "--isa" in arguments else ["--isa", "portable"]
    assert conv(*arguments, *isa) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err and "Traceback" not in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--threads", "0"],
        ["--budget", "-1"],
        ["--trials", "none"],
        ["--seed", "-1"],
        ["--budget", "nan"],
        ["--layout", "nhcw"],
        ["--cluster", ""],
        ["--cluster", "tcp://HOST"],
        [],
    ],
)
def test_bad_options_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        conv(*(["--shape", SHAPE] if arguments else []), *arguments)
    assert stopped.value.code == 2 and "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("--threads", "0", "'0' is not a whole number of at least 1"),
        ("--threads", "99999999999", "99999999999 is more than the largest number, 2147483647"),
        ("--seed", "1.5", "'1.5' is not a whole number of at least 0"),
        ("--seed", "9" * 40, f"{'9' * 40} is more than the largest number, 2147483647"),
        ("--budget", "inf", "'inf' is not a number of seconds above 0"),
        ("--budget", "1e9", "1e9 is more than the longest time, 1,000,000 seconds"),
    ],
)
def test_a_number_that_is_refused_is_told_why(option, given, message, capsys):
    with pytest.raises(SystemExit):
        conv("--shape", SHAPE, option, given)
    assert capsys.readouterr().err == f"python -m search.conv: error: argument {option}: {message}; see --help\n"


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "search.conv", "--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable", *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_without_a_compiler():
    ended = run(CC="no-such-compiler")
    assert ended.returncode == 1 and "apt install gcc" in ended.stderr and ended.stderr.count("\n") == 1


@pytest.mark.slow
def test_with_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    ended = run(TILEWRIGHT_CACHE=str(tmp_path / "file" / "below"))
    assert ended.returncode == 1 and "TILEWRIGHT_CACHE" in ended.stderr and ended.stderr.count("\n") == 1


@pytest.mark.slow
def test_from_nothing_to_a_tuned_kernel(data_folder, monkeypatch, capsys):
    """The whole way on a machine that never ranked anything."""
    few = quick(PORTABLE)[::20]
    monkeypatch.setattr("microkernels.ranking.rank.quick", lambda *asked: few)
    # No time is in doubt, as what other programs disturb is measured again: the trials end the search, no budget does.
    monkeypatch.setattr("search.tuner.peaks.Peaks.marked", lambda self, timing: replace(timing, disturbed=""))
    assert conv("--shape", SHAPE, "--isa", "portable", "--json", "--budget", "30", "--trials", "4") == 0
    printed = capsys.readouterr()
    assert f"ranking {len(few)} conv2d microkernels of portable on this machine, once" in printed.err
    assert {entry.kernel for entry in load(fingerprint(host()), "portable").entries} == set(few)
    report = json.loads(printed.out)
    assert report["correct"] and report["trials"] >= 1


@pytest.mark.slow
def test_a_ctrl_c_in_the_middle_of_a_search_leaves_its_best(ranked):
    shape = "c=16,h=28,w=28,k=64,r=3,s=3,pad=1"
    search = [sys.executable, "-m", "search.conv", "--shape", shape, "--isa", "portable", "--json"]
    running = subprocess.Popen([*search, "--budget", "600", "--trials", "5000"], stdout=subprocess.PIPE, text=True)
    kept = cpu_backend("portable").key(conv2d(c=16, h=28, w=28, k=64, r=3, s=3, padding=1))
    for _ in range(1200):
        if sum(isinstance(found, Timing) for found in store.measured(kept).values()) >= 2:
            break
        time.sleep(0.05)
    else:
        running.kill()
        pytest.fail("a minute of the search has not kept two results of its shape")
    running.send_signal(signal.SIGINT)
    printed, _ = running.communicate(timeout=120)
    report = json.loads(printed)
    assert running.returncode == 130 and report["interrupted"] and report["correct"] and report["trials"] >= 2


@pytest.mark.slow
def test_explaining_a_model_only_choice_on_two_threads(ranked, capsys):
    arguments = ["--shape", SHAPE, "--isa", "portable", "--threads", "2", "--model-only", "--explain"]
    assert conv(*arguments) == 0
    text = capsys.readouterr().out
    assert "none measured" in text and "2 threads" in text and "chosen" in text and "L2→L1" in text
    assert "What the busiest of 2 cores computes and moves:" in text


@pytest.mark.slow
def test_a_broken_environment_is_no_candidates_fault(ranked, tmp_path):
    """A cache that cannot be written ends the search with one sentence and leaves no failures in the store."""
    (tmp_path / "file").write_text("")
    shape = "c=8,h=10,w=10,k=16,r=3,s=3"
    command = [sys.executable, "-m", "search.conv", "--shape", shape, "--isa", "portable", "--trials", "1"]
    command += ["--budget", "2"]
    broken = {**os.environ, "TILEWRIGHT_CACHE": str(tmp_path / "file" / "below")}
    ended = subprocess.run(command, env=broken, capture_output=True, text=True)
    assert ended.returncode == 1 and "TILEWRIGHT_CACHE" in ended.stderr and "Traceback" not in ended.stderr
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", [["--scheme", "R(m) R(n) S(c) T(k,30000) V(n,4)"], ["--budget", "1", "--trials", "1"]])
def test_a_check_that_runs_out_of_memory_is_no_kernels_fault(how, data_folder, monkeypatch, capsys):
    """The product takes 7 GB to check, and a worker may have 2. No scheme is recorded as failed."""
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    monkeypatch.setattr("cpu.runtime.processes.worker._default_memory_bytes", lambda: 2 << 30)
    problem = matmul(m=30000, n=4, k=30000)
    assert matmul_command(["--isa", "portable", "--shape", canonical(problem), *how]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith("memory does not suffice to check a kernel against its definition (")
    assert printed.err.endswith("): ask for a smaller shape, or end other programs\n")
    assert store.measured(cpu_backend("portable").key(problem)) == {}


def test_the_help_lists_every_row_and_every_dtype(capsys):
    with pytest.raises(SystemExit):
        matmul_command(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    for dtype, isas in ISAS_OF.items():
        assert f"{dtype}: {either(isas)}" in told and f"{dtype}: {either(OUTPUT_DTYPES[dtype])}" in told
    assert f"{either((*GPU_DTYPES, 'f32'))} on a GPU" in told
