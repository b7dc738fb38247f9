"""Prints results: in letters that the terminal has, and with one sentence where printing fails."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from tilewright_entry import PLAIN

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 128 + signal.SIGINT  # the exit code after a Ctrl-C, as shells have it


class OutputError(RuntimeError):
    """The result cannot be written to its stream."""


def readable(text: str) -> str:
    """A text that a terminal may show: the output of a crashed program may hold control characters."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def write(text: str, stream: TextIO | None = None) -> None:
    """Prints a result and flushes it. Raises OutputError, BrokenPipeError."""
    stream = stream or sys.stdout
    if stream is None:  # as Python has it where a shell closed it, with >&-
        raise OutputError("the result cannot be written: standard output is closed")
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors=PLAIN)
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop(stream)
        raise OutputError(f"the result cannot be written to standard output: {error.strerror or error}") from error


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """Ends the block without an error when the reader of standard output, such as `head`, stops reading."""
    try:
        yield
        if sys.stdout:
            sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)


def terminal() -> Console | None:
    """The terminal that shows how far something is; None where standard error is none, and what draws is not loaded."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True)


def _drop(stream: TextIO) -> None:
    """Drops unwritten text, so that Python does not try to write it on exit and fail again."""
    with suppress(OSError, ValueError):  # a stream without a file, as tests have
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
