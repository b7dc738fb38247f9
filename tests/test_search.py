"""The tuner, the store, `generate_conv` and the command line, down to what they say about bad input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cpu.oracle import integers, reference
from cpu.toolchain import CompileError
from cpu.worker import CandidateError
from microkernels.database import data_folder
from search import command, generate_conv, generate_matmul, store
from search.conv import main as conv_command
from search.matmul import main as matmul_command
from search.workshop import Workshop, workshop
from search.tune import Measured, Outcome, TuningError, complexity, tune
from tiling.machine import Timing
from tiling.notation import parse
from tiling.operators import conv2d
from tiling.problem import ProblemError

PROBLEM = conv2d(c=8, h=12, w=12, k=16, r=3, s=3, padding=1)
SCHEME = "R(k) T(h,12) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,4)"
SHAPE = "c=8,h=12,w=12,k=16,r=3,s=3,pad=1"
KEY = store.Key("machine", "portable", "gcc 1", "conv2d", SHAPE, 1)
CANDIDATES = [
    parse(PROBLEM, f"T(h,{12 // rows}) R(k) T(w,12) S(y) T(r,3) T(s,3) T(c,8) U(h,{rows}) V(k,4)")
    for rows in (1, 2, 3, 4, 6, 12)
]


def conv(*arguments: str) -> int:
    return conv_command(list(arguments))


class Bench:
    """A machine of known speeds with a clock of its own; `seconds` by scheme text, or a reason."""

    def __init__(self, seconds, peak=lambda n: 100.0, each=1.0, jitter=0.0):
        self.seconds, self.peak, self.each, self.jitter = seconds, peak, each, jitter
        self.now, self.calls, self.prepared, self.uncompiled = 0.0, [], [], {}

    def measure(self, scheme, seconds, patience):
        self.calls.append(scheme.text)
        self.now += self.each
        found = self.seconds[scheme.text]
        if isinstance(found, (str, BaseException)):
            if isinstance(found, BaseException):
                raise found
            return found
        peak = self.peak(len(self.calls))
        exact = found * 100 / peak
        low, high = exact * (1 - self.jitter), exact * (1 + self.jitter)
        return Timing((low, low, exact, high, high), peak)

    def tune(self, **options):
        options = {"budget": 1e6, "trials": len(CANDIDATES)} | options
        return tune(CANDIDATES, self.measure, self.prepare, clock=lambda: self.now, **options)

    def prepare(self, schemes, patience):
        self.prepared.append([scheme.text for scheme in schemes])
        return {text: reason for text, reason in self.uncompiled.items() if text in self.prepared[-1]}


def test_the_fastest_wins():
    bench = Bench({c.text: 1.0 + abs(place - 3) for place, c in enumerate(CANDIDATES)})
    outcome = bench.tune()
    assert outcome.best.scheme == CANDIDATES[3]
    assert outcome.trials == len(CANDIDATES) and not outcome.interrupted


def test_a_drifting_clock_does_not_choose():
    """Every measurement finds a slower machine, so that the last schemes tried look slowest in seconds alone."""
    bench = Bench(
        {c.text: 1.0 if place == 5 else 1.2 for place, c in enumerate(CANDIDATES)}, peak=lambda n: 100.0 / (1 + n / 10)
    )
    assert bench.tune().best.scheme == CANDIDATES[5]


def test_finalists_are_measured_in_turns():
    """A B C D A B C D …, so that a slow moment hits all alike; the result's samples are of all turns."""
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)})
    outcome = bench.tune()
    leaders, finals = [c.text for c in CANDIDATES[:4]], bench.calls[len(CANDIDATES) :]
    assert finals == leaders * (len(finals) // 4) and len(finals) > 4
    assert len(outcome.best.timing.samples) == 5 * len(finals) // 4


def test_a_near_tie_of_equally_simple_schemes_goes_to_the_one_that_stands_first():
    """Within the winner's spread: 0.4 % slower and first in the list beats the fastest."""
    bench = Bench({c.text: 1.0 - place * 0.001 for place, c in enumerate(CANDIDATES)}, jitter=0.01)
    assert bench.tune().best.scheme == CANDIDATES[2]  # the first of the four finalists
    sure = Bench({c.text: 1.0 - place * 0.001 for place, c in enumerate(CANDIDATES)})
    assert sure.tune().best.scheme == CANDIDATES[5]


def test_a_near_tie_goes_to_the_simpler_scheme():
    """Fewer register tiles first, then fewer loops: 0.4 % slower and simpler beats the fastest; 2 % slower does not."""
    loops = "S(y) T(r,3) T(s,3) T(c,8)"
    composed, split, simple = (
        parse(PROBLEM, text)
        for text in (
            f"R(k) T(h,12) L(w, 1x5 + 1x7) {loops} U(w,λ) V(k,4)",
            f"R(k) T(h,6) T(w,2) T(h,2) {loops} U(w,6) V(k,4)",
            f"R(k) T(h,12) T(w,2) {loops} U(w,6) V(k,4)",
        )
    )
    assert complexity(simple) < complexity(split) < complexity(composed)

    def choice(seconds, jitter=0.01):
        bench = Bench({scheme.text: taken for scheme, taken in seconds.items()}, jitter=jitter)
        return tune(list(seconds), bench.measure, bench.prepare, clock=lambda: bench.now, budget=1e6, trials=9).best.scheme

    assert choice({composed: 1.0, split: 1.002, simple: 1.004}) == simple
    assert choice({composed: 1.0, split: 1.002, simple: 1.02}, jitter=0.03) == split
    assert choice({composed: 1.0, split: 1.002, simple: 1.004}, jitter=0.0) == composed


def test_an_earlier_choice_stays_unless_something_is_faster_by_more_than_its_spread():
    speeds = {c.text: 1.0 - place * 0.001 for place, c in enumerate(CANDIDATES)}
    for kept in CANDIDATES:
        assert Bench(speeds, jitter=0.01).tune(incumbent=kept.text).best.scheme == kept
    slow = speeds | {CANDIDATES[3].text: 1.1}
    assert Bench(slow, jitter=0.01).tune(incumbent=CANDIDATES[3].text).best.scheme != CANDIDATES[3]
    assert Bench(speeds).tune(incumbent="R(x)").best.scheme == CANDIDATES[5]


def test_noise_does_not_change_the_choice():
    """The same store and seed, ten noisy searches one after the other: the first one's choice stays."""
    noise = Random(5)
    known: dict[str, Timing] = {}
    choices = []
    for _ in range(10):
        speeds = {c.text: 1.0 + noise.uniform(0, 0.008) for c in CANDIDATES}
        bench = Bench(speeds, jitter=0.01)
        outcome = bench.tune(known=known, incumbent=choices[-1].text if choices else None)
        known = {c.text: known.get(c.text) or Timing((speeds[c.text],) * 5, 100.0) for c in CANDIDATES}
        choices.append(outcome.best.scheme)
    assert len(set(choices)) == 1


def test_failures_are_counted_and_the_run_goes_on():
    seconds = {c.text: "crashed with SIGSEGV" for c in CANDIDATES}
    seconds[CANDIDATES[4].text] = 1.0
    outcome = Bench(seconds).tune()
    assert outcome.best.scheme == CANDIDATES[4] and outcome.failed == 5


def test_when_all_fail_the_reason_is_told():
    with pytest.raises(TuningError, match="none of 6 candidates could be measured: crashed with SIGILL"):
        Bench({c.text: "crashed with SIGILL" for c in CANDIDATES}).tune()


def test_the_budget_ends_the_search():
    bench = Bench({c.text: 1.0 for c in CANDIDATES}, each=10.0)
    outcome = bench.tune(budget=45.0)
    assert 1 <= outcome.trials < len(CANDIDATES) and bench.now <= 45.0
    assert len(bench.calls) > outcome.trials, "nobody reached the finals"


def test_a_tiny_budget_still_gives_a_result():
    bench = Bench({c.text: 1.0 for c in CANDIDATES}, each=10.0)
    assert bench.tune(budget=1.0).trials == 1


def test_a_finalist_that_fails_is_out():
    """It wins the short round and one final, then returns a wrong result."""
    flaky = CANDIDATES[1].text
    bench = Bench({c.text: 2.0 for c in CANDIDATES} | {flaky: 1.0})
    measure = bench.measure
    bench.measure = lambda s, *rest: "wrong result" if bench.calls.count(flaky) == 2 and s.text == flaky else measure(s, *rest)
    outcome = bench.tune()
    assert outcome.best.scheme.text != flaky and outcome.failed == 1


def test_an_earlier_choice_stays_where_the_finals_end_before_its_turn():
    """It is known and within the spread of the fastest, and the budget is over after the first finalist."""
    known = {c.text: Timing((1.0 - place * 0.0005,) * 5, 100.0) for place, c in enumerate(CANDIDATES)}
    bench = Bench({c.text: 1.0 - place * 0.0005 for place, c in enumerate(CANDIDATES)}, each=10.0, jitter=0.01)
    outcome = bench.tune(known=known, incumbent=CANDIDATES[0].text, budget=1.0)
    assert bench.calls == [CANDIDATES[5].text] and outcome.best.scheme == CANDIDATES[0]
    slow = known | {CANDIDATES[0].text: Timing((1.1,) * 5, 100.0)}
    assert bench.tune(known=slow, incumbent=CANDIDATES[0].text, budget=1.0).best.scheme == CANDIDATES[5]


def test_runners_up_are_the_other_finalists_fastest_first():
    outcome = Bench({c.text: 1.0 + abs(place - 3) for place, c in enumerate(CANDIDATES)}).tune()
    works = [m.work for m in (outcome.best, *outcome.runners_up)]
    assert works == sorted(works) and len(outcome.runners_up) == 3 and outcome.best not in outcome.runners_up


def test_known_results_are_not_measured_again_before_the_finals():
    known = {c.text: Timing((1.0 + place,) * 5, 100.0) for place, c in enumerate(CANDIDATES)}
    bench = Bench({c.text: 1.0 + place for place, c in enumerate(CANDIDATES)})
    outcome = bench.tune(known=known)
    assert outcome.trials == 0 and bench.prepared == [] and outcome.best.scheme == CANDIDATES[0]
    assert set(bench.calls) == {c.text for c in CANDIDATES[:4]}


def test_known_failures_are_not_tried_again_unless_nothing_else_is_known():
    first, *others = (c.text for c in CANDIDATES)
    failed = {text: "crashed with SIGILL" for text in others[:2]}
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    outcome = bench.tune(known={first: Timing((1.0,) * 5, 100.0), **failed})
    assert not set(bench.calls) & set(failed) and outcome.trials == 3
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    assert bench.tune(known=failed).trials == len(CANDIDATES)


def test_what_does_not_compile_is_not_visited():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    bench.uncompiled = {CANDIDATES[0].text: "CompileError: no such register"}
    outcome = bench.tune()
    assert CANDIDATES[0].text not in bench.calls and (outcome.trials, outcome.failed) == (len(CANDIDATES), 1)


def test_a_candidate_that_hangs_leaves_time_for_the_others():
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    measure, patience_given = bench.measure, []

    def hangs(scheme, seconds, patience):
        patience_given.append(patience)
        if scheme == CANDIDATES[0]:
            bench.now += patience
            return "no answer"
        return measure(scheme, seconds, patience)

    bench.measure = hangs
    assert bench.tune(budget=60.0).trials == len(CANDIDATES) and patience_given[0] == pytest.approx(20.0)


def test_an_interrupt_keeps_the_best_so_far():
    seconds = {c.text: 2.0 for c in CANDIDATES}
    seconds[CANDIDATES[1].text] = 1.0
    seconds[CANDIDATES[3].text] = KeyboardInterrupt()
    outcome = Bench(seconds).tune()
    assert outcome.interrupted and outcome.best.scheme == CANDIDATES[1]


def test_an_interrupt_before_the_first_result_goes_up():
    with pytest.raises(KeyboardInterrupt):
        Bench({c.text: KeyboardInterrupt() for c in CANDIDATES}).tune()


def test_candidates_are_compiled_in_batches(monkeypatch):
    monkeypatch.setattr("search.tune.BATCH", 4)
    bench = Bench({c.text: 1.0 for c in CANDIDATES})
    bench.tune()
    assert [len(batch) for batch in bench.prepared] == [4, 2]
    assert {text for batch in bench.prepared for text in batch} == {c.text for c in CANDIDATES}


def test_the_store_keeps_and_separates():
    store.record(KEY, SCHEME, Timing((1.0, 2.0), 99.0))
    store.record(KEY, "other", "crashed with SIGSEGV")
    assert store.measured(KEY) == {SCHEME: Timing((1.0, 2.0), 99.0), "other": "crashed with SIGSEGV"}
    for other in (replace(KEY, threads=2), replace(KEY, compiler="gcc 2"), replace(KEY, isa="avx2")):
        assert store.measured(other) == {}
    assert store.choice(KEY, "model") is None
    store.choose(KEY, "model", SCHEME, None)
    store.choose(KEY, "measure", "other", Timing((1.0,), 2.0))
    assert store.choice(KEY, "model") == (SCHEME, None)
    assert store.choice(KEY, "measure") == ("other", Timing((1.0,), 2.0))


def test_a_failure_takes_no_timing_s_place():
    key, timing = replace(KEY, fingerprint="another"), Timing((1.0, 2.0), 99.0)
    store.record(key, SCHEME, "no answer within 5 s: killed")
    store.record(key, SCHEME, timing)
    store.record(key, SCHEME, "killed with SIGKILL, as the system does when memory runs out")
    assert store.measured(key) == {SCHEME: timing}
    store.record(key, "other", "crashed with SIGSEGV")
    store.record(key, "other", "crashed with SIGILL")
    assert store.measured(key)["other"] == "crashed with SIGILL"


def test_a_rejected_scheme_has_failed_until_it_is_measured_anew():
    key, timing = replace(KEY, fingerprint="a third"), Timing((1.0, 2.0), 99.0)
    store.record(key, SCHEME, timing)
    store.reject(key, SCHEME, "wrong result")
    store.record(key, SCHEME, "no answer within 5 s: killed")
    assert store.measured(key) == {SCHEME: "wrong result"}
    with sqlite3.connect(data_folder() / "tilewright.sqlite") as connection:
        kept = connection.execute("SELECT samples FROM schemes WHERE fingerprint = 'a third'").fetchall()
    assert kept == [("[1.0, 2.0]",)]
    store.record(key, SCHEME, timing)
    assert store.measured(key) == {SCHEME: timing}


def test_another_version_starts_afresh(monkeypatch):
    store.choose(KEY, "model", SCHEME, None)
    monkeypatch.setattr(store, "VERSION", "of another emitter")
    assert store.choice(KEY, "model") is None and store.measured(KEY) == {}


def test_generate_conv_is_the_kernel_and_remembers(monkeypatch):
    arguments = dict(c=8, h=12, w=12, k=16, r=3, s=3, padding=1, isa="portable")
    kernel = generate_conv(**arguments)
    x, w = integers(PROBLEM)
    packed = kernel.pack(w)
    out = np.empty(PROBLEM.output.shape, np.float32)
    assert kernel(x, packed, out=out) is out
    assert np.array_equal(out, reference(PROBLEM, x, w))
    assert "conv2d" in kernel.source and kernel.scheme.text in kernel.source
    assert kernel.timing.seconds > 0 and kernel.timing.peak_gflops > 0 and len(kernel.timing.samples) >= 5
    monkeypatch.setattr("search.workshop.Workshop.candidates", lambda *_: pytest.fail("searched again"))
    assert generate_conv(**arguments).scheme == kernel.scheme


def test_a_kept_scheme_that_does_not_fit_is_searched_again():
    arguments = dict(c=8, h=9, w=9, k=16, r=3, s=3, isa="portable")
    kernel = generate_conv(**arguments)
    key = workshop("portable").key(kernel.problem)
    with sqlite3.connect(data_folder() / "tilewright.sqlite") as connection:
        connection.execute("UPDATE choices SET scheme = 'T(w,3) S(y) V(k,4)' WHERE shape = ?", (key.shape,))
    assert generate_conv(**arguments).scheme == kernel.scheme


def test_generate_conv_measures():
    kernel = generate_conv(c=4, h=6, w=6, k=8, r=1, s=1, isa="portable", tune="measure", budget=1.0)
    key = workshop("portable").key(kernel.problem)
    assert isinstance(store.measured(key)[kernel.scheme.text], Timing)
    assert store.choice(key, "measure")[0] == kernel.scheme.text


PRODUCTS = [(7, 13, 11), (1, 31, 29), (31, 1, 5), (1, 1, 1), (1, 1, 97), (509, 3, 2), (3, 509, 7), (64, 48, 32)]


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("m, n, k", PRODUCTS)
def test_generate_matmul_is_exact(m, n, k):
    check_product(m, n, k, "avx512f")


@pytest.mark.parametrize("m, n, k", PRODUCTS[:5])
def test_generate_matmul_is_exact_in_portable_c(m, n, k):
    check_product(m, n, k, "portable")


def check_product(m, n, k, isa):
    rng = np.random.default_rng(m * n * k)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    kernel = generate_matmul(m=m, n=n, k=k, isa=isa)
    assert np.array_equal(kernel(a, b), a.astype(int) @ b.astype(int))
    assert generate_matmul(m=m, n=n, k=k, isa=isa).scheme == kernel.scheme


def test_a_matrix_product_on_the_command_line(capsys):
    arguments = ["--shape", "m=24 n=50,k=18", "--isa", "portable", "--scheme", "T(m,4) R(n) S(c) T(k,18) U(m,6) V(n,4)"]
    assert matmul_command([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["shape"] == "m=24,n=50,k=18" and report["correct"] is True
    assert report["microkernels"] == ["f32_matmul_ukernel_6mx4n__portable"]
    assert report["repeat"].split()[2:5] == ["search.matmul", "--shape", "m=24,n=50,k=18"]
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable", "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) == set(report)


def test_a_model_only_matrix_product_is_explained(capsys, monkeypatch):
    monkeypatch.setattr("search.command._rank_first", lambda *_: None)
    assert matmul_command(["--shape", "m=24,n=50,k=18", "--isa", "portable", "--model-only", "--explain"]) == 0
    printed = capsys.readouterr().out
    assert "chosen" in printed and "c stays in registers over k" in printed


@pytest.mark.parametrize(
    "shape, message",
    [("m=4,n=4", "the shape lacks k"), ("m=0,n=4,k=4", "m=0 must be"), ("c=4", "unknown key 'c'; known are m n k")],
)
def test_a_bad_matmul_shape_gets_one_sentence(shape, message, capsys):
    assert matmul_command(["--shape", shape]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and printed.out == ""


def workshop_without_compiler(isa, threads):
    """What is refused is refused before anything is compiled."""
    shop = workshop(isa, threads)
    pytest.fail(f"{shop} was asked for a kernel")


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(c=0), "c=0 must be at least 1"),
        (dict(h=-3), "h=-3 must be at least 1"),
        (dict(k=2.5), "k=2.5 must be a whole number"),
        (dict(r=9, padding=0), "reaches over 9 points along h, the padded input has only 5"),
        (dict(stride=0), "stride"),
        (dict(padding=-1), "padding=-1"),
        (dict(threads=0), "threads must be a whole number from 1"),
        (dict(threads=10**20), "threads must be a whole number from 1"),
        (dict(budget="30"), "budget='30' must be a number of seconds above 0"),
        (dict(budget=float("nan")), "budget=nan"),
        (dict(isa=["avx2"]), "must be the name of an instruction set"),
        (dict(w=1 << 30), "the largest supported"),
        (dict(transposed=True), "a transposed convolution is not covered"),
        (dict(d=4), "a 3-D convolution is not covered"),
        (dict(stride=(1, 1, 1)), "a 3-D convolution is not covered"),
        (dict(padding=[0, 1, 1]), "a 3-D convolution is not covered"),
        (dict(dtype="complex64"), "dtype 'complex64' is not covered on a CPU: only 'f32' is"),
        (dict(dtype=np.complex128), "complex128'> is not covered on a CPU"),
        (dict(dtype="bf16"), "dtype 'bf16' is not covered on a CPU"),
        (dict(groups=3), "groups=3 do not divide c=4"),
        (dict(padding="full"), "padding='full'"),
        (dict(r=None), "r is missing: give h and r, or neither"),
        (dict(tune="fast"), 'tune=\'fast\' must be "model" or "measure"'),
        (dict(isa="sse9"), "unknown instruction set 'sse9'"),
    ],
)
def test_generate_conv_refuses(wrong, message, monkeypatch):
    monkeypatch.setattr("search.generate.workshop", workshop_without_compiler)
    with pytest.raises(ProblemError) as raised:
        generate_conv(**(dict(c=4, h=5, w=5, k=4, r=3, s=3, padding=1) | wrong))
    assert message in str(raised.value)


