"""About how many registers the threads of matrix instructions need, and so how many blocks a multiprocessor holds."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from gpu.limits.hopper import LOAD_REGISTERS, OTHER_REGISTERS
from gpu.limits.multiprocessor import LARGEST_THREAD_REGISTERS, REGISTERS, blocks_at_once
from gpu.passes.facts.reading import elements
from gpu.passes.facts.rings import STAGE
from gpu.passes.facts.workers import MEMBER, WORKERS, threads_of
from tiling.loops.buffer import Buffer
from tiling.loops.language import Address, Alloc, Body, Condition, Do, For, Inside, Statement, Store
from tiling.loops.machines import Beside, Copy
from tiling.loops.walk import walk

PARTS = "parts"  # the axis of registers that hold all parts of a step; two parts are needed at once
# What a thread needs besides sums and words: addresses, conditions, counters. ptxas has the last word.
OTHERS = 48
GATHERING = 40  # for what a thread copies itself, or gathers
MOST_UNROLLED = 8  # copies of a tile by a thread: more would keep too many addresses where each has one of its own
PLACE = 2  # for each of these that copies a pixel only where it lies on the image; from ptxas's counts


def fit(needed: int, threads: int) -> bool:
    """Whether threads that need so many registers beside all others fit in a multiprocessor."""
    return needed + OTHERS <= LARGEST_THREAD_REGISTERS and (needed + OTHERS) * threads <= REGISTERS


def held(buffer: Buffer) -> int:
    """Registers of a thread that hold a buffer at once."""
    parts = next((extent for extent, axis in zip(buffer.shape, buffer.axes) if axis == PARTS), 1)
    each = prod(extent for extent, axis in zip(buffer.shape, buffer.axes) if axis not in WORKERS)
    return each // parts * min(2, parts)


def blocks_of(launch: For, shared_bytes: int, loads_points: bool) -> int:
    """Blocks of a launch that a multiprocessor has registers and shared memory for: the number that ptxas is told.

    loads_points: whether threads load a number of an array at each point of a box that the copy engine stores.
    """
    threads = threads_of(launch)
    buffers = [s.buffer for s in walk(launch.body) if isinstance(s, Alloc)]
    tiles = {buffer.name: buffer for buffer in buffers if buffer.memory == "shared"}
    needed = sum(held(b) for b in buffers if b.memory == "registers" and MEMBER in b.axes)
    copied_beside = any(isinstance(s, Beside) for s in walk(launch.body))
    needed += OTHER_REGISTERS if copied_beside else OTHERS + staging(launch.body, tiles, threads)
    needed += LOAD_REGISTERS * loads_points
    return blocks_at_once(threads, needed, shared_bytes)


def staging(body: Body, tiles: Mapping[str, Buffer], threads: int) -> int:
    """Registers by which a thread stages tiles."""
    if any(is_stored(s, tiles) for s in walk(body)):
        return GATHERING
    copies = {s.target.buffer: s for s in walk(body) if isinstance(s, Copy) and any(map(_is_of_pixel, s.conditions))}
    places = (_elements(tiles[name]) // (copy.count * threads) for name, copy in copies.items())
    return PLACE * sum(min(MOST_UNROLLED, count) for count in places)


def is_stored(statement: Statement, tiles: Mapping[str, Buffer]) -> bool:
    """Whether a thread stores to a tile, one element or what it has gathered."""
    if isinstance(statement, Do):
        written = (operand for name, operand in statement.invoke.operands if name == "to")
        return any(isinstance(place, Address) and place.buffer in tiles for place in written)
    return isinstance(statement, Store) and statement.buffer in tiles


def _is_of_pixel(test: Condition) -> bool:
    """Whether a test asks for both ends of an axis, as those of padding do; at the edges of tiles it is one end."""
    return isinstance(test, Inside) and test.low is not None


def _elements(tile: Buffer) -> int:
    """Elements of one stage of a tile."""
    return elements(tile) // (tile.shape[0] if tile.axes[0] == STAGE else 1)
