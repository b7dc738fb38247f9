"""`bench.studies.searches.disturbed`: what three choices lose, of made-up searches and times."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import bench.studies.searches.disturbed as study


def test_each_choice_loses_beside_the_fastest_of_the_three(monkeypatch):
    """The third one is the second, asked for again on a quiet machine: it takes no other's place in the line."""
    searches, busy = [], []
    marks = {"quiet": "", "disturbed": "others ran", "again": ""}

    def find(problem, target, *, budget, trials, recall):
        name = list(marks)[len(searches)]
        searches.append((name, recall, bool(busy)))
        timing = SimpleNamespace(disturbed=marks[name])
        scheme = SimpleNamespace(text=name)
        return SimpleNamespace(scheme=scheme, timing=timing, interrupted=False, keep=lambda tune: None)

    @contextmanager
    def taken(cores, on, off):
        busy.append((on, off))
        yield
        busy.clear()

    @contextmanager
    def fresh_store():
        yield

    monkeypatch.setattr(study, "find", find)
    monkeypatch.setattr(study, "taken", taken)
    monkeypatch.setattr(study, "fresh_store", fresh_store)
    monkeypatch.setattr(study, "compared", lambda *_: {"quiet": 2e9, "disturbed": 3e9, "again": 2.5e9})
    backend = SimpleNamespace(target=None, machine=SimpleNamespace(peak=1e9))
    loss = study.question(backend, "net:A", None, 1.0, 0.5, 0.5)
    assert searches == [("quiet", False, False), ("disturbed", False, True), ("again", True, False)]
    assert (loss.layer, loss.seconds) == ("net:A", 2.0)
    assert (loss.quiet, loss.disturbed, loss.again) == (0, 0.5, pytest.approx(0.25))
    assert (loss.doubt, loss.settled, loss.schemes) == ("others ran", True, ("quiet", "disturbed", "again"))
