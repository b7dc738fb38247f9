"""What is prefetched. No value depends on it: a test compares it with the plan of a kernel's prefetches.

Prefetch            brings the line at a place, which may lie outside the array
Aim                 puts a cursor at a place in an array, and its end behind; both are moved into the array
Advance             brings the line at a cursor and moves the cursor to the next one, unless it is at its end
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import mul

from tiling.loops.language import LINE
from tiling.loops.meaning.memory import Fault, LiveArray


@dataclass(frozen=True)
class Prefetched:
    """A prefetch. byte: where in the array, somewhere in the line; it may lie outside. level: the cache that it
    fills.
    """

    array: str
    byte: int
    level: int


@dataclass
class Prefetches:
    """The prefetches of a worker.

    prefetched: what all workers prefetched, in order. arrays: the name of each array, and of each piece of memory that
    the kernel made, by its address. cursors: for each cursor its array, and the bytes in it where the cursor stands and
    where it ends; None until `Cursors`.
    """

    prefetched: list[Prefetched]
    arrays: dict[int, str] = field(default_factory=dict)
    cursors: dict[str, tuple[str, int, int]] | None = None

    def worker(self) -> Prefetches:
        """Those of a worker that has cursors of its own from now on."""
        return Prefetches(self.prefetched, self.arrays, {})

    def prefetch(self, array: LiveArray, level: int) -> None:
        """Prefetches the line where an array begins, seen from a place in it."""
        self.prefetched.append(Prefetched(self._name(array), _byte(array), level))

    def aim(self, cursor: str, array: LiveArray, elements: int) -> None:
        """The cursor goes to where the array begins, and its end so many elements further."""
        bounds = (_byte(array), _byte(array) + elements * array.elements.itemsize)
        begin, end = (min(max(byte, 0), array.elements.nbytes) for byte in bounds)
        self._of_worker(cursor)[cursor] = self._name(array), begin, end

    def advance(self, cursor: str) -> None:
        """One more line. A cursor that nothing has aimed is at its end."""
        cursors = self._of_worker(cursor)
        name, at, end = cursors.get(cursor, ("", 0, 0))
        if at < end:
            self.prefetched.append(Prefetched(name, at, 2))
            cursors[cursor] = name, at + LINE, end

    def _name(self, array: LiveArray) -> str:
        """The name of the array that a view shows; the view's own where it begins inside that array."""
        return self.arrays.get(array.address, array.name)

    def _of_worker(self, cursor: str) -> dict[str, tuple[str, int, int]]:
        if self.cursors is None:
            raise Fault(f"the cursor {cursor} belongs to a worker that has no cursors")
        return self.cursors


def _byte(array: LiveArray) -> int:
    """The byte of an array where a view of it begins."""
    return sum(map(mul, array.origin, array.elements.strides))
