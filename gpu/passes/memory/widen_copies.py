"""Stages four neighbours in one access, where they begin at a place that four divides in the array and in the tile.

    for element in thread..512 by 128:                 for element in 4*thread..512 by 512:
      X_tile[element / 8, element % 8] = X[…]    ->      X_wide[4] in registers
                                                         get4(to: X_wide, p: X + […])
                                                         put4(to: X_tile + […], v: X_wide)

Whether four divides a place follows from the steps of the loops around it. Four neighbours on an edge are 0 together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu.passes.facts.divisors import Divisors, divisor, known_after, known_inside
from gpu.passes.facts.reading import buffers_of, elements, flat
from gpu.passes.memory.stage_tiles import ELEMENT
from gpu.passes.memory.widen import get4, put4
from gpu.passes.threads.bind_points import WIDE
from tiling.loops.index import ZERO, Index, Part, constant, variable
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Buffer,
    Choose,
    Condition,
    Do,
    For,
    If,
    Inside,
    Invoke,
    Kernel,
    Load,
    Number,
    Statement,
    Store,
)
from tiling.loops.walk import with_blocks

_PART = "part"


def widen_copies(kernel: Kernel) -> Kernel:
    """The kernel with wide copies to shared memory."""
    buffers = buffers_of(kernel)

    def body(block: Body, known: Divisors) -> Body:
        found: list[Statement] = []
        for statement in block:
            known = known_after(statement, known)
            if isinstance(statement, For) and statement.name == ELEMENT and isinstance(statement.body[0], Store):
                found.append(_widened(statement, buffers, known))
                continue
            inner = known_inside(statement, known)
            found.append(with_blocks(statement, lambda inside, inner=inner: body(inside, inner)))  # type: ignore[misc]
        return tuple(found)

    return replace(kernel, body=body(kernel.body, {}))


def _widened(loop: For, buffers: Mapping[str, Buffer], known: Divisors) -> For:
    (store,) = loop.body
    assert isinstance(store, Store)
    tile = buffers[store.buffer]
    value, tests = (store.value.value, store.value.conditions) if isinstance(store.value, Choose) else (store.value, ())
    load = value.arguments[0] if isinstance(value, Apply) else value  # a number of 16 bits is converted
    assert isinstance(load, Load)
    known = {**known, ELEMENT: WIDE}
    array = buffers[load.buffer]
    places = (flat(array, load.at), flat(tile, store.at))
    if tile.shape[-1] % WIDE or elements(tile) % WIDE or any(divisor(place, known) % WIDE for place in places):
        return loop
    if not all(neighbours_move_together(place, WIDE) for place in places):
        return loop
    if not all(is_together(test, known, WIDE) for test in tests):
        return loop
    wide = Buffer(f"{array.name}_wide", (WIDE,), (_PART,), array.dtype, "registers")
    kept, part = wide, variable(_PART)
    found: list[Statement] = [Alloc(wide)]
    get: Body = (
        Do(Invoke(get4(array.dtype), (("to", Address(wide.name, (ZERO,))), ("p", Address(load.buffer, load.at))))),
    )
    if isinstance(value, Apply):
        kept = Buffer(f"{array.name}_{tile.dtype}", (WIDE,), (_PART,), tile.dtype, "registers")
        found.append(Alloc(kept))
        get += (_each(Store(kept.name, (part,), Apply(value.function, (Load(wide.name, (part,)),)))),)
    if tests:
        get = (If(tests, get, (_each(Store(kept.name, (part,), Number(0, tile.dtype))),)),)
    given = (("to", Address(store.buffer, store.at)), ("v", Address(kept.name, (ZERO,))))
    body = (*found, *get, Do(Invoke(put4(tile.dtype), given)))
    return replace(loop, start=loop.start * WIDE, step=loop.step * WIDE, body=body)


def _each(statement: Statement) -> For:
    """The statement for each of the neighbours."""
    return For(_PART, ZERO, constant(WIDE), 1, (statement,), "unrolled")


def neighbours_move_together(place: Index, count: int) -> bool:
    """Whether the places of `count` elements from a multiple of it on are neighbours too."""
    first = dict.fromkeys(place.names(), 0)
    return all(place.at({**first, ELEMENT: each}) - place.at({**first, ELEMENT: 0}) == each for each in range(count))


def is_together(test: Condition, known: Divisors, count: int) -> bool:
    """Whether a test holds for all of `count` neighbours from a multiple of it on, or for none."""
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
        ELEMENT not in (term.names() if isinstance(term, Part) else (term,))
        or (isinstance(term, Part) and _is_shared_part(term, known, count))
        for term, _ in index.terms
    )


def _is_shared_part(part: Part, known: Divisors, count: int) -> bool:
    if _is_shared(part.left, known, count) and _is_shared(part.right, known, count):
        return True
    by = part.right.offset if part.operation == "/" and part.right.is_constant else 0
    return by > 0 and by % count == 0 and _is_run(part.left, known, count)
