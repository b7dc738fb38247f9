"""The server that forks workers: what they share, what they inherit, and how it ends."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cpu.runtime.processes import worker as workers
from cpu.runtime.processes.worker import CandidateError, Worker, WorkerError
from tests.support.running.watched import PATIENCE, running, wait_until

ROOT = Path(__file__).parents[4]
FAULTS = "tests.support.running.faults"
PACKAGES = ("cpu", "microkernels", "gpu", "search", "graph", "bench")


def asked(function, worker=None, **options):
    """The answer of a function of `faults`, by default of a worker of its own."""
    if worker:
        return worker.call(f"{FAULTS}:{function}", timeout=PATIENCE)
    with Worker(packages=("tests",), **options) as made:
        return made.call(f"{FAULTS}:{function}", timeout=PATIENCE)


def test_workers_are_forks_of_one_server():
    with Worker(packages=("tests",)) as one, Worker(packages=("tests",), env={"FOR_THIS_ONE": "1"}) as other:
        assert asked("server", one) == asked("server", other) == asked("server") != os.getpid()
        assert len({asked("process", one), asked("process", other), asked("process")}) == 3
        assert other.call(f"{FAULTS}:environment", timeout=PATIENCE, name="FOR_THIS_ONE") == "1"
        assert one.call(f"{FAULTS}:environment", timeout=PATIENCE, name="FOR_THIS_ONE") is None


def test_the_environment_is_that_of_the_moment_without_what_was_taken_out(monkeypatch):
    name = {"name": "OF_THE_PARENT"}
    for value in ("first", "second", None):
        monkeypatch.delenv("OF_THE_PARENT", raising=False)
        if value:
            monkeypatch.setenv("OF_THE_PARENT", value)
        with Worker(packages=("tests",)) as worker:
            assert worker.call(f"{FAULTS}:environment", timeout=PATIENCE, **name) == value


def output(program):
    """What a program prints that ends in time and tells no error."""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr == "" and done.returncode == 0
    return done.stdout


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "MALLOC_TOP_PAD_", "LD_LIBRARY_PATH", "OPENBLAS_NUM_THREADS"])
def test_what_libraries_read_while_they_load_is_there_when_the_server_starts(name):
    with Worker(packages=("tests",), env={name: "3"}) as worker:
        server = asked("server", worker)
        assert f"{name}=3".encode() in Path(f"/proc/{server}/environ").read_bytes().split(b"\0")
    assert server != asked("server")


def test_a_worker_inherits_what_the_process_has_changed_since(tmp_path, monkeypatch):
    before, files = asked("inherited"), resource.getrlimit(resource.RLIMIT_NOFILE)
    affinity, umask = os.sched_getaffinity(0), os.umask(0o27)
    monkeypatch.chdir(tmp_path)
    try:
        os.sched_setaffinity(0, {min(affinity)})
        resource.setrlimit(resource.RLIMIT_NOFILE, (files[0] - 1, files[1]))
        now = asked("inherited")
    finally:
        os.umask(umask)
        os.sched_setaffinity(0, affinity)
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
    changed = {"folder": str(tmp_path), "umask": 0o27, "affinity": [min(affinity)], "files": [files[0] - 1, files[1]]}
    assert now == before | changed
    monkeypatch.undo()
    assert asked("inherited") == before


def test_a_thread_that_blocks_the_signal_of_ended_children_has_workers():
    program = (
        "import signal\n"
        "from cpu.runtime.processes.worker import Worker\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGUSR1})\n"
        f"with Worker(packages=('tests',)) as worker: print(worker.call('{FAULTS}:blocked', timeout=60))\n"
    )
    assert output(program) == "['SIGCHLD', 'SIGUSR1']\n"


def test_a_server_that_is_killed_costs_its_workers_and_no_more():
    with Worker(packages=("tests",)) as idle, Worker(packages=("tests",)) as busy:
        server, child = asked("server", idle), asked("process", idle)
        killer = threading.Timer(0.5, os.kill, (server, signal.SIGKILL))
        killer.start()
        with pytest.raises(CandidateError, match=r"^killed with SIGKILL, as the system does"):
            busy.call(f"{FAULTS}:hang", timeout=PATIENCE)
        wait_until(lambda: not running(child))
        assert asked("server", idle) == asked("server", busy) != server


def test_a_server_that_ended_between_two_workers_is_replaced():
    server = asked("server")
    os.kill(server, signal.SIGTERM)  # not waited for: the next request may still reach it
    assert asked("server") != server


def test_a_server_without_children_ends_after_a_while():
    program = (
        "import socket, sys\n"
        "from cpu.runtime.processes import fork_server\n"
        "fork_server._IDLE_SECONDS = 0.01\n"
        "fork_server._Server(socket.socket(fileno=int(sys.argv[1]))).serve()\n"
    )
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with ours, theirs:
        command = [sys.executable, "-c", program, str(theirs.fileno())]
        subprocess.run(command, cwd=ROOT, pass_fds=[theirs.fileno()], timeout=PATIENCE, check=True)


def test_what_a_worker_started_ends_with_it_also_where_nobody_asked(tmp_path):
    file = tmp_path / "child"
    with Worker(packages=("tests",)) as worker:

        def hang():
            with pytest.raises(CandidateError, match="SIGKILL"):
                worker.call(f"{FAULTS}:hang_with_child", timeout=PATIENCE, file=str(file))

        thread = threading.Thread(target=hang)
        thread.start()
        wait_until(file.exists)
        grandchild = int(file.read_text())
        child = int(Path(f"/proc/{grandchild}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: not running(grandchild))
        thread.join()


def test_a_full_table_of_processes_is_told(tmp_path, monkeypatch):
    """The server's own process still fits, its fork does not."""
    full = tmp_path / "python"
    full.write_text(
        f"#!{sys.executable}\n"
        "import errno, os, runpy, sys\n"
        "def refuse(): raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))\n"
        "os.fork = refuse\n"
        "del sys.argv[:2]\n"
        "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"
    )
    full.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(full))
    with Worker() as worker, pytest.raises(WorkerError, match=r"could be started: .*temporarily unavailable"):
        worker.call("cpu.runtime.machine.host:supports", timeout=PATIENCE, flags_needed=[])