def test_running_exactly_one_scheme(capsys, tmp_path):
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable", "--json", "--emit", str(tmp_path)) == 0
    printed = capsys.readouterr()
    (line,) = printed.out.splitlines()
    report = json.loads(line)
    required = "shape scheme seconds gflops peak_gflops percent_of_peak threads correct max_error trials search_seconds machine"
    assert set(required.split()) <= set(report)
    assert report["scheme"] == SCHEME and report["shape"] == SHAPE and report["correct"] is True
    assert report["percent_of_peak"] == pytest.approx(100 * report["gflops"] / report["peak_gflops"])
    assert {Path(path).suffix for path in report["emitted"]} == {".c", ".h", ".so", ".json"}


def test_the_repeat_command_repeats(capsys):
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable") == 0
    text = capsys.readouterr().out
    for fact in ("problem", "scheme", "composed of", "time", "speed", "check", "search", "machine", "repeat with"):
        assert f"\n{fact}" in f"\n{text}"
    repeat = next(line for line in text.splitlines() if line.startswith("repeat with")).removeprefix("repeat with").strip()
    words = shlex.split(repeat)
    words[0] = sys.executable if words[0] == "python" else words[0]
    again = subprocess.run(words, capture_output=True, text=True)
    assert again.returncode == 0 and SCHEME in again.stdout, again.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--shape", "resnet18:R99"], "R99"),
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
    ],
)
def test_bad_input_gets_one_sentence(arguments, message, capsys):
    isa = [] if "--isa" in arguments else ["--isa", "portable"]
    assert conv(*arguments, *isa) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err and "Traceback" not in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--threads", "0"], ["--budget", "-1"], ["--trials", "none"], ["--seed", "-1"], ["--budget", "nan"], []])
