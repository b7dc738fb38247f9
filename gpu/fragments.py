"""How a warp loads an input's fragments from a tile in shared memory: the text of one device function.

Which lane reads what comes from the instructions' task maps. ldmatrix gives a fragment as it is where the tile's
columns are the reduction, and transposes where its rows are; 32-bit elements, which it does not transpose, are loaded
one by one.
"""

from __future__ import annotations

from gpu.instructions import A_MATRICES, B_MATRICES, CHUNK, matrix_rows
from gpu.operand import Operand
from tiling.expression import added


def fragment_lines(operand: Operand) -> list[str]:
    """The body of the function that loads a warp's fragments of one instruction depth, `part`, from the slot."""
    pipeline, name = operand.pipeline, operand.tensor.name
    instruction = pipeline.instruction
    size = (instruction.rows, instruction.columns)[operand.side]
    if operand.by_word:
        return _word_lines(operand, size)
    matrices = (A_MATRICES, B_MATRICES)[operand.side]
    at = matrix_rows(matrices, operand.transposed)
    chunk = CHUNK // pipeline.element_bytes
    # One ldmatrix gives four registers: one fragment of a, two of b.
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
    if instruction.truncates:
        lines += _rounding(operand)
    return lines


def _word_lines(operand: Operand, size: int) -> list[str]:
    pipeline, name = operand.pipeline, operand.tensor.name
    fragment = (pipeline.instruction.a, pipeline.instruction.b)[operand.side]
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
    return lines + _rounding(operand)


def _rounding(operand: Operand) -> list[str]:
    return [
        "#pragma unroll",
        f"for (unsigned i = 0; i < {operand.registers * operand.fragments}; ++i)",
        "    registers[i] = round_tf32(registers[i]);",
    ]
