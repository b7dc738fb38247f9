"""How long a user waits: which commands are timed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import bench.studies.searches.latency as latency


@pytest.mark.parametrize("options, commands", [({}, 3), ({"calls": True}, 0), ({"full": True}, 4)])
def test_calls_come_first_and_can_be_all(monkeypatch, options, commands):
    run = []

    def ended(command, **_):
        run.append(command[1])
        return SimpleNamespace(returncode=0, stdout="1.5 0.25\n", stderr="")

    monkeypatch.setattr(latency.subprocess, "run", ended)
    found = latency.waits(**{"full": False, **options})
    assert [seconds for _, seconds in found[:3]] == [1.5, 0.25, 1.5]
    assert run == ["-c"] * 2 + ["-m"] * commands and len(found) == 3 + commands
