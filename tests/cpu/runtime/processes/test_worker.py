"""Workers: one child process that answers, crashes, hangs or dies, and many at once."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from cpu.runtime.processes.pool import Pool, Task
from cpu.runtime.processes.worker import CandidateError, OutOfMemory, Worker, WorkerError
from cpu.runtime.processes.worker_child import serve
from tests.support.running.watched import PATIENCE, running, wait_until

ROOT = Path(__file__).parents[4]


@pytest.fixture
def worker():
    with Worker(packages=("tests",)) as made:
        yield made


def test_results_come_back_from_one_child(worker):
    value = {"a": [1, 2.5, None, "line\nline"], "large": "x" * 300_000}
    assert worker.call("tests.support.running.faults:echo", timeout=PATIENCE, value=value) == value
    first = worker.call("tests.support.running.faults:process", timeout=PATIENCE)
    assert worker.call("tests.support.running.faults:process", timeout=PATIENCE) == first != os.getpid()


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        ("fail", {"message": "no such tile"}, "LookupError: no such tile"),
        ("stop", {}, "SystemExit: 3"),
        ("unserialisable", {}, "TypeError: Object of type object is not JSON serializable"),
        ("no_such_function", {}, "AttributeError: .*no_such_function"),
        ("run", {}, "ValueError: run is not a function of tests.support.running.faults"),
    ],
)
def test_an_exception_leaves_the_child_alive(worker, function, arguments, reason):
    before = worker.call("tests.support.running.faults:process", timeout=PATIENCE)
    with pytest.raises(CandidateError, match=f"^{reason}"):
        worker.call(f"tests.support.running.faults:{function}", timeout=PATIENCE, **arguments)
    assert worker.call("tests.support.running.faults:process", timeout=PATIENCE) == before


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        ("segfault", {}, "crashed with SIGSEGV"),
        ("abort", {"message": "free(): invalid"}, "crashed with SIGABRT (it last printed: free(): invalid)"),
        ("leave", {"status": 7}, "ended with status 7 before it answered"),
    ],
)
def test_a_crash_costs_one_child(worker, function, arguments, reason):
    before = worker.call("tests.support.running.faults:process", timeout=PATIENCE)
    with pytest.raises(CandidateError) as raised:
        worker.call(f"tests.support.running.faults:{function}", timeout=PATIENCE, **arguments)
    assert raised.value.reason == str(raised.value) == reason
    assert worker.call("tests.support.running.faults:process", timeout=PATIENCE) != before


@pytest.mark.slow
def test_a_hang_is_killed_with_all_it_started(worker, tmp_path):
    worker.call("tests.support.running.faults:process", timeout=PATIENCE)
    with pytest.raises(CandidateError, match=r"^no answer within 3 s: killed$"):
        worker.call("tests.support.running.faults:hang_with_child", timeout=3, file=str(tmp_path / "child"))
    grandchild = int((tmp_path / "child").read_text())
    wait_until(lambda: not running(grandchild))
    assert worker.call("tests.support.running.faults:echo", timeout=PATIENCE, value=1) == 1


def test_a_child_that_died_idle_is_replaced(worker):
    first = worker.call("tests.support.running.faults:process", timeout=PATIENCE)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{first}").exists())
    assert worker.call("tests.support.running.faults:process", timeout=PATIENCE) != first


def test_memory_is_limited():
    with Worker(packages=("tests",), memory_bytes=2 << 30) as worker:
        with pytest.raises(CandidateError, match=r"^MemoryError$"):
            worker.call("tests.support.running.faults:allocate", timeout=PATIENCE, count=3 << 30)
        assert worker.call("tests.support.running.faults:allocate", timeout=PATIENCE, count=1000) == 1000


def test_memory_that_does_not_suffice_to_check_a_kernel_is_not_the_kernels_fault():
    large = {"op": "matmul", "shape": "m=30000,n=4,k=30000", "scheme": "R(m) R(n) S(c) T(k,30000) V(n,4)"}
    with Worker(memory_bytes=2 << 30) as worker, pytest.raises(OutOfMemory, match=r"^memory does not suffice to check"):
        how = {"isa": "portable", "threads": 1, "stream": False, "seconds": 0.1, "seed": 0}
        worker.call("cpu.kernel.measure:verdict", timeout=PATIENCE, **large, **how)


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="needs Linux's /proc")
def test_a_worker_is_the_first_to_go_where_memory_runs_out(worker):
    """Before the program that measures, whose own place in the system's order stays what it was."""
    own = Path("/proc/self/oom_score_adj").read_text()
    pid = worker.call("tests.support.running.faults:process", timeout=PATIENCE)
    assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) == 1000
    assert Path("/proc/self/oom_score_adj").read_text() == own != "1000\n"


