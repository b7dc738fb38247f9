"""Inputs whose rows are not multiples of 16 bytes apart, as a tensor map needs them: which are copied in bulk all the
same.

Eight rows of 16-bit elements together are such a multiple. So an input has eight maps, each of every eighth row, its
phase, and a tile's rows lie in shared memory one phase after the other.
"""

from __future__ import annotations

from gpu.instructions import CHUNK
from gpu.operand import Operand
from tiling.problem import DTYPE_BYTES

PHASES = 8


def rows_by_phase(inputs: tuple[Operand, Operand]) -> int:
    """Rows of the output's tile of each phase, which lie one phase after the other; 0 where rows lie in their order."""
    return inputs[0].tile[0] // PHASES if in_phases(inputs)[0] and not inputs[0].in_blocks else 0


def in_phases(inputs: tuple[Operand, Operand]) -> tuple[bool, bool]:
    """Which inputs are copied phase by phase. Of one along the reduction that only changes the order of the tile's rows
    or columns; of one across it, the order of the depths, which both inputs must then have. A lane has eight columns
    side by side where its warpgroup has all phases, and stores two of 16 bits as a word.
    """
    if inputs[0].pipeline.taps:
        return False, False
    wrong = [o.tensor.strides[-2] * o.pipeline.element_bytes % CHUNK > 0 for o in inputs]
    if inputs[0].in_blocks and inputs[1].in_blocks:
        return any(wrong), any(wrong)
    problem, alone = inputs[0].pipeline.problem, inputs[0].pipeline.warp_map.shape[1] == 1
    pairs = alone and DTYPE_BYTES[problem.output_dtype] == 2
    return wrong[0] and not inputs[0].in_blocks, wrong[1] and not inputs[1].in_blocks and pairs


def columns_by_phase(inputs: tuple[Operand, Operand]) -> bool:
    """Whether the columns of the output's tile lie phase by phase."""
    return in_phases(inputs)[1] and not inputs[1].in_blocks
