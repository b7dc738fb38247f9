"""The program on other CPUs: everything runs under qemu-user, which executes as a Haswell or Nehalem would.

Its /proc/cpuinfo is that of the machine underneath, so these tests also see that nobody believes it blindly.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys

import pytest

from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import CASES
from tests.support.kernels.saved import calling_program
from tiling.text.notation import parse

QEMU = "qemu-x86_64"
# Emulated code is some fifty times slower, and the machine may be loaded.
SECONDS, SEARCH_SECONDS = 300, 1500
SHAPE = "c=8,h=8,w=8,k=16,r=1,s=1"
SEARCH = ["-m", "search.conv", "--shape", SHAPE]


@pytest.fixture(autouse=True)
def qemu():
    if platform.machine() != "x86_64" or not shutil.which(QEMU):
        pytest.skip(f"{QEMU} is not installed (Debian/Ubuntu: apt install qemu-user), or this is no x86-64 machine")


def emulated(cpu: str, *command, cwd=None, seconds=SECONDS):
    """Runs a program as `cpu`; what qemu itself says of features that it lacks is left out of stderr."""
    ended = subprocess.run([QEMU, "-cpu", cpu, *command], cwd=cwd, capture_output=True, text=True, timeout=seconds)
    ended.stderr = "".join(line for line in ended.stderr.splitlines(True) if not line.startswith(f"{QEMU}: warning"))
    return ended


@pytest.fixture
def python(tmp_path, monkeypatch):
    """python(cpu, *arguments): Python under the emulator, and the workers that it starts too.

    They are started by `sys.executable`: that is a script, put first on the emulated Python's own command line.
    """
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(os.path.abspath(entry) for entry in sys.path))

    def run(cpu: str, *arguments: str, seconds: float = SECONDS):
        again = tmp_path / "python"
        words = [shutil.which(QEMU), "-cpu", cpu, "-0", str(again), os.path.realpath(sys.executable)]
        again.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        again.chmod(0o755)
        return emulated(cpu, "-0", str(again), os.path.realpath(sys.executable), *arguments, seconds=seconds)

    return run


@pytest.mark.parametrize("cpu, isa", [("Haswell", "avx2"), ("Nehalem", "portable")])
def test_the_cpu_is_the_one_that_executes(python, cpu, isa):
    program = (
        "from cpu.runtime.machine.host import host",
        "from microkernels.tile.isa import best_isa",
        "print(best_isa(host().flags).name)",
    )
    ended = python(cpu, "-c", "\n".join(program))
    assert (ended.stdout, ended.stderr) == (f"{isa}\n", "")


def test_an_instruction_set_that_is_not_there_is_one_sentence(python):
    ended = python("Haswell", *SEARCH, "--isa", "avx512f")
    assert ended.returncode == 2 and ended.stdout == ""
    assert ended.stderr == "this CPU does not run avx512f: it lacks avx512f, avx512vl\n"


def test_a_kernel_is_built_checked_and_timed_in_avx2(python):
    ended = python("Haswell", *SEARCH, "--scheme", "R(k) R(h) S(y) T(c,8) U(w,8) V(k,8)")
    assert ended.returncode == 0, ended.stderr
    assert "exact on small integers" in ended.stdout
    assert "avx2, since this CPU lacks avx512f, avx512vl\n" in ended.stdout


def test_calling_an_avx512_kernel_ends_in_a_sentence(tmp_path):
    problem, text = CASES["masked last vector"]
    program = calling_program(parse(problem, text.format(v=16)), ISAS["avx512f"], tmp_path)
    ended = emulated("Haswell", program)
    assert ended.returncode == -6 and "this CPU lacks avx512f or avx512vl or fma\n" in ended.stderr


@pytest.mark.soak
def test_soak_whole_search(python):
    """A Haswell that nobody has ranked: its microkernels are ranked, then candidates are measured in workers."""
    ended = python("Haswell", *SEARCH, "--budget", "10", seconds=SEARCH_SECONDS)
    assert ended.returncode == 0, ended.stderr
    print(ended.stdout)
    assert "avx2, since this CPU lacks avx512f, avx512vl\n" in ended.stdout and "__avx2" in ended.stdout
