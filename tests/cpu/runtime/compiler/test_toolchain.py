"""The compiler: which one, what it says when it fails."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import MagicMock

import pytest

from cpu.runtime.compiler import toolchain
from cpu.runtime.compiler.toolchain import CompileError, Compiler, ToolchainError, compile_shared, find_compiler
from tests.support.running.own_cache import shared_object

ANSWER = "int answer(void) { return 42; }\n"


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"no C compiler was found: install gcc .* or set CC"):
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
    # clang refuses flags of gcc's that it does not know.
    assert ("-fno-code-hoisting" in found.flags) == (kind == "gcc")


def test_compile_error_shows_the_last_lines(tmp_path):
    with pytest.raises(ToolchainError, match=r"kernel\.c -o (.|\n)*no_such_type"):
        compile_shared(find_compiler(), "no_such_type x;", tmp_path / "x.so", ())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(find_compiler().kind != "gcc", reason="others are always given the libraries")
@pytest.mark.parametrize(
    "source, libraries",
    [
        (ANSWER, [False]),
        ("#include <math.h>\nfloat answer(float x) { return fabsf(x); }", [False]),
        ("#include <math.h>\nfloat answer(float x) { return tanhf(x); }", [False, True]),  # the linker finds out
        ("#include <stdlib.h>\nint answer(void) { return rand(); }", [True]),
        ("#include <math.h>\nno_such_type x;", [False]),
    ],
)
def test_a_library_is_linked_where_something_of_it_is_called(tmp_path, monkeypatch, source, libraries):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    given, run = [], toolchain._compile
    monkeypatch.setattr(toolchain, "_compile", lambda *parts: (given.append("-lm" in parts[-1]), run(*parts)))
    with pytest.raises(CompileError) if "no_such_type" in source else nullcontext():
        assert ctypes.CDLL(str(shared_object(source, ()))).answer
    assert given == libraries


@pytest.mark.skipif(find_compiler().kind != "gcc", reason="others are always given the libraries")
def test_other_linkers_say_otherwise_what_is_missing(tmp_path, monkeypatch):
    """A compiler that links as with mold."""
    compiler, cc = tmp_path / "cc", find_compiler().path
    said = "echo 'mold: error: undefined symbol: tanhf' >&2; exit 1"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *-nostdlib*) {said};; esac\nexec {cc} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    answer = ctypes.CDLL(str(shared_object("#include <math.h>\nfloat answer(float x) { return tanhf(x); }", ()))).answer
    answer.argtypes, answer.restype = [ctypes.c_float], ctypes.c_float
    assert answer(0.0) == 0.0 and answer(100.0) == 1.0


@pytest.mark.parametrize("flag", ["-ffast-math", "-march=native"])
def test_forbidden_flags(tmp_path, flag):
    with pytest.raises(ValueError, match=f"{flag} must not be used"):
        compile_shared(find_compiler(), ANSWER, tmp_path / "x.so", (flag,))


def test_compile_time_out(monkeypatch, tmp_path, capfd):
    # The driver's own child keeps the messages open, as gcc's does. One line of C takes no time.
    slow = script(tmp_path / "cc", "[ $1 = -fsyntax-only ] && exit; sleep 600 & echo $! > $SLEEPER; wait")
    monkeypatch.setenv("SLEEPER", str(tmp_path / "sleeper"))
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 1)
    monkeypatch.setattr(toolchain, "_PATIENT_SECONDS", 0.5)
    compiler = replace(find_compiler(), path=slow, arguments=())
    with pytest.raises(ToolchainError, match="took longer than 1 s"):
        compile_shared(compiler, ANSWER, tmp_path / "x.so", ())
    os.kill(int((tmp_path / "sleeper").read_text()), signal.SIGKILL)
    # Said while the user waits, and which program it is.
    assert f"the C compiler {slow} has worked on one file for 0.5 s; it is stopped after 1 s" in capfd.readouterr().err


def test_a_compiler_that_hangs_is_named_soon(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", script(tmp_path / "cc", "exec sleep 600"))
    monkeypatch.setattr(toolchain, "_VERSION_SECONDS", 0.2)
    with pytest.raises(ToolchainError, match=rf"the C compiler hangs: {tmp_path}/cc --version said nothing for 0.2 s"):
        find_compiler()


def test_a_compiler_that_hangs_on_any_file_is_no_candidates_fault(monkeypatch, tmp_path):
    """A CompileError would have the next candidates wait as long, one after the other."""
    plain = find_compiler().path
    monkeypatch.setenv("CC", script(tmp_path / "cc", f"[ $1 = --version ] && exec {plain} --version; exec sleep 600"))
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 0.3)
    monkeypatch.setattr(toolchain, "_PATIENT_SECONDS", 0.1)
    compiler = find_compiler()
    monkeypatch.setattr(toolchain, "_VERSION_SECONDS", 0.2)
    with pytest.raises(ToolchainError, match=rf"^the C compiler hangs: {tmp_path}/cc took longer than 0.2 s") as hung:
        compile_shared(compiler, ANSWER, tmp_path / "x.so", ())
    assert not isinstance(hung.value, CompileError)


def test_a_program_that_compiles_nothing_is_no_compiler(monkeypatch, tmp_path):
    """/bin/true has a version and always ends well."""
    monkeypatch.setenv("CC", "/bin/true")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"^/bin/true ended well and compiled nothing, so it is no C compiler"):
        shared_object(ANSWER, ())


def test_openmp_is_used_only_where_it_links(tmp_path, monkeypatch):
    source = "int openmp(void) {\n#ifdef _OPENMP\nreturn 1;\n#else\nreturn 0;\n#endif\n}"
    compiler = find_compiler()
    for name, can in (("with", compiler.openmp), ("without", False)):
        monkeypatch.setattr(Compiler, "openmp", can)
        compile_shared(compiler, source, tmp_path / name, (), openmp=True)
        assert ctypes.CDLL(str(tmp_path / name)).openmp() == can


def test_a_full_folder_for_temporary_files_is_no_missing_openmp(monkeypatch, tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    compiles = 'while [ "$1" != -o ]; do shift; done; : > "$2"'
    compiler = replace(find_compiler(), path=script(tmp_path / "cc", compiles), arguments=())
    with monkeypatch.context() as patch, pytest.raises(ToolchainError, match=r"No space left.* set TMPDIR") as raised:
        patch.setattr(toolchain.tempfile, "TemporaryDirectory", MagicMock(side_effect=full))
        _ = compiler.openmp
    assert raised.type is ToolchainError, "the source is not at fault"
    assert compiler.openmp, "asked once more, where there is room"


def test_flags_that_gcc_alone_has_are_given_to_gcc_alone(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(toolchain, "_compile", lambda *parts: given.append(parts[3]))
    for kind in ("gcc", "clang"):
        compiler = replace(find_compiler(), kind=kind)
        compile_shared(compiler, ANSWER, tmp_path / "x.so", ("-fwrapv", "-fno-tree-loop-if-convert"))
        assert "-fwrapv" in given[-1] and ("-fno-tree-loop-if-convert" in given[-1]) == (kind == "gcc")
