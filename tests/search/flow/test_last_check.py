"""What a search does where its winner fails the last check, no scheme compiles, or Ctrl-C comes after the tuning."""

from __future__ import annotations

import json
import re
from contextlib import closing

import pytest

from cpu.kernel.export import ExportError
from cpu.runtime.compiler import toolchain
from cpu.runtime.compiler.toolchain import CompileError, ToolchainError, find_compiler
from cpu.runtime.processes.worker import CandidateError, Worker
from search import generate_conv
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.evaluator.interface.protocol import Verdict
from search.flow.find import Found, find
from search.tuner import store
from search.tuner.measured import Measured
from search.tuner.tune import Outcome
from tests.support.search.searching import conv
from tiling.machine import Timing
from tiling.operators import conv2d
from tiling.text.notation import parse

LAST_SHAPE = "c=8,h=7,w=7,k=16,r=3,s=3"
LAST_PROBLEM = conv2d(c=8, h=7, w=7, k=16, r=3, s=3)
FINALISTS = [
    Measured(parse(LAST_PROBLEM, text), (Timing((seconds,), 70.0),))
    for text, seconds in [
        ("R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", 1.0),
        ("R(k) R(w) R(h) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", 2.0),
        ("R(h) R(k) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", 3.0),
    ]
]


@pytest.fixture
def made_up_backend(monkeypatch, tmp_path):
    """Every search ends with FINALISTS; call with what a scheme's last check does, by place: raise, or pass."""
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    checked = []

    def backend(faults, disturbed=""):
        def verify(self, scheme, *_):
            place = [m.scheme for m in FINALISTS].index(scheme)
            checked.append(place)
            if place in faults:
                raise faults[place]
            return Verdict(Timing((9.0,), 70.0, disturbed), 0.0)

        monkeypatch.setattr("search.evaluator.cpu.evaluator.CpuEvaluator.verify", verify)
        return checked

    best, *others = FINALISTS
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.candidates", lambda *_: [m.scheme for m in FINALISTS])
    outcome = Outcome(best, 3, 0, False, tuple(FINALISTS), tuple(others))
    monkeypatch.setattr("search.flow.find.tuned", lambda *_, **__: (outcome, 0))
    return backend


def choice() -> str | None:
    kept = store.choice(cpu_backend("portable").key(LAST_PROBLEM), "measure")
    return kept and kept.scheme


def search(*arguments):
    return conv("--shape", LAST_SHAPE, "--isa", "portable", *arguments)


def test_what_failed_the_last_check_shares_no_process_with_the_next(monkeypatch):
    """The process of each, as its worker: none is shared with a measurement, or with a check that failed."""
    processes = []

    def call(worker, *_, **__):
        processes.append(worker)
        raise CandidateError("it wrote outside of its arrays")

    monkeypatch.setattr(Worker, "call", call)
    evaluator = cpu_backend("portable").evaluator(LAST_PROBLEM)
    assert evaluator.measure(FINALISTS[0].scheme, 0.1) == "it wrote outside of its arrays"
    for finalist in FINALISTS[:2]:
        with pytest.raises(CandidateError):
            evaluator.verify(finalist.scheme, 0.1, 0)
    assert len(processes) == len({id(worker) for worker in processes}) == 3


@pytest.mark.slow
def test_the_report_is_printed_where_saving_fails(made_up_backend, monkeypatch, tmp_path, capsys):
    def save(*_):
        raise ExportError("full")

    made_up_backend({})
    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.save", save)
    assert search("--json", "--emit", str(tmp_path / "out")) == 1
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert report["scheme"] == FINALISTS[0].scheme.text and report["emitted"] == [] and printed.err == "full\n"


KNOWN = "none measured, 9 known from earlier searches and the best of those compared again; "


@pytest.mark.parametrize("trials, known, said", [(0, 9, KNOWN), (2, 0, "2 schemes measured; ")])
def test_the_report_says_what_the_searchs_time_went_into(trials, known, said, made_up_backend, monkeypatch, capsys):
    made_up_backend({})
    best, *others = FINALISTS
    outcome = Outcome(best, trials, 0, False, tuple(FINALISTS), tuple(others))
    monkeypatch.setattr("search.flow.find.tuned", lambda *_, **__: (outcome, known))
    assert search() == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("search"))
    assert re.fullmatch(r"search +[0-9.]+ s, " + said + r"[0-9.]+ s of it listed and ranked 3 schemes", line)


