"""Shapes, schemes, suites, records and environment variables are data: read whole, or refused in a sentence."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings

from cpu.codegen.emit import emit
from cpu.runtime.compiler.cache_folder import kernel_folder
from cpu.runtime.compiler.toolchain import find_compiler
from microkernels.ranking.command import _failures
from microkernels.scores import records
from microkernels.scores.catalog import Entry, Failure
from microkernels.scores.database import FILE_NAME
from microkernels.tile.isa import ISAS, PORTABLE
from microkernels.tile.space import quick
from search import generate_conv
from search.conv import main as conv_command
from search.evaluator.cpu.backend import cpu_backend
from search.tuner import store
from tests.support.running.hostile import (
    DESCRIPTOR,
    DOCTORED,
    HOSTILE,
    SCHEME,
    SHAPE,
    TEXTS,
    check_records,
    doctored_store,
)
from tests.support.running.own_cache import shared_object
from tests.support.sampled import part_of
from tiling.machine import Timing
from tiling.operators import conv2d
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape

ROOT = Path(__file__).parents[1]

# Texts


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_is_read_or_refused_in_a_sentence(kind):
    texts, check = TEXTS[kind]
    given(text=texts)(settings(max_examples=part_of(300))(lambda text: check(text)))()
    check("c=" + "9" * 5000)


@pytest.mark.parametrize("text", [f"{SHAPE}{h}" for h in HOSTILE if h.strip()] + [f"x{h}:R2" for h in HOSTILE])
def test_the_command_refuses_hostile_shapes_in_a_line(text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert conv_command(["--shape", text, "--isa", "portable", "--scheme", SCHEME]) == 2
    printed = capsys.readouterr()
    assert (
        printed.out == ""
        and printed.err.count("\n") == 1
        and "\x1b" not in printed.err
        and not list(tmp_path.iterdir())
    )


def test_a_step_that_would_fill_megabytes_of_c_is_refused():
    large = conv2d(c=1 << 20, h=4, w=4, k=4, r=1, s=1)
    with pytest.raises(SchemeError, match="unrolls 1048576 FMAs into one step, 4096 are the most"):
        emit(parse(large, "R(h) R(w) S(y) U(c,1048576) V(k,4)"), PORTABLE)


def test_a_stored_reason_is_printed_readably(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    kernel = quick(PORTABLE)[0]
    records.record("here", Failure(kernel, "printed: \x1b[31m\x9b\u202e λ\nand more"), settled=True)
    (printed,) = _failures(records.load("here", "portable").failures)
    assert printed == f"failed: {kernel}: printed: \\x1b[31m\\x9b\\u202e λ\nand more"


# The environment

# A compiler runs in a folder of its own that is deleted: what a shell would make of this is a file that stays.
ODD = "a b;$(touch $OWNED) `touch $OWNED` 'y' \"z\" %s {} &"


@pytest.mark.slow
def test_folders_and_compilers_may_have_any_name(tmp_path, monkeypatch):
    odd = tmp_path / ODD
    odd.mkdir()
    compiler = odd / "my cc;$(touch $OWNED)"
    owned = tmp_path / "owned"
    monkeypatch.setenv("OWNED", str(owned))
    subprocess.run(["/bin/sh", "-c", f"echo {ODD}"], capture_output=True)
    assert owned.exists(), "a shell that reads these names is seen"
    owned.unlink()
    compiler.write_text(f'#!/bin/sh\nexec {find_compiler().path} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", f"'{compiler.as_posix()}' -DODD='\"$(touch $OWNED) ; %s\"'".replace("'y'", "'\"'y'\"'"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(odd / "cache"))
    monkeypatch.setenv("TILEWRIGHT_DATA", str(odd / "data"))
    kernel = generate_conv(c=4, h=5, w=5, k=4, r=1, s=1, isa="portable")
    assert kernel.timing.seconds > 0
    assert not owned.exists()
    assert all(re.fullmatch(r"[0-9a-f]{64}\.(so|c)", path.name) for path in kernel_folder().iterdir())


LIBRARIES = (("-lm",), ("-nostdlib", "-lgcc", "-Wl,--no-undefined"))


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
def test_a_compiler_sees_fixed_words_only(isa, monkeypatch, tmp_path):
    """Whatever the problem: the command line is made of our flags and of a name that is a hash."""
    compiler, seen = tmp_path / "cc", tmp_path / "seen"
    compiler.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {seen}\nexec {find_compiler().path} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    find_compiler()
    for text in (SHAPE, "c=3,h=17,w=5,k=9,r=2,s=1", DESCRIPTOR):
        seen.write_text("")
        problem = parse_shape(text)
        lanes = ISAS[isa].lanes
        scheme = parse(problem, f"R(k) R(h) R(w) S(y) R(r) R(s) R(c) V(k,{lanes})")
        emitted = emit(scheme, ISAS[isa])
        entry = shared_object(emitted.text, emitted.compiler_flags)
        words = seen.read_text().splitlines()
        if "c-header" in words:  # the header of intrinsics, once
            *flags, minus_x, kind, source, _, output = words[: words.index("-o") + 2]
            assert (minus_x, kind, source) == ("-x", "c-header", "kernel.c")
            assert tuple(flags) == (*find_compiler().flags, *ISAS[isa].compiler_flags)
            assert re.fullmatch(rf"{re.escape(str(kernel_folder()))}/[A-Za-z0-9_.-]+/[0-9a-f]{{64}}\.gch", output)
            words = words[words.index("-o") + 2 :]
        assert words
        while words:  # the kernel: linked with no library, then perhaps with all
            end = words.index("-o") + 2
            *flags, source, _, output = words[:end]
            libraries = next(known for known in LIBRARIES if tuple(words[end : end + len(known)]) == known)
            words = words[end + len(libraries) :]
            if flags[-2] == "-I":  # where that header lies: beside the output
                assert flags[-1] == str(Path(output).parent)
                del flags[-2:]
            assert tuple(flags) == (*find_compiler().flags, *ISAS[isa].compiler_flags)
            assert source == "kernel.c" and Path(output).name == entry.name
            assert re.fullmatch(rf"{re.escape(str(kernel_folder()))}/[A-Za-z0-9_.-]+/{entry.name}", output)
        assert re.fullmatch(r"[0-9a-f]{64}\.so", entry.name)


# Records


@pytest.fixture(scope="module")
def doctored(tmp_path_factory):
    with doctored_store(tmp_path_factory.mktemp("doctored")) as write:
        yield write


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_doctored_record_is_valid_or_ignored(doctored):
    given(DOCTORED)(settings(max_examples=part_of(50))(lambda values: check_records(doctored, values)))()


@pytest.mark.parametrize(
    "column, value", [("score", "NaN"), ("samples", "[]"), ("peak_gflops", -1.0), ("kernel", "{}; DROP TABLE x")]
)
def test_an_ignored_record_is_told_and_measured_again(tmp_path, monkeypatch, column, value):
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    kernel, other = quick(PORTABLE)[:2]
    for each in (kernel, other):
        records.record("here", Entry(each, 0.5, Timing((1.0,), 9.0)), settled=True)
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as connection:
        connection.execute(f"UPDATE microkernels SET {column} = ? WHERE kernel = ?", (value, kernel.name))
    with pytest.warns(RuntimeWarning, match="a record in .* cannot be Tilewright's and will be measured anew: '"):
        assert records.measured("here") == {other.name}
    with pytest.warns(RuntimeWarning):
        assert [entry.kernel for entry in records.load("here", "portable").entries] == [other]


def test_a_store_with_other_columns_is_set_aside(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.executescript(
            "PRAGMA user_version = 1; CREATE TABLE microkernels (kernel TEXT); CREATE VIEW schemes AS SELECT 1;"
        )
    with pytest.warns(RuntimeWarning, match="its table microkernels has no column .* set aside as"):
        assert records.measured("here") == frozenset()
    (aside,) = tmp_path.glob(f"{FILE_NAME}.set-aside-*")
    with closing(sqlite3.connect(aside)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (2,)


@pytest.mark.parametrize(
    "scheme",
    [
        *("R(h) R(w) S(y) T(c,4) V(k,16)", "R(h) R(w) S(y) U(c,4096) V(k,4)", "R(h) R(w) T(c,4) V(k,4)"),
        *("$(touch owned)", "{}"),
    ],
)
def test_a_doctored_choice_is_told_and_searched_again(tmp_path, monkeypatch, scheme):
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    backend, problem = cpu_backend("portable"), conv2d(c=4, h=5, w=5, k=4, r=1, s=1)
    wanted = parse(problem, "R(h) R(w) S(y) T(c,4) V(k,4)")
    store.choose(backend.key(problem), backend.kind("model", problem), scheme, None)
    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.candidates", lambda *_: [wanted])
    with pytest.warns(RuntimeWarning, match="the choice for c=4,h=5,w=5,k=4,r=1,s=1"):
        assert generate_conv(c=4, h=5, w=5, k=4, r=1, s=1, isa="portable").scheme == wanted
    assert store.choice(backend.key(problem), backend.kind("model", problem)) == store.KeptScheme(wanted.text, None)


def test_show_with_a_doctored_store_has_no_traceback(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    from cpu.runtime.machine.host import fingerprint, host

    for kernel in quick(PORTABLE)[:3]:
        records.record(fingerprint(host()), Entry(kernel, 0.5, Timing((1.0,), 9.0)), settled=True)
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("UPDATE microkernels SET samples = '[' WHERE rowid = 1")
        connection.execute("UPDATE microkernels SET score = x'ff' WHERE rowid = 2")
    command = [sys.executable, "-m", "microkernels", "show", "--isa", "portable", "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0 and len(ended.stdout.splitlines()) == 1 and json.loads(ended.stdout)["score"] == 0.5
    assert "2 records in" in ended.stderr and "Traceback" not in ended.stderr
