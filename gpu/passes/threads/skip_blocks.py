"""Lets blocks whose whole tile lies beyond an edge do nothing.

    for block in 0..32, block:                for block in 0..32, block:
      m_2 = 256*(block / 16)                    m_2 = 256*(block / 16)
      n = 32*(block / 8 % 2)            ->      n = 32*(block / 8 % 2)
      m_1 = 32*(block % 8) + m_2                m_1 = 32*(block % 8) + m_2
      acc[2, 32, 1, 4, 4] in registers          if m_1 < 300:
      …                                           acc[2, 32, 1, 4, 4] in registers
                                                  …

There are such blocks where several loops share a dim among blocks.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.workers import BLOCK, with_launches
from tiling.loops.index import Range, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Define, For, If, Inside
from tiling.scheme.scheme import Scheme


def skip_blocks(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose blocks beyond the edges do nothing."""
    extents = {dim: extent for dim, extent in scheme.extents.items() if dim[0] not in scheme.problem.reductions}
    return with_launches(kernel, lambda launch: replace(launch, body=_skipping(launch, extents)))


def _skipping(launch: For, extents: dict[str, int]) -> Body:
    places = [s for s in launch.body if isinstance(s, Define)]
    ranges: dict[str, Range] = {BLOCK: (0, launch.stop.offset - 1)}
    begins: dict[str, str] = {}  # of each dim, the variable of its innermost loop over blocks
    for place in places:
        ranges[place.name] = place.index.within(ranges)
        begins[place.name.partition("_")[0]] = place.name
    tests = tuple(
        Inside(variable(name), None, extents[dim])
        for dim, name in begins.items()
        if dim in extents and ranges[name][1] >= extents[dim]
    )
    rest = tuple(s for s in launch.body if s not in places)
    return (*places, If(tests, rest)) if tests else launch.body
