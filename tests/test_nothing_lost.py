"""Real rankings and searches that are killed, interrupted, run twice at once or run out of disk: nothing is lost.

A trigger in the store writes down every measurement that reaches it, so that a repeated one is seen.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import filelock
import pytest

from cpu.runtime.machine.host import fingerprint, host
from microkernels.ranking.rank import DOUBTFUL, IMPOSSIBLE, REPETITIONS
from microkernels.scores.catalog import Entry
from microkernels.scores.database import FILE_NAME
from microkernels.scores.records import measured, record
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import PORTABLE
from microkernels.tile.microkernel import parse
from microkernels.tile.space import quick
from search.evaluator.cpu.backend import cpu_backend
from search.tuner import store
from search.tuner.tune import BATCH, MOST_FINALISTS, ROUNDS
from tiling.machine import Timing
from tiling.text.shapes import parse_shape

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow
SHAPE = "c=8,h=10,w=10,k=16,r=3,s=3,pad=1"
JOBS = 2
# Seconds of a search whose measurements nobody ends; the longer ones of TUNE are for those that are killed.
SHORT = ("--budget", "10")
RANK = ["-m", "microkernels", "rank", "--isa", "portable", "--quick", "--resume", "--jobs", str(JOBS)]
TUNE = ["-m", "search.conv", "--isa", "portable", "--shape", SHAPE, "--trials", "8", "--budget", "60", "--json"]
# Which processes a signal is sent to: the one that was started, or its whole group as a terminal does.
SIGNALS = [(signal.SIGKILL, "process"), (signal.SIGKILL, "group"), (signal.SIGINT, "process"), (signal.SIGINT, "group"),
           (signal.SIGTERM, "process")]  # fmt: skip
PATIENCE = 60.0
# Microkernels of a ranking that is killed and goes on: many times those in flight. All 40 take half a minute.
FEW = 12
_AUDIT = """
CREATE TABLE audit (run INTEGER, name TEXT, disturbed INTEGER);
CREATE TABLE runs (run INTEGER); INSERT INTO runs VALUES (0);
CREATE TRIGGER audit_microkernels AFTER INSERT ON microkernels BEGIN
    INSERT INTO audit SELECT run, NEW.kernel, 0 FROM runs; END;
CREATE TRIGGER audit_schemes AFTER INSERT ON schemes BEGIN
    INSERT INTO audit SELECT run, NEW.scheme, coalesce(NEW.samples LIKE '{%', 0) FROM runs; END;
"""


@dataclass
class Site:
    """A data and a cache folder of their own, and the runs that were made on them."""

    folder: Path
    command: list[str]
    runs: int = 0
    gone_after: list[float] = field(default_factory=list)  # seconds until nothing of a signalled run was left

    @property
    def store(self) -> Path:
        return self.folder / "data" / FILE_NAME

    def start(self, command: list[str] | None = None) -> subprocess.Popen:
        self.runs += 1
        self.query("UPDATE runs SET run = ?", self.runs)
        folders = {f"TILEWRIGHT_{name.upper()}": str(self.folder / name) for name in ("data", "cache")}
        return subprocess.Popen(
            [sys.executable, *(command or self.command)], cwd=ROOT, env={**os.environ, **folders}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def query(self, statement: str, *values: object) -> list[tuple]:
        with closing(sqlite3.connect(self.store, timeout=PATIENCE, isolation_level=None)) as connection:
            return connection.execute(statement, values).fetchall()

    def recorded(self) -> set[str]:
        """What was measured: kernels and schemes by name."""
        return {name for (name,) in self.query("SELECT kernel FROM microkernels UNION SELECT scheme FROM schemes")}

    def finished(self) -> set[str]:
        """What a resumed run must not measure again: settled kernels, and schemes except for the finals.

        What other programs disturbed is measured again.
        """
        undisturbed = "SELECT scheme FROM schemes WHERE samples IS NULL OR samples LIKE '[%'"
        settled = f"SELECT kernel FROM microkernels WHERE NOT stale UNION {undisturbed}"
        return {name for (name,) in self.query(settled)}

    def compiled(self) -> set[str]:
        """The microkernels or schemes whose compiled kernel is in the cache."""
        texts = [path.read_text() for path in (self.folder / "cache" / "kernels").glob("*.c")]
        named = r"^ \*     (f32_conv2d_ukernel_\w+):" if self.command is RANK else r"^ \*     (\S.*V\(k,4\))$"
        return {name for text in texts for name in re.findall(named, text, re.M)}

    def wait_for_records(self, running: subprocess.Popen, count: int) -> None:
        """Until so many things were measured."""
        until = time.monotonic() + 2 * PATIENCE
        while len(self.recorded()) < count and running.poll() is None:
            assert time.monotonic() < until, "nothing is measured"
            time.sleep(0.05)

    def signal(self, running: subprocess.Popen, number: int, whom: str) -> None:
        """Sends a signal and waits until nothing of the run is left, its workers and compilers included."""
        started = time.monotonic()
        with suppress(ProcessLookupError):  # it has ended by itself
            (os.killpg if whom == "group" else os.kill)(running.pid, number)
        running.wait(PATIENCE)
        while left := self.processes():
            assert time.monotonic() - started < PATIENCE, f"{left} go on without the run that started them"
            time.sleep(0.01)
        self.gone_after.append(time.monotonic() - started)

    def processes(self) -> list[int]:
        """Every process that works on this site."""
        marker, found = f"TILEWRIGHT_DATA={self.folder / 'data'}".encode(), []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if marker in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:
                continue  # it has just ended
        return found

    def check_whole(self) -> None:
        """The store is sound and nobody holds its lock."""
        assert self.query("PRAGMA integrity_check") == [("ok",)]
        assert not list(self.store.parent.glob("*.set-aside-*"))
        with filelock.FileLock(f"{self.store}.lock", timeout=0):
            pass


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A store with this machine's facts and a made-up ranking, so that a search has nothing to do before it begins."""
    folder = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_DATA", str(folder / "data"))
        assert cpu_backend("portable").machine and store.measured(cpu_backend("portable").key(parse_shape(SHAPE))) == {}
        for kernel in quick(PORTABLE):
            record(fingerprint(host()), Entry(kernel, estimate(kernel), Timing((1e-6,), 60.0)), settled=True)
    return folder


