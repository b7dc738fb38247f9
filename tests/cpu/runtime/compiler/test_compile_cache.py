"""The compile cache: keys, damage, and races."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace

import pytest

from cpu.kernel.callable import build
from cpu.kernel.export import save
from cpu.runtime.compiler import library
from cpu.runtime.compiler.cache_folder import (
    CacheError,
    cache_folder,
    clear,
    entries,
    keep_limit,
)
from cpu.runtime.compiler.library import compiled, load
from cpu.runtime.compiler.loading import load_bytes
from cpu.runtime.compiler.toolchain import ToolchainError, find_compiler
from microkernels.tile.isa import PORTABLE
from tests.support.running.cache_race import source
from tests.support.running.cache_races import KERNELS, race, started
from tests.support.running.own_cache import ANSWER, answer, shared_object
from tiling.operators import conv2d
from tiling.text.notation import parse

pytestmark = pytest.mark.usefixtures("kernels")


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


@pytest.mark.slow
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
