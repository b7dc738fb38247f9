"""Which lanes of its operands an instruction brings together, as its meaning says."""

from __future__ import annotations

from tiling.loops.index import LANE
from tiling.loops.language import Address, Invoke, Load
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk


def crosses_lanes(invoke: Invoke) -> bool:
    """Whether a lane of the result follows from other lanes of a vector: all of them are combined, or exchanged."""
    vectors = {name for name, given in invoke.operands if not isinstance(given, Address)}
    operands = (operand for statement in walk(invoke.instruction.meaning) for operand in operands_of(statement))
    loads = (part for operand in operands for part in parts_of(operand) if isinstance(part, Load))
    return any("lane" in at.names() and at != LANE for load in loads if load.buffer in vectors for at in load.at)
