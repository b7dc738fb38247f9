"""The masks of a kernel that has a scheme: a name for every number of lanes, and the C text that defines it.

TAIL is the mask of the last vector. Blocks of rows that are transposed, and vectors of parts of sums, may have others.
"""

from __future__ import annotations

from collections.abc import Mapping

from microkernels.tile.isa_row import Isa
from microkernels.tile.lanes import TAIL, lanes_definition, tail_definition
from tiling.loops.kernel import Kernel
from tiling.loops.language import Mask
from tiling.loops.rewrite import instructions_in
from tiling.loops.walk import bodies, walk


def mask_names(kernel: Kernel, tail: int, numbers: bool) -> dict[int, str]:
    """The name of each mask that instructions of a kernel take, by its lanes.

    tail: the lanes of the last vector, 0 where it is full. numbers: x has narrow numbers, so the C functions that load
    them may take the mask of the last vector.
    """
    taken = masks_in(kernel) | ({tail} if numbers and tail else set())
    return {lanes: TAIL if lanes == tail else f"FIRST_{lanes}" for lanes in sorted(taken)}


def masks_in(kernel: Kernel) -> set[int]:
    """The masks that instructions of a kernel take, each by its lanes."""
    invokes = (invoke for body in bodies(kernel) for s in walk(body) for invoke in instructions_in(s))
    return {given.lanes.offset for invoke in invokes for _, given in invoke.operands if isinstance(given, Mask)}


def mask_definitions(isa: Isa, names: Mapping[int, str]) -> tuple[list[str], list[str]]:
    """The C text that defines TAIL, if there is one, and the texts of the other masks."""
    tail = [tail_definition(isa, lanes) for lanes, name in names.items() if name == TAIL]
    others = ((lanes, name) for lanes, name in names.items() if name != TAIL)
    return tail, [lanes_definition(isa, name, lanes, f"a block of {lanes} rows") for lanes, name in others]
