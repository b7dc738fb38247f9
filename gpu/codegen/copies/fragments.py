"""How a warp loads an input's fragments from a tile in shared memory: the text of one device function.

The instructions' task maps say which lane reads what. ldmatrix loads a fragment where the tile's columns are the
reduction, and transposes it where its rows are. It does not transpose 32-bit elements; these are loaded one by one.
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
    if operand.by_word:
        return _word_lines(operand, size)
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


def rounding_lines(operand: Operand) -> list[str]:
    """The body of the function that rounds fragments to tf32; empty where the instruction does not truncate."""
    if not operand.pipeline.instruction.truncates:
        return []
    return [
        "#pragma unroll",
        f"for (unsigned i = 0; i < {operand.registers * operand.fragments}; ++i)",
        "    registers[i] = round_tf32(registers[i]);",
    ]


def _word_lines(operand: Operand, size: int) -> list[str]:
    pipeline, name = operand.pipeline, operand.tensor.name
    fragment = (pipeline.instruction.a, pipeline.instruction.b)[operand.side]
    assert fragment is not None  # only a warpgroup's instruction loads no fragments
    counters = ("half", "side")[: len(fragment.loops)]
    register = " + ".join(["2 * half", "side"] if operand.side == 0 else ["half"])
    lines = [f"const unsigned lane = {pipeline.lane_map.index(1, 'threadIdx.x')};"]
    for counter, count in (("i", operand.fragments), *zip(counters, fragment.loops)):
        lines += ["#pragma unroll", f"for (unsigned {counter} = 0; {counter} < {count}; ++{counter})"]
    lines = [lines[0], *("    " * (i // 2) + line for i, line in enumerate(lines[1:]))]
    pad = "    " * (1 + len(counters))
    column = added(f"i * {size}", "first", fragment.index(0, "lane", counters))
    row = added(f"part * {pipeline.instruction.depth}", fragment.index(1, "lane", counters))
    address = f"tile + {name}_at({row}, ({column}) / 4) + ({column}) % 4 * 4"
    lines.append(f"{pad}registers[{operand.registers} * i + {register}] = load_shared({address});")
    return lines