def test_environment_and_path(monkeypatch):
    monkeypatch.setenv("FROM_PARENT", "a")
    with Worker(packages=("tests",), env={"OMP_NUM_THREADS": "3"}) as worker:
        assert worker.call("tests.support.running.faults:environment", timeout=PATIENCE, name="FROM_PARENT") == "a"
        assert worker.call("tests.support.running.faults:environment", timeout=PATIENCE, name="OMP_NUM_THREADS") == "3"
        theirs = worker.call("tests.support.running.faults:search_path", timeout=PATIENCE)
    assert set(map(os.path.abspath, sys.path)) <= set(theirs)


def test_the_child_ignores_ctrl_c(worker):
    assert worker.call("tests.support.running.faults:interrupt", timeout=PATIENCE) == "still here"


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "tests.support.running.faults",
        "tests.support.running.faults:_private",
        "tests.support.running.faults:os.system",
        "tests..x:y",
        "cpu.runtime.compiler.cache:x",
    ],
)
def test_other_names_are_refused(worker, name):
    with pytest.raises(ValueError, match="cannot run in a worker"):
        worker.call(name, timeout=PATIENCE)


def test_a_closed_worker_is_closed(worker):
    pid = worker.call("tests.support.running.faults:process", timeout=PATIENCE)
    worker.close()
    assert not running(pid)
    worker.close()
    with pytest.raises(WorkerError, match="closed"):
        worker.call("tests.support.running.faults:process", timeout=PATIENCE)


