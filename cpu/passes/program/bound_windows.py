"""Takes the tests of windows out of loops: the middle of an image needs none, and taps on padding are left out.

    for w in 0..56:                                              for w in 0..1:
      …                                                            …
      for r in 0..3:                                             for w in 1..56:
        for s in 0..3:                                             …
          for lane in 0..8, vector:                         ->     for r in max(0, 1 - 2*h)..3:
            … if 2*h + r - 1 >= 0 and 2*w + s - 1 >= 0 …             for s in 0..3:
                                                                       for lane in 0..8, vector:
                                                                         … x[2*h + r - 1, 2*w + s - 1, c + lane])

The innermost loop along an image is cut at its edges. Where a test is left, and what counts outside changes no
sum, the test becomes the bounds of the loop over taps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from cpu.passes.control.bound_taps import tap_bounds
from cpu.passes.program.split_ranges import settled
from tiling.loops.index import Range, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Apply, Body, Choose, For, Inside, Load, Number, Operand, Statement, Store
from tiling.loops.meaning.functions import REDUCTIONS, neutral
from tiling.loops.rewrite import operands_of, parts_of, with_values
from tiling.loops.walk import walk, with_blocks

# The least iterations in the middle of a loop that is cut. With fewer, tests at the edges take most of the time.
LEAST = 2


def bound_windows(kernel: Kernel) -> Kernel:
    """The kernel with windows bounded."""
    return replace(kernel, body=_bounded(_cut(kernel.body, kernel.ranges)))


# --- loops along images


def _cut(body: Body, ranges: Mapping[str, Range]) -> Body:
    """The block with its innermost loops along images cut."""
    found: list[Statement] = []
    for statement in body:
        inside = with_blocks(statement, lambda block: _cut(block, ranges))
        # Loops outside of one that was cut keep their tests: their edges would be cut again for each of its parts.
        found += _parts(inside, ranges) if isinstance(inside, For) and inside == statement else (inside,)
    return tuple(found)


def _parts(loop: For, ranges: Mapping[str, Range]) -> Body:
    """The loop up to the middle, in the middle, and behind it; the loop itself where it has no middle."""
    if loop.kind != "serial" or loop.limit is not None or not (loop.start.is_constant and loop.stop.is_constant):
        return (loop,)
    known = {**ranges, **_ranges(loop.body, ranges)}
    start, stop = first, last = loop.start.offset, loop.stop.offset  # of the middle: first, and last + 1
    for test in dict.fromkeys(_tests(loop.body)):
        step = test.index.coefficient(loop.name)
        rest = test.index - variable(loop.name) * step
        if step <= 0 or not set(rest.names()) <= set(known) - {loop.name}:
            continue
        least, most = rest.within(known)
        if test.low is not None:
            first = max(first, -((least - test.low) // step))
        if test.high is not None:
            last = min(last, (test.high - 1 - most) // step + 1)
    first = start - (start - first) // loop.step * loop.step  # both at whole steps from the start
    last = min(stop, start + -(-(last - start) // loop.step) * loop.step)
    if (first, last) == (start, stop) or last - first < LEAST * loop.step:
        return (loop,)
    here = {**known, loop.name: (first, range(first, last, loop.step)[-1])}
    middle = replace(loop, start=constant(first), stop=constant(last), body=settled(loop.body, here))
    before, after = replace(loop, stop=constant(first)), replace(loop, start=constant(last))
    return tuple(part for part in (before, middle, after) if part.start != part.stop)


def _ranges(body: Body, ranges: Mapping[str, Range]) -> dict[str, Range]:
    """The variables of the loops in a block, each with its bounds, where these are known of all its loops."""
    found: dict[str, Range] = {}
    unknown: set[str] = set()
    for loop in (s for s in walk(body) if isinstance(s, For)):
        known = {name: bounds for name, bounds in {**ranges, **found}.items() if name not in unknown}
        if set((*loop.start.names(), *loop.stop.names())) <= set(known):
            first, last = loop.start.within(known)[0], max(loop.start.within(known)[0], loop.stop.within(known)[1] - 1)
            before = found.get(loop.name, (first, last))
            found[loop.name] = min(first, before[0]), max(last, before[1])
        else:
            unknown.add(loop.name)
    return {name: bounds for name, bounds in found.items() if name not in unknown}


def _tests(body: Body) -> Iterator[Inside]:
    parts = (part for s in walk(body) for operand in operands_of(s) for part in parts_of(operand))
    chosen = (part for part in parts if isinstance(part, Choose))
    return (test for part in chosen for test in part.conditions if isinstance(test, Inside))


# --- loops over taps


def _bounded(body: Body) -> Body:
    """The block with its loops over taps bounded."""
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, For):
            statement = _taps(statement)
        found.append(with_blocks(statement, _bounded))
    return tuple(found)


def _taps(loop: For) -> For:
    """A loop over taps without those on padding."""
    inside = [s for s in walk(loop.body) if not isinstance(s, For)]
    own = {"lane", loop.name, *(s.name for s in walk(loop.body) if isinstance(s, For))}
    if loop.kind != "serial" or loop.step != 1 or loop.limit is not None or not inside:
        return loop
    for test in dict.fromkeys(_tests(loop.body)):
        step = test.index.coefficient(loop.name)
        of_window = step > 0 and own.isdisjoint((test.index - variable(loop.name) * step).names())
        if of_window and all(_is_idle_without(statement, test) for statement in inside):
            begin, end = tap_bounds(loop, test)
            body = tuple(with_values(statement, partial(_without, test=test)) for statement in loop.body)
            return _taps(replace(loop, start=begin, stop=end, body=body))
    return loop


def _is_idle_without(statement: Statement, test: Inside) -> bool:
    """Whether a statement is a sum to which nothing is added where the test does not hold."""
    match statement:
        case Store(value=Apply(function=function, arguments=(total, Choose(otherwise=Number() as number) as choose))):
            alike = function in REDUCTIONS and total == Load(statement.buffer, statement.at)
            return alike and test in choose.conditions and number.value == neutral(function, number.dtype)
        case _:
            return False


def _without(part: Operand, test: Inside) -> Operand | None:
    """A choice without this test; None for any other part of a value."""
    if not isinstance(part, Choose) or test not in part.conditions:
        return None
    left = tuple(condition for condition in part.conditions if condition != test)
    return replace(part, conditions=left) if left else part.value
