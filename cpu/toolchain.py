"""The C compiler: which one there is, what it can do, and running it."""

from __future__ import annotations

import functools
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

COMPILE_SECONDS = 120
# Of address space: many times what a kernel takes; a compiler that runs away ends there, and not with the machine.
COMPILE_BYTES = 4 << 30
# More than any compilation writes: where there is no room for as much, its failure says nothing of the source.
_ROOM_BYTES = 4 << 20

# -ffp-contract=fast: portable C must turn a*b+c into one FMA where the ISA has
#   it, and clang's default differs from gcc's; intrinsics are unaffected.
# -fno-math-errno: sqrtf and the like need not call libm.
# Never -ffast-math (it reorders sums, and a shared object linked with it changes
# the denormal mode of the whole process) and never -march=native (an older gcc
# takes a CPU it does not know for another family): callers name each ISA.
BASE_FLAGS = ("-O2", "-shared", "-fPIC", "-std=gnu11", "-fno-math-errno", "-ffp-contract=fast")
_FORBIDDEN = frozenset({"-ffast-math", "-Ofast", "-march=native"})

_NO_COMPILER = (
    "no C compiler was found: install gcc (Debian/Ubuntu: apt install gcc, Fedora: dnf install gcc) or set CC"
)
_OPENMP_PROGRAM = """#include <omp.h>
int main(void) { int n = 0;
_Pragma("omp parallel") { n = omp_get_num_threads(); } return n < 1; }
"""


class ToolchainError(RuntimeError):
    """There is no usable compiler, or it lacks what was asked for."""


class CompileError(ToolchainError):
    """The compiler refused one source, or took too long over it."""


@dataclass(frozen=True)
class Compiler:
    """One C compiler. ``kind`` is "gcc", "clang" or "other"; ``banner`` is the first
    line of ``--version``, which tells a distribution's revisions apart; ``arguments``
    are those that CC gave after the path."""

    path: str
    kind: str
    version: str
    banner: str
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The command line up to where flags follow."""
        return (self.path, *self.arguments)

    @property
    def openmp(self) -> bool:
        """Whether ``-fopenmp`` compiles and links; tried once per process, when first asked. Raises ToolchainError."""
        return _has_openmp(self.command)


def find_compiler() -> Compiler:
    """The compiler that ``CC`` names (with its arguments), else cc, gcc or clang on PATH.

    Each is examined once per process. Raises ToolchainError if none runs.
    """
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        try:
            name, *arguments = shlex.split(chosen)
        except ValueError as error:
            raise ToolchainError(f"CC={chosen!r} is not a command line: {error}") from None
        path = shutil.which(name)
        if path is None:
            raise ToolchainError(
                f"CC names {name!r}, which is not on PATH: correct or unset CC, or install a compiler (apt install gcc)"
            )
        return _examine((path, *arguments))
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path is not None:
            return _examine((path,))
    raise ToolchainError(_NO_COMPILER)


def compile_shared(compiler: Compiler, source: str, output: Path, flags: tuple[str, ...], openmp: bool = False) -> None:
    """Compile C ``source`` into the shared object ``output``.

    ``flags`` follow BASE_FLAGS, so they may override them. With ``openmp`` the flag
    -fopenmp is given if the compiler has it; without it the pragmas are ignored and
    the kernel runs on one thread. Raises CompileError with the compiler's last
    lines if it fails, takes longer than COMPILE_SECONDS or more than COMPILE_BYTES,
    ValueError for a flag that Tilewright never uses, OSError if output's folder
    cannot be written or its disk is full.
    """
    forbidden = _FORBIDDEN.intersection(flags)
    if forbidden:
        raise ValueError(f"the flag {min(forbidden)} must not be used: name each ISA flag instead")
    threads = ("-fopenmp",) if openmp and compiler.openmp else ()
    _compile(compiler.command, source, output, (*BASE_FLAGS, *flags, *threads))


@functools.cache
def _examine(command: tuple[str, ...]) -> Compiler:
    try:
        shown = subprocess.run(
            [*command, "--version"],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"the C compiler {command[0]} does not run: {error}") from None
    banner = shown.stdout.partition("\n")[0].strip()
    if shown.returncode or not banner:
        raise ToolchainError(
            f"{shlex.join(command)} --version failed, so it is no usable C compiler: install gcc or set CC"
        )
    if "clang" in banner:
        kind = "clang"
    elif "Free Software Foundation" in shown.stdout:
        kind = "gcc"
    else:
        kind = "other"
    # The last number: a distribution's own comes before it, in brackets.
    numbers = re.findall(r"\d+(?:\.\d+)+", re.sub(r"\([^)]*\)", "", banner))
    return Compiler(
        path=command[0],
        kind=kind,
        version=numbers[-1] if numbers else banner,
        banner=banner,
        arguments=command[1:],
    )


@functools.cache
def _has_openmp(command: tuple[str, ...]) -> bool:
    """Debian's clang takes -fopenmp but has no libomp unless it is installed: link to see."""
    try:
        with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
            _compile(command, _OPENMP_PROGRAM, Path(folder) / "program", ("-fopenmp",))
    except CompileError:
        return False
    except OSError as error:
        raise ToolchainError(
            f"{command[0]} cannot be tried out in the folder for temporary files ({error.strerror or error}): "
            "make room there, or set TMPDIR to another"
        ) from error
    return True


def _compile(command: tuple[str, ...], source: str, output: Path, flags: tuple[str, ...]) -> None:
    output = output.absolute()
    with tempfile.TemporaryDirectory(prefix="compile-", dir=output.parent) as private:
        folder = Path(private)
        (folder / "kernel.c").write_text(source, encoding="utf-8")
        arguments = [*command, *flags, "kernel.c", "-o", str(output), "-lm"]
        # The compiler stays in our process group, so that killing a worker's group
        # or Ctrl-C ends it too. Killing the driver alone, on a time-out, orphans
        # the compiler proper: the CPU limit ends that one, and its messages go to
        # a file because an orphan would hold a pipe open.
        limits = [_limit(resource.RLIMIT_CPU, COMPILE_SECONDS), _limit(resource.RLIMIT_AS, COMPILE_BYTES) // 1024]
        limited = ["/bin/sh", "-c", 'ulimit -t "$0"; ulimit -v "$1"; shift; exec "$@"', *map(str, limits), *arguments]
        messages = folder / "messages"
        with messages.open("wb") as sink:
            try:
                status = subprocess.run(
                    limited,
                    cwd=folder,
                    env={**_environment(), "TMPDIR": private},
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=sink,
                    timeout=COMPILE_SECONDS,
                ).returncode
            except subprocess.TimeoutExpired:
                raise CompileError(
                    f"the compiler took longer than {COMPILE_SECONDS} s and was stopped: {shlex.join(arguments)}"
                ) from None
        if status:
            _require_room(folder)
            last = "\n".join(messages.read_text(errors="replace").splitlines()[-12:])
            ended = f"failed with status {status}" if status > 0 else f"was ended by {signal.Signals(-status).name}"
            raise CompileError(f"the compiler {ended}: {shlex.join(arguments)}\n{last}")


def _limit(kind: int, wanted: int) -> int:
    """As much as is wanted of a resource, or as much of it as we may have."""
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _require_room(folder: Path) -> None:
    """Raises OSError where the disk is full: compilers and linkers fail over it in many words, or crash."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(_ROOM_BYTES))
        file.flush()


def _environment() -> dict[str, str]:
    """Ours, with messages in English so that they can be read back and searched for."""
    return {**os.environ, "LC_ALL": "C"}