def site(folder: Path, prepared: Path, command: list[str], unranked: int | None = None) -> Site:
    """A fresh place for `command`: nothing ranked for a ranking; for a search everything but the search itself.

    unranked: leaves only so many microkernels to a ranking.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared / "data", folder / "data")
    made = Site(folder, command)
    with closing(sqlite3.connect(made.store)) as connection:
        if command is RANK:
            names = [kernel.name for kernel in quick(PORTABLE)[:unranked]]
            connection.executemany("DELETE FROM microkernels WHERE kernel = ?", [(name,) for name in names])
            connection.commit()
        connection.executescript(_AUDIT)
    return made


def killed_run(place: Site, moment: Callable[[subprocess.Popen], None], number: int, whom: str) -> bool:
    """Starts a run, sends it a signal when `moment` is over, checks what it left; whether it had ended before."""
    finished = place.finished()
    compiled = place.compiled()
    running = place.start()
    moment(running)
    before = place.recorded()
    place.signal(running, number, whom)
    printed, errors = running.communicate()
    place.check_whole()
    assert before <= place.recorded(), "a record is lost"
    if place.command is RANK:
        assert len(place.compiled() - place.recorded()) <= JOBS, "more is lost than the measurements in flight"
        check_doubts(place)
    else:  # a search compiles a batch ahead, and which of it was being measured is not to be seen
        assert len(place.compiled() - compiled - place.recorded()) <= BATCH, "more is lost than a batch"
    check_repeats(place, finished)
    if number == signal.SIGINT:
        assert running.returncode in (130, 0, -signal.SIGINT) and "Traceback" not in errors, errors
        if place.command is TUNE and running.returncode >= 0:
            assert json.loads(printed)["correct"] is True if printed else "interrupted before" in errors
    elif running.returncode != -number:
        assert running.returncode == 0, errors
    return running.returncode == 0


def check_doubts(place: Site) -> None:
    """What a resumed ranking looks at again is only what fell short of its shape, or is impossible."""
    unsettled = place.query("SELECT kernel, score FROM microkernels WHERE stale AND reason IS NULL")
    assert all(not DOUBTFUL * estimate(parse(name)) <= score <= IMPOSSIBLE for name, score in unsettled)


def check_repeats(place: Site, finished: set[str]) -> None:
    """No run measures what was finished before it, except that finalists of a search, and its earlier choice, have
    their long visits. Disturbed visits are none: they are repeated.
    """
    undisturbed = "SELECT name FROM audit WHERE run = ? AND NOT disturbed"
    visits = Counter(name for (name,) in place.query(undisturbed, place.runs))
    again = {name for name, count in visits.items() if name in finished or count > 1}
    if place.command is RANK:
        assert not finished & set(visits) and all(count <= REPETITIONS for count in visits.values())
    else:
        assert len(again) <= MOST_FINALISTS + 1 and all(count <= 1 + 3 * ROUNDS for count in visits.values())


def check_complete(place: Site, more: tuple[str, ...] = SHORT) -> None:
    """A last run, left alone, ends with everything measured and a choice made. more: options of a search."""
    finished = place.finished()
    running = place.start([*place.command, *(() if place.command is RANK else more)])
    printed, errors = running.communicate(timeout=600)
    assert running.returncode == 0, errors
    check_repeats(place, finished)
    place.check_whole()
    if place.command is RANK:
        names = {kernel.name for kernel in quick(PORTABLE)}
        assert place.finished() == names
        assert place.query("SELECT count(*) FROM microkernels WHERE reason IS NOT NULL") == [(0,)]
    else:
        report = json.loads(printed)
        choice = place.query("SELECT scheme FROM choices WHERE tune = 'measure'")
        assert report["correct"] and choice == [(report["scheme"],)]
    assert not list((place.folder / "cache" / "kernels").glob("*.so.*"))


def kill_again_and_again(folder: Path, prepared: Path, command: list[str], enough, rng: random.Random) -> str:
    """Signals runs at random moments until `enough(count)`; each site is used until a run on it ends by itself."""
    started = time.monotonic()
    place = site(folder, prepared, command)
    check_complete(place, more=())
    whole = time.monotonic() - started
    counts, resumed, waits = {f"{s.name} to the {whom}": 0 for s, whom in SIGNALS}, 0, []
    place = site(folder, prepared, command)
    while not enough(sum(counts.values())):
        number, whom = SIGNALS[sum(counts.values()) % len(SIGNALS)]
        if killed_run(place, lambda _: time.sleep(rng.uniform(0, whole)), number, whom):
            waits += place.gone_after
            place = site(folder, prepared, command)
        else:
            counts[f"{number.name} to the {whom}"] += 1
        if rng.random() < 0.1:
            check_complete(place)
            resumed += 1
            waits += place.gone_after
            place = site(folder, prepared, command)
    check_complete(place)
    waits += place.gone_after
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    return (
        f"{command[1]}: {sum(counts.values())} runs of {whole:.1f} s ended at random moments ({told}); {resumed + 1} "
        f"resumed to the end; no record lost, none measured twice; all its processes gone after {max(waits):.2f} s at "
        f"most"
    )


@pytest.mark.parametrize("command", [RANK, TUNE], ids=["rank", "tune"])
def test_a_killed_and_an_interrupted_run_resume(tmp_path, prepared, command):
    place = site(tmp_path / "site", prepared, command, unranked=FEW)
    for count, (number, whom) in enumerate([(signal.SIGKILL, "process"), (signal.SIGINT, "group")]):
        enough = partial(place.wait_for_records, count=len(place.recorded()) + 1 + count)
        assert not killed_run(place, enough, number, whom)
    check_complete(place)


@pytest.mark.soak
@pytest.mark.parametrize("command", [RANK, TUNE], ids=["rank", "tune"])
def test_runs_killed_at_fifty_random_moments_resume(tmp_path, prepared, command, soak_seconds, soak_seed):
    until = time.monotonic() + soak_seconds

    def enough(count: int) -> bool:
        return count >= 50 and time.monotonic() > until

    print(kill_again_and_again(tmp_path / "site", prepared, command, enough, random.Random(soak_seed)))


def test_two_searches_of_one_layer_share_a_store(tmp_path, prepared):
    place = site(tmp_path / "site", prepared, TUNE)
    both = [place.start([*TUNE, *SHORT]), place.start([*TUNE, *SHORT])]
    reports = []
    for running in both:
        printed, errors = running.communicate(timeout=600)
        assert running.returncode == 0, errors
        reports.append(json.loads(printed))
    place.check_whole()
    assert all(report["correct"] for report in reports) and not place.processes()
    ((scheme,),) = place.query("SELECT scheme FROM choices WHERE tune = 'measure'")
    assert scheme in {report["scheme"] for report in reports}


# A full disk


def run_with_small_files(place: Site, largest: int, command: list[str]) -> subprocess.CompletedProcess:
    """Runs where no file can grow beyond `largest` bytes: a full disk that needs no privileges."""
    folders = {f"TILEWRIGHT_{name.upper()}": str(place.folder / name) for name in ("data", "cache")}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, **folders}, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
    )  # fmt: skip


def test_a_ranking_on_a_full_disk_ends_with_a_sentence_and_keeps_what_it_has(tmp_path, prepared):
    place = site(tmp_path / "site", prepared, RANK)
    place.query("CREATE TABLE filler (bytes)")
    place.query("INSERT INTO filler VALUES (zeroblob(150000))")  # larger than anything that a compiler writes
    place.query("VACUUM")
    place.query("PRAGMA wal_checkpoint(TRUNCATE)")
    # What does not fit the file any more stays in SQLite's log, until that is full as well.
    ended = run_with_small_files(place, place.store.stat().st_size + 2 * 4096, RANK)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert "measurements cannot be kept in" in ended.stderr.splitlines()[-1] and "TILEWRIGHT_DATA" in ended.stderr
    place.check_whole()
    kept = place.recorded()
    assert 0 < len(kept) < len(quick(PORTABLE))
    assert place.query("SELECT 1 FROM microkernels WHERE reason NOT NULL") == []
    place.runs = 1
    one_more = len(kept) + 1
    assert not killed_run(place, lambda running: place.wait_for_records(running, one_more), signal.SIGKILL, "group")


def test_reading_needs_neither_the_write_lock_nor_room(tmp_path, prepared, monkeypatch):
    monkeypatch.setattr("microkernels.scores.database.BUSY_SECONDS", 0.1)
    place = site(tmp_path / "site", prepared, TUNE)
    monkeypatch.setenv("TILEWRIGHT_DATA", str(place.folder / "data"))
    count = len(measured(fingerprint(host())))
    with closing(sqlite3.connect(place.store, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert len(measured(fingerprint(host()))) == count == len(quick(PORTABLE))
    show = ["-m", "microkernels", "show", "--isa", "portable", "--top", "3", "--json"]
    ended = run_with_small_files(place, 1 << 16, show)
    assert ended.returncode == 0 and len(ended.stdout.splitlines()) == 3, ended.stderr


@pytest.mark.parametrize("how", ["read-only", "full"])
def test_reading_a_store_on_a_file_system_that_takes_no_more(how, tmp_path, prepared):
    place = site(tmp_path / "site", prepared, TUNE)
    with closing(sqlite3.connect(place.store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(small)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a file system")
    try:
        shutil.copy(place.store, small)
        if how == "full":
            (small / "filler").write_bytes(bytes(shutil.disk_usage(small).free))
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        environment = {**os.environ, "TILEWRIGHT_DATA": str(small)}
        read = [sys.executable, "-m", "microkernels", "show", "--isa", "portable", "--top", "3", "--json"]
        ended = subprocess.run(read, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert ended.returncode == 0 and len(ended.stdout.splitlines()) == 3 and ended.stderr == "", ended.stderr
        write = "from search.tuner import store; store.keep_facts('here', 'portable', {'padding': 'x' * 9999})"
        ended = subprocess.run([sys.executable, "-c", write], cwd=ROOT, env=environment, capture_output=True, text=True)
        last = ended.stderr.splitlines()[-1]
        assert "StoreError: measurements cannot be kept in" in last
        assert {"full": "No space left on device", "read-only": "Read-only file system"}[how] in last
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_full_cache_disk_is_no_candidates_fault(tmp_path, prepared):
    place = site(tmp_path / "site", prepared, RANK)
    what = f"name={quick(PORTABLE)[0].name!r}, l1_bytes=32768, seconds=0.01"
    compile_one = f"from cpu.kernel.measure import microkernel; microkernel({what})"
    in_worker = (
        "from cpu.runtime.processes.worker import Worker, WorkerError\n"
        f"try: Worker().call('cpu.kernel.measure:microkernel', timeout=60, {what})\n"
        "except WorkerError as error: print(error)\n"
    )
    ended = run_with_small_files(place, 8192, ["-c", compile_one])
    assert "CacheError: compiled kernels cannot be kept in" in ended.stderr.splitlines()[-1]
    ended = run_with_small_files(place, 8192, ["-c", in_worker])
    assert ended.stdout.startswith("compiled kernels cannot be kept in") and "set TILEWRIGHT_CACHE" in ended.stdout


def test_a_full_file_system(tmp_path, prepared):
    """The real thing, where we may mount one."""
    place = site(tmp_path / "site", prepared, TUNE)
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(small)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a file system")
    try:
        for full in ("data", "cache"):
            folder = small / full
            folder.mkdir()
            if full == "data":
                shutil.copy(place.store, folder)
            (small / "filler").write_bytes(bytes(shutil.disk_usage(small).free - 40_000))
            folders = {f"TILEWRIGHT_{name.upper()}": str(place.folder / name) for name in ("data", "cache")}
            ended = subprocess.run(
                [sys.executable, *TUNE], cwd=ROOT, capture_output=True, text=True,
                env={**os.environ, **folders, f"TILEWRIGHT_{full.upper()}": str(folder)},
            )  # fmt: skip
            assert ended.returncode == 1 and ended.stderr.count("\n") == 1, ended.stderr
            assert f"set TILEWRIGHT_{full.upper()} to a folder" in ended.stderr
            assert place.query("SELECT count(*) FROM schemes WHERE reason NOT NULL") == [(0,)]
            shutil.rmtree(folder)
            (small / "filler").unlink()
    finally:
        subprocess.run(["umount", str(small)], check=True)