def test_a_folder_for_temporary_files_that_is_none_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with Worker() as worker, pytest.raises(WorkerError, match=r"could be started: .*No such file"):
        worker.call("cpu.runtime.machine.host:supports", timeout=PATIENCE, flags_needed=[])


@pytest.mark.parametrize(
    ("line", "error", "reason"),
    [
        ("raise LookupError('not here')", CandidateError, "^LookupError: not here$"),
        ("raise SystemExit(3)", CandidateError, "^SystemExit: 3$"),
        ("import ctypes; ctypes.string_at(0)", WorkerError, "did not start: crashed with SIGSEGV"),
        ("import time; time.sleep(600)", WorkerError, "did not start: no answer within 2 s"),
    ],
)
def test_a_module_that_cannot_be_imported(tmp_path, monkeypatch, line, error, reason):
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "module.py").write_text(f"{line}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(workers, "_START_SECONDS", 2.0 if "sleep" in line else PATIENCE)
    with Worker(packages=("faulty",)) as worker, pytest.raises(error, match=reason):
        worker.call("faulty.module:function", timeout=PATIENCE)
    assert asked("process") != os.getpid()


def test_a_module_that_starts_a_process_and_prints_when_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "busy").mkdir()
    (tmp_path / "busy" / "module.py").write_text(
        "import os, subprocess, sys\n"
        "print('imported')\n"
        "started = subprocess.Popen(['true']).pid\n"
        "def process(): return started\n"
        "def leave(): sys.stdout.flush(), os._exit(7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Worker(packages=("tests",)) as idle, Worker(packages=("busy",)) as worker:
        server, child = asked("server", idle), asked("process", idle)
        started = worker.call("busy.module:process", timeout=PATIENCE)
        wait_until(lambda: not Path(f"/proc/{started}").exists())
        with pytest.raises(CandidateError, match=r"^ended with status 7 before it answered$"):
            worker.call("busy.module:leave", timeout=PATIENCE)
        assert asked("server") == asked("server", idle) == server and asked("process", idle) == child


def test_a_child_that_cannot_print_its_error_ends():
    """Else it would go on as a second server."""
    program = (
        "import os, socket, sys\n"
        "from cpu.runtime.processes import fork_server\n"
        "def fail(*_): raise LookupError\n"
        "fork_server.worker_child.serve = fork_server.traceback.print_exc = fail\n"
        "try: fork_server._Server(socket.socket(fileno=int(sys.argv[1]))).serve()\n"
        "except LookupError: os._exit(3)\n"
    )
    (ours, theirs), (told, tells) = (socket.socketpair(type=socket.SOCK_SEQPACKET) for _ in range(2))
    command = [sys.executable, "-c", program, str(theirs.fileno())]
    with ours, theirs, told, tells, open(os.devnull, "r+b") as file:
        server = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        socket.send_fds(ours, [b"json"], [tells.fileno(), *[file.fileno()] * 3])
        tells.close()
        assert json.loads(told.recv(1 << 10)).keys() == {"pid"}
        assert json.loads(told.recv(1 << 10)) == {"status": 1}
        ours.close()
        assert server.wait(PATIENCE) == 0


def test_a_fork_of_the_parent_has_a_server_of_its_own():
    program = (
        "import os\n"
        "from cpu.runtime.processes.worker import Worker\n"
        "def server():\n"
        f"    with Worker(packages=('tests',)) as worker: return worker.call('{FAULTS}:server', timeout=60)\n"
        "first = server()\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(server() == first)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "print(server() == first, first)\n"
    )
    same, first = output(program).split()
    assert same == "True"
    assert not running(first), "it ends before the parent does"


def test_workers_die_with_their_parent_although_its_fork_lives():
    program = (
        "import os, signal, sys, time\n"
        "from cpu.runtime.processes.worker import Worker\n"
        "worker = Worker(packages=('tests',))\n"
        f"child = worker.call('{FAULTS}:process', timeout=60)\n"
        "fork = os.fork()\n"
        "if fork == 0: time.sleep(600)\n"
        "print(child, fork, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        child, fork = map(int, parent.stdout.readline().split())
        try:
            wait_until(lambda: not running(child))
            assert running(fork)
        finally:
            os.kill(fork, signal.SIGKILL)


def test_a_fork_of_the_parent_leaves_the_workers_alone():
    program = (
        "import os\n"
        "from cpu.runtime.processes.worker import Worker\n"
        "worker = Worker(packages=('tests',))\n"
        f"def process(): return worker.call('{FAULTS}:process', timeout=60)\n"
        "first = process()\n"
        "if (pid := os.fork()) == 0:\n"
        "    different = process() != first\n"
        "    worker.close()\n"
        "    os._exit(different)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), process() == first)\n"
    )
    assert output(program) == "1 True\n"


def test_a_program_that_closes_no_worker_need_not_wait_for_the_servers():
    program = (
        "from cpu.runtime.processes import forked, worker\n"
        "forked._END_SECONDS = 600\n"
        "workers = [worker.Worker(packages=('tests',), env={'OMP_NUM_THREADS': str(each)}) for each in range(5)]\n"
        f"for each in workers: print(each.call('{FAULTS}:server', timeout=60))\n"
    )
    servers = output(program).split()
    assert len(set(servers)) == 5 and not any(map(running, servers))


def test_few_servers_are_kept_and_nothing_of_the_others():
    program = (
        "import contextlib, os, signal\n"
        "from cpu.runtime.processes.worker import Worker\n"
        "def made(threads): return Worker(packages=('tests',), env={'OMP_NUM_THREADS': str(threads)})\n"
        "def asked(worker, what): return worker.call(f'tests.support.running.faults:{what}', timeout=60)\n"
        "def server(threads):\n"
        "    with made(threads) as worker: return asked(worker, 'server')\n"
        "def end(pid, number):\n"
        "    if number: os.kill(pid, number)\n"
        "    with contextlib.suppress(ChildProcessError): os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)\n"
        "def files(): return len(os.listdir('/proc/self/fd'))\n"
        "first = made(0)\n"
        "process, its = asked(first, 'process'), asked(first, 'server')\n"
        "one, two = server(1), server(2)\n"
        "most = files()\n"
        "three = server(3)\n"
        "assert files() == most and asked(first, 'process') == process\n"  # still served by one that is forgotten
        "assert (server(1), server(2), server(3)) == (one, two, three)\n"
        "four = server(4)\n"
        "end(one, 0)\n"  # used longest ago
        "first.close()\n"
        "end(its, 0)\n"
        "for each in (two, three, four): end(each, signal.SIGTERM)\n"
        "five = server(5)\n"
        "assert server(5) == five and files() == most - 8\n"  # two servers have 2 each, a worker 4
        "assert not any(os.path.exists(f'/proc/{each}') for each in (its, one, two, three, four))\n"
    )
    assert output(program) == ""


def test_a_server_without_room_for_a_request_goes_on():
    with Worker(packages=("tests",)) as idle:
        server, child = asked("server", idle), asked("process", idle)
        limits = resource.prlimit(server, resource.RLIMIT_NOFILE)
        resource.prlimit(server, resource.RLIMIT_NOFILE, (3, limits[1]))
        with pytest.raises(WorkerError, match=r"^no worker process could be started: .*Too many open files"):
            asked("process")
        resource.prlimit(server, resource.RLIMIT_NOFILE, limits)
        assert asked("server") == server and asked("process", idle) == child


def functions_of_workers() -> set[str]:
    """The modules of all functions that our packages ask workers for."""
    texts = (path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    named = re.compile(rf'"((?:{"|".join(PACKAGES)})[\w.]*):(?!main)\w+"')
    return {module for text in texts for module in named.findall(text)}


def test_a_server_loads_neither_openmp_nor_cuda():
    """A fork would have OpenMP's threads in name only, and could not use a device that is open."""
    modules = functions_of_workers()
    assert {"cpu.kernel.measure", "search.flow.choices", "graph.calls.turns", "bench.run.contest"} <= modules
    before = asked("server", env={"OMP_NUM_THREADS": "5"})
    for module in sorted(modules):
        with Worker(packages=PACKAGES, env={"OMP_NUM_THREADS": "5"}) as worker, pytest.raises(CandidateError):
            worker.call(f"{module}:there_is_no_such_function", timeout=PATIENCE)
    assert asked("server", env={"OMP_NUM_THREADS": "5"}) == before
    libraries = set(re.findall(r"/([^/\n]+\.so[^/\n]*)$", Path(f"/proc/{before}/maps").read_text(), re.M))
    assert libraries and not {name for name in libraries if re.search(r"omp|cuda|nvrtc", name)}
