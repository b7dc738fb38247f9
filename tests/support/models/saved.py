"""Saved models built by a C compiler and called by C programs of the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cpu.runtime.compiler.headers import INTRINSICS, intrinsics
from cpu.runtime.compiler.toolchain import find_compiler
from graph.calls.compiled import CompiledModel

SECONDS = 1800  # a large model, built with sanitizers on a loaded machine
COUNTING = Path(__file__).with_name("counting.c")
# Inputs come from standard input; outputs go to standard output, once for each call. Allocations of later calls than
# the first, and the peak of memory in bytes, go to standard error.
DRIVER = """
#include "{name}.h"
#include <fcntl.h>
#include <sys/mman.h>
#ifndef COUNTED
#include <stdio.h>
#include <stdlib.h>
static int counts, allocations;
#endif
{beside}
static void *array(size_t bytes)
{{
    void *found;
    if (posix_memalign(&found, 64, bytes + 64)) exit(3);
    return found;
}}
int main(int argc, char **argv)
{{
    const int calls = argc > 1 ? atoi(argv[1]) : 1;
    const int file = open("{name}.bin", O_RDONLY);
    const void *weights = mmap(0, {name}_weight_bytes(), PROT_READ, MAP_PRIVATE, file, 0);
    if (file < 0 || weights == MAP_FAILED || !{name}_supported()) return 4;
    void *const arena = array({name}_arena_bytes());
    {arrays}
    {read}
    for (int call = 0; call < calls; ++call) {{
        counts = call > 0;
        const int given = {name}(weights, arena, {arguments});
        counts = 0;
        if (given) return 6;
        {write}
    }}
    long peak = 0; /* of this program: what getrusage gives counts the program that started it too */
    FILE *const status = fopen("/proc/self/status", "r");
    for (char line[256]; status && fgets(line, sizeof line, status);) sscanf(line, "VmHWM: %ld", &peak);
    fprintf(stderr, "%d %ld", allocations, 1024 * peak);
    return 0;
}}
"""


def driver(model: CompiledModel, beside: str = "") -> str:
    """The main program that calls a model. beside: C text before it."""
    arrays = [(f"input_{n}", array) for n, array in enumerate(model.empty_inputs())]
    outputs = [(f"output_{n}", array) for n, array in enumerate(model.empty())]
    return DRIVER.format(
        name=model.name,
        beside=beside,
        arrays=" ".join(f"void *const {name} = array({array.nbytes});" for name, array in [*arrays, *outputs]),
        read=" ".join(f"if (fread({name}, 1, {a.nbytes}, stdin) != {a.nbytes}) return 5;" for name, a in arrays),
        write=" ".join(f"fwrite({name}, 1, {array.nbytes}, stdout);" for name, array in outputs),
        arguments=", ".join(name for name, _ in [*arrays, *outputs]),
    )


def built(model: CompiledModel, folder: Path, flags: Sequence[str] = (), beside: str = "") -> Path:
    """A program that calls the model, built in a folder by its own Makefile. flags: more ones for the compiler."""
    model.save(folder)
    (folder / "example.c").write_text(driver(model, beside))
    given = f"CFLAGS={' '.join(('-O2', '-Wall', '-Wextra', '-Werror', *UNUSED, *flags, '-I.'))}"
    make = ["make", "-s", "-j2", given, "example"]
    if find_compiler().kind == "gcc":
        _precompile_header(folder, make)
    ended = subprocess.run(make, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode == 0, ended.stderr[:4000]
    return folder / "example"


def _precompile_header(folder: Path, make: list[str]) -> None:
    """Precompiles the header of intrinsics once for all kernels that `make` compiles with the same flags: most of the
    time of each.
    """
    header, headers = folder / "intrinsics.h", folder / f"{INTRINSICS}.gch"  # gcc tries each file of such a folder
    headers.mkdir()
    shown = subprocess.run([*make, "--dry-run"], cwd=folder, capture_output=True, text=True, check=True).stdout
    # Lines such as `cc -O2 … -c kernel.c -o kernel.o`.
    compilers = {tuple(line.split()[:-4]) for line in shown.splitlines() if " -c " in line and " -m" in line}
    for number, compiler in enumerate(sorted(compilers)):
        header.write_text(intrinsics(compiler))
        command = [*compiler, "-x", "c-header", header.name, "-o", f"{headers.name}/{number}"]
        subprocess.run(command, cwd=folder, check=True, timeout=SECONDS)


# What the Makefile itself allows: functions of vectors that a kernel needs not.
UNUSED = ("-Wno-unknown-pragmas", "-Wno-unused-function", "-Wno-unused-const-variable")


def ran(
    program: Path, model: CompiledModel, inputs: Sequence[np.ndarray], calls: int = 1, before: Sequence[str] = (), **env
) -> tuple[list[list[np.ndarray]], int, int]:
    """The outputs of each call, allocations of all but the first, and the peak of memory in bytes."""
    ended = subprocess.run(
        [*before, str(program), str(calls)],
        cwd=program.parent,
        input=b"".join(array.tobytes() for array in inputs),
        capture_output=True,
        # The leak check needs ptrace, which containers forbid, and is not what this is about.
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **env},
        timeout=SECONDS,
    )
    said = ended.stderr.decode(errors="replace")
    assert ended.returncode == 0, f"{ended.returncode}: {said[:4000]}"
    printed, found = ended.stdout, []
    for _ in range(calls):
        outputs = []
        for array in model.empty():
            outputs.append(np.frombuffer(printed[: array.nbytes], array.dtype).reshape(array.shape))
            printed = printed[array.nbytes :]
        found.append(outputs)
    allocations, peak = said.split()[-2:]
    return found, int(allocations), int(peak)
