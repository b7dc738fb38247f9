"""What neighbours of a tile have in common: whether one access takes several elements, where threads fill the tile."""

from __future__ import annotations

from gpu.passes.facts.divisors import Divisors, divisor
from tiling.loops.index import Index, Operation
from tiling.loops.language import Condition, Inside

ELEMENT = "element"  # the loop over the elements of a tile that a thread copies
ROUND = "round"  # the same without the thread's own place, where all threads copy equally often


def neighbours_move_together(place: Index, count: int) -> bool:
    """Whether the places of `count` neighbours, from a multiple of `count` on, are neighbours too."""
    first = dict.fromkeys(place.names(), 0)
    return all(place.at({**first, ELEMENT: each}) - place.at({**first, ELEMENT: 0}) == each for each in range(count))


def is_together(test: Condition, known: Divisors, count: int) -> bool:
    """Whether a test holds for all of `count` neighbours, from a multiple of `count` on, or for none."""
    assert isinstance(test, Inside)
    if _is_shared(test.index, known, count):
        return True
    bounds = (bound or 0 for bound in (test.low, test.high))
    return _is_run(test.index, known, count) and all(bound % count == 0 for bound in bounds)


def _is_run(index: Index, known: Divisors, count: int) -> bool:
    """Whether `count` neighbours have numbers that follow each other, from a multiple of `count` on."""
    return divisor(index, known) % count == 0 and neighbours_move_together(index, count)


def _is_shared(index: Index, known: Divisors, count: int) -> bool:
    """Whether `count` neighbours have the same index."""
    return all(
        ELEMENT not in (term.names() if isinstance(term, Operation) else (term,))
        or (isinstance(term, Operation) and _is_shared_operation(term, known, count))
        for term, _ in index.terms
    )


def _is_shared_operation(one: Operation, known: Divisors, count: int) -> bool:
    if _is_shared(one.left, known, count) and _is_shared(one.right, known, count):
        return True
    by = one.right.offset if one.operation == "/" and one.right.is_constant else 0
    return by > 0 and by % count == 0 and _is_run(one.left, known, count)
