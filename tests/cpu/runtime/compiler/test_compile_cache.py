"""The compile cache: keys, damage, races, its limit, and `python -m cpu.cache`."""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cpu.kernel.callable import build
from cpu.kernel.export import save
from cpu.runtime.compiler import cache, library
from cpu.runtime.compiler import cache_folder as cache_files
from cpu.runtime.compiler.cache import kept
from cpu.runtime.compiler.cache_command import _ago, limited, main, size
from cpu.runtime.compiler.cache_folder import (
    DEFAULT_LIMIT_BYTES,
    CacheError,
    cache_folder,
    clear,
    entries,
    keep_limit,
    limit_bytes,
)
from cpu.runtime.compiler.library import compiled, load, shared_object
from cpu.runtime.compiler.loading import load_bytes
from cpu.runtime.compiler.toolchain import ToolchainError, find_compiler
from microkernels.tile.isa import PORTABLE
from search.conv import main as conv_command
from tests.support.running.cache_race import source
from tests.support.running.cache_races import KERNELS, ROOT, race, started
from tiling.operators import conv2d
from tiling.text.notation import parse

ANSWER = "int answer(void) { return 42; }\n"
HOLDS_LOCK = """
import sys
from cpu.runtime.compiler.cache_folder import _locked
with _locked(sys.argv[1]):
    print("x", end="", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def kernels(tmp_path, monkeypatch):
    """Each test has its own cache; returns the folder that entries land in."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


def answer(text: str = ANSWER) -> int:
    return load(text, (), ctypes.CDLL).answer()


