"""The results of an unfinished run: a file of JSON lines in the data folder, which the same run continues."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

from bench.report.files import ReportError, reported
from bench.report.formats import FormatError, from_json, to_json
from bench.report.results import LayerResult
from microkernels.ranking.offline import measuring_lock
from microkernels.scores.database import data_folder


@dataclass(frozen=True)
class Journal:
    """The results so far of the run with one identity. Each is on disk before the next layer begins."""

    path: Path

    def results(self) -> list[LayerResult]:
        """The finished layers. A line that does not parse is ignored, such as a last line that a crash tore."""
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
                # A torn line before this line must not swallow it.
                file.write(("" if _ends_line(self.path) else "\n") + to_json(result) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def discard(self) -> None:
        """Removes the journal, since the run is complete or is to begin anew."""
        with reported(self.path):
            self.path.unlink(missing_ok=True)


def journal(identity: Mapping[str, object]) -> Journal:
    """The journal of a run. identity: what it runs, with which versions, on which machine."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    return Journal(data_folder() / "bench" / f"unfinished-{digest}.jsonl")


@contextmanager
def alone() -> Iterator[None]:
    """Lets a user run one benchmark or ranking at a time, since two would disturb each other. Raises ReportError."""
    lock = measuring_lock()
    with reported(data_folder()):
        data_folder().mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise ReportError(
                "another benchmark or ranking is measuring on this machine: wait until it has ended"
            ) from None
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
