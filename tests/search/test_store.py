"""What the store keeps of a search, and for whom."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from microkernels.scores.database import data_folder
from search.tuner import store
from tests.support.searching import SCHEME, SHAPE
from tiling.machine import Timing

KEY = store.Key("machine", "portable", "gcc 1", "conv2d", SHAPE, 1)


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
