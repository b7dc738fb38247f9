"""Workers of a cluster measure for this machine: nothing is lost when one dies, and nothing is measured twice."""

import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from cpu.cluster import member, pool
from cpu.cluster.address import ClusterError
from cpu.cluster.pool import ClusterPool
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.processes.pool import Task
from cpu.runtime.processes.worker import CandidateError, WorkerError
from microkernels.ranking import offline
from microkernels.ranking.command import main
from microkernels.ranking.rank import RankingError
from microkernels.scores.records import load
from microkernels.tile.isa import PORTABLE
from microkernels.tile.space import quick
from search.evaluator.cpu.backend import cpu_backend
from search.evaluator.cpu.cluster import ClusterEvaluator
from search.flow.find import find
from search.tuner import store
from tests.support.microkernels.made_up_ranking import visit_once
from tests.support.running.cluster import cluster, needs_distributed, notes
from tiling.operators import matmul

pytestmark = needs_distributed


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The workers' own data and cache folders."""
    folder = tmp_path_factory.mktemp("workers")
    return {"TILEWRIGHT_DATA": str(folder / "data"), "TILEWRIGHT_CACHE": str(folder / "cache")}


@pytest.fixture(scope="module")
def two(folders):
    with cluster(2, folders) as (address, _):
        yield address


def noting(log, names, seconds):
    function = "tests.support.running.cluster:noted"
    return [Task(function, 60.0, {"name": name, "log": str(log), "seconds": seconds}) for name in names]


@pytest.mark.slow
def test_a_worker_that_is_killed_half_way_loses_nothing_and_nothing_is_measured_twice(tmp_path, folders):
    names, log = [f"t{number}" for number in range(10)], tmp_path / "log"
    with cluster(2, folders) as (address, (victim, _)), closing(ClusterPool(address, packages=("tests",))) as workers:

        def kill_in_the_middle():
            while True:
                said = notes(log)
                begun = {name for what, name, who in said if what == "begin" and who == str(victim.pid)}
                ended = {name for what, name, _ in said if what == "end"}
                if len(ended) >= 4 and begun - ended:
                    victim.kill()
                    return
                time.sleep(0.01)

        killer = threading.Thread(target=kill_in_the_middle, daemon=True)
        killer.start()
        found = [result for _, result in workers.run(noting(log, names, 0.3))]
        killer.join()
        assert len(workers.workers()) == 1
    assert sorted(found) == sorted(names), "nothing is lost, and each is given once"
    said = notes(log)
    assert Counter(name for what, name, _ in said if what == "end") == dict.fromkeys(names, 1)
    begun = Counter(name for what, name, _ in said if what == "begin")
    assert sorted(begun.values()) == [1] * 9 + [2], "but for what the victim had, nothing began twice"


@pytest.mark.slow
def test_each_worker_has_one_task_at_a_time_and_gives_what_it_raises(two, tmp_path):
    log = tmp_path / "log"
    with closing(ClusterPool(two, packages=("tests",))) as workers:
        tasks = noting(log, ["a", "b", "c", "d"], 0.1)
        wrong = [Task("tests.support.running.cluster:noted", 60.0, {"name": "e"}), *noting(log, ["slow"], 30)]
        slow = Task(wrong[1].function, 0.5, wrong[1].arguments)
        outcomes = {task: result for task, result in workers.run([*tasks, wrong[0], slow])}
    assert [outcomes[task] for task in tasks] == ["a", "b", "c", "d"]
    assert isinstance(outcomes[wrong[0]], CandidateError) and outcomes[wrong[0]].reason.startswith("TypeError")
    assert outcomes[slow].reason == "no answer within 0.5 s: killed"
    busy: set[str] = set()
    for what, _, who in notes(log):
        assert (who in busy) == (what == "end")
        busy ^= {who}


def test_what_is_no_candidate_s_fault_ends_the_run(two, monkeypatch):
    monkeypatch.setattr(pool, "_GATHER_SECONDS", 5.0)
    failed = pytest.raises(ClusterError, match=r"the worker tcp://\S+ failed: ValueError: 'os:system' cannot run")
    with closing(ClusterPool(two, packages=("tests",))) as workers, failed:
        list(workers.run([Task("os:system", 5.0, {"command": "true"})]))


@pytest.mark.slow
def test_a_ranking_on_a_cluster_is_recorded_here(two, data_folder, monkeypatch):
    visit_once(monkeypatch)
    kernels = quick(PORTABLE)[-4:]
    state = offline.rank_machine(kernels, cluster=two)
    assert (state.total, state.done, state.failed) == (4, 4, 0)
    assert {entry.kernel for entry in load(fingerprint(host()), "portable").entries} == set(kernels)


@pytest.mark.slow
def test_a_search_tries_candidates_on_the_cluster_and_compares_the_best_here(two, data_folder, monkeypatch):
    shortly = []
    placed = ClusterPool.placed

    def counted(self, tasks):
        tasks = list(tasks)
        shortly.extend(task.arguments["scheme"] for task in tasks)
        return placed(self, tasks)

    monkeypatch.setattr(ClusterPool, "placed", counted)
    # No time is in doubt, as what other programs disturb is measured again: the trials end the search, no budget does.
    monkeypatch.setattr("search.tuner.peaks.Peaks.marked", lambda self, timing: replace(timing, disturbed=""))
    backend = cpu_backend("portable", cluster=two)
    problem = backend.problem(matmul(m=24, n=24, k=24))
    found = find(problem, backend.target, budget=300, trials=4)
    known = store.measured(backend.key(problem))
    assert shortly and set(shortly) <= set(known) and len(set(shortly)) == len(shortly)
    assert found.trials == len(shortly) and found.scheme.text in known and found.verdict.max_error is not None