def test_bad_options_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        conv(*(["--shape", SHAPE] if arguments else []), *arguments)
    assert stopped.value.code == 2 and "error:" in capsys.readouterr().err


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "search.conv", "--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable", *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip


def test_without_a_compiler():
    ended = run(CC="no-such-compiler")
    assert ended.returncode == 1 and "apt install gcc" in ended.stderr and ended.stderr.count("\n") == 1


def test_with_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    ended = run(TILEWRIGHT_CACHE=str(tmp_path / "file" / "below"))
    assert ended.returncode == 1 and "TILEWRIGHT_CACHE" in ended.stderr and ended.stderr.count("\n") == 1


def test_from_nothing_to_a_tuned_kernel_and_a_ctrl_c_in_the_middle(tmp_path):
    """The whole way on a machine that never ranked anything; then a search that is interrupted once it has a result."""
    shape = "c=16,h=20,w=20,k=32,r=3,s=3,pad=1"
    environment = {**os.environ, "TILEWRIGHT_DATA": str(tmp_path)}
    search = [sys.executable, "-m", "search.conv", "--shape", shape, "--isa", "portable", "--json"]
    ended = subprocess.run([*search, "--budget", "2"], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "microkernels of portable on this machine, once" in ended.stderr
    report = json.loads(ended.stdout)
    assert report["correct"] and report["trials"] >= 1

    search[4] = "c=16,h=28,w=28,k=64,r=3,s=3,pad=1"
    running = subprocess.Popen(
        [*search, "--budget", "600", "--trials", "5000"], env=environment, stdout=subprocess.PIPE, text=True
    )
    tried = "SELECT count(*) FROM schemes WHERE shape = ? AND reason IS NULL"
    for _ in range(1200):
        with sqlite3.connect(tmp_path / "tilewright.sqlite") as connection:
            if connection.execute(tried, (search[4],)).fetchone()[0] >= 2:
                break
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    printed, _ = running.communicate(timeout=120)
    report = json.loads(printed)
    assert running.returncode == 130 and report["interrupted"] and report["correct"] and report["trials"] >= 2


def test_explaining_a_model_only_choice_on_two_threads(capsys):
    arguments = ["--shape", SHAPE, "--isa", "portable", "--threads", "2", "--model-only", "--explain"]
    assert conv(*arguments) == 0
    text = capsys.readouterr().out
    assert "none measured" in text and "2 threads" in text and "chosen" in text and "L2→L1" in text


def test_a_model_choice_lasts_as_long_as_its_ranking(monkeypatch):
    arguments = dict(c=8, h=11, w=11, k=16, r=3, s=3, isa="portable")
    generate_conv(**arguments)
    asked = []
    monkeypatch.setattr("search.workshop.revision", lambda *_: "after another ranking")
    monkeypatch.setattr(
        "search.workshop.Workshop.candidates",
        lambda self, problem: asked.append(problem) or [parse(problem, "R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,4)")],
    )
    generate_conv(**arguments)
    assert asked


def test_a_broken_environment_is_no_candidates_fault(tmp_path):
    """A cache that cannot be written ends the search with one sentence and leaves no failures in the store."""
    (tmp_path / "file").write_text("")
    shape = "c=8,h=10,w=10,k=16,r=3,s=3"
    command = [sys.executable, "-m", "search.conv", "--shape", shape, "--isa", "portable", "--budget", "2"]
    broken = {**os.environ, "TILEWRIGHT_CACHE": str(tmp_path / "file" / "below")}
    ended = subprocess.run(command, env=broken, capture_output=True, text=True)
    assert ended.returncode == 1 and "TILEWRIGHT_CACHE" in ended.stderr and "Traceback" not in ended.stderr
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


LAST_SHAPE = "c=8,h=7,w=7,k=16,r=3,s=3"
LAST_PROBLEM = conv2d(c=8, h=7, w=7, k=16, r=3, s=3)
FINALISTS = [
    Measured(parse(LAST_PROBLEM, text), Timing((seconds,), 70.0))
    for text, seconds in [
        ("R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", 1.0),
        ("R(k) R(w) R(h) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", 2.0),
        ("R(h) R(k) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", 3.0),
    ]
]


@pytest.fixture
def made_up_shop(monkeypatch, tmp_path):
    """Every search ends with FINALISTS; call with what a scheme's last check does, by place: raise, or pass."""
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    checked = []

    def shop(faults):
        def verdict(self, scheme, *_):
            place = [m.scheme for m in FINALISTS].index(scheme)
            checked.append(place)
            if place in faults:
                raise faults[place]
            return Timing((9.0,), 70.0), 0.0

        monkeypatch.setattr("search.workshop.Workshop.verdict", verdict)
        return checked

    best, *others = FINALISTS
    monkeypatch.setattr("search.command._rank_first", lambda *_: None)
    monkeypatch.setattr("search.workshop.Workshop.candidates", lambda *_: [m.scheme for m in FINALISTS])
    monkeypatch.setattr("search.workshop.Workshop.tune", lambda *_, **__: Outcome(best, 3, 0, False, (), tuple(others)))
    return shop


def choice() -> str | None:
    kept = store.choice(workshop("portable").key(LAST_PROBLEM), "measure")
    return kept and kept[0]


def search(*arguments):
    return conv("--shape", LAST_SHAPE, "--isa", "portable", *arguments)


def test_a_kernel_that_fails_its_last_check_is_nobodys_choice(made_up_shop, capsys):
    made_up_shop({place: CandidateError(f"wrong result {place} \x1b[31m") for place in range(3)})
    assert search() == 1
    assert capsys.readouterr().err == "the kernel failed: wrong result 0 \\x1b[31m\n"
    assert choice() is None


def test_where_the_winner_fails_its_last_check_the_next_finalist_takes_its_place(made_up_shop, capsys):
    key = workshop("portable").key(LAST_PROBLEM)
    for finalist in FINALISTS:
        store.record(key, finalist.scheme.text, finalist.timing)
    checked = made_up_shop({0: CandidateError("wrong result"), 1: CandidateError("no answer within 60 s: killed")})
    assert search("--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert checked == [0, 1, 2] and report["scheme"] == choice() == FINALISTS[2].scheme.text
    assert report["failed"] == 2 and report["seconds"] == 9.0 and not report["interrupted"]
    found = [store.measured(key)[finalist.scheme.text] for finalist in FINALISTS]
    assert found == ["wrong result", FINALISTS[1].timing, FINALISTS[2].timing], "a slow moment condemns no scheme"


@pytest.mark.parametrize("step", ["verdict", "_keep", "_explain", "build"])
def test_a_ctrl_c_after_the_tuning_costs_only_what_was_to_follow(step, made_up_shop, monkeypatch, tmp_path, capsys):
    made_up_shop({0: KeyboardInterrupt()} if step == "verdict" else {})
    owner = "search.workshop.Workshop" if step == "build" else "search.command"
    interrupts = [KeyboardInterrupt()]
    if step != "verdict":
        real = getattr(Workshop, step) if step == "build" else getattr(command, step)

        def once(*arguments):
            if interrupts:
                raise interrupts.pop()
            return real(*arguments)

        monkeypatch.setattr(f"{owner}.{step}", once)
    monkeypatch.setattr("search.command.explain", lambda *_: "because")
    assert search("--json", "--explain", "--emit", str(tmp_path / "out")) == 130
    report = json.loads(capsys.readouterr().out)
    assert report["interrupted"] and report["scheme"] == choice() == FINALISTS[0].scheme.text
    assert report["seconds"] == (1.0 if step == "verdict" else 9.0)


# ---- generate


def refuse(monkeypatch, refused):
    """No kernel of these schemes compiles any more."""
    real = Workshop.build

    def build(self, scheme):
        if scheme in refused:
            raise CompileError("the compiler failed with status 1")
        return real(self, scheme)

    monkeypatch.setattr("search.workshop.Workshop.build", build)


@pytest.mark.parametrize("tune", ["model", "measure"])
def test_what_does_not_compile_is_nobodys_choice(tune, made_up_shop, monkeypatch):
    arguments = dict(c=8, h=7, w=7, k=16, r=3, s=3, isa="portable", tune=tune)
    refuse(monkeypatch, [m.scheme for m in FINALISTS])
    with pytest.raises(CompileError, match="status 1"):
        generate_conv(**arguments)
    shop = workshop("portable")
    assert store.choice(shop.key(LAST_PROBLEM), shop.kind(tune, "conv2d")) is None


@pytest.mark.parametrize("tune", ["model", "measure"])
def test_the_next_scheme_is_built_where_one_or_the_kept_one_does_not_compile(tune, made_up_shop, monkeypatch):
    arguments = dict(c=8, h=7, w=7, k=16, r=3, s=3, isa="portable", tune=tune)
    shop = workshop("portable")
    for count in (1, 2):
        refuse(monkeypatch, [m.scheme for m in FINALISTS[:count]])
        assert generate_conv(**arguments).scheme == FINALISTS[count].scheme
        assert store.choice(shop.key(LAST_PROBLEM), shop.kind(tune, "conv2d"))[0] == FINALISTS[count].scheme.text
