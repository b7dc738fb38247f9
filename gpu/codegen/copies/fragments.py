"""How a warp loads an input's fragments from a tile in shared memory: the text of one device function.

The instructions' task maps say which lane reads what. ldmatrix loads a fragment where the tile's columns are the
reduction, and transposes it where its rows are. Only kernels whose threads gather load them so, of 16 bits.
"""

from __future__ import annotations

from gpu.codegen.copies.operand import Operand
from gpu.codegen.pipeline.instructions import A_MATRICES, B_MATRICES, CHUNK, matrix_rows
from tiling.expression import added


def fragment_lines(operand: Operand) -> list[str]:
    """The body of the function that loads a warp's fragments of one instruction depth, `part`, from a stage."""
    pipeline, name = operand.pipeline, operand.tensor.name
    instruction = pipeline.instruction
    size = (instruction.rows, instruction.columns)[operand.side]
    matrices = (A_MATRICES, B_MATRICES)[operand.side]
    at = matrix_rows(matrices, operand.transposed)
    chunk = CHUNK // pipeline.element_bytes
    # One ldmatrix loads four registers: one fragment of a, or two fragments of b.
    at_once = 4 // operand.registers
    along, deep = added(f"i * {size * at_once}", "first"), f"part * {instruction.depth}"
    row, column = (deep, along) if operand.transposed else (along, deep)
    call = "ldmatrix_x4_trans" if operand.transposed else "ldmatrix_x4"
    lines = [
        f"const unsigned lane = {pipeline.lane_map.index(1, 'threadIdx.x')};",
        "#pragma unroll",
        f"for (unsigned i = 0; i < {operand.fragments // at_once}; ++i)",
        f"    {call}(registers + 4 * i, tile + {name}_at({added(row, at.index(0, 'lane'))}, "
        f"{added(f'({column}) / {chunk}', at.index(1, 'lane'))}));",
    ]
    return lines
