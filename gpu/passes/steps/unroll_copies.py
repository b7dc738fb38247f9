"""Unrolls the copies of a thread, so that each lies a fixed distance behind the first one.

    for element in 8*thread..4096 by 1024:
      copy 8 elements to X_tile[…, element / 32, element % 32] from X[m_1 + element / 32, ahead + element % 32]
    ->
    for round in 0..4096 by 1024, unrolled:
      copy 8 elements to X_tile[…, 8*thread / 32 + round / 32, 8*thread % 32] from X[m_1 + …, …]

Then a thread needs one address for all of them, and the compiler knows how many there are. Conditions are taken apart
as places are. The pass applies where all threads copy equally often and, to copies with conditions, where the words of
a part are loaded ahead. Source: unrolled iterators of CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpu.passes.facts.divisors import Divisors, apart, with_loops
from gpu.passes.facts.neighbours import ELEMENT, ROUND
from gpu.passes.facts.registers import MOST_UNROLLED, PARTS
from gpu.passes.facts.workers import THREAD
from tiling.loops.index import Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, For, Inside
from tiling.loops.machines import Copy
from tiling.loops.walk import walk

# Conditions of steps of one part stay in loops: in tf32, with rows of 4093 and tiles of 32 x 16 a warp, NVRTC 13.0 gave
# threads 96 registers for 48 on sm_80, and spilled 16 bytes.


def unroll_copies(kernel: Kernel) -> Kernel:
    """The kernel with unrolled copies."""
    ahead = any(isinstance(s, Alloc) and PARTS in s.buffer.axes for s in walk(kernel.body))
    return replace(kernel, body=with_loops(kernel.body, partial(_unrolled, ahead=ahead)))


def _unrolled(loop: For, threads: int, known: Divisors, ahead: bool) -> Body | None:
    """The loop over the elements that a thread copies, unrolled; None for any other loop.

    ahead: whether words are loaded ahead.
    """
    copy, size = loop.body[0], loop.stop.offset
    if loop.name != ELEMENT or not isinstance(copy, Copy) or (copy.conditions and not ahead):
        return None
    first = variable(THREAD) * copy.count
    begin = loop.start - first
    if not begin.is_constant or loop.step != threads * copy.count or size % loop.step:
        return None
    if size - begin.offset > MOST_UNROLLED * loop.step:
        return None
    place, known = first + variable(ROUND), {**known, ROUND: loop.step}

    def at(index: Index) -> Index:
        return apart(index.replaced({ELEMENT: place}), known)

    to, source = (Address(a.buffer, tuple(map(at, a.at))) for a in (copy.target, copy.source))
    tests = tuple(replace(test, index=at(test.index)) for test in copy.conditions if isinstance(test, Inside))
    if len(tests) < len(copy.conditions):
        return None
    each = replace(copy, target=to, source=source, conditions=tests)
    return (For(ROUND, begin, constant(size), loop.step, (each,), "unrolled"),)
