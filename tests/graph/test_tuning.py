"""Kernels that are tried inside a model: which stay, what is kept of them, and where the next run goes on."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, shape_inference
from onnx.reference import ReferenceEvaluator

from cpu.runtime.processes.worker import CandidateError
from graph import tuning
from graph.library.kernels import products_of
from graph.plan import Plan
from graph.variant import works_of
from microkernels.scores.database import FILE_NAME
from search.flow import in_models
from search.tuner import store
from tests.support.models.onnx_models import model, whole
from tiling.machine import Timing

node = helper.make_node
ROOT = Path(__file__).parents[2]
# Seconds for one round of new kernels, which takes longer. A process that other programs hold up must still begin it.
SHORT = 0.2


def network(channels=16):
    """Two different products: a convolution, and one that two steps share."""
    constants = {"w": whole(1, channels, 4, 3, 3), "v": whole(2, channels, channels, 1, 1)}
    nodes = [
        node("Conv", ["x", "w"], ["a"], "first", pads=[1, 1, 1, 1]),
        node("Conv", ["a", "v"], ["b"], "second"),
        node("Conv", ["b", "v"], ["y"], "third"),
    ]
    return model(nodes, {"x": [1, 4, 12, 12]}, ["y"], constants)


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """A store of its own."""
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / FILE_NAME


def tried(plan, problems):
    return {problem: in_models.known(plan.backend("f32"), problem) for problem in problems}


def problems_of(plan, compiled):
    """The products of the compiled model."""
    chosen = {each.work for each in compiled.explained if each.product}
    found = [p for p in [*products_of(works_of(plan.graph({})))] for p in (p, plan_form(p))]
    return [problem for problem in dict.fromkeys(found) if str(problem) in chosen]


def plan_form(problem):
    from tiling.operators import in_layout

    return in_layout(problem, "nhwc") if problem.layout == "nchw" else problem


def made_up(monkeypatch, steps, whole_model):
    """Seconds in place of measured ones. steps: those of a new kernel's steps. The rest takes what is left of
    `whole_model`.
    """

    def timed(self, folders):
        count = 1 + max(number for numbers in self.steps.values() for number in numbers)
        found = []
        for place in range(len(folders)):
            seconds = np.full((self.turns, count + 1), 1e-3 * (steps if place else 1.0))
            seconds[:, -1] = 1e-3 * (count + 1) * (whole_model if place else 1.0) - seconds[:, :-1].sum(axis=1)
            found.append(seconds)
        return found

    monkeypatch.setattr(tuning._Tuning, "timed", timed)


@pytest.mark.slow
def test_a_tuned_model_is_exact_and_says_what_is_tuned(apart):
    x = whole(3, 1, 4, 12, 12)
    (wanted,) = ReferenceEvaluator(network()).run(None, {"x": x})
    first = Plan(network()).compiled({})
    compiled = Plan(network(), tune="measure", budget=2.0).compiled({})
    assert compiled(x)[0].tolist() == wanted.tolist()
    changed = [each.scheme != before.scheme for each, before in zip(compiled.explained, first.explained, strict=True)]
    assert [each.tuned for each in compiled.explained] == changed
    assert not any(each.tuned for each in first.explained)
    again = Plan(network()).compiled({})  # measures nothing and takes what is kept
    assert [each.scheme for each in again.explained] == [each.scheme for each in compiled.explained]


@pytest.mark.slow
def test_times_in_a_model_and_times_with_warm_caches_do_not_meet(apart, monkeypatch):
    made_up(monkeypatch, 0.5, 0.9)
    plan = Plan(network(), tune="measure", budget=SHORT)
    compiled = plan.compiled({})
    for problem in problems_of(plan, compiled):
        key = plan.backend("f32").key(plan.backend("f32").problem(problem))
        assert store.measured(key) == {} and store.choice(key, "measure") is None
        assert any(isinstance(outcome, Timing) for outcome in in_models.known(plan.backend("f32"), problem).values())
        store.record(key, "warm", Timing((1.0,), 1.0))
        assert "warm" not in in_models.known(plan.backend("f32"), problem)


@pytest.mark.slow
def test_what_makes_the_whole_model_slower_is_dropped(apart, monkeypatch):
    first = [each.scheme for each in Plan(network()).compiled({}).explained]
    made_up(monkeypatch, 0.5, 1.1)
    assert [each.scheme for each in Plan(network(), tune="measure", budget=SHORT).compiled({}).explained] == first
    made_up(monkeypatch, 1.1, 0.9)  # the model is faster, but not in the steps that changed
    assert [each.scheme for each in Plan(network(), tune="measure", budget=SHORT).compiled({}).explained] == first
    made_up(monkeypatch, 0.5, 0.9)
    assert [each.scheme for each in Plan(network(), tune="measure", budget=SHORT).compiled({}).explained] != first


@pytest.mark.slow
def test_only_what_tuning_changed_is_called_tuned(apart, monkeypatch):
    made_up(monkeypatch, 1.1, 1.1)
    left = Plan(network(), tune="measure", budget=SHORT).compiled({})
    assert not any(each.tuned for each in left.explained)
    made_up(monkeypatch, 0.5, 0.9)
    changed = Plan(network(), tune="measure", budget=SHORT).compiled({})
    pairs = list(zip(left.explained, changed.explained, strict=True))
    assert any(each.tuned for each in changed.explained)
    assert all(each.tuned == (each.scheme != before.scheme) for before, each in pairs)


@pytest.mark.slow
def test_a_wrong_kernel_never_stays(apart, monkeypatch):
    first = [each.scheme for each in Plan(network()).compiled({}).explained]
    made_up(monkeypatch, 0.5, 0.9)
    monkeypatch.setattr("search.evaluator.cpu.evaluator.CpuEvaluator.measure", lambda *_: "WrongResult: made up")
    plan = Plan(network(), tune="measure", budget=SHORT)
    compiled = plan.compiled({})
    assert [each.scheme for each in compiled.explained] == first
    found = [each for known in tried(plan, problems_of(plan, compiled)).values() for each in known.values()]
    assert "WrongResult: made up" in found


@pytest.mark.slow
def test_a_kernel_that_crashes_the_model_is_found_and_recorded(apart, monkeypatch):
    def timed(self, folders):
        if len(folders) > 1:
            raise CandidateError("crashed with SIGSEGV")
        return [np.full((self.turns, 9), 1e-3)]

    monkeypatch.setattr(tuning._Tuning, "timed", timed)
    monkeypatch.setattr("search.evaluator.cpu.evaluator.CpuEvaluator.measure", lambda *_: "crashed with SIGSEGV")
    plan = Plan(network(), tune="measure", budget=0.5)
    compiled = plan.compiled({})
    found = [each for known in tried(plan, problems_of(plan, compiled)).values() for each in known.values()]
    assert found and set(found) == {"crashed with SIGSEGV"}


@pytest.mark.slow
def test_another_model_starts_with_what_a_layer_that_it_shares_has(apart, monkeypatch):
    made_up(monkeypatch, 0.5, 0.9)
    tuned = Plan(network(), tune="measure", budget=SHORT).compiled({})
    constants = {"v": whole(2, 16, 16, 1, 1), "u": whole(4, 5, 16, 3, 3)}
    nodes = [node("Conv", ["x", "v"], ["a"], "shared"), node("Conv", ["a", "u"], ["y"], "own")]
    other = Plan(model(nodes, {"x": [1, 16, 12, 12]}, ["y"], constants)).compiled({})
    by_work = {(each.work, each.scheme) for each in tuned.explained if each.tuned}
    found = {each.node: each for each in other.explained}
    assert (found["shared"].work, found["shared"].scheme) in by_work and found["shared"].tuned
    assert not found["own"].tuned


@pytest.mark.slow
def test_a_second_run_tries_others(apart, monkeypatch):
    made_up(monkeypatch, 1.1, 1.1)
    plan = Plan(network(), tune="measure", budget=SHORT)
    problems = problems_of(plan, plan.compiled({}))
    before = tried(plan, problems)
    plan.compiled({})
    after = tried(plan, problems)
    assert all(before[problem].keys() < after[problem].keys() for problem in problems)


@pytest.mark.slow
@pytest.mark.exhaustive(sent=None)
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_what_was_tried_before_a_kill_is_kept_and_not_tried_again(tmp_path, sent):
    path, data = tmp_path / "net.onnx", tmp_path / "data"
    path.write_bytes(shape_inference.infer_shapes(network(32)).SerializeToString())
    environment = {**os.environ, "TILEWRIGHT_DATA": str(data)}
    script = (
        "import sys; from graph.plan import Plan\n"
        "Plan(sys.argv[1], tune='measure', budget=float(sys.argv[2])).compiled({})"
    )
    command = [sys.executable, "-c", script, str(path)]

    def records():
        try:
            with closing(sqlite3.connect(data / FILE_NAME)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                where = "WHERE version LIKE '% in a model'"
                return set(connection.execute(f"SELECT shape, scheme, samples FROM schemes {where}"))
        except sqlite3.OperationalError:  # there is no file yet, or no table
            return set()

    with subprocess.Popen([*command, "120"], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(records()) < 8:
            time.sleep(0.1)
        process.send_signal(sent)
        process.wait()
    kept = records()
    assert len(kept) >= 8
    for budget in ("1", "8"):  # on a loaded machine a second may be too short for a new one
        subprocess.run([*command, budget], cwd=ROOT, env=environment, check=True)
        after = records()
        if len(after) > len(kept):
            break
    # The kernels that were there before are timed beside each new one; all others only once.
    chosen = {(shape, scheme) for shape, scheme, _ in after}
    assert {(shape, scheme) for shape, scheme, _ in kept} < chosen
    assert len(kept & after) >= len(kept) - 4
