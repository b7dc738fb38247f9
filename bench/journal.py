"""The results of a run that has not ended yet: a file of JSON lines in the data folder, continued by the same run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

from bench.files import ReportError, reported
from bench.formats import FormatError, from_json, to_json
from bench.results import LayerResult
from microkernels.database import data_folder


@dataclass(frozen=True)
class Journal:
    """What a run with one identity has found so far. Each result is on disk before the next layer begins."""

    path: Path

    def results(self) -> list[LayerResult]:
        """The finished layers. A last line that a crash tore is as if it had never been; so is any that
        does not parse.
        """
        if not self.path.exists():
            return []
        with reported(self.path):
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        return list(_parsed(lines))

    def keep(self, result: LayerResult) -> None:
        """Adds a result. Raises ReportError."""
        with reported(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                # A torn line before this one must not swallow it.
                file.write(("" if _ends_line(self.path) else "\n") + to_json(result) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def discard(self) -> None:
        """Forgets the run: it is complete, or is to begin anew."""
        with reported(self.path):
            self.path.unlink(missing_ok=True)


def journal(identity: Mapping[str, object]) -> Journal:
    """The journal of the run that `identity` tells from others: what is run, by which versions, on which machine."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    return Journal(data_folder() / "bench" / f"unfinished-{digest}.jsonl")


@contextmanager
def alone() -> Iterator[None]:
    """One benchmark of a user at a time: two would time each other. Raises ReportError where another one runs."""
    path = data_folder() / "bench" / "running.lock"
    with reported(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path, timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise ReportError("another benchmark is running on this machine: wait until it has ended") from None
    try:
        yield
    finally:
        lock.release()


def _parsed(lines: list[str]) -> Iterator[LayerResult]:
    for line in lines:
        try:
            yield from_json(line)
        except FormatError:
            continue


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
