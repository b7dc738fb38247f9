"""The C compiler: finds it, asks what it can do, and runs it."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

COMPILE_SECONDS = 120
# A compiler prints its version, or reads one line of C, at once. One that takes this long hangs.
_VERSION_SECONDS = 30
# A kernel compiles in a second or two. After this long a user wonders what is going on.
_PATIENT_SECONDS = 15
# Address space of a compiler: many times what a kernel takes. A compiler that runs away fails here, before the machine
# is out of memory.
COMPILE_BYTES = 4 << 30
# More than any compilation writes. If a disk has less room, a failed compilation says nothing about the source.
_ROOM_BYTES = 4 << 20

# -ffp-contract=fast: portable C must turn a*b+c into one FMA if the ISA has it, and clang's default differs from gcc's.
#   Intrinsics are unaffected.
# -fno-math-errno: sqrtf and the like need not call libm.
# Never -ffast-math: it reorders sums, and a shared object linked with it changes the denormal mode of the process.
# Never -march=native: an older gcc takes a CPU that it does not know for another family. Callers name each ISA flag.
BASE_FLAGS = ("-O2", "-shared", "-fPIC", "-std=gnu11", "-fno-math-errno", "-ffp-contract=fast")
# What gcc takes besides. clang has no such flags, and refuses them.
# -fno-predictive-commoning: with it gcc 12 stores what it read before a loop at places that only another thread writes,
#   where rows interleave: a loop over three tiles whose rows lie three tiles apart.
# -fno-code-hoisting: with it gcc 12 loads what all kinds of a tile read before it knows which kind comes, and has no
#   registers left for that (docs/decisions/033: of 58 depthwise and grouped kernels, 285 vectors stored for 114).
GCC_FLAGS = ("-fno-predictive-commoning", "-fno-code-hoisting")
# Flags of single texts that gcc alone has. For others they are left out.
# -fno-tree-loop-if-convert: with it gcc 12 turns a loop that tests each element before it reads it into a blend that
#   reads all elements, also beyond the end of an array. clang does not.
GCC_ALONE = frozenset({*GCC_FLAGS, "-fno-tree-loop-if-convert"})
# Most kernels call no library. The linker takes 8 ms for one alone, and 20 ms where it reads libc and libm and what
# programs begin with (binutils 2.40 on a Zen 3). libgcc knows the CPU. What is missing is an error: then all are read.
_ALONE = ("-nostdlib", "-lgcc", "-Wl,--no-undefined")
_MISSING = re.compile("undefined (reference|symbol)")  # the words of GNU ld and gold, of lld and mold
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
    """A compiler, of C or of CUDA, refused a source, or took too long or too much memory for it."""


@dataclass(frozen=True)
class Compiler:
    """One C compiler.

    kind: "gcc", "clang" or "other". banner: the first line of ``--version``, which tells a distribution's revisions
    apart. arguments: those that CC gives after the path.
    """

    path: str
    kind: str
    version: str
    banner: str
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The beginning of the command line. Flags follow it."""
        return (self.path, *self.arguments)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of every compilation. Those of the instruction set follow them."""
        return BASE_FLAGS + GCC_FLAGS * (self.kind == "gcc")

    @property
    def openmp(self) -> bool:
        """Whether ``-fopenmp`` compiles and links. The first call in a process tries it. Raises ToolchainError."""
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


def compile_shared(
    compiler: Compiler,
    source: str,
    output: Path,
    flags: tuple[str, ...],
    openmp: bool = False,
    alone: bool = False,
) -> None:
    """Compiles C ``source`` into the shared object ``output``.

    flags: follow the compiler's own, so they may override them. openmp: adds -fopenmp if the compiler has it. Without
    that flag the compiler ignores the pragmas and the kernel runs on one thread. alone: the source probably calls no
    library, so gcc first links it with none.
    Raises CompileError with the compiler's last lines if it fails, takes longer than COMPILE_SECONDS or more than
    COMPILE_BYTES. Raises ValueError for a flag that Tilewright never uses. Raises OSError if the folder of ``output``
    cannot be written or its disk is full.
    """
    given = _checked(compiler, flags, openmp)
    if alone and compiler.kind == "gcc":
        try:
            return _compile(compiler.command, source, output, given, _ALONE)
        except CompileError as error:
            if not _MISSING.search(str(error)):
                raise
    _compile(compiler.command, source, output, given, ("-lm",))


def compile_header(compiler: Compiler, source: str, output: Path, flags: tuple[str, ...], openmp: bool = False) -> None:
    """Precompiles the header `source` into ``output``, for compilations with the same flags.

    Raises as `compile_shared` does.
    """
    _compile(compiler.command, source, output, (*_checked(compiler, flags, openmp), "-x", "c-header"))


@functools.cache
def require_answer(command: tuple[str, ...]) -> None:
    """Raises ToolchainError if the compiler hangs whatever it compiles: the next kernel would take as long."""
    try:
        subprocess.run(
            [*command, "-fsyntax-only", "-x", "c", "-"],
            env=_environment(),
            input=b"int nothing;\n",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_VERSION_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ToolchainError(
            f"the C compiler hangs: {shlex.join(command)} took longer than {_VERSION_SECONDS} s for one line of C; "
            "correct or unset CC"
        ) from None


def _checked(compiler: Compiler, flags: tuple[str, ...], openmp: bool) -> tuple[str, ...]:
    forbidden = _FORBIDDEN.intersection(flags)
    if forbidden:
        raise ValueError(f"the flag {min(forbidden)} must not be used: name each ISA flag instead")
    taken = flags if compiler.kind == "gcc" else tuple(flag for flag in flags if flag not in GCC_ALONE)
    return *compiler.flags, *taken, *(("-fopenmp",) if openmp and compiler.openmp else ())


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
            timeout=_VERSION_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ToolchainError(
            f"the C compiler hangs: {shlex.join(command)} --version said nothing for {_VERSION_SECONDS} s; correct or "
            "unset CC"
        ) from None
    except OSError as error:
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
    # The version is the last number. A distribution's own number comes before it, in brackets.
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
    """Whether a program with OpenMP compiles and links. Debian's clang takes -fopenmp even if libomp is missing, so
    only linking tells.
    """
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


def _compile(
    command: tuple[str, ...], source: str, output: Path, flags: tuple[str, ...], libraries: tuple[str, ...] = ()
) -> None:
    output = output.absolute()
    with tempfile.TemporaryDirectory(prefix="compile-", dir=output.parent) as private:
        folder = Path(private)
        (folder / "kernel.c").write_text(source, encoding="utf-8")
        arguments = [*command, *flags, "kernel.c", "-o", str(output), *libraries]
        # The compiler stays in our process group, so that Ctrl-C or killing a worker's group ends it too. A time-out
        # kills only the driver and orphans the compiler proper: the CPU limit ends that one. The messages go to a file,
        # because an orphan would hold a pipe open.
        limits = [_limit(resource.RLIMIT_CPU, COMPILE_SECONDS), _limit(resource.RLIMIT_AS, COMPILE_BYTES) // 1024]
        limited = ["/bin/sh", "-c", 'ulimit -t "$0"; ulimit -v "$1"; shift; exec "$@"', *map(str, limits), *arguments]
        messages = folder / "messages"
        with messages.open("wb") as sink:
            status = _status(limited, command[0], folder, sink)
        if status is None:
            require_answer(command)
            raise CompileError(
                f"the compiler took longer than {COMPILE_SECONDS} s and was stopped: {shlex.join(arguments)}"
            )
        if status:
            _require_room(folder)
            last = "\n".join(messages.read_text(errors="replace").splitlines()[-12:])
            ended = f"failed with status {status}" if status > 0 else f"was ended by {signal.Signals(-status).name}"
            raise CompileError(f"the compiler {ended}: {shlex.join(arguments)}\n{last}")
        if not output.exists():
            raise ToolchainError(
                f"{shlex.join(command)} ended well and compiled nothing, so it is no C compiler: correct or unset CC"
            )


def _status(command: list[str], compiler: str, folder: Path, messages: IO[bytes]) -> int | None:
    """Runs a compilation and returns its exit status, or None if it took too long. Announces one that takes long."""
    environment = {**_environment(), "TMPDIR": str(folder)}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages
    ) as process:
        try:
            if _ended(process, _PATIENT_SECONDS):
                return process.wait()
            print(
                f"the C compiler {compiler} has worked on one file for {_PATIENT_SECONDS} s; it is stopped after "
                f"{COMPILE_SECONDS} s",
                file=sys.stderr,
                flush=True,
            )
            return process.wait(COMPILE_SECONDS - _PATIENT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
        except BaseException:
            process.kill()
            raise


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits for the end of a process, so long at most. `Popen.wait` looks every 50 ms: a small kernel takes less."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # the system or this Python is older than that
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.poll() is not None
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def _limit(kind: int, wanted: int) -> int:
    """The wanted amount of a resource, or the most that this process may have."""
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _require_room(folder: Path) -> None:
    """Raises OSError if the disk is full. Compilers and linkers report that in many ways, or crash."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(_ROOM_BYTES))
        file.flush()


def _environment() -> dict[str, str]:
    """Our environment, with messages in English: we parse them, and users can search for them."""
    return {**os.environ, "LC_ALL": "C"}
