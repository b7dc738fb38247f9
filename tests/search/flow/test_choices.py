"""The model's choices for many problems: in this process where they are few or small, else on all cores."""

from __future__ import annotations

import pytest

from search.evaluator.cpu.backend import cpu_backend
from search.flow import choices
from tiling.operators import matmul

PROBLEMS = [matmul(m=m, n=16, k=8) for m in range(1, 6)]


def listed(problems=PROBLEMS):
    """The candidates, and what `progress` was told: how many problems are listed, of how many."""
    told = []
    found = choices.candidates(cpu_backend("portable"), problems, lambda stage: told.append((stage.done, stage.of)))
    return found, told


@pytest.mark.slow
def test_workers_list_what_this_process_would(monkeypatch):
    monkeypatch.setattr(choices, "_START_SECONDS", 60.0)
    alone = listed()
    assert set(alone[0]) == set(PROBLEMS) and alone[1] == [(done, 5) for done in range(1, 6)]
    asked, run = [], choices.Pool.run

    def counted(self, tasks):
        asked.extend(tasks)
        return run(self, asked)

    monkeypatch.setattr(choices.Pool, "run", counted)
    monkeypatch.setattr(choices, "_START_SECONDS", 0.0)
    assert listed() == alone and len(asked) == 5


def test_few_or_small_problems_start_no_worker(monkeypatch):
    monkeypatch.setattr(choices, "Pool", None)
    monkeypatch.setattr(choices, "_START_SECONDS", 60.0)
    assert len(listed()[0]) == 5
    monkeypatch.setattr(choices, "_START_SECONDS", 0.0)
    assert len(listed(PROBLEMS[:3])[0]) == 3
