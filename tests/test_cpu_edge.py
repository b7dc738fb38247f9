"""The edge of ``cpu/``: host, compiler, timer, probe and workers.

No test needs AVX or asserts how long anything takes.
"""

from __future__ import annotations

import ctypes
import errno
import json
import math
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import cffi
import numpy as np
import pytest

from cpu import toolchain
from cpu.cache import shared_object
from cpu.host import CPUID_FLAGS, FALLBACK_CACHES, Cache, fingerprint, host, read_host, supports
from cpu.probe import buffer_sizes, probe
from cpu.timer import (
    peak_gflops,
    read_bandwidth,
    stream_bandwidth,
    time_calls,
    write_bandwidth,
)
from cpu.toolchain import Compiler, ToolchainError, compile_shared, find_compiler
from cpu.worker import CandidateError, Task, Worker, WorkerError, run_all
from microkernels.isa import ISAS

ROOT = Path(__file__).parents[1]
ANSWER = "int answer(void) { return 42; }\n"
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Each test has its own cache."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def worker():
    with Worker(packages=("tests",)) as made:
        yield made


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def running(pid):
    """Whether a process runs; one that ended but was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# host


def write_tree(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def sys_tree(folder, core):
    rows = {
        "index0": ("1", "Data", "48K", "64", "12", f"{core}"),
        "index1": ("1", "Instruction", "32K", "64", "8", f"{core}"),
        "index2": ("2", "Unified", "2M", "64", "16", "0-1,8-9"),
        "index3": ("3", "Unified", "33554432", "128", "", "0-15"),
    }
    names = ("level", "type", "size", "coherency_line_size", "ways_of_associativity", "shared_cpu_list")
    for index, row in rows.items():
        write_tree(folder / f"cpu{core}" / "cache" / index, dict(zip(names, row)))
    return folder


def test_host_reads_x86_and_data_caches(tmp_path):
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
        "stepping\t: 8\nflags\t\t: sse avx2 fma\n\nprocessor\t: 1\nmodel\t: 9\n"
    )
    core = min(os.sched_getaffinity(0))
    found = read_host(tmp_path / "cpuinfo", sys_tree(tmp_path / "sys", core))
    assert (found.vendor, found.family, found.model, found.stepping) == ("GenuineIntel", 6, 143, 8)
    assert found.flags == {"sse", "avx2", "fma"}
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.caches == (
        Cache("L1", 48 << 10, 64, 12, 1),
        Cache("L2", 2 << 20, 64, 16, 4),
        Cache("L3", 32 << 20, 128, 0, 16),
    )
    assert fingerprint(found).startswith("intel-6-143-8-")


def test_host_reads_arm(tmp_path):
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n"
    )
    found = read_host(tmp_path / "cpuinfo", tmp_path)
    assert found.flags == {"fp", "asimd", "sve"}
    assert fingerprint(found).startswith("arm-8-3392-17-")


def test_host_without_proc_or_sys(tmp_path):
    found = read_host(tmp_path / "none", tmp_path / "none")
    assert found.caches == FALLBACK_CACHES
    assert found.flags == frozenset() and found.cores >= 1 and found.vendor
    assert fingerprint(found)


def test_fingerprint_follows_what_matters_only():
    mine = host()
    same = replace(mine, cores=mine.cores + 5, flags=mine.flags | {"some_new_mitigation"})
    assert fingerprint(same) == fingerprint(mine)
    smaller = (replace(mine.caches[0], bytes=mine.caches[0].bytes // 2), *mine.caches[1:])
    for other in (
        replace(mine, flags=mine.flags ^ {"avx512f"}),
        replace(mine, stepping=mine.stepping + 1),
        replace(mine, vendor="Other"),
        replace(mine, caches=smaller),
    ):
        assert fingerprint(other) != fingerprint(mine)


@pytest.mark.isa("avx2")
def test_what_cpuid_denies_is_not_believed_of_cpuinfo():
    """As under an emulator, whose /proc/cpuinfo is its host's; glibc takes what it is told away for CPUID's word."""
    program = "from cpu.host import host; print(*sorted(host().flags & {'avx2', 'fma'}))"
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, cwd=Path(__file__).parent.parent, check=True, capture_output=True, text=True)
    if platform.libc_ver()[0] != "glibc" or tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 33):
        pytest.skip("asks glibc 2.33 or newer")
    assert ended.stdout == "fma\n"


def test_cpuid_is_asked_for_every_flag_that_an_instruction_set_needs():
    assert {flag for isa in ISAS.values() for flag in isa.cpu_flags} == set(CPUID_FLAGS)


def test_supports():
    assert supports([]) and supports(host().flags)
    assert not supports(["no_such_flag"])


# toolchain


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="no C compiler was found: install gcc .* or set CC"):
        find_compiler()


@pytest.mark.parametrize(
    ("chosen", "message"), [("no-such-cc -m64", "CC names 'no-such-cc'"), ("'gcc", "not a command line")]
)
def test_wrong_cc(monkeypatch, chosen, message):
    monkeypatch.setenv("CC", chosen)
    with pytest.raises(ToolchainError, match=message):
        find_compiler()


def test_cc_that_is_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", script(tmp_path / "cc", "exit 1"))
    with pytest.raises(ToolchainError, match="--version failed"):
        find_compiler()


def test_cc_keeps_its_arguments(monkeypatch):
    plain = find_compiler()
    monkeypatch.setenv("CC", f"{plain.path} -DANSWER=42")
    chosen = find_compiler()
    assert chosen.command == (plain.path, "-DANSWER=42")
    assert (chosen.kind, chosen.version) == (plain.kind, plain.version)
    assert ctypes.CDLL(str(shared_object("int answer(void) { return ANSWER; }", ()))).answer() == 42


@pytest.mark.parametrize(
    ("banner", "kind", "version"),
    [
        ("cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright Free Software Foundation", "gcc", "12.2.0"),
        ("gcc (GCC) 13.2.1 20230801\nCopyright Free Software Foundation", "gcc", "13.2.1"),
        ("Debian clang version 14.0.6", "clang", "14.0.6"),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", "clang", "15.0.0"),
        ("tinycc", "other", "tinycc"),
    ],
)
def test_versions(monkeypatch, tmp_path, banner, kind, version):
    (tmp_path / "banner").write_text(banner + "\n")
    monkeypatch.setenv("CC", script(tmp_path / "cc", f"[ $1 = --version ] && cat {tmp_path}/banner"))
    found = find_compiler()
    assert (found.kind, found.version, found.openmp) == (kind, version, False)


def test_compile_error_shows_the_last_lines(tmp_path):
    with pytest.raises(ToolchainError, match=r"kernel\.c -o (.|\n)*no_such_type"):
        compile_shared(find_compiler(), "no_such_type x;", tmp_path / "x.so", ())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flag", ["-ffast-math", "-march=native"])
def test_forbidden_flags(tmp_path, flag):
    with pytest.raises(ValueError, match=f"{flag} must not be used"):
        compile_shared(find_compiler(), ANSWER, tmp_path / "x.so", (flag,))


def test_compile_time_out(monkeypatch, tmp_path):
    # The driver's own child keeps the messages open, as gcc's does.
    slow = script(tmp_path / "cc", "sleep 600 & echo $! > $SLEEPER; wait")
    monkeypatch.setenv("SLEEPER", str(tmp_path / "sleeper"))
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 1)
    compiler = replace(find_compiler(), path=slow, arguments=())
    with pytest.raises(ToolchainError, match="took longer than 1 s"):
        compile_shared(compiler, ANSWER, tmp_path / "x.so", ())
    os.kill(int((tmp_path / "sleeper").read_text()), signal.SIGKILL)


def test_openmp_is_used_only_where_it_links(tmp_path, monkeypatch):
    source = "int openmp(void) {\n#ifdef _OPENMP\nreturn 1;\n#else\nreturn 0;\n#endif\n}"
    compiler = find_compiler()
    for name, can in (("with", compiler.openmp), ("without", False)):
        monkeypatch.setattr(Compiler, "openmp", can)
        compile_shared(compiler, source, tmp_path / name, (), openmp=True)
        assert ctypes.CDLL(str(tmp_path / name)).openmp() == can


def test_a_full_folder_for_temporary_files_is_no_missing_openmp(monkeypatch, tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    compiler = replace(find_compiler(), path=script(tmp_path / "cc", "exit 0"), arguments=())
    with monkeypatch.context() as patch, pytest.raises(ToolchainError, match="No space left.* set TMPDIR") as raised:
        patch.setattr(toolchain.tempfile, "TemporaryDirectory", MagicMock(side_effect=full))
        compiler.openmp
    assert raised.type is ToolchainError, "the source is not at fault"
    assert compiler.openmp, "asked once more, where there is room"


# timer


COUNTING = """
int begun;
void count(const void *x, const void *w, void *y) {
    ++begun; ((float *)y)[0] += ((const float *)x)[0] * ((const float *)w)[0];
}
"""


def test_time_calls_runs_the_kernel_on_the_arrays():
    ffi = cffi.FFI()
    ffi.cdef("extern int begun; void count(const void *, const void *, void *);")
    library = ffi.dlopen(str(shared_object(COUNTING, ())))
    x, w, y = (np.full(1, value, dtype=np.float32) for value in (2, 3, 0))
    x.flags.writeable = False
    times = time_calls(library.count, x, w, y, seconds=1e-4, samples=3, warmup=2)
    assert len(times) == 3 and all(seconds > 0 for seconds in times)
    assert library.begun >= 2 + 1 + 3
    assert y[0] == 6 * library.begun
    address = int(ffi.cast("uintptr_t", ffi.addressof(library, "count")))
    begun = library.begun
    time_calls(address, x, w, y, seconds=0.0, samples=1, warmup=0)
    assert library.begun == begun + 2  # one to learn how long a call takes, one sample


def test_time_calls_refuses_arrays_that_it_cannot_pass():
    good = np.zeros((4, 4), dtype=np.float32)
    fixed = good.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="x must be C-contiguous"):
        time_calls(0, good.T[1:], good, good)
    with pytest.raises(ValueError, match="y is read-only"):
        time_calls(0, good, good, fixed)
    with pytest.raises(ValueError, match="samples=0"):
        time_calls(0, good, good, good, samples=0)


def test_peak_and_bandwidths_are_positive():
    assert 0 < peak_gflops((), 4, 1e-3) < math.inf
    buffer = np.ones(100_001, dtype=np.uint8)[1:]
    for measure in (read_bandwidth, write_bandwidth, stream_bandwidth):
        assert 0 < measure(buffer, (), 4, 1e-3) < math.inf
        assert measure(buffer[:100], (), 4, 1e-3) == 0
    with pytest.raises(ValueError, match="lanes=3"):
        peak_gflops((), 3)


@pytest.mark.parametrize("measure", [write_bandwidth, stream_bandwidth])
@pytest.mark.parametrize("offset", [0, 1, 63])
def test_stores_stay_inside_the_buffer(measure, offset):
    whole = np.full(4096, 250, dtype=np.uint8)
    measure(whole[offset : offset + 2000], (), 4, 0.0)
    assert (whole[:offset] == 250).all() and (whole[offset + 2000 :] == 250).all()
    assert (whole[offset : offset + 2000] == 7).any()


@pytest.mark.parametrize(
    ("needed", "flags", "lanes"),
    [
        (("avx2", "fma"), ("-mavx2", "-mfma"), 8),
        (("avx512f", "fma"), ("-mavx512f", "-mfma"), 16),
    ],
)
def test_wide_vectors(needed, flags, lanes):
    if not supports(needed):
        pytest.skip(f"this CPU has no {needed[0]}")
    buffer = np.ones(1 << 16, dtype=np.uint8)
    assert peak_gflops(flags, lanes, 1e-3) > 0
    for measure in (read_bandwidth, write_bandwidth, stream_bandwidth):
        assert measure(buffer, flags, lanes, 1e-3) > 0


# probe


def test_buffer_sizes_fit_their_level():
    caches = (Cache("L1", 64, 64, 1, 1), Cache("L2", 100, 64, 1, 1), Cache("L3", 1 << 30, 64, 1, 1))
    sizes = buffer_sizes(replace(host(), caches=caches))
    assert sizes == {"L1": 32, "L2": 82, "L3": 1 << 29, "memory": 256 << 20}


def test_probe_is_plain_data():
    small = replace(host(), caches=FALLBACK_CACHES)
    facts = probe((), 4, small)
    assert json.loads(json.dumps(facts)) == facts
    assert list(facts["read"]) == ["L1", "L2", "memory"]
    rates = [facts["peak_gflops"], facts["memory_write"], facts["memory_stream"], *facts["read"].values()]
    assert all(0 < rate < math.inf for rate in rates)


# worker


def test_results_come_back_from_one_child(worker):
    value = {"a": [1, 2.5, None, "line\nline"], "large": "x" * 300_000}
    assert worker.call("tests.faults:echo", timeout=PATIENCE, value=value) == value
    first = worker.call("tests.faults:process", timeout=PATIENCE)
    assert worker.call("tests.faults:process", timeout=PATIENCE) == first != os.getpid()


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        ("fail", {"message": "no such tile"}, "LookupError: no such tile"),
        ("stop", {}, "SystemExit: 3"),
        ("unserialisable", {}, "TypeError: Object of type object is not JSON serializable"),
        ("no_such_function", {}, "AttributeError: .*no_such_function"),
        ("run", {}, "ValueError: run is not a function of tests.faults"),
    ],
)
def test_an_exception_leaves_the_child_alive(worker, function, arguments, reason):
    before = worker.call("tests.faults:process", timeout=PATIENCE)
    with pytest.raises(CandidateError, match=f"^{reason}"):
        worker.call(f"tests.faults:{function}", timeout=PATIENCE, **arguments)
    assert worker.call("tests.faults:process", timeout=PATIENCE) == before


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        ("segfault", {}, "crashed with SIGSEGV"),
        ("abort", {"message": "free(): invalid"}, "crashed with SIGABRT (it last printed: free(): invalid)"),
        ("leave", {"status": 7}, "ended with status 7 before it answered"),
    ],
)
def test_a_crash_costs_one_child(worker, function, arguments, reason):
    before = worker.call("tests.faults:process", timeout=PATIENCE)
    with pytest.raises(CandidateError) as raised:
        worker.call(f"tests.faults:{function}", timeout=PATIENCE, **arguments)
    assert raised.value.reason == str(raised.value) == reason
    assert worker.call("tests.faults:process", timeout=PATIENCE) != before


def test_a_hang_is_killed_with_all_it_started(worker, tmp_path):
    worker.call("tests.faults:process", timeout=PATIENCE)
    with pytest.raises(CandidateError, match="^no answer within 3 s: killed$"):
        worker.call("tests.faults:hang_with_child", timeout=3, file=str(tmp_path / "child"))
    grandchild = int((tmp_path / "child").read_text())
    wait_until(lambda: not running(grandchild))
    assert worker.call("tests.faults:echo", timeout=PATIENCE, value=1) == 1


def test_a_child_that_died_idle_is_replaced(worker):
    first = worker.call("tests.faults:process", timeout=PATIENCE)
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)  # all its threads, leaving it to be reaped
    assert worker.call("tests.faults:process", timeout=PATIENCE) != first


def test_memory_is_limited():
    with Worker(packages=("tests",), memory_bytes=2 << 30) as worker:
        with pytest.raises(CandidateError, match="^MemoryError$"):
            worker.call("tests.faults:allocate", timeout=PATIENCE, count=3 << 30)
        assert worker.call("tests.faults:allocate", timeout=PATIENCE, count=1000) == 1000


def test_environment_and_path(monkeypatch):
    monkeypatch.setenv("FROM_PARENT", "a")
    with Worker(packages=("tests",), env={"OMP_NUM_THREADS": "3"}) as worker:
        assert worker.call("tests.faults:environment", timeout=PATIENCE, name="FROM_PARENT") == "a"
        assert worker.call("tests.faults:environment", timeout=PATIENCE, name="OMP_NUM_THREADS") == "3"
        theirs = worker.call("tests.faults:search_path", timeout=PATIENCE)
    assert set(map(os.path.abspath, sys.path)) <= set(theirs)


def test_the_child_ignores_ctrl_c(worker):
    assert worker.call("tests.faults:interrupt", timeout=PATIENCE) == "still here"


@pytest.mark.parametrize(
    "name",
    ["os:system", "tests.faults", "tests.faults:_private", "tests.faults:os.system", "tests..x:y", "cpu.cache:x"],
)
def test_other_names_are_refused(worker, name):
    with pytest.raises(ValueError, match="cannot run in a worker"):
        worker.call(name, timeout=PATIENCE)


def test_a_closed_worker_is_closed(worker):
    pid = worker.call("tests.faults:process", timeout=PATIENCE)
    worker.close()
    assert not running(pid)
    worker.close()
    with pytest.raises(WorkerError, match="closed"):
        worker.call("tests.faults:process", timeout=PATIENCE)


def test_a_child_that_cannot_start(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Worker() as worker, pytest.raises(WorkerError, match="did not start: ended with status 1"):
        worker.call("cpu.host:supports", timeout=PATIENCE, flags_needed=[])


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
        with monkeypatch.context() as patch, pytest.raises(WorkerError, match="could be started: .*Too many open files"):
            patch.setattr(tempfile, "TemporaryFile", counted(real[0]))
            patch.setattr(os, "pipe", counted(real[1]))
            worker.call("cpu.host:supports", timeout=PATIENCE, flags_needed=[])
        assert len(os.listdir("/proc/self/fd")) == before
        assert worker.call("cpu.host:supports", timeout=PATIENCE, flags_needed=[]) is True


@pytest.mark.parametrize("starter", ["main", "thread"])
def test_children_die_with_their_parent(tmp_path, starter):
    program = (
        "import sys, threading; from cpu.worker import Worker\n"
        "worker = Worker(packages=('tests',))\n"
        "def work(): worker.call('tests.faults:hang_with_child', timeout=600, file=sys.argv[1])\n"
        f"work() if '{starter}' == 'main' else threading.Thread(target=work).start()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "child")], cwd=ROOT)
    wait_until((tmp_path / "child").exists)
    grandchild = int((tmp_path / "child").read_text())
    stat = Path(f"/proc/{grandchild}/stat").read_text()
    child = int(stat.rpartition(")")[2].split()[1])
    parent.kill()
    parent.wait()
    wait_until(lambda: not running(child))
    if running(grandchild):  # the kernel's signal reaches the child alone
        os.kill(grandchild, signal.SIGKILL)


def test_run_all_yields_every_task():
    tasks = [Task("tests.faults:echo", PATIENCE, {"value": number}) for number in range(6)]
    tasks.insert(2, Task("tests.faults:segfault", PATIENCE, {}))
    outcomes = dict(run_all(iter(tasks), 2, packages=("tests",)))
    assert set(outcomes) == set(tasks)
    crash = outcomes.pop(tasks[2])
    assert isinstance(crash, CandidateError) and crash.reason == "crashed with SIGSEGV"
    assert sorted(outcomes.values()) == list(range(6))


def test_run_all_draws_tasks_as_it_goes_and_ends_early():
    drawn = []

    def endless():
        while True:
            name = "hang" if drawn else "process"
            drawn.append(Task(f"tests.faults:{name}", 600, {}))
            yield drawn[-1]

    outcomes = run_all(endless(), 2, packages=("tests",))
    task, pid = next(outcomes)
    assert task is drawn[0] and len(drawn) == 2
    outcomes.close()
    assert not running(pid)


def test_run_all_without_tasks_or_jobs():
    assert list(run_all([], 2)) == []
    with pytest.raises(ValueError, match="jobs=0"):
        next(run_all([], 0))
