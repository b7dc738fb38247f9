"""Measurements beside which others took the cores are repeated."""

from __future__ import annotations

import pytest

import cpu.kernel.measure
from cpu.kernel.callable import build
from cpu.runtime.machine import neighbours
from cpu.runtime.machine.neighbours import FEW, Accounts, accounts, busy, undisturbed, watched
from microkernels.tile.isa import isa_named
from tiling.operators import conv2d
from tiling.text.notation import parse


class Machine:
    """Accounts of a machine on which each measurement takes so long, and others take so many cores beside it."""

    def __init__(self, *others, threads=1, seconds=0.1):
        self.others, self.threads, self.seconds, self.calls = others, threads, seconds, 0
        self.clock = self.own = self.all = 0.0

    def measure(self):
        self.clock += self.seconds
        self.own += self.threads * self.seconds
        self.all += (self.threads + self.others[self.calls]) * self.seconds
        self.calls += 1
        return self.calls

    def read(self):
        return Accounts(self.clock, self.own, self.all)

    def found(self, cores, tries=3):
        return undisturbed(self.measure, self.threads, tries, self.read, cores)


@pytest.mark.parametrize(
    "others, threads, cores, found, calls",
    [
        ((0.0,), 1, 2, 1, 1),
        ((1.0,), 1, 2, 1, 1),  # on the core that one thread leaves free
        ((2.0, 0.1), 1, 2, 2, 2),
        ((1.0, 0.1), 2, 2, 2, 2),
        ((0.9, 0.5, 0.7), 2, 2, 2, 3),  # none is free of others: the least disturbed
        ((3.0,), 4, 64, 1, 1),
        ((0.9, 0.0), 4, 2, 2, 2),  # more threads than cores
    ],
)
def test_what_others_leave_alone_counts(others, threads, cores, found, calls):
    machine = Machine(*others, threads=threads)
    assert (machine.found(cores), machine.calls) == (found, calls)


def test_what_takes_long_is_not_repeated():
    machine = Machine(2.0, 0.0, seconds=0.6)
    assert (machine.found(cores=1), machine.calls) == (1, 1)


def test_no_measurement_at_all_is_a_mistake():
    with pytest.raises(ValueError, match="tries=0 must be at least 1"):
        Machine().found(cores=1, tries=0)


def test_what_a_search_times_is_measured_once_more_where_it_was_disturbed(monkeypatch):
    times = []

    def disturbed(measure, threads, tries):
        times.extend(measure() for _ in range(tries))
        return times[-1], "other programs took 0.9 cores"

    monkeypatch.setattr("cpu.runtime.machine.samples.watched", disturbed)
    job = {"op": "conv2d", "shape": "c=4,h=4,w=4,k=4,r=1,s=1", "isa": "portable", "threads": 1, "stream": False}
    text = "R(k) R(h) R(w) S(y) T(c,4) V(k,4)"
    found = cpu.kernel.measure.scheme(scheme=text, seconds=1e-4, **job)
    assert len(times) == 2 and found["samples"] == list(times[1].samples)
    assert found["disturbed"] == "other programs took 0.9 cores"
    found = cpu.kernel.measure.verdict(scheme=text, seconds=1e-4, seed=0, **job)
    assert len(times) == 4 and found["samples"] == list(times[3].samples)
    assert found["disturbed"] == "other programs took 0.9 cores"


def test_where_nobody_knows_every_measurement_stands(monkeypatch, tmp_path):
    monkeypatch.setattr(neighbours, "_STAT", tmp_path / "missing")
    before = accounts()
    assert before.all is None and before.others(accounts()) == 0.0
    (tmp_path / "stat").write_text("cpu  1 2 3\ncpu0 busy\n")
    monkeypatch.setattr(neighbours, "_ours", lambda: {0})
    monkeypatch.setattr(neighbours, "_STAT", tmp_path / "stat")
    assert accounts().all is None


def test_of_our_cpus_stolen_time_counts_and_idle_time_does_not(monkeypatch, tmp_path):
    stat = tmp_path / "stat"
    monkeypatch.setattr(neighbours, "_STAT", stat)
    monkeypatch.setattr(neighbours.os, "sysconf", lambda name: 100)
    monkeypatch.setattr(neighbours, "_ours", lambda: {1, 10})
    cpus = ["cpu  9 9 9 9 9 9 9 9 9 9", *(f"cpu{i} 100 200 300 4000 50 6 7 {i} 0 0" for i in range(12)), "intr 5"]
    stat.write_text("\n".join(cpus))
    assert accounts().all == pytest.approx((2 * (100 + 200 + 300 + 6 + 7) + 1 + 10) / 100)


@pytest.mark.parametrize(
    "others, why",
    [
        ((1.6, 2.0), "other programs took 1.6 cores"),
        ((1.6, 0.1), ""),
        ((2.0, 1.4), "other programs took 1.4 cores"),
    ],
)
def test_what_disturbed_the_result_is_told(others, why):
    machine = Machine(*others)
    assert watched(machine.measure, 1, 2, machine.read, cores=2)[1] == why


@pytest.mark.parametrize(
    "taken, threads, told", [(FEW, 1, False), (FEW + 1, 1, True), (FEW + 1, 2, False), (2 * FEW + 1, 2, True)]
)
def test_a_core_that_is_often_taken_away_is_told(taken, threads, told):
    """Where the accounts of all CPUs are unknown, as in a container, these are known all the same."""
    before, after = Accounts(0.0, 0.0, None), Accounts(0.05, 0.05, None, taken)
    answers = iter((before, after))
    found = busy(threads, read=lambda: next(answers), wait=lambda seconds: None)
    assert found == (f"other programs took a core away from the measurement {taken} times" if told else "")


def test_the_system_counts_how_often_it_took_a_core():
    before, after = accounts(), accounts()
    assert 0 <= before.taken <= after.taken


def test_a_kernel_s_own_time_is_not_kept_where_it_was_disturbed(monkeypatch):
    problem = conv2d(c=4, h=4, w=4, k=4, r=1, s=1)
    kernel = build(parse(problem, "R(k) R(h) R(w) S(y) T(c,4) V(k,4)"), isa_named("portable"))
    reasons = iter(("other programs took 2.0 cores", ""))
    monkeypatch.setattr(
        "cpu.runtime.machine.samples.watched", lambda measure, threads, tries: (measure(), next(reasons))
    )
    assert kernel.timing.disturbed == "other programs took 2.0 cores"
    quiet = kernel.timing
    assert quiet.disturbed == "" and kernel.timing is quiet
