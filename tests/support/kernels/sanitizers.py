"""Compiles emitted C with AddressSanitizer and UBSan and runs it by itself, in a program of its own."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cpu.runtime.compiler.headers import INTRINSICS, intrinsics
from cpu.runtime.compiler.toolchain import find_compiler

# Not optimised, so that every access of the text is there to be checked; -O1 takes three times as long to compile. -g1
# gives a finding its line, and takes two thirds of the time of -g. A pointer of another type is an error, as it is by
# default from gcc 14 on.
FLAGS = ("-O0", "-g1", "-std=gnu11", "-ffp-contract=fast", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FLAGS += ("-Werror=incompatible-pointer-types",)
# With these besides, gcc contracts a product and a sum, as from -O2 on. Without them GELU in its far tail, near 1e-27,
# has an error of 9 ulps where 8 are its bound. Where all numbers are whole, nothing is rounded.
CONTRACTED = ("-O1", "-fexpensive-optimizations")
COMPILE_SECONDS, RUN_SECONDS = 300, 300

# Arrays come in from standard input, as raw numbers. Each is its own allocation, which begins `offset` elements past
# the alignment that streaming stores ask for, and ends with its last element.
ARRAYS = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void *array(long elements, long size, long offset)
{
    void *memory;
    if (posix_memalign(&memory, 64, size * (elements + offset))) exit(2);
    return (char *)memory + size * offset;
}
static void *given(long elements, long size, long offset)
{
    void *values = array(elements, size, offset);
    if (fread(values, size, elements, stdin) != elements) exit(3);
    return values;
}
"""


@functools.cache
def without_sanitizers() -> str:
    """Why nothing can be run here; empty where it can."""
    compiler = find_compiler()
    program = b"int main(void) { return 0; }"
    command = [*compiler.command, *FLAGS, "-x", "c", "-", "-o", "/dev/null"]
    if subprocess.run(command, input=program, capture_output=True, timeout=COMPILE_SECONDS).returncode:
        return f"{compiler.path} has no AddressSanitizer or UBSan"
    return ""


def compile_sanitized(folder: Path, kernel: str, driver: str, flags: Sequence[str]) -> None:
    """Makes `program` in the folder from the text of a kernel and of a driver, which begins with ARRAYS.

    A kernel that the folder knows already, from another driver, is not compiled again.
    """
    compiler = [*find_compiler().command, *FLAGS, *flags]
    name = hashlib.sha256("\0".join((*compiler, kernel)).encode()).hexdigest()[:16]
    if not (folder / f"{name}.o").exists():
        (folder / f"{name}.c").write_text(kernel)
        compile_kernel = [*compiler, *_ahead(tuple(compiler), kernel), "-c", f"{name}.c", "-o", f"{name}.o"]
        subprocess.run(compile_kernel, cwd=folder, check=True, timeout=COMPILE_SECONDS)
    (folder / "driver.c").write_text(ARRAYS + driver)
    link = [*compiler, "driver.c", f"{name}.o", "-o", "program", "-lm"]
    subprocess.run(link, cwd=folder, check=True, timeout=COMPILE_SECONDS)


def _ahead(compiler: tuple[str, ...], kernel: str) -> tuple[str, ...]:
    """The flags with which gcc takes the header of intrinsics from where it has read it ahead: half of its time."""
    if find_compiler().kind != "gcc" or "#include <immintrin.h>" not in kernel:
        return ()
    return "-I", str(_intrinsics(compiler))


@functools.cache
def _intrinsics(compiler: tuple[str, ...]) -> Path:
    """A folder of this process with the header as a compiler with these flags has read it."""
    folder = Path(tempfile.mkdtemp(prefix="intrinsics-"))
    (folder / "header.h").write_text(intrinsics(compiler))
    read = [*compiler, "-x", "c-header", "header.h", "-o", f"{INTRINSICS}.gch"]
    subprocess.run(read, cwd=folder, check=True, timeout=COMPILE_SECONDS)
    return folder


def run_sanitized(folder: Path, offset: int, arrays: bytes, case: str) -> bytes:
    """What the program prints for these arrays. Fails with what the sanitizer said."""
    ended = subprocess.run(
        [folder / "program", str(offset)],
        input=arrays,
        capture_output=True,
        # The leak check needs ptrace, which containers forbid, and is not what this is about.
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        timeout=RUN_SECONDS,
    )
    assert ended.returncode == 0, f"{case}\n{ended.stderr.decode(errors='replace')[:4000]}"
    return ended.stdout
