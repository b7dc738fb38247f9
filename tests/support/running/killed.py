"""Real rankings and searches that are killed: what must be left of them.

A trigger in the store writes down every measurement that reaches it, so that a repeated one is seen.
"""

from __future__ import annotations

import json
import os
import re
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
from pathlib import Path

import filelock
import pytest

from microkernels.ranking.rank import DOUBTFUL, IMPOSSIBLE, REPETITIONS
from microkernels.scores.database import FILE_NAME
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import PORTABLE
from microkernels.tile.microkernel import parse
from microkernels.tile.space import quick
from search.evaluator.cpu.backend import cpu_backend
from search.tuner import store
from search.tuner.tune import BATCH, MOST_FINALISTS, ROUNDS
from tests.support.microkernels.made_up_ranking import make_up
from tiling.text.shapes import parse_shape

ROOT = Path(__file__).parents[3]
SHAPE = "c=8,h=10,w=10,k=16,r=3,s=3,pad=1"
JOBS = 2
# Seconds of a search whose measurements nobody ends; the longer ones of TUNE are for those that are killed.
SHORT = ("--budget", "1")
RANK = ["-m", "microkernels", "rank", "--isa", "portable", "--quick", "--resume", "--jobs", str(JOBS)]
TUNE = ["-m", "search.conv", "--isa", "portable", "--shape", SHAPE, "--trials", "8", "--budget", "60", "--json"]
PATIENCE = 60.0
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


def prepared_store(folder: Path) -> Path:
    """A store with this machine's facts and a made-up ranking, so that a search has nothing to do before it begins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_DATA", str(folder / "data"))
        assert cpu_backend("portable").machine and store.measured(cpu_backend("portable").key(parse_shape(SHAPE))) == {}
        make_up(quick(PORTABLE))
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
    """What a resumed ranking measures again is only what fell short of its shape, or is impossible."""
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
