"""Real rankings and searches that are killed, interrupted, run twice at once or run out of disk: nothing is lost.

A trigger in the store writes down every measurement that reaches it, so that a repeated one is seen.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial

import pytest

from cpu.runtime.machine.host import fingerprint, host
from microkernels.scores.records import measured
from microkernels.tile.isa import PORTABLE
from microkernels.tile.space import quick
from tests.support.running.killed import (
    RANK,
    ROOT,
    SHORT,
    TUNE,
    Site,
    check_complete,
    killed_run,
    prepared_store,
    site,
)

pytestmark = pytest.mark.slow
# Microkernels of a ranking that is killed and goes on: four times those in flight. All 40 take half a minute.
FEW = 8


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return prepared_store(tmp_path_factory.mktemp("prepared"))


@pytest.mark.parametrize("command", [RANK, TUNE], ids=["rank", "tune"])
def test_a_killed_and_an_interrupted_run_resume(tmp_path, prepared, command):
    place = site(tmp_path / "site", prepared, command, unranked=FEW)
    for count, (number, whom) in enumerate([(signal.SIGKILL, "process"), (signal.SIGINT, "group")]):
        enough = partial(place.wait_for_records, count=len(place.recorded()) + 1 + count)
        assert not killed_run(place, enough, number, whom)
    check_complete(place)


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
    # The store is five times as large as anything that a compiler writes, and has room for some 14 of 40 measurements.
    place.query("INSERT INTO filler VALUES (zeroblob(30000))")
    place.query("VACUUM")
    place.query("PRAGMA wal_checkpoint(TRUNCATE)")
    # What does not fit the file any more stays in SQLite's log, until that is full as well.
    ended = run_with_small_files(place, place.store.stat().st_size, RANK)
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
