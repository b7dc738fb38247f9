"""Candidates that crash, hang, run out of memory or compute something else, in the real ranking and the real tuner.

The faults are put into the kernels by a compiler of our own (`tests/support/running/faulty_compiler.py`), so that
nothing of what is tested knows of them.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cpu.runtime.compiler.cache_folder import clear
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.processes.worker import Worker
from microkernels.ranking import offline
from microkernels.scores.records import load, measured
from microkernels.tile.isa import PORTABLE
from microkernels.tile.space import quick
from search.evaluator.cpu.backend import cpu_backend
from search.evaluator.cpu.evaluator import CpuEvaluator
from search.tuner import store
from search.tuner.tune import TuningError
from tests.support.microkernels.made_up_ranking import visit_once
from tests.support.sampled import in_turns
from tests.support.search.searching import tune
from tiling.machine import Timing
from tiling.operators import conv2d
from tiling.text.notation import parse

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow
# Each fault with how its recorded reason begins, or a part of it.
FAULTS = {
    "segfault": "crashed with SIGSEGV",
    "illegal instruction": "crashed with SIGILL",
    "hang": "no answer within",
    "abort": "crashed with SIGABRT (it last printed: free(): invalid pointer)",
    "exit": "ended with status 3 before it answered",
    "killed": "killed with SIGKILL, as the system does when memory runs out",
    "memory": "crashed with SIGABRT",
    "wrong result": "WrongResult: wrong result: 1 of ",
    "nothing written": "outputs differ from the reference, the first at (0, 0, 0, 0): nan instead of",
    "compiler hangs": "no answer within",
    "compiler crashes": "CompileError: the compiler was ended by SIGSEGV",
    "compiler killed": "CompileError: the compiler was ended by SIGKILL",
    "compiler allocates": "out of memory",
    "does not compile": "unknown type name 'no_such_type'",
}
# Each ends a worker, and the next one starts for half a second. In a sample the ranking meets one half of them, and the
# tuner the other.
HALVES = [dict(list(FAULTS.items())[turn::2]) for turn in range(2)]
# Those for which the machine may be at fault: they are tried again.
AGAIN = ("hang", "killed", "compiler hangs", "compiler killed")
# Seconds that what is sound gets, on a busy machine too, and seconds that what hangs gets. With one limit for both, a
# sound kernel passed it when other tests took the cores.
PATIENCE, SOON = 60.0, 3.0
HANGS = ("hang", "compiler hangs")
BUDGET = 300.0
SHAPE = "c=8,h=12,w=12,k=16,r=3,s=3,pad=1"
PROBLEM = conv2d(c=8, h=12, w=12, k=16, r=3, s=3, padding=1)
SCHEMES = [
    parse(PROBLEM, f"T(h,{12 // rows}) R(k) T(w,{12 // columns}) S(y) T(r,3) T(s,3) T(c,8){unroll} V(k,4)")
    for columns in (1, 2, 3)
    for rows in (1, 2, 3, 4, 6, 12)
    if rows * columns <= 12
    for unroll in [(f" U(h,{rows})" if rows > 1 else "") + (f" U(w,{columns})" if columns > 1 else "")]
]


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))


@pytest.fixture
def quick_visits(monkeypatch):
    """Visits are short, and no time is in doubt: other tests use the cores, and what they disturbed is tried again."""
    for name in ("SHORT", "LONG"):
        monkeypatch.setattr(f"search.tuner.tune.{name}", 0.01)
    monkeypatch.setattr("search.tuner.peaks.Peaks.marked", lambda self, timing: replace(timing, disturbed=""))


@pytest.fixture
def inject(monkeypatch):
    """Call with {text in the source: fault}."""
    compiler = ROOT / "tests" / "support" / "running" / "faulty_compiler.py"
    monkeypatch.setenv("CC", shlex.join([sys.executable, "-IS", str(compiler)]))  # no packages: it starts often

    calling, hanging = Worker.call, set[str]()

    def call(self, function, /, *, timeout, **arguments):
        assert 0 < timeout <= PATIENCE, "whoever measures gives a limit, so that what hangs ends"
        patience = SOON if hanging & {arguments.get("name"), arguments.get("scheme")} else PATIENCE
        return calling(self, function, timeout=patience, **arguments)

    monkeypatch.setattr(Worker, "call", call)

    def inject(faults):
        monkeypatch.setenv("FAULTS", json.dumps(faults))
        hanging.clear()
        hanging.update(key.strip(": \n") for key, fault in faults.items() if fault in HANGS)

    inject({})
    return inject


def again_in(faults):
    return faults.keys() & set(AGAIN)


@in_turns(2)
def test_the_ranking_goes_on_past_every_fault(inject, monkeypatch, turn):
    visit_once(monkeypatch)
    faults = HALVES[turn]
    kernels = quick(PORTABLE)
    chosen = dict(zip(kernels[1:], faults))
    sound = kernels[len(faults) + 1 :][:3] + kernels[:1]
    inject({f"{kernel.name}:": fault for kernel, fault in chosen.items()})
    state = offline.rank_machine([*chosen, *sound], jobs=2)
    assert (state.done, state.failed) == (len(faults) + len(sound), len(faults))
    catalog = load(fingerprint(host()), "portable")
    assert {entry.kernel for entry in catalog.entries} == set(sound)
    reasons = {failure.kernel: failure.reason for failure in catalog.failures}
    for kernel, fault in chosen.items():
        assert FAULTS[fault] in reasons[kernel], fault
    assert measured(fingerprint(host())) == {kernel.name for kernel in (*chosen, *sound)}
    inject({})
    clear()  # the compiler that injects keeps to no rule: the same source now compiles to something else
    again = offline.rank_machine([*chosen, *sound], resume=True)
    assert (again.done, again.failed) == (len(again_in(faults)), 0), (
        "only what never ended or was killed is tried again"
    )
    catalog = load(fingerprint(host()), "portable")
    assert {f.kernel for f in catalog.failures} == {k for k, fault in chosen.items() if fault not in AGAIN}


@in_turns(2)
def test_the_tuner_goes_on_past_every_fault(inject, quick_visits, monkeypatch, turn):
    faults = HALVES[turn]
    chosen = dict(zip((scheme.text for scheme in SCHEMES), faults))
    inject({f" {text}\n": fault for text, fault in chosen.items()})
    backend = cpu_backend("portable")
    outcome = tune(backend, SCHEMES[: len(faults) + 1], budget=BUDGET, trials=99)
    assert outcome.best.scheme == SCHEMES[len(faults)] and outcome.failed == len(faults)
    found = store.measured(backend.key(PROBLEM))
    for text, fault in chosen.items():
        assert FAULTS[fault] in found[text], fault
    assert isinstance(found[outcome.best.scheme.text], Timing)

    visited = []
    real = CpuEvaluator.measure
    monkeypatch.setattr(
        CpuEvaluator,
        "measure",
        lambda self, scheme, *rest: visited.append(scheme) or real(self, scheme, *rest),
    )
    inject({})
    clear()  # as above
    again = tune(backend, SCHEMES[: len(faults) + 1], budget=BUDGET, trials=99)
    assert again.trials == len(again_in(faults)) and again.failed == 0, (
        "only what never ended or was killed is tried again"
    )
    assert {scheme.text for scheme in visited} <= {t for t, fault in chosen.items() if fault in AGAIN} | {
        outcome.best.scheme.text
    }


def test_where_every_candidate_fails_the_search_says_why(inject):
    inject({"void": "segfault"})
    with pytest.raises(TuningError, match="none of 3 candidates could be measured: crashed with SIGSEGV"):
        tune(cpu_backend("portable"), SCHEMES[:3], budget=BUDGET, trials=3)
