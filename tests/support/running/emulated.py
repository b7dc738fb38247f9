"""Programs under qemu-user, which executes as another CPU would."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys

import pytest

QEMU = "qemu-x86_64"
# Emulated code is some fifty times slower, and the machine may be loaded.
SECONDS, SEARCH_SECONDS = 300, 1500
SHAPE = "c=8,h=8,w=8,k=16,r=1,s=1"
SEARCH = ["-m", "search.conv", "--shape", SHAPE]


def emulated(cpu: str, *command, cwd=None, seconds=SECONDS):
    """Runs a program as `cpu`; what qemu itself says of features that it lacks is left out of stderr."""
    ended = subprocess.run([QEMU, "-cpu", cpu, *command], cwd=cwd, capture_output=True, text=True, timeout=seconds)
    ended.stderr = "".join(line for line in ended.stderr.splitlines(True) if not line.startswith(f"{QEMU}: warning"))
    return ended


@pytest.fixture
def qemu():
    """Skips a test where there is no emulator."""
    if platform.machine() != "x86_64" or not shutil.which(QEMU):
        pytest.skip(f"{QEMU} is not installed (Debian/Ubuntu: apt install qemu-user), or this is no x86-64 machine")


@pytest.fixture
def python(qemu, tmp_path, monkeypatch):
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
