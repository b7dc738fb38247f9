"""The elements that threads touch which run at once: each may touch its own only, and memory is told of them after."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiling.loops.meaning.memory import Given, LiveArray
from tiling.loops.meaning.slices import InTurn
from tiling.loops.meaning.workers import Race, Worker, Workers

# Elements by their numbers, the threads that touch them, and how many stores were run before.
Touch = tuple[LiveArray, np.ndarray, np.ndarray, int]


@dataclass(slots=True)
class Touched:
    """What threads touch. is_at_work(thread): it is the worker at work. before: what was where they write."""

    workers: Workers
    is_at_work: Callable[[int], None]
    read: list[Touch] = field(default_factory=list)
    written: list[Touch] = field(default_factory=list)
    before: list[tuple[LiveArray, Any, Given, np.ndarray]] = field(default_factory=list)
    group: Worker = field(init=False)

    def __post_init__(self) -> None:
        self.group = self.workers.now

    def require_own_elements(self) -> None:
        """Raises InTurn where a thread writes what another one touches.

        Also where a thread reads what it has stored before: `note` tells all reads before all writes.
        """
        written, touched = _arrays(self.written), _arrays((*self.read, *self.written))
        for start, array in written.items():
            for begin, other in touched.items():
                apart = begin[0] - start[0]
                unlike = begin[1] != start[1] or apart % start[1]
                if unlike and np.may_share_memory(other, array):
                    raise InTurn
        if not self.written:
            return
        (places, owners, stores), (reads, readers, before) = _addresses(self.written), _addresses(self.read)
        order = np.argsort(places, kind="stable")  # of an element's stores the last one comes last
        places, owners, stores = places[order], owners[order], stores[order]
        if np.any((places[1:] == places[:-1]) & (owners[1:] != owners[:-1])):
            raise InTurn
        found = np.maximum(np.searchsorted(places, reads, side="right") - 1, 0)
        if np.any((places[found] == reads) & ((owners[found] != readers) | (stores[found] < before))):
            raise InTurn

    def note(self) -> None:
        """Tells the memory in which workers meet what each thread has touched. Raises InTurn where there is a race."""
        try:
            for touched, writes in ((self.read, False), (self.written, True)):
                by_array: dict[tuple[int, int, int], list[Touch]] = {}
                for of_one in _by_array(touched):
                    array = of_one[0][0]
                    if array.memory is not None and (self.group or self.workers.barriers):
                        known = array.address, array.elements.itemsize, id(array.memory)
                        by_array.setdefault(known, []).extend(of_one)
                for met in by_array.values():
                    self.note_array(met, writes)
        except Race:
            raise InTurn from None
        finally:
            self.workers.now = self.group

    def note_array(self, touched: list[Touch], writes: bool) -> None:
        """Tells the memory of an array what each thread has touched there."""
        array = touched[0][0]
        numbers = np.concatenate([each[1] for each in touched])
        who = np.concatenate([each[2] for each in touched])
        if not len(numbers):
            return
        most = int(numbers.max()) + 1  # an array may be a part of another one that begins there
        who, numbers = np.divmod(np.unique(who * most + numbers), most)
        starts = [0, *(np.flatnonzero(who[1:] != who[:-1]) + 1).tolist()]
        for start, end, thread in zip(starts, [*starts[1:], len(who)], who[starts].tolist()):
            self.is_at_work(thread)
            array.note(numbers[start:end], writes)

    def undo(self) -> None:
        """What was written is as it was before."""
        for array, places, elements, written in reversed(self.before):
            array.elements[places], array.written[places] = elements, written


def _by_array(touched: Iterable[Touch]) -> Iterable[list[Touch]]:
    """What is touched, by array: there are few, and to ask one where it begins takes long."""
    found: dict[int, list[Touch]] = {}
    for each in touched:
        found.setdefault(id(each[0]), []).append(each)
    return found.values()


def _arrays(touched: Iterable[Touch]) -> dict[tuple[int, int, int], np.ndarray]:
    """The arrays that are touched, by where they begin, the bytes of an element, and their length."""
    arrays = [of_one[0][0] for of_one in _by_array(touched)]
    return {(each.address, each.elements.itemsize, each.elements.size): each.elements for each in arrays}


def _addresses(touched: list[Touch]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where in this machine's memory elements lie, which threads touch them, and how many stores were run before."""
    if not touched:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    begins = {id(of_one[0][0]): of_one[0][0].address for of_one in _by_array(touched)}
    places = [begins[id(array)] + numbers * array.elements.itemsize for array, numbers, _, _ in touched]
    before = [np.full(len(who), stores) for _, _, who, stores in touched]
    return np.concatenate(places), np.concatenate([each[2] for each in touched]), np.concatenate(before)
