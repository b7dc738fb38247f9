"""What a search does where its winner fails the last check or does not compile, or Ctrl-C comes after the tuning."""

from __future__ import annotations

import json

import pytest

from cpu.toolchain import CompileError
from cpu.worker import CandidateError
from search import command, generate_conv, store
from search.tune import Measured, Outcome
from search.workshop import Workshop, workshop
from tests.test_search_command import conv
from tiling.machine import Timing
from tiling.notation import parse
from tiling.operators import conv2d

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


@pytest.mark.parametrize("budget, told", [("1e-09", True), ("1000", False)])
def test_a_budget_that_cannot_be_kept_is_told(budget, told, made_up_shop, capsys):
    made_up_shop({})
    assert search("--budget", budget) == 0
    assert (f"measure one takes longer than --budget {budget}" in capsys.readouterr().err) is told


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


@pytest.mark.parametrize("step", ["verdict", "keep", "_explain", "build"])
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
    assert store.choice(shop.key(LAST_PROBLEM), shop.kind(tune, LAST_PROBLEM)) is None


@pytest.mark.parametrize("tune", ["model", "measure"])
def test_the_next_scheme_is_built_where_one_or_the_kept_one_does_not_compile(tune, made_up_shop, monkeypatch):
    arguments = dict(c=8, h=7, w=7, k=16, r=3, s=3, isa="portable", tune=tune)
    shop = workshop("portable")
    for count in (1, 2):
        refuse(monkeypatch, [m.scheme for m in FINALISTS[:count]])
        assert generate_conv(**arguments).scheme == FINALISTS[count].scheme
        assert store.choice(shop.key(LAST_PROBLEM), shop.kind(tune, LAST_PROBLEM))[0] == FINALISTS[count].scheme.text