def test_cache_folder_defaults_to_the_users(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("TILEWRIGHT_CACHE")
    assert cache_folder().name == "tilewright"


def test_shared_object_is_compiled_once(kernels, monkeypatch):
    entry = shared_object(ANSWER, ())
    assert ctypes.CDLL(str(entry)).answer() == 42
    assert sorted(kernels.iterdir()) == [entry.with_suffix(".c"), entry]
    assert entry.with_suffix(".c").read_text() == ANSWER
    os.utime(entry, (0, 0))
    monkeypatch.setattr(library, "compile_shared", None)
    assert shared_object(ANSWER, ()) == entry
    assert entry.stat().st_mtime > 0


def test_key_follows_source_flags_and_compiler(monkeypatch):
    entries = [shared_object(ANSWER, ()), shared_object(ANSWER, ("-DX",)), shared_object(ANSWER + " ", ())]
    compiler = find_compiler()
    monkeypatch.setenv("CC", f"{compiler.path} -DX")
    entries.append(shared_object(ANSWER, ()))
    # A distribution's own revision, which the version does not tell.
    monkeypatch.setattr(library, "find_compiler", lambda: replace(compiler, banner=compiler.banner + " 2"))
    entries.append(shared_object(ANSWER, ()))
    assert len(set(entries)) == 5


def test_a_failed_build_leaves_nothing(kernels):
    with pytest.raises(ToolchainError):
        shared_object("no_such_type x;", ())
    assert list(kernels.iterdir()) == []


def test_unwritable_folder(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "file"))
    with pytest.raises(CacheError) as raised:
        shared_object(ANSWER, ())
    assert str(tmp_path / "file" / "kernels") in str(raised.value)
    assert "set TILEWRIGHT_CACHE" in str(raised.value)


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped bit", "seal only", "other kernel"])
def test_a_damaged_file_is_noticed_and_rebuilt(damage):
    entry = shared_object(ANSWER, ())
    content = bytearray(entry.read_bytes())
    if damage == "flipped bit":
        content[len(content) // 2] ^= 16
    spoiled = {"empty": b"", "cut": content[: len(content) // 2], "flipped bit": content, "seal only": content[-32:]}
    other = shared_object(ANSWER.replace("42", "43"), ()).read_bytes()  # whole, and sealed under a name of its own
    clear()
    entry.write_bytes(spoiled.get(damage, other))
    assert answer() == 42
    assert entry.read_bytes() == shared_object(ANSWER, ()).read_bytes() and len(entries()) == 1


@pytest.mark.parametrize("meanwhile", ["deleted", "replaced"])
def test_what_was_checked_is_what_is_loaded(meanwhile):
    entry = shared_object(ANSWER, ())

    def open_late(path):
        entry.unlink()
        if meanwhile == "replaced":
            entry.write_bytes(b"cut off")
        return ctypes.CDLL(path)

    assert load(ANSWER, (), open_late).answer() == 42


def test_each_content_is_a_library_of_its_own():
    """However often the same few descriptors are used again, while all libraries stay loaded."""
    texts = {number: f"int answer(void) {{ static int n = {number}; return n++; }}\n" for number in range(5)}
    contents = {number: compiled(text, ()) for number, text in texts.items()}
    held = [(number, load_bytes(contents[number], ctypes.CDLL)) for number in (0, 1, 2, 0, 3, 4, 1)]
    assert [library.answer() - number for number, library in held] == [0, 0, 0, 1, 0, 0, 1], (
        "the same content is shared"
    )


def test_where_no_program_may_be_loaded_one_sentence_says_so():
    def refuse(path):
        raise OSError("failed to map segment from shared object")

    with pytest.raises(CacheError, match=r"cannot be loaded .*failed to map.* set TMPDIR"):
        load(ANSWER, (), refuse)


def test_a_kernel_lives_on_and_is_saved_after_the_cache_is_cleared(tmp_path):
    problem = conv2d(c=4, h=5, w=5, k=4, r=1, s=1)
    kernel = build(parse(problem, "R(h) R(w) S(y) T(c,4) V(k,4)"), PORTABLE)
    assert clear()
    assert kernel.timing.seconds > 0
    assert ".so" in {path.suffix for path in save(kernel, tmp_path / "saved")}
    assert len(entries()) >= 1


# Races


@pytest.mark.slow
def test_eight_processes_load_twenty_kernels_each(kernels):
    race(rounds=1, seed=1)
    assert len(list(kernels.glob("*.so"))) == len(list(kernels.iterdir())) / 2 == KERNELS


@pytest.mark.slow
def test_eight_processes_in_a_cache_that_is_too_small_and_gets_damaged(kernels):
    keep_limit(sum(shared_object(source(number), ()).stat().st_size for number in range(3)))
    spoiler = started("--spoil", 3, 7)
    race(rounds=1, seed=2, kernels=5)
    assert int(spoiler.communicate()[0]) > 0
    assert not list(kernels.glob("build-*"))


# Whose folder it is


def owned_by(monkeypatch, owner: int, us: int) -> None:
    """As if the folders here belonged to `owner`, and this process to `us`."""
    real = Path.stat

    def stat(path, **options):
        status = real(path, **options)
        return os.stat_result((*status[:4], owner, *status[5:10]))

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(os, "geteuid", lambda: us)


def test_a_folder_that_everybody_may_write_into_is_refused(kernels):
    answer()
    kernels.chmod(0o777)
    with pytest.raises(CacheError, match=f"no program is loaded from {kernels}, into which everybody may write.*o-w"):
        answer()
    kernels.chmod(0o755)
    assert answer() == 42


def test_a_folder_of_another_user_is_refused(kernels, monkeypatch):
    answer()
    owned_by(monkeypatch, 1001, us=1000)
    with pytest.raises(CacheError, match=r"belongs to another user \(number 1001\): set TILEWRIGHT_CACHE"):
        answer()


@pytest.mark.parametrize("owner, us", [(1000, 1000), (0, 1000), (0, 0)])
def test_ones_own_folder_and_roots_are_used(kernels, monkeypatch, owner, us):
    owned_by(monkeypatch, owner, us)
    assert answer() == answer() == 42


def test_root_is_told_whose_programs_it_loads(kernels, monkeypatch):
    """In a container the folder often belongs to the user outside."""
    answer()
    owned_by(monkeypatch, 1001, us=0)
    with pytest.warns(RuntimeWarning, match="root loads programs from .* belongs to user number 1001"):
        assert answer() == 42


def test_our_own_folder_is_not_for_everybody_whatever_the_umask(kernels):
    before = os.umask(0)
    try:
        assert answer() == 42 and not kernels.stat().st_mode & 0o022
    finally:
        os.umask(before)


# The limit


def filled(kernels: Path, ages: dict[str, int], size: int = 50) -> float:
    """Entries of 2 x `size` bytes, used that many seconds ago; the present time."""
    now = time.time()
    kernels.mkdir(parents=True, exist_ok=True)
    for name, age in ages.items():
        for suffix in (".so", ".c"):
            path = kernels / (name * 64 + suffix)
            path.write_bytes(b"x" * size)
            os.utime(path, (now - age, now - age))
    return now


def names(kernels: Path) -> str:
    return "".join(sorted(path.name[0] for path in kernels.glob("*.so")))


def test_the_entries_used_longest_ago_go_first(kernels):
    filled(kernels, {"a": 60, "b": 4000, "c": 8000, "d": 9000})
    assert [entry.path.name[0] for entry in keep_limit(250)] == ["d", "c"]
    assert names(kernels) == "ab" and limit_bytes() == 250 and [entry.bytes for entry in entries()] == [100, 100]
    assert answer() == 42, "a kernel larger than the limit still works"
    assert len(names(kernels)) == 1, "and is the only one left"


@pytest.mark.slow
def test_the_limit_holds_after_every_kernel_and_few_of_them_take_a_look(kernels, monkeypatch):
    keep_limit(20_000)
    looks, look = [], cache_files._entries
    monkeypatch.setattr(cache_files, "_entries", lambda folder: looks.append(folder) or look(folder))
    for number in range(300):
        kept(f"{number:064x}.so", "source", lambda path: b"x" * 60)
        assert sum(entry.bytes for entry in look(kernels)) <= 20_000
        assert number != 99 or len(looks) < 20
    filled(kernels, {"a": 0}, 2_000)  # as another process would
    kept(f"{300:064x}.so", "source", lambda path: b"x" * 60)
    assert sum(entry.bytes for entry in look(kernels)) <= 20_000, "where there is no room, every kernel takes a look"


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


# The command line


def test_how_long_ago_is_said_in_english():
    assert [_ago(seconds) for seconds in (-1, 0.9, 59, 300, 86400)] == [
        "0 seconds",
        "1 second",
        "59 seconds",
        "5 minutes",
        "24 hours",
    ]


def test_status_limit_and_clear(capsys, kernels):
    assert main(["status"]) == 0
    assert "kernels      0, 0 B" in capsys.readouterr().out
    filled(kernels, {"a": 60, "b": 4000}, size=1 << 19)
    assert main(["status"]) == 0
    printed = capsys.readouterr().out
    assert str(kernels) in printed and "2, 2 MiB" in printed and "limit        512 MiB" in printed
    assert "last used    60 seconds to 67 minutes ago" in printed
    assert main(["limit", "1M"]) == 0
    assert capsys.readouterr().out == "compiled kernels are kept within 1 MiB; deleted 1 compiled kernel, 1 MiB\n"
    assert main(["status", "--json"]) == 0
    facts = {"folder": str(kernels), "kernels": 1, "of_gpus": 0, "bytes": 1 << 20, "limit_bytes": 1 << 20}
    assert json.loads(capsys.readouterr().out) == facts
    assert main(["clear"]) == 0
    assert capsys.readouterr().out == "deleted 1 compiled kernel, 1 MiB\n" and names(kernels) == ""


@pytest.mark.parametrize("limit, said", [("1K", "deleted 1 compiled kernel"), ("1M", ""), ("none", "")])
def test_a_limit_that_another_command_gives_says_what_it_deletes(kernels, limit, said):
    answer()
    found = limited(size(limit))
    assert said in found and bool(found) == bool(said) and limit_bytes() == size(limit)
    assert "holds a few kernels at most" in limited(size("2K"))


@pytest.mark.slow
def test_a_search_says_what_its_limit_does(kernels, capsys):
    answer()
    words = ["--shape", "c=4,h=5,w=5,k=4,r=1,s=1", "--isa", "portable", "--scheme", "R(h) R(w) S(y) T(c,4) V(k,4)"]
    assert conv_command([*words, "--cache-limit", "1K"]) == 0
    assert "from now on compiled kernels are kept within 1 KiB; deleted 1 compiled" in capsys.readouterr().err


def test_a_limit_is_lifted(capsys, kernels):
    filled(kernels, {"a": 60, "b": 4000})
    keep_limit(250)
    assert main(["limit", "none"]) == 0
    assert capsys.readouterr().out == "compiled kernels are kept without a limit\n"
    filled(kernels, {name: 60 for name in "cdef"})
    assert answer() == 42 and len(entries()) == 7
    assert main(["status"]) == 0 and "limit        none\n" in capsys.readouterr().out
    assert main(["status", "--json"]) == 0 and json.loads(capsys.readouterr().out)["limit_bytes"] is None


def test_cubins_lie_under_the_same_limit(capsys, kernels):
    """Sealed, within the limit, counted and cleared as libraries are."""
    made = []

    def make(path):
        made.append(path)
        return b"\x7fELF of a GPU"

    name = "f" * 64 + ".cubin"
    assert kept(name, "__global__ void k();", make) == kept(name, "__global__ void k();", make) == b"\x7fELF of a GPU"
    assert len(made) == 1 and (kernels / name).with_suffix(".cu").read_text() == "__global__ void k();"
    (kernels / name).write_bytes(b"\x7fELF, cut")
    assert kept(name, "__global__ void k();", make) == b"\x7fELF of a GPU" and len(made) == 2
    filled(kernels, {"a": 4000})
    assert main(["status"]) == 0 and "kernels      2, 1 of them for GPUs, " in capsys.readouterr().out
    assert [entry.path.suffix for entry in keep_limit(99)] == [".so"]
    assert [entry.path.name for entry in clear()] == [name] and list(kernels.iterdir()) == []


def test_the_module_is_the_command(tmp_path):
    command = [sys.executable, "-m", "cpu.cache", "status"]
    assert (
        str(tmp_path / "cache") in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    )


def test_a_reader_that_has_enough_ends_the_command_quietly(tmp_path):
    """As `| true` does, before the command writes."""
    script = f"{sys.executable} -m cpu.cache status; echo ended with $? >&2"
    with subprocess.Popen(
        ["sh", "-c", f"({script}) | true"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        _, said = process.communicate()
    assert said == "ended with 0\n"


@pytest.mark.parametrize(
    "text, count",
    [("0", 0), ("512M", 512 << 20), ("2g", 2 << 30), ("3 KiB", None), ("10kB", 10240), (" None", math.inf)],
)
def test_sizes(text, count):
    if count is None:
        with pytest.raises(argparse.ArgumentTypeError, match="is not a size such as"):
            size(text)
    else:
        assert size(text) == count


def test_the_command_in_an_unusable_folder(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "file"))
    assert main(["limit", "1M"]) == 1
    assert "set TILEWRIGHT_CACHE" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        (
            "search.conv",
            "--shape",
            "c=4,h=5,w=5,k=4,r=1,s=1",
            "--isa",
            "portable",
            "--scheme",
            "R(h) R(w) S(y) T(c,4) V(k,4)",
        ),
        ("microkernels", "rank", "--isa", "no such"),
    ],
)
def test_the_commands_keep_a_limit_too(command):
    subprocess.run([sys.executable, "-m", *command, "--cache-limit", "9M"], cwd=ROOT, capture_output=True)
    assert limit_bytes() == (9 << 20 if command[0] == "search.conv" else DEFAULT_LIMIT_BYTES)
