"""`bench.run.targets.turns`: what happens before a call is timed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bench.run.targets import turns


@pytest.mark.parametrize(("cost", "counted", "warm"), [(1.0, 8, 3), (4.0, 2, 2), (100.0, 1, 1), (2**-9, 4096, 5)])
def test_a_turn_begins_with_a_pause_and_calls_that_do_not_count(monkeypatch, cost, counted, warm):
    now, events = [0.0], []

    def call():
        now[0] += cost
        events.append("call")

    monkeypatch.setattr(turns, "time", SimpleNamespace(perf_counter=lambda: now[0], sleep=events.append))
    clock = turns.timed(call, 8.0)
    del events[:]
    assert clock() == cost
    assert events == [turns.PAUSE_SECONDS, *["call"] * (warm + counted)]
