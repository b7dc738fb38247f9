"""Copies numbers that need no conversion to shared memory asynchronously: the thread goes on until a wait.

    for thread in 0..128, thread:
      for element in thread..2048 by 128:
        X_tile[…] = X[…]
    W_tile[32, 64] of f16 in shared memory
    for thread in 0..128, thread:
      for element in thread..2048 by 128:
        W_tile[…] = W[…]
    ->
    W_tile[32, 64] of f16 in shared memory
    for thread in 0..128, thread:
      for element in 8*thread..2048 by 1024:
        copy 8 elements to X_tile[…] from X[…]
      for element in 8*thread..2048 by 1024:
        copy 8 elements to W_tile[…] from W[…]
      commit
      wait

A copy takes 16, 8 or 4 bytes: the most that divide the places in the array and in the tile. What is left are 16-bit
numbers of rows of odd length, which threads gather. The copies of all tiles of a block run at the same time. Source:
cp.async of CUTLASS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu.passes.facts.accesses import taken
from gpu.passes.facts.divisors import Divisors, divisor, known_after, known_inside
from gpu.passes.facts.neighbours import ELEMENT, is_together, neighbours_move_together
from gpu.passes.facts.reading import WIDTH, elements, flat
from gpu.passes.facts.workers import THREADS_OF_BLOCK
from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, For, Load, Statement, Store
from tiling.loops.machines import Commit, Copy, Wait
from tiling.loops.walk import buffers_of, with_blocks

_BYTES = (16, 8, 4)  # that one copy may take


def copy_asynchronously(kernel: Kernel) -> Kernel:
    """The kernel with asynchronous copies."""
    buffers = buffers_of(kernel)

    def body(block: Body, known: Divisors) -> Body:
        found: list[Statement] = []
        for statement in block:
            known = known_after(statement, known)
            if isinstance(statement, For) and fills(statement):
                (loop,) = statement.body
                assert isinstance(loop, For)
                found.append(replace(statement, body=(_copied(loop, buffers, known),)))
                continue
            inner = known_inside(statement, known)
            found.append(with_blocks(statement, lambda inside, inner=inner: body(inside, inner)))  # type: ignore[misc]
        return _together(tuple(found))

    return replace(kernel, body=body(kernel.body, {}))


def fills(statement: Statement) -> bool:
    """Whether a statement is the loop over threads that fill tiles."""
    if not isinstance(statement, For) or statement.kind != THREADS_OF_BLOCK:
        return False
    first = statement.body[0]
    return isinstance(first, For) and first.name == ELEMENT


def _copied(loop: For, buffers: Mapping[str, Buffer], known: Divisors) -> For:
    """The loop over elements of a tile, by copies of several where they may be."""
    (store,) = loop.body
    assert isinstance(store, Store)
    value, tests = taken(store)
    if not isinstance(value, Load):
        return loop
    array, tile = buffers[value.buffer], buffers[store.buffer]
    places = (flat(array, value.at), flat(tile, store.at))
    for count in (size // WIDTH[tile.dtype] for size in _BYTES):
        inside = {**known, ELEMENT: count}
        whole = tile.shape[-1] % count == 0 and elements(tile) % count == 0
        aligned = whole and not any(divisor(place, inside) % count for place in places)
        if aligned and all(neighbours_move_together(place, count) for place in places):
            if not all(is_together(test, inside, count) for test in tests):
                continue
            copy = Copy(Address(store.buffer, store.at), Address(value.buffer, value.at), count, tests)
            return replace(loop, start=loop.start * count, step=loop.step * count, body=(copy,))
    return loop


def _together(body: Body) -> Body:
    """The block where loops over threads that fill tiles, one after the other, are one, with a wait at its end."""
    found: list[Statement] = []
    filling: list[For] = []
    for statement in (*body, None):
        if isinstance(statement, For) and fills(statement):
            filling.append(statement)
        elif statement is not None and isinstance(statement, Alloc) and filling:
            found.append(statement)  # tiles come before those who fill them
        else:
            found += _waited(filling)
            filling = []
            found += [statement] if statement is not None else []
    return tuple(found)


def _waited(filling: list[For]) -> Body:
    """Loops that fill tiles, joined to one loop, which waits where there are copies."""
    loops = tuple(s for each in filling for s in each.body)
    if not any(isinstance(loop, For) and isinstance(loop.body[0], Copy) for loop in loops):
        return tuple(filling)
    return (replace(filling[0], body=(*loops, Commit(), Wait())),)