@pytest.mark.slow
def test_what_is_measured_again_is_measured_here(two):
    class Here:
        def measure(self, scheme, seconds, patience):
            return f"{scheme.text} is measured here"

        close = staticmethod(lambda: None)

    backend = cpu_backend("portable")
    problem = backend.problem(matmul(m=8, n=8, k=8))
    scheme = backend.candidates(problem)[0]
    with closing(ClusterEvaluator(Here(), backend.job, two, backend.environment)) as evaluator:
        assert evaluator.prepare([scheme], 60)[scheme.text].seconds > 0
        assert evaluator.measure(scheme, 0.1, 60) == f"{scheme.text} is measured here"


def made_up(monkeypatch, peaks):
    """An evaluator whose workers have these FMA peaks, in GFLOP/s, and give times in turn."""

    class Workers:
        def __init__(self, address, **options):
            self.given = 0

        def workers(self):
            return sorted(peaks)

        def placed(self, tasks):
            for task in tasks:
                name = self.workers()[self.given % len(peaks)]
                self.given += 1
                yield name, task, {"samples": [1.0], "peak_gflops": peaks[name]}

        close = staticmethod(lambda: None)

    monkeypatch.setattr("search.evaluator.cpu.cluster.ClusterPool", Workers)
    backend = cpu_backend("portable")
    here = SimpleNamespace(close=lambda: None)
    schemes = backend.candidates(backend.problem(matmul(m=24, n=24, k=24)))
    return ClusterEvaluator(here, backend.job, "made up", backend.environment), schemes


def test_the_peaks_of_two_workers_are_not_compared(monkeypatch):
    """One computer is half as fast as the other, and both are quiet. A peak that falls on its own computer counts."""
    peaks = {"fast": 100.0, "slow": 50.0}
    evaluator, schemes = made_up(monkeypatch, peaks)
    assert [timing.disturbed for timing in evaluator.prepare(schemes[:4]).values()] == [""] * 4
    peaks["slow"] = 25.0
    said = [timing.disturbed for timing in evaluator.prepare(schemes[4:6]).values()]
    assert said == ["", "the FMA peak fell to 50 % of the one before"]


@pytest.mark.parametrize("workers, expected", [(1, 6), (2, 6), (4, 8), (20, 20)])
def test_every_worker_gets_candidates(workers, expected, monkeypatch):
    evaluator, _ = made_up(monkeypatch, {f"worker {number}": 100.0 for number in range(workers)})
    assert evaluator.batch == expected


# What is refused, in a sentence


@pytest.mark.parametrize(
    "what, name, other",
    [
        ("CPU", "fingerprint", lambda host: "another"),
        ("compiler", "find_compiler", lambda: SimpleNamespace(kind="another", version="1")),
        ("Tilewright", "_own_text", lambda: "another"),
    ],
)
def test_workers_that_are_not_like_this_machine_measure_nothing(what, name, other, two, monkeypatch):
    theirs = member.identity()[what]
    monkeypatch.setattr(member, name, other)  # in this process, and not in those of the workers
    with pytest.raises(ClusterError) as raised:
        ClusterPool(two)
    assert str(raised.value).startswith(
        f"no worker of the cluster at {two} is like this machine: 2 with the {what} {theirs}, here another"
    )


def test_a_cluster_without_workers_says_how_to_start_one(monkeypatch, folders):
    with cluster(0, folders) as (address, _):
        assert main(["rank", "--isa", "portable", "--quick", "--cluster", address]) == 1
        with pytest.raises(ClusterError, match=rf"^the cluster at {address} has no worker: .* dask worker {address}$"):
            ClusterPool(address)


def test_where_no_scheduler_answers_is_a_sentence(monkeypatch, data_folder, capsys):
    monkeypatch.setattr(pool, "CONNECT_SECONDS", 0.5)
    assert main(["rank", "--isa", "portable", "--quick", "--cluster", "tcp://127.0.0.1:1"]) == 1
    told = "no scheduler of dask.distributed answers at 'tcp://127.0.0.1:1': "
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith(told)
    for address in ("no address", "tcp://", ""):
        with pytest.raises(SystemExit):
            main(["rank", "--isa", "portable", "--quick", "--cluster", address])
        assert f"{address!r} is no TCP address of a scheduler: write tcp://" in capsys.readouterr().err
    assert main(["rank", "--quick", "--cluster", "tcp://127.0.0.1:1", "--jobs", "2"]) == 2
    assert "--jobs is for this machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["nonsense", "127.0.0.1", "tcp://127.0.0.1:nan", "http://127.0.0.1:80", "tls://127.0.0.1:1", ""]
)
def test_what_is_no_address_is_refused_before_anybody_waits(address):
    with pytest.raises(ClusterError, match=r"is no TCP address of a scheduler: write tcp://HOST:8786"):
        ClusterPool(address)


@pytest.mark.slow
def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'tilewright\[cluster\]'"):
        ClusterPool("tcp://127.0.0.1:1")


@pytest.mark.slow
def test_the_errors_are_those_of_a_machine_at_fault():
    assert issubclass(ClusterError, WorkerError) and not issubclass(ClusterError, (CandidateError, RankingError))
