"""The limit of the compile cache: what goes first, what counts, and what is left alone."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cpu.runtime.compiler import cache
from cpu.runtime.compiler import cache_folder as cache_files
from cpu.runtime.compiler.cache import kept
from cpu.runtime.compiler.cache_command import size
from cpu.runtime.compiler.cache_folder import (
    DEFAULT_LIMIT_BYTES,
    cache_folder,
    clear,
    entries,
    keep_limit,
    limit_bytes,
)
from tests.support.running.own_cache import ANSWER, answer, filled, names, shared_object

pytestmark = pytest.mark.usefixtures("kernels")
HOLDS_LOCK = """
import sys
from cpu.runtime.compiler.cache_folder import _locked
with _locked(sys.argv[1]):
    print("x", end="", flush=True)
    sys.stdin.read()
"""


def test_the_entries_used_longest_ago_go_first(kernels):
    filled(kernels, {"a": 60, "b": 4000, "c": 8000, "d": 9000})
    assert [entry.path.name[0] for entry in keep_limit(250)] == ["d", "c"]
    assert names(kernels) == "ab" and limit_bytes() == 250 and [entry.bytes for entry in entries()] == [100, 100]
    assert answer() == 42, "a kernel larger than the limit still works"
    assert len(names(kernels)) == 1, "and is the only one left"


def held(kernels: Path) -> int:
    """The bytes of all files. `entries`, which makes an object of each, takes ten times as long."""
    return sum(file.stat().st_size for file in os.scandir(kernels))


@pytest.mark.slow
def test_the_limit_holds_after_every_kernel_and_few_of_them_take_a_look(kernels, monkeypatch):
    keep_limit(20_000)
    looks, look = [], cache_files._entries
    monkeypatch.setattr(cache_files, "_entries", lambda folder: looks.append(folder) or look(folder))
    for number in range(300):
        kept(f"{number:064x}.so", "source", lambda path: b"x" * 60)
        assert held(kernels) <= 20_000
        assert number != 99 or len(looks) < 20
    filled(kernels, {"a": 0}, 2_000)  # as another process would
    kept(f"{300:064x}.so", "source", lambda path: b"x" * 60)
    assert held(kernels) <= 20_000, "where there is no room, every kernel takes a look"


def test_another_limit_is_held_at_once(kernels):
    for number in range(10):
        kept(f"{number:064x}.so", "source", lambda path: b"x" * 60)
    (cache_folder() / "limit").write_text("300\n", encoding="ascii")  # as another process would
    kept(f"{10:064x}.so", "source", lambda path: b"x" * 60)
    assert sum(entry.bytes for entry in entries()) <= 300


def test_use_counts_as_use(kernels):
    entry = shared_object(ANSWER, ())
    os.utime(entry, (0, 0))
    filled(kernels, {"a": 60})
    assert entries()[0].path == entry
    assert answer() == 42
    assert entries()[-1].path == entry


def test_nothing_but_entries_is_deleted(kernels):
    filled(kernels, {"a": 60})
    (kernels / "mine.so").touch()
    for name, age in (("build-dead", 9000), ("build-live", 9)):
        (kernels / name).mkdir()
        os.utime(kernels / name, (time.time() - age,) * 2)
    assert len(clear()) == 1
    assert {path.name for path in kernels.iterdir()} == {"mine.so", "build-live"}


def test_clearing_removes_what_killed_builds_left_and_nothing_in_use(kernels):
    answer()
    for name in ("build-dead", "build-used", "build-new"):
        (kernels / name).mkdir()
        (kernels / name / "kernel.c").touch()
        os.utime(kernels / name, (time.time() - (0 if name == "build-new" else 900),) * 2)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_LOCK, str(kernels / "build-used")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout.read(1) == b"x"
    assert len(clear()) == 1
    assert sorted(path.name for path in kernels.iterdir()) == ["build-new", "build-used"]
    holder.kill()
    holder.wait()
    clear()
    assert [path.name for path in kernels.iterdir()] == ["build-new"]


def test_without_locks_clearing_spares_what_a_compiler_may_still_use(kernels, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "no locks")

    kernels.mkdir(parents=True, exist_ok=True)
    for name, age in (("build-dead", 7200), ("build-used", 120)):
        (kernels / name).mkdir()
        os.utime(kernels / name, (time.time() - age,) * 2)
    monkeypatch.setattr("fcntl.flock", flock)
    clear()
    assert [path.name for path in kernels.iterdir()] == ["build-used"]


def test_a_build_folder_is_locked_while_it_is_in_use(kernels):
    def make(path: Path) -> bytes:
        os.utime(path.parent, (0, 0))  # as old as can be
        clear()
        assert path.parent.exists()
        return b"made"

    assert kept("a" * 64 + ".so", "", make) == b"made"


@pytest.mark.parametrize("suffix", [".so", ".c"])
def test_what_a_kill_left_of_an_entry_is_counted_and_deleted(kernels, suffix):
    """Two files make an entry, and a process may be killed between them."""
    filled(kernels, {"a": 60, "b": 30})
    (kernels / ("a" * 64 + suffix)).unlink()
    assert [entry.bytes for entry in entries()] == [50, 100]
    assert len(keep_limit(149)) == 1
    assert sorted(path.name[0] for path in kernels.iterdir()) == ["b", "b"]
    assert len(clear()) == 1 and list(kernels.iterdir()) == []


def test_a_kill_between_the_two_files_of_an_entry_leaves_nothing_that_is_not_counted(kernels, monkeypatch):
    class Killed(BaseException):
        pass

    def replace_one(written, place):
        os.rename(written, place)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(cache.os, "replace", replace_one)
        shared_object(ANSWER, ())
    assert len(list(kernels.iterdir())) == len(entries()) == 1
    assert answer() == 42 and len(list(kernels.iterdir())) == 2


@pytest.mark.parametrize("text", ["999999999999999T", "1000000T", "0", "512M", "none"])
def test_any_size_that_the_command_line_takes_is_kept(text):
    keep_limit(size(text))
    assert limit_bytes() == size(text)
    assert [path.name for path in cache_folder().iterdir() if path.name != "kernels"] == ["limit"]


@pytest.mark.parametrize("text", ["", "lots", "-5", "\0"])
def test_a_limit_that_cannot_be_read_is_the_default(text):
    cache_folder().mkdir(parents=True, exist_ok=True)
    (cache_folder() / "limit").write_text(text, encoding="ascii")
    assert limit_bytes() == DEFAULT_LIMIT_BYTES