def test_a_child_that_cannot_start(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Worker() as worker, pytest.raises(WorkerError, match="did not start: ended with status 1"):
        worker.call("cpu.runtime.machine.host:supports", timeout=PATIENCE, flags_needed=[])


def test_a_folder_that_was_deleted_is_told(tmp_path, monkeypatch):
    (tmp_path / "deleted").mkdir()
    monkeypatch.chdir(tmp_path / "deleted")
    (tmp_path / "deleted").rmdir()
    monkeypatch.syspath_prepend("")
    with Worker() as worker, pytest.raises(WorkerError, match=r"could be started: .*No such file"):
        worker.call("cpu.runtime.machine.host:supports", timeout=PATIENCE, flags_needed=[])


def test_a_child_that_fails_closes_its_pipe_no_sooner_than_it_ends():
    """The parent kills it when the pipe closes, and would take that for the way it ended."""
    (requests, asked), (answered, answers) = os.pipe(), os.pipe()
    os.close(asked)
    with pytest.raises(ValueError, match="Expecting value"):
        serve(requests, answers)
    os.close(answers)
    os.close(answered)


@pytest.mark.parametrize("allowed", range(3))
def test_no_room_and_no_descriptors_for_a_child(monkeypatch, allowed):
    """Refused a file, the first pipe or the second: one sentence, nothing left open, and a child once there is room."""
    refused = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    real, opened = (tempfile.TemporaryFile, os.pipe), []

    def counted(make):
        def made(*arguments):
            if len(opened) == allowed:
                raise refused
            opened.append(make)
            return make(*arguments)

        return made

    with Worker() as worker:
        before = len(os.listdir("/proc/self/fd"))
        with (
            monkeypatch.context() as patch,
            pytest.raises(WorkerError, match=r"could be started: .*Too many open files"),
        ):
            patch.setattr(tempfile, "TemporaryFile", counted(real[0]))
            patch.setattr(os, "pipe", counted(real[1]))
            worker.call("cpu.runtime.machine.host:supports", timeout=PATIENCE, flags_needed=[])
        assert len(os.listdir("/proc/self/fd")) == before
        assert worker.call("cpu.runtime.machine.host:supports", timeout=PATIENCE, flags_needed=[]) is True


@pytest.mark.parametrize("starter", ["main", "thread"])
def test_children_die_with_their_parent(tmp_path, starter):
    program = (
        "import sys, threading; from cpu.runtime.processes.worker import Worker\n"
        "worker = Worker(packages=('tests',))\n"
        "def work(): worker.call('tests.support.running.faults:hang_with_child', timeout=600, file=sys.argv[1])\n"
        f"work() if '{starter}' == 'main' else threading.Thread(target=work).start()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "child")], cwd=ROOT)
    wait_until((tmp_path / "child").exists)
    grandchild = int((tmp_path / "child").read_text())
    stat = Path(f"/proc/{grandchild}/stat").read_text()
    child = int(stat.rpartition(")")[2].split()[1])
    parent.kill()
    parent.wait()
    wait_until(lambda: not running(child) and not running(grandchild))


def test_a_pool_yields_every_task():
    tasks = [Task("tests.support.running.faults:echo", PATIENCE, {"value": number}) for number in range(6)]
    tasks.insert(2, Task("tests.support.running.faults:segfault", PATIENCE, {}))
    with closing(Pool(2, packages=("tests",))) as pool:
        outcomes = dict(pool.run(iter(tasks)))
    assert set(outcomes) == set(tasks)
    crash = outcomes.pop(tasks[2])
    assert isinstance(crash, CandidateError) and crash.reason == "crashed with SIGSEGV"
    assert sorted(outcomes.values()) == list(range(6))


def test_a_pool_draws_tasks_as_it_goes_and_ends_early():
    drawn = []

    def endless():
        while True:
            name = "hang" if drawn else "process"
            drawn.append(Task(f"tests.support.running.faults:{name}", 600, {}))
            yield drawn[-1]

    outcomes = Pool(2, packages=("tests",)).run(endless())
    task, pid = next(outcomes)
    assert task is drawn[0] and len(drawn) == 2
    outcomes.close()
    assert not running(pid)


def test_a_pool_without_tasks_or_jobs():
    assert list(Pool(2).run([])) == []
    with pytest.raises(ValueError, match="jobs=0"):
        Pool(0)


def processes(pool: Pool, count: int) -> set[int]:
    task = Task("tests.support.running.faults:process", PATIENCE, {})
    return {pid for _, pid in pool.run(Task(task.function, task.timeout, {}) for _ in range(count))}


def test_the_children_of_a_pool_outlive_a_run():
    pool = Pool(2, packages=("tests",))
    first = processes(pool, 1)
    assert processes(pool, 1) == first, "whoever has a child is taken before who has none"
    assert len(processes(pool, 6) | first) <= 2
    pool.close()
    assert not any(map(running, first))
    assert processes(pool, 1) != first
    pool.close()


def test_a_run_of_a_pool_that_is_closed_early_ends_its_children_and_the_next_one_starts_others():
    pool = Pool(2, packages=("tests",))
    first = Task("tests.support.running.faults:process", PATIENCE, {})
    outcomes = pool.run([first, Task("tests.support.running.faults:hang", 600, {})])
    task, pid = next(outcomes)
    assert task is first
    outcomes.close()
    assert not running(pid) and pid not in processes(pool, 2)
    pool.close()
