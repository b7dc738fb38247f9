"""What the store keeps of a search, and for whom."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from microkernels.scores.database import data_folder
from search.tuner import store
from tests.support.search.searching import SCHEME, SHAPE
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
    assert store.choice(KEY, "model") == store.KeptScheme(SCHEME, None)
    assert store.choice(KEY, "measure") == store.KeptScheme("other", Timing((1.0,), 2.0))


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


def test_a_time_in_doubt_takes_no_other_times_place():
    key, quiet = replace(KEY, fingerprint="a fourth"), Timing((1.0, 2.0), 99.0)
    disturbed = Timing((3.0, 4.0), 98.0, "other programs took 0.9 cores")
    store.record(key, SCHEME, disturbed)
    assert store.measured(key) == {SCHEME: disturbed}
    store.record(key, SCHEME, "no answer within 5 s: killed")
    store.record(key, SCHEME, replace(disturbed, samples=(5.0,)))
    assert store.measured(key) == {SCHEME: replace(disturbed, samples=(5.0,))}
    store.record(key, SCHEME, quiet)
    store.record(key, SCHEME, disturbed)
    assert store.measured(key) == {SCHEME: quiet}


def test_a_choice_in_doubt_is_kept_with_its_rivals():
    key, why = replace(KEY, fingerprint="a fifth"), "2 of 9 schemes were only timed while other programs took 1.0 cores"
    store.choose(key, "measure", SCHEME, Timing((1.0,), 2.0, why), ["one", "other"])
    assert store.choice(key, "measure") == store.KeptScheme(SCHEME, Timing((1.0,), 2.0, why), ("one", "other"))
    store.choose(key, "measure", SCHEME, Timing((1.0,), 2.0))
    assert store.choice(key, "measure") == store.KeptScheme(SCHEME, Timing((1.0,), 2.0))


def test_records_of_an_earlier_version_read_as_beyond_doubt():
    key, timing = replace(KEY, fingerprint="a sixth"), Timing((1.0, 2.0), 99.0)
    store.record(key, SCHEME, timing)
    store.choose(key, "measure", SCHEME, timing)
    with sqlite3.connect(data_folder() / "tilewright.sqlite") as connection:
        kept = connection.execute(
            "SELECT samples FROM schemes WHERE fingerprint = 'a sixth' UNION ALL"
            " SELECT samples FROM choices WHERE fingerprint = 'a sixth'"
        ).fetchall()
    assert kept == [("[1.0, 2.0]",)] * 2  # as they have always been written
    assert store.measured(key) == {SCHEME: timing} and store.choice(key, "measure") == store.KeptScheme(SCHEME, timing)


@pytest.mark.parametrize(
    "samples",
    [
        "{}",
        '"[1]"',
        '{"samples": [1]}',
        '{"samples": [1], "disturbed": "", "rivals": []}',
        '{"samples": [1], "disturbed": "a", "rivals": [3]}',
        '{"samples": {}, "disturbed": "a", "rivals": []}',
    ],
)
def test_a_doctored_doubt_is_ignored(samples):
    key = replace(KEY, fingerprint="a seventh")
    store.choose(key, "measure", SCHEME, Timing((1.0,), 2.0))
    with sqlite3.connect(data_folder() / "tilewright.sqlite") as connection:
        connection.execute("UPDATE choices SET samples = ? WHERE fingerprint = 'a seventh'", (samples,))
    with pytest.warns(RuntimeWarning, match="cannot be Tilewright's"):
        assert store.choice(key, "measure") is None
