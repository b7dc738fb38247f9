"""Measurements beside which others took the cores are repeated."""

from __future__ import annotations

import pytest

import cpu.kernel.measure
from cpu.runtime import neighbours
from cpu.runtime.neighbours import Accounts, accounts, undisturbed


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
        return times[-1]

    monkeypatch.setattr("cpu.kernel.measure.undisturbed", disturbed)
    job = {"op": "conv2d", "shape": "c=4,h=4,w=4,k=4,r=1,s=1", "isa": "portable", "threads": 1, "stream": False}
    text = "R(k) R(h) R(w) S(y) T(c,4) V(k,4)"
    found = cpu.kernel.measure.scheme(scheme=text, seconds=1e-4, **job)
    assert len(times) == 2 and found["samples"] == list(times[1].samples)
    found = cpu.kernel.measure.verdict(scheme=text, seconds=1e-4, seed=0, **job)
    assert len(times) == 4 and found["samples"] == list(times[3].samples)


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
