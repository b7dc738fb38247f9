"""About how many registers the threads of matrix instructions need, and so how many blocks a multiprocessor holds."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from gpu.passes.facts.reading import elements
from gpu.passes.facts.rings import STAGE
from gpu.passes.facts.workers import MEMBER, WARP_SIZE, WORKERS, threads_of
from tiling.loops.language import Alloc, Beside, Body, Buffer, Condition, Copy, For, Inside, Store
from tiling.loops.walk import walk

PARTS = "parts"  # the axis of registers that hold all parts of a step, of which two are needed at once
_MOST = 255  # of a thread
_ALL = 65536  # of a multiprocessor, from sm_80 on
_SCHEDULERS = 4  # of a multiprocessor: each has a quarter of its warps and registers
_SHARED = 228 << 10  # bytes: the most shared memory that a multiprocessor has; the system takes 1 KiB of each block
# What a thread needs besides sums and words: addresses, conditions, counters. ptxas has the last word.
_OTHERS = 48
# The same where a warp of its own copies, and wgmma reads the tiles: NVRTC 13.0 takes 22 to 26 beside the sums.
_OTHERS_BESIDE = 32
_COPYING = 40  # for what a thread copies itself
_PLACE, _MOST_PLACES = 2, 8  # for each pixel that a thread copies from only where it lies on the image


def fit(needed: int, threads: int) -> bool:
    """Whether threads that need so many registers beside all others fit in a multiprocessor."""
    return needed + _OTHERS <= _MOST and (needed + _OTHERS) * threads <= _ALL


def held(buffer: Buffer) -> int:
    """Registers of a thread that hold a buffer at once."""
    parts = next((extent for extent, axis in zip(buffer.shape, buffer.axes) if axis == PARTS), 1)
    each = prod(extent for extent, axis in zip(buffer.shape, buffer.axes) if axis not in WORKERS)
    return each // parts * min(2, parts)


def blocks_at_once(launch: For, shared_bytes: int) -> int:
    """Blocks that a multiprocessor has registers and shared memory for.

    ptxas is told this number. Else threads take registers that other blocks need.
    """
    threads = threads_of(launch)
    buffers = [s.buffer for s in walk(launch.body) if isinstance(s, Alloc)]
    tiles = {buffer.name: buffer for buffer in buffers if buffer.memory == "shared"}
    needed = sum(held(b) for b in buffers if b.memory == "registers" and MEMBER in b.axes)
    needed += _OTHERS_BESIDE if any(isinstance(s, Beside) for s in walk(launch.body)) else _OTHERS
    needed += staging(launch.body, tiles, threads)
    warps = _ALL // _SCHEDULERS // (-(-needed // 8) * 8 * WARP_SIZE) * _SCHEDULERS
    return max(1, min(warps // (threads // WARP_SIZE), _SHARED // (shared_bytes + 1024)))


def staging(body: Body, tiles: Mapping[str, Buffer], threads: int) -> int:
    """Registers by which a thread stages tiles."""
    if any(isinstance(s, Store) and s.buffer in tiles for s in walk(body)):
        return _COPYING
    copies = {s.target.buffer: s for s in walk(body) if isinstance(s, Copy) and any(map(_is_of_pixel, s.conditions))}
    places = (_elements(tiles[name]) // (copy.count * threads) for name, copy in copies.items())
    return _PLACE * sum(min(_MOST_PLACES, count) for count in places)


def _is_of_pixel(test: Condition) -> bool:
    """Whether a test asks for both ends of an axis, as those of padding do; at the edges of tiles it is one end."""
    return isinstance(test, Inside) and test.low is not None


def _elements(tile: Buffer) -> int:
    """Elements of one stage of a tile."""
    return elements(tile) // (tile.shape[0] if tile.axes[0] == STAGE else 1)
