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

from gpu.passes.facts.accesses import taken
from gpu.passes.facts.divisors import Divisors, divisor, with_loops
from gpu.passes.facts.neighbours import ELEMENT, is_together, neighbours_move_together
from gpu.passes.facts.reading import elements, flat
from gpu.passes.memory.widen import get4, put4
from gpu.passes.threads.bind_points import WIDE
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Do,
    For,
    If,
    Invoke,
    Load,
    Number,
    Statement,
    Store,
)
from tiling.loops.walk import buffers_of, free_name

_PART = "part"


def widen_copies(kernel: Kernel) -> Kernel:
    """The kernel with wide copies to shared memory."""
    buffers = buffers_of(kernel)

    def widened(loop: For, threads: int, known: Divisors) -> Body | None:
        copies = loop.name == ELEMENT and isinstance(loop.body[0], Store)
        return (_widened(loop, buffers, known),) if copies else None

    return replace(kernel, body=with_loops(kernel.body, widened))


def _widened(loop: For, buffers: Mapping[str, Buffer], known: Divisors) -> For:
    (store,) = loop.body
    assert isinstance(store, Store)
    tile = buffers[store.buffer]
    value, tests = taken(store)
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
    wide = Buffer(free_name(f"{array.name}_wide", buffers), (WIDE,), (_PART,), array.dtype, "registers")
    kept, part = wide, variable(_PART)
    found: list[Statement] = [Alloc(wide)]
    get: Body = (
        Do(Invoke(get4(array.dtype), (("to", Address(wide.name, (ZERO,))), ("p", Address(load.buffer, load.at))))),
    )
    if isinstance(value, Apply):
        kept = Buffer(free_name(f"{array.name}_{tile.dtype}", buffers), (WIDE,), (_PART,), tile.dtype, "registers")
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
