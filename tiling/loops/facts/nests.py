"""How many iterations loops have, and whether these are independent of each other, so that workers may share them."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.index import Index, Range, variable
from tiling.loops.language import Alloc, Body, For, Store
from tiling.loops.walk import walk


def independent(loop: For) -> bool:
    """Whether every iteration stores to places of its own, or to buffers that live inside the loop."""
    inside = list(walk(loop.body))
    own = {s.buffer.name for s in inside if isinstance(s, Alloc)}
    names = (loop.name, *(s.name for s in inside if isinstance(s, For) and _parts(loop, s)))
    stores = (s for s in inside if isinstance(s, Store) and s.buffer not in own)
    return all(any(index.coefficient(name) == 1 for index in store.at for name in names) for store in stores)


def _parts(loop: For, inner: For) -> bool:
    """Whether a loop inside has points of its own at every point of `loop`, as `j in j_block..(j_block + 16)` has."""
    count = inner.stop - inner.start
    return inner.start == variable(loop.name) and count.is_constant and count.offset <= loop.step


def trips(loop: For) -> Index:
    """How many iterations a loop has."""
    return (loop.stop - loop.start + (loop.step - 1)) // loop.step


def steps_of(loop: For) -> int:
    """How many iterations a loop has that always has the same number of them."""
    count = trips(loop)
    assert count.is_constant, f"how often {loop.name} runs is not known"
    return count.offset


def most_trips(loop: For, ranges: Mapping[str, Range]) -> int:
    """How many iterations a loop has at most. ranges: the kernel's numbers, each with its bounds."""
    return trips(loop).within(ranges)[1]


def chain(loop: For) -> tuple[list[For], Body]:
    """The nested independent loops from the outermost on, and the body of the innermost of them."""
    loops: list[For] = []
    body: Body = (loop,)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == "serial" and independent(body[0]):
        loops.append(body[0])
        body = body[0].body
    return loops, body
