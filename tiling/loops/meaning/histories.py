"""Who has touched which byte of memory, and whether all that others did to it is over (`workers`)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np

from tiling.loops.meaning.workers import Place, Race, Worker, Workers, Written, named

_FEW = 16  # bytes that Python notes in less time than NumPy


def memory_of(workers: Workers, shared: bool) -> Memory:
    """The memory in which a buffer has a place: the shared memory of this block, or the call's scratch memory."""
    found: Memory = workers.placed.setdefault(workers.block() if shared else (), Memory(workers))
    return found


@dataclass
class Memory:
    """Bytes that workers share. Many bytes have the same history, so each byte has two numbers: 0 stands for nobody."""

    workers: Workers
    written: array[int] = field(default_factory=lambda: array("i"))  # for each byte, which of `writes` was the last
    read: array[int] = field(default_factory=lambda: array("i"))  # for each byte, which of `readers` have read it since
    writes: list[Written] = field(default_factory=lambda: [((), 0)])
    readers: list[dict[Worker, int]] = field(default_factory=lambda: [{}])
    # From a number of `readers`, a further reader and its wait to the number of all of them together.
    more: dict[tuple[int, Worker, int], int] = field(default_factory=dict)

    def note_read(self, place: Place, first: int, size: int) -> None:
        """The worker at work reads some bytes. Raises Race where another one has written them."""
        self._reach(first + size)
        if size > _FEW:
            return self.note_reads(place, slice(first, first + size))
        written, read, checked, before, after = self.written, self.read, 0, -1, 0
        for byte in range(first, first + size):
            if written[byte] != checked:
                checked = written[byte]
                self._require_written("reads", place, checked)
            if read[byte] != before:
                before = read[byte]
                after = self._with_reader(before)
            read[byte] = after

    def note_write(self, place: Place, first: int, size: int) -> None:
        """The worker at work writes some bytes. Raises Race where another one has touched them."""
        self._reach(first + size)
        if size > _FEW:
            return self.note_writes(place, slice(first, first + size))
        mine, written, read, checked, ordered = self._mine(place), self.written, self.read, 0, 0
        for byte in range(first, first + size):
            if written[byte] != checked:
                checked = written[byte]
                self._require_written("writes", place, checked)
            if read[byte] != ordered:
                ordered = read[byte]
                self._require_read(place, ordered)
            read[byte], written[byte] = 0, mine

    def note_reads(self, place: Place, which: slice | np.ndarray) -> None:
        """As `note_read`, of any bytes. Where it raises, nothing is noted."""
        written, read = self._numbers(which)
        for write in _different(written[which]):
            self._require_written("reads", place, write)
        before = read[which]
        after = before.copy()
        for readers in _different(before):
            after[before == readers] = self._with_reader(readers)
        read[which] = after

    def note_writes(self, place: Place, which: slice | np.ndarray) -> None:
        """As `note_write`, of any bytes. Where it raises, nothing is noted."""
        mine = self._mine(place)
        written, read = self._numbers(which)
        for write in _different(written[which]):
            self._require_written("writes", place, write)
        for readers in _different(read[which]):
            self._require_read(place, readers)
        read[which], written[which] = 0, mine

    def _numbers(self, which: slice | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The histories as NumPy sees them."""
        self._reach(which.stop if isinstance(which, slice) else int(which.max(initial=-1)) + 1)
        return np.frombuffer(self.written, np.int32), np.frombuffer(self.read, np.int32)

    def _reach(self, end: int) -> None:
        """There are histories of so many bytes. Anew, since NumPy may still see the old ones."""
        if end > len(self.written):
            more = array("i", bytes(4 * (end + len(self.written))))
            self.written, self.read = self.written + more, self.read + more

    def _mine(self, place: Place) -> int:
        """The number of a write now. Raises Race where several threads make it."""
        workers = self.workers
        if workers.many:
            raise Race(f"{named(workers.now)}: every thread writes {_element(place)}")
        if self.writes[-1] != (workers.now, workers.waits):
            self.writes.append((workers.now, workers.waits))
        return len(self.writes) - 1

    def _with_reader(self, readers: int) -> int:
        """Those readers, and the worker at work."""
        worker, waits = self.workers.now, self.workers.waits
        if self.readers[readers].get(worker) == waits:
            return readers
        found = self.more.get((readers, worker, waits))
        if found is None:
            found = self.more[readers, worker, waits] = len(self.readers)
            self.readers.append({**self.readers[readers], worker: waits})
        return found

    def _require_written(self, does: str, place: Place, write: int) -> None:
        """Raises Race where a write is not over."""
        if write and not self.workers.ordered(*self.writes[write]):
            raise self._race(does, place, self.writes[write][0], "written")

    def _require_read(self, place: Place, readers: int) -> None:
        """Raises Race where some may still read."""
        for reader, waits in self.readers[readers].items():
            if not self.workers.ordered(reader, waits):
                raise self._race("writes", place, reader, "read")

    def _race(self, does: str, place: Place, other: Worker, done: str) -> Race:
        now = named(self.workers.now)
        return Race(f"{now} {does} {_element(place)}, which {named(other)} has {done}: no barrier between")


def _different(numbers: np.ndarray) -> set[int]:
    """The numbers that occur: most stand beside equal ones."""
    ends = np.flatnonzero(numbers[1:] != numbers[:-1])
    return {*numbers[ends].tolist(), *numbers[-1:].tolist()}


def _element(place: Place) -> str:
    name, at = place
    return f"{name}{list(at)}"
