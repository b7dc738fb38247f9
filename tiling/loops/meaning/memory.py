"""Arrays as an interpreter sees them: every access is checked, and so is whether an element was ever written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import add, lt, mul
from typing import Any

import numpy as np

from tiling.dtypes.formats import FORMATS
from tiling.dtypes.products import DTYPE_BYTES, LANE_BYTES, WORD, word_of
from tiling.loops.machines import MBARRIER
from tiling.loops.meaning.histories import Memory
from tiling.loops.meaning.workers import Place, Race

Given = Any  # a NumPy scalar, or a vector of them
Indices = tuple[np.ndarray, ...]  # of many elements: a vector for each dim
NUMPY: dict[str, Any] = {name: np.dtype(each.numpy).type for name, each in FORMATS.items()}
# A word of 32 bits holds several numbers, or one and zeros.
NUMPY |= {
    word_of(dtype, numbers): np.uint32 for dtype, size in DTYPE_BYTES.items() for numbers in (1, LANE_BYTES // size)
}
NUMPY[WORD] = np.uint32
NUMPY[MBARRIER] = np.uint64  # how many arrivals it was opened for


class Fault(Exception):
    """A kernel touches memory that it must not touch. The message says which buffer, and where."""


@dataclass(slots=True)
class LiveArray:
    """A buffer while it lives. origin: where a view begins in it. written: which elements have a value.

    memory: where workers may meet; None for memory of one worker. first: the byte in it where the elements begin.
    """

    name: str
    elements: np.ndarray
    written: np.ndarray
    origin: tuple[int, ...]
    memory: Memory | None = None
    first: int = 0

    def place(self, at: tuple[int, ...]) -> tuple[int, ...]:
        """The place in the buffer of an index of the view. Raises Fault outside the buffer."""
        shape, origin = self.elements.shape, self.origin
        if len(at) == len(origin) == len(shape):
            if len(at) == 1:  # nearly every operand of an instruction
                only = origin[0] + at[0]
                if 0 <= only < shape[0]:
                    return (only,)
            elif len(at) == 2:
                row, column = origin[0] + at[0], origin[1] + at[1]
                if 0 <= row < shape[0] and 0 <= column < shape[1]:
                    return row, column
        place = tuple(map(add, origin, at))
        if not len(at) == len(place) == len(shape):
            raise Fault(f"{self.name} has {len(shape)} dimensions, and {list(at)} is an index of {len(at)}")
        if min(place, default=0) < 0 or not all(map(lt, place, shape)):
            raise Fault(f"{self.name}{list(place)} lies outside its {' x '.join(map(str, shape))} elements")
        return place

    def moved(self, name: str, at: tuple[int, ...]) -> LiveArray:
        """The same elements, seen from another place, which may lie outside."""
        origin = tuple(a + b for a, b in zip(self.origin, at, strict=True))
        return LiveArray(name, self.elements, self.written, origin, self.memory, self.first)

    def read(self, at: tuple[int, ...]) -> Given:
        """The element at an index. Raises Fault where nothing has written it, Race where another worker may."""
        place = self.place(at)
        if self.memory is not None and self.memory.workers.now:
            self.memory.note_read(*self.touched(place))
        if not self.written[place]:
            raise Fault(f"{self.name}{list(place)} is read before anything is written there")
        return self.elements[place]

    def write(self, at: tuple[int, ...], element: Given) -> None:
        """The element at an index becomes a number. Raises Race where another worker may read or write it."""
        place = self.meet(at)
        self.elements[place] = element
        self.written[place] = True

    def meet(self, at: tuple[int, ...]) -> tuple[int, ...]:
        """The place of an element that this worker changes. Raises Race where another one may read or write it."""
        place = self.place(at)
        if self.memory is not None and self.memory.workers.now:
            self.memory.note_write(*self.touched(place))
        return place

    def read_all(self, at: Indices) -> np.ndarray:
        """The elements at many indices, as `read` gives them one after the other."""
        if not self._note_all(at, writes=False):
            for each in zip(*[numbers.tolist() for numbers in at]):
                self.read(each)
        found: np.ndarray = self.elements[self._places(at)]
        return found

    def write_all(self, at: Indices, elements: np.ndarray) -> None:
        """The elements at many indices, each another one, become these numbers, as `write` does one after the other."""
        if not self._note_all(at, writes=True):
            for each in zip(*[numbers.tolist() for numbers in at]):
                self.meet(each)
        places = self._places(at)
        self.elements[places], self.written[places] = elements, True

    def _places(self, at: Indices) -> Indices:
        return tuple([start + numbers for start, numbers in zip(self.origin, at, strict=True)])

    def _note_all(self, at: Indices, writes: bool) -> bool:
        """Notes that this worker reads or writes many elements. Whether it may touch all of them."""
        places, shape = self._places(at), self.elements.shape
        if not all([((each >= 0) & (each < extent)).all() for each, extent in zip(places, shape, strict=True)]):
            return False
        if not writes and not self.written[places].all():
            return False
        if self.is_met and not self.elements.flags.c_contiguous:
            return False  # `note` counts bytes as if elements were neighbours
        try:
            if self.is_met and len(at[0]):
                self.note(np.unique(np.ravel_multi_index(places, shape)), writes)
        except Race:
            return False
        return True

    def neighbours(self, at: tuple[int, ...], count: int, writes: bool) -> slice | None:
        """Where so many elements from an index on are in memory, as a pointer sees them. Notes that this worker reads
        or writes them; None where it may not, or they are no neighbours.
        """
        start, elements = 0, self.elements
        for extent, first, more in zip(elements.shape, self.origin, at, strict=True):
            start = start * extent + first + more
        if type(self) is not LiveArray or not elements.flags.c_contiguous or not 0 <= start <= elements.size - count:
            return None
        found = slice(start, start + count)
        if not writes and np.count_nonzero(self.written.reshape(-1)[found]) < count:
            return None
        if self.memory is not None and self.memory.workers.now:
            note = self.memory.note_write if writes else self.memory.note_read
            try:
                note((self.name, ()), self.first + start * elements.itemsize, count * elements.itemsize)
            except Race:
                return None
        return found

    @property
    def is_met(self) -> bool:
        """Whether workers may meet here."""
        return self.memory is not None and bool(self.memory.workers.now)

    def note(self, elements: np.ndarray, writes: bool) -> None:
        """Notes that this worker reads or writes elements, given by their numbers in order. Raises Race as `read` and
        `write` do, without a place.
        """
        assert self.memory is not None
        if not len(elements):
            return
        size, first, count = self.elements.itemsize, int(elements[0]), len(elements)
        bytes_: slice | np.ndarray = slice(self.first + first * size, self.first + (first + count) * size)
        if elements[-1] - first >= count:
            bytes_ = (self.first + elements[:, None] * size + np.arange(size)).reshape(-1)
        note = self.memory.note_writes if writes else self.memory.note_reads
        note((self.name, ()), bytes_)

    def touched(self, place: tuple[int, ...]) -> tuple[Place, int, int]:
        """An element for messages, the byte of its memory where it begins, and its bytes."""
        first = self.first + sum(map(mul, place, self.elements.strides))
        return (self.name, place), first, self.elements.itemsize

    @property
    def address(self) -> int:
        """The byte where the elements of the buffer begin in this machine's memory."""
        return int(self.elements.__array_interface__["data"][0])

    def seen(self, name: str, shape: tuple[int, ...], dtype: Any) -> LiveArray:
        """The memory from the origin on as elements of another shape and dtype.

        An element has a value where all its bytes have one; where elements change their size, as they have one now.
        Raises Fault for more memory than there is.
        """
        flat = self.flat()
        (first,), size, given = flat.origin, np.dtype(dtype).itemsize, self.elements.itemsize
        count = math.prod(shape)
        if count * size > (flat.elements.size - first) * given:
            raise Fault(f"{name} of {' x '.join(map(str, shape))} elements is longer than the memory of {self.name}")
        last = first + -(-count * size // given)
        elements, written = flat.elements[first:last], flat.written[first:last]
        if size != given:
            written = np.asarray(np.repeat(written, given)[: count * size].reshape(count, size).all(axis=1))
        elements = elements.view(np.uint8)[: count * size].view(dtype)
        origin, start = (0,) * len(shape), self.first + first * given
        return LiveArray(name, elements.reshape(shape), written.reshape(shape), origin, self.memory, start)

    def flat(self, at: tuple[int, ...] | None = None) -> LiveArray:
        """The elements as a pointer sees them: one after the other, from an index on, by default from the origin."""
        start = 0
        for extent, first, more in zip(self.elements.shape, self.origin, at or (0,) * len(self.origin), strict=True):
            start = start * extent + first + more
        return LiveArray(
            self.name, self.elements.reshape(-1), self.written.reshape(-1), (start,), self.memory, self.first
        )


@dataclass(slots=True)
class ByLane(LiveArray):
    """An array that each lane sees from a place of its own: an index is the lane, and an element behind that place."""

    of_lane: Callable[[Any], LiveArray] = field(kw_only=True)  # also for a vector of lanes
    lanes: dict[int, LiveArray] = field(default_factory=dict, kw_only=True)
    row: LiveArray | None = field(default=None, kw_only=True)
    firsts: np.ndarray = field(default_factory=lambda: np.empty(0, int), kw_only=True)

    def read(self, at: tuple[int, ...]) -> Given:
        """As `LiveArray.read`."""
        return self._of(at[0]).read(at[1:])

    def write(self, at: tuple[int, ...], element: Given) -> None:
        """As `LiveArray.write`."""
        self._of(at[0]).write(at[1:], element)

    def in_a_row(self) -> LiveArray:
        """The elements one after the other, from the first one on."""
        if self.row is None:
            elements, written = self.elements.reshape(-1), self.written.reshape(-1)
            self.row = LiveArray(self.name, elements, written, (0,), self.memory, self.first)
        return self.row

    def starts(self, lanes: int | np.ndarray) -> int | np.ndarray:
        """Where in this row the places of lanes are."""
        if isinstance(lanes, int):
            return self._of(lanes).origin[0]
        known = len(self.firsts)
        if known <= (last := lanes.max()):
            firsts: Any
            try:
                firsts = self.of_lane(np.arange(last + 1)).origin[0]
            except ValueError:  # Python's min and max do not take vectors
                firsts = [self._of(lane).origin[0] for lane in range(last + 1)]
            self.firsts = np.broadcast_to(firsts, last + 1)
        found: np.ndarray = self.firsts[lanes]
        return found

    def _of(self, lane: int) -> LiveArray:
        if lane not in self.lanes:
            self.lanes[lane] = self.of_lane(lane)
        return self.lanes[lane]


def complete(name: str, elements: np.ndarray, memory: Memory | None = None) -> LiveArray:
    """An array whose elements all have a value."""
    return LiveArray(name, elements, np.ones(elements.shape, bool), (0,) * elements.ndim, memory)


def read_only(name: str, elements: np.ndarray) -> LiveArray:
    """The value that an instruction gets, which it only reads. Many share what says that all is written."""
    return LiveArray(name, elements, _all_written(elements.shape), (0,) * elements.ndim)


@lru_cache(256)
def _all_written(shape: tuple[int, ...]) -> np.ndarray:
    written = np.ones(shape, bool)
    written.flags.writeable = False
    return written


def by_lane(array: LiveArray, place: Callable[[Any], tuple[Any, ...]]) -> ByLane:
    """The array as lanes see it. place: where the part of a lane begins, or those of a vector of lanes."""
    parts = array.name, array.elements, array.written, array.origin, array.memory, array.first
    return ByLane(*parts, of_lane=lambda lane: array.moved(array.name, place(lane)).flat())


def undefined(name: str, shape: tuple[int, ...], dtype: Any, memory: Memory | None = None, first: int = 0) -> LiveArray:
    """An array without values."""
    return LiveArray(name, np.zeros(shape, dtype), np.zeros(shape, bool), (0,) * len(shape), memory, first)
