"""Starts the commands of all packages, and keeps files of the current folder from standing in for packages.

`python -m` looks into the current folder first. A file `tiling.py` or `numpy.py` there would be taken for the package.
So each package that has commands imports this file before anything else, and nobody else has a file of this name.
"""

from __future__ import annotations

import codecs
import errno
import gc
import io
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

OURS = ("tiling", "microkernels", "cpu", "gpu", "search", "graph", "bench")
LIBRARIES = ("numpy", "scipy", "cffi", "jinja2", "rich", "platformdirs", "filelock", "onnx")
_ROOT = Path(__file__).resolve().parent
_OF_FILES = (errno.ENOSPC, errno.EIO, errno.EDQUOT)
_OF_STREAMS = (errno.EPIPE, errno.EBADF)
_INTERRUPTED = 130  # the exit code of a program that Ctrl-C ends

# Replacements for terminals and files that cannot show our letters beyond ASCII. A scheme takes `lambda` too.
_LETTERS = {"µ": "u", "→": "->", "·": "*", "×": "x", "–": "-", "≤": "<=", "≥": ">=", "²": "^2", "³": "^3", "…": "..."}
_LETTERS |= {"λ": "lambda", "±": "+-"}
PLAIN = "tilewright-plain"  # how a stream takes a letter that it has not, as `errors=` says it


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacked = error.object[error.start : error.end]
    return "".join(_LETTERS.get(letter) or ascii(letter)[1:-1] for letter in lacked), error.end


codecs.register_error(PLAIN, _plain)


@contextmanager
def importing() -> Iterator[None]:
    """For many imports: Python looks for no garbage meanwhile. What is imported stays, and looking through it again and
    again takes a tenth of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class TilewrightWarning(RuntimeWarning):
    """What whoever runs the program should know: one sentence. Commands print it without the line that gave it."""


def warn(sentence: str) -> None:
    """Warns at the line that called these packages. Python shows a warning once for each line and text."""
    ours = tuple(f"{Path(__file__).parent / name}{os.sep}" for name in OURS)
    level, frame = 1, sys._getframe()
    while frame.f_back and (frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith(ours)):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, TilewrightWarning, stacklevel=level)


def run(command: str) -> None:
    """Ends the program with the exit code of a command, named as `package.module:function`."""
    module, _, function = command.partition(":")
    _reopen()
    warnings.formatwarning = _formatted
    try:
        try:
            with importing():
                main = getattr(import_module(module), function)
            code = main()
        except SystemExit as ended:  # argparse's, after it printed the help or what is wrong
            code = ended.code
        sys.stdout.flush()
        sys.exit(code)
    except (Exception, KeyboardInterrupt) as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        print(sentence, file=sys.stderr)
        sys.exit(_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1)


class _Output(io.FileIO):
    """Standard output. Its errors have its name, so that no other file's pass for them."""

    NAME = "standard output"

    def write(self, data: Buffer) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self.NAME
            raise


class _Closed(io.TextIOBase):
    """Standard output that a shell closed (`>&-`). As a buffered file it fails where what was printed is flushed."""

    lost = False

    def write(self, text: str) -> int:
        self.lost = self.lost or bool(text)
        return len(text)

    def flush(self) -> None:
        if self.lost:
            self.lost = False  # it is told once: Python flushes again on exit
            raise OSError(errno.EBADF, "it is closed", _Output.NAME)


def _reopen() -> None:
    """Opens what a shell closed, so that no file of ours gets its number, and errors are not printed as results.

    Letters that a stream lacks are replaced, and end no command.
    """
    for number in range(3):
        with suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = _Closed()
    elif sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        now, file = sys.stdout, _Output(1, "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            file if now.write_through else io.BufferedWriter(file),
            encoding=now.encoding,
            errors=PLAIN if now.errors == "strict" else now.errors,
            line_buffering=now.line_buffering,
            write_through=now.write_through,
        )
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors=PLAIN)


def listed(package: str, names: Iterable[str]) -> list[str]:
    """What `dir` shows of a package: its names, its rooms that are loaded, and what Python has in every module."""
    held = vars(sys.modules[package])
    return sorted({*names, *(name for name in held if name.startswith("__") or f"{package}.{name}" in sys.modules)})


@contextmanager
def loading() -> Iterator[None]:
    """Makes an error name the file that Python took for a package by mistake, as beside a script or in PYTHONPATH."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        hiding = _hiding()
        if hiding is None:
            raise
        raise ImportError(_named(hiding)) from error


def _sentence(error: BaseException) -> str | None:
    """What to tell of an error that ends a command while its libraries load or it prints; None for any other."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted before anything was done"
    if isinstance(error, OSError) and error.filename is None and error.errno in _OF_FILES:
        return f"a file cannot be written: {error.strerror}"
    if isinstance(error, OSError) and (error.filename == _Output.NAME or error.errno in _OF_STREAMS):
        with suppress(OSError, ValueError, AttributeError):  # drops what is left, which Python would try again on exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return f"the result cannot be written to standard output: {error.strerror}"
    if not isinstance(error, (ImportError, AttributeError)):
        return None
    if hiding := _hiding():
        return _named(hiding)
    if isinstance(error, ModuleNotFoundError):
        return f"{error}: run `make setup`, then `. .venv/bin/activate`"
    return str(error) if isinstance(error, ImportError) else None


def _hiding() -> Path | None:
    """The first file that Python takes for one of these packages by mistake: a single file, or one elsewhere."""
    for name in (*OURS, *LIBRARIES):
        spec = find_spec(name) if name not in sys.modules else sys.modules[name].__spec__
        found = spec and spec.origin and Path(spec.origin).resolve()
        elsewhere = name in OURS and found and not found.is_relative_to(_ROOT / name)
        if spec and found and (spec.submodule_search_locations is None or elsewhere):
            return found
    return None


_of_python = warnings.formatwarning


def _formatted(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """The text of a warning on the command line."""
    ours = issubclass(category, TilewrightWarning)
    return f"{message}\n" if ours else _of_python(message, category, filename, lineno, line)


def _named(hiding: Path) -> str:
    wrong = hiding.parent if hiding.name == "__init__.py" else hiding
    return f"{wrong} stands in the place of the package {wrong.stem!r}: rename it, or start elsewhere"


def _begin() -> None:
    """What a command needs before its package loads anything, if `python -m` is looking for one just now.

    It takes the current folder, which `python -m` puts first, from `sys.path`; our own root stays. What interrupts or
    ends the loading is told in a sentence.
    """
    if sys.argv[:1] != ["-m"]:  # so Python has it while it looks for the module
        return

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sentence = _sentence(error)
        if sentence is None:
            return sys.__excepthook__(kind, error, trace)
        print(sentence, file=sys.stderr)

    sys.excepthook = tell
    with suppress(OSError):  # the current folder may be gone
        here = os.getcwd()
        if sys.path[:1] == [here] and not getattr(sys.flags, "safe_path", False) and Path(here) != _ROOT:
            del sys.path[0]


_begin()