@pytest.mark.parametrize("budget, told", [("1e-09", True), ("1000", False)])
def test_a_budget_that_cannot_be_kept_is_told(budget, told, made_up_backend, capsys):
    made_up_backend({})
    assert search("--budget", budget) == 0
    assert (f"measure one takes longer than --budget {budget}" in capsys.readouterr().err) is told


def test_a_kernel_that_fails_its_last_check_is_nobodys_choice(made_up_backend, capsys):
    made_up_backend({place: CandidateError(f"wrong result {place} \x1b[31m") for place in range(3)})
    assert search() == 1
    assert capsys.readouterr().err == "the kernel failed: wrong result 0 \\x1b[31m\n"
    assert choice() is None


def test_where_the_winner_fails_its_last_check_the_next_finalist_takes_its_place(made_up_backend, capsys):
    key = cpu_backend("portable").key(LAST_PROBLEM)
    for finalist in FINALISTS:
        store.record(key, finalist.scheme.text, finalist.timing)
    checked = made_up_backend({0: CandidateError("wrong result"), 1: CandidateError("no answer within 60 s: killed")})
    assert search("--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert checked == [0, 1, 2] and report["scheme"] == choice() == FINALISTS[2].scheme.text
    assert report["failed"] == 2 and report["seconds"] == 9.0 and not report["interrupted"]
    found = [store.measured(key)[finalist.scheme.text] for finalist in FINALISTS]
    assert found == ["wrong result", FINALISTS[1].timing, FINALISTS[2].timing], "a slow moment condemns no scheme"


def test_the_quiet_time_is_told_where_the_last_check_was_disturbed(made_up_backend, capsys):
    made_up_backend({}, "other programs took 1.0 cores")
    assert search("--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["seconds"], report["disturbed"], report["max_error"]) == (1.0, "", 0.0)
    assert search() == 0
    assert "remark" not in capsys.readouterr().out


def test_what_failed_the_last_check_was_not_tried(made_up_backend):
    """A benchmark takes the model's choice from the schemes that were tried."""
    made_up_backend({0: CandidateError("wrong result")})
    found = find(LAST_PROBLEM, cpu_backend("portable").target, budget=1.0)
    assert found.scheme == FINALISTS[1].scheme and found.tried == tuple(FINALISTS[1:])


ARGUMENTS = dict(c=8, h=7, w=7, k=16, r=3, s=3, isa="portable")


def test_a_measured_search_from_python_ends_with_the_last_check_too(made_up_backend):
    key = cpu_backend("portable").key(LAST_PROBLEM)
    for finalist in FINALISTS:
        store.record(key, finalist.scheme.text, finalist.timing)
    checked = made_up_backend({0: CandidateError("wrong result")})
    kernel = generate_conv(**ARGUMENTS, tune="measure")
    assert checked == [0, 1] and kernel.scheme == FINALISTS[1].scheme and choice() == kernel.scheme.text
    assert kernel.timing == Timing((9.0,), 70.0) and store.measured(key)[FINALISTS[0].scheme.text] == "wrong result"


def test_a_search_from_python_whose_finalists_are_all_wrong_raises(made_up_backend):
    made_up_backend({place: CandidateError(f"wrong result {place}") for place in range(3)})
    with pytest.raises(CandidateError, match="wrong result 0"):
        generate_conv(**ARGUMENTS, tune="measure")
    assert choice() is None


def test_a_ctrl_c_in_the_last_check_of_a_search_from_python_keeps_no_choice(made_up_backend):
    made_up_backend({0: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        generate_conv(**ARGUMENTS, tune="measure")
    assert choice() is None


def test_what_was_measured_to_be_faster_is_taken_unmeasured_with_its_timing(made_up_backend, monkeypatch):
    made_up_backend({})
    assert generate_conv(**ARGUMENTS).scheme == FINALISTS[0].scheme
    best = FINALISTS[2]
    store.choose(cpu_backend("portable").key(LAST_PROBLEM), "measure", best.scheme.text, best.timing)
    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.candidates", lambda *_: pytest.fail("searched again"))
    kernel = generate_conv(**ARGUMENTS)
    assert kernel.scheme == best.scheme and kernel.timing == best.timing


@pytest.mark.parametrize("step", ["verify", "keep", "explain", "save"])
def test_a_ctrl_c_after_the_tuning_costs_only_what_was_to_follow(step, made_up_backend, monkeypatch, tmp_path, capsys):
    made_up_backend({0: KeyboardInterrupt()} if step == "verify" else {})
    owner = Found if step == "keep" else CpuBackend
    interrupts = [KeyboardInterrupt()]
    if step != "verify":
        real = getattr(owner, step)

        def once(*arguments):
            if interrupts:
                raise interrupts.pop()
            return real(*arguments)

        monkeypatch.setattr(owner, step, once)
    monkeypatch.setattr("search.evaluator.cpu.report.explain", lambda *_: "because")
    assert search("--json", "--explain", "--emit", str(tmp_path / "out")) == 130
    report = json.loads(capsys.readouterr().out)
    assert report["interrupted"] and report["scheme"] == choice() == FINALISTS[0].scheme.text
    assert report["seconds"] == (1.0 if step == "verify" else 9.0)


def refuse(monkeypatch, refused):
    """No kernel of these schemes compiles any more."""
    real = CpuBackend.build

    def build(self, scheme, timing=None):
        if scheme in refused:
            raise CompileError("the compiler failed with status 1")
        return real(self, scheme, timing)

    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.build", build)


@pytest.mark.parametrize("tune", ["model", "measure"])
def test_what_does_not_compile_is_nobodys_choice(tune, made_up_backend, monkeypatch):
    arguments = dict(c=8, h=7, w=7, k=16, r=3, s=3, isa="portable", tune=tune)
    refuse(monkeypatch, [m.scheme for m in FINALISTS])
    with pytest.raises(CompileError, match="status 1"):
        generate_conv(**arguments)
    backend = cpu_backend("portable")
    assert store.choice(backend.key(LAST_PROBLEM), backend.kind(tune, LAST_PROBLEM)) is None


@pytest.mark.slow
@pytest.mark.parametrize("tune", ["model", "measure"])
def test_the_next_scheme_is_built_where_one_or_the_kept_one_does_not_compile(tune, made_up_backend, monkeypatch):
    arguments = dict(c=8, h=7, w=7, k=16, r=3, s=3, isa="portable", tune=tune)
    backend = cpu_backend("portable")
    for count in (1, 2):
        refuse(monkeypatch, [m.scheme for m in FINALISTS[:count]])
        assert generate_conv(**arguments).scheme == FINALISTS[count].scheme
        assert (
            store.choice(backend.key(LAST_PROBLEM), backend.kind(tune, LAST_PROBLEM)).scheme
            == FINALISTS[count].scheme.text
        )


def test_a_compiler_that_hangs_ends_a_search_instead_of_failing_every_scheme(monkeypatch, tmp_path):
    """Its candidates are killed before any compilation ends, which by itself looks like a busy machine."""
    hangs = tmp_path / "cc"
    hangs.write_text(f"#!/bin/sh\n[ $1 = --version ] && exec {find_compiler().path} --version; exec sleep 600\n")
    hangs.chmod(0o755)
    monkeypatch.setenv("CC", str(hangs))
    find_compiler()
    monkeypatch.setattr(toolchain, "_VERSION_SECONDS", 0.2)
    schemes = [each.scheme for each in FINALISTS[:1]]
    with (
        closing(cpu_backend("portable").evaluator(LAST_PROBLEM)) as evaluator,
        pytest.raises(
            ToolchainError, match=rf"^the C compiler hangs: {hangs} took longer than 0.2 s for one line of C"
        ),
    ):
        evaluator.prepare(schemes, patience=0.3)
