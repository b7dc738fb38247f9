"""`python -m bench --cluster`: the candidates of its searches are tried by workers of a cluster."""

import json
from dataclasses import replace

import pytest

import bench.command as command
import bench.run.layers as layers
from cpu.cluster.pool import ClusterPool
from microkernels.tile.isa import PORTABLE
from microkernels.tile.space import quick
from search.evaluator.cpu.backend import cpu_backend
from search.tuner import store
from tests.support.microkernels.made_up_ranking import make_up, visit_once
from tests.support.running.cluster import cluster, needs_distributed
from tiling.operators import matmul
from tiling.text.suite import Layer

pytestmark = needs_distributed


@pytest.mark.slow
def test_a_benchmark_whose_worker_is_killed_tries_each_candidate_once(tmp_path, data_folder, monkeypatch):
    folders = {"TILEWRIGHT_DATA": str(tmp_path / "theirs"), "TILEWRIGHT_CACHE": str(tmp_path / "cache")}
    problem, placed, placing = matmul(m=24, n=24, k=24), [], ClusterPool.placed
    monkeypatch.setattr("tiling.text.shapes.suite", lambda name: (Layer("A", "m=24,n=24,k=24", 1, problem),))
    monkeypatch.setattr(command, "cpu_backend", lambda _, *rest: cpu_backend("portable", *rest))
    monkeypatch.setattr(layers, "ROUNDS", 2)
    visit_once(monkeypatch)
    make_up(quick(PORTABLE)[:-1])  # it ranks one microkernel, before the first search
    # No time is in doubt, as what other programs disturb is measured again.
    monkeypatch.setattr("search.tuner.peaks.Peaks.marked", lambda self, timing: replace(timing, disturbed=""))
    with cluster(2, folders) as (address, (victim, _)):

        def killing(self, tasks):
            for answer in placing(self, tasks):
                if "scheme" in answer[1].arguments:
                    placed.append(answer[1].arguments["scheme"])
                    if len(placed) == 2:
                        victim.kill()
                yield answer

        monkeypatch.setattr(ClusterPool, "placed", killing)
        lines = tmp_path / "lines.jsonl"
        words = ["--suite", "made_up", "--peers", "none", "--budget", "3", "--cluster", address]
        assert command.main([*words, "--json", str(lines)]) == 0
        assert victim.wait(10) != 0
    known = store.measured((backend := cpu_backend("portable")).key(backend.problem(problem)))
    assert len(placed) > 2 and len(set(placed)) == len(placed) and set(placed) <= set(known)
    kept = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert [line.get("layer") for line in kept] == [None, "A"] and kept[1]["scheme"] in known
