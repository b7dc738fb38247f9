"""Files of results: checked before a long run, written after it. A failure is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ReportError(RuntimeError):
    """A file of results cannot be written; the message says which and why."""


def check_writable(path: Path) -> None:
    """Checks before a long run that its results can be kept. Makes the folder but no file. Raises ReportError."""
    with reported(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        existed = path.exists()
        path.open("ab").close()
        if not existed:
            path.unlink()


def append(path: Path, line: str) -> None:
    """Adds a line to a file of results. Raises ReportError."""
    with reported(path), path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def write(path: Path, content: str | bytes) -> None:
    """Writes a page or a picture, making its folder. Raises ReportError."""
    with reported(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turns an error of a file into a ReportError."""
    try:
        yield
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror or error}") from None
