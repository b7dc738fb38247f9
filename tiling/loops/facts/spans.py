"""Between which places a block stores to each array: along each axis the least and the largest index.

    for i in 0..8:
      y[2*i] = …            y: from 0 to 14, and from 1 to 15
      y[2*i + 1] = …

A loop that threads share counts as a whole. Conditions make no span smaller. Stores of functions have no span, and
neither have stores whose index depends on data or on a number that the caller hands over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tiling.loops.index import ZERO, Index, Range, constant
from tiling.loops.language import THREAD, THREADS, Address, Body, Define, Do, For, Store
from tiling.loops.walk import inside

Spans = tuple[Range, ...]  # along each axis
_ALONE = {THREAD: ZERO, THREADS: constant(1)}


def spans_of(body: Body, known: Mapping[str, Range] | None = None) -> Iterator[tuple[str, Spans]]:
    """The span of the stores of a block to each array, by the array's name in the block.

    known: the ranges of the variables of loops outside the block.
    """
    ranges: dict[str, Range | None] = dict(known or {})
    for statement in body:
        here = {name: span for name, span in ranges.items() if span}
        if isinstance(statement, Define):
            ranges[statement.name] = _range(statement.index, here)
        elif isinstance(statement, For):
            start, stop = (_range(index.replaced(_ALONE), here) for index in (statement.start, statement.stop))
            here.pop(statement.name, None)
            if start and stop:
                here[statement.name] = (
                    start[0],
                    start[0] + (stop[1] - 1 - start[0]) // statement.step * statement.step,
                )
        for block in inside(statement):
            yield from spans_of(block, here)
        if isinstance(statement, Store):
            yield from _placed(statement.buffer, statement.at, here)
        elif isinstance(statement, Do):
            operands = dict(statement.invoke.operands)
            for name, spans in spans_of(statement.invoke.instruction.meaning):
                place = operands.get(name)
                if isinstance(place, Address) and len(spans) == 1:
                    for array, ((*before, (low, high))) in _placed(place.buffer, place.at, here):
                        yield array, (*before, (low + spans[0][0], high + spans[0][1]))


def overlap(one: Spans, other: Spans) -> bool:
    """Whether two spans, as boxes, have a place in common."""
    return all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(one, other, strict=True))


def _placed(array: str, at: tuple[Index, ...], ranges: Mapping[str, Range]) -> Iterator[tuple[str, Spans]]:
    spans = [_range(index, ranges) for index in at]
    if spans and all(spans):
        yield array, tuple(span for span in spans if span)


def _range(index: Index, ranges: Mapping[str, Range]) -> Range | None:
    return index.within(ranges) if ranges.keys() >= set(index.names()) else None
