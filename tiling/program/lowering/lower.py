"""A program as plain loops over scalars: the first form of its kernel, which says what is computed and nothing else.

    y[i] = sum[j] x[i,j] else 0         ->      for i in 0..4:
                                                  acc_y[1] in registers
                                                  acc_y[0] = 0
                                                  for j in 0..5:
                                                    acc_y[0] += (x[i, j] if 0 <= j < 3 else 0)
                                                  y[i] = acc_y[0]

Statements of a group share loops (`tiling.program.lowering.group`), and have loops of their own inside.
"""

from __future__ import annotations

from itertools import count

from tiling.loops import language as loops
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc
from tiling.program.infer import Sized
from tiling.program.lowering.blocks import Blocks
from tiling.program.lowering.group import groups
from tiling.program.lowering.limits import limits
from tiling.program.lowering.online import online
from tiling.program.lowering.statements import StatementLoops, buffer, over, row_of


def lower_program(program: Sized) -> Kernel:
    """The kernel of a program: its inputs, then its outputs, as arrays in the order of the arguments."""
    found, numbers, known = groups(program), count(), limits(program)
    near = {name for group in found for name in (*group.rows, *program.outputs)}
    body: list[loops.Statement] = [Alloc(buffer(program, a)) for a in program.assigned if a.name not in near]
    for group in found:
        along = online(program, group)
        if along:
            body += Blocks(program, group, along, known, numbers).loops()
            continue
        inside: list[loops.Statement] = [Alloc(row_of(program, group, name)) for name in group.rows]
        for statement in group.statements:
            ends = {dim: limit for (array, dim), limit in known.items() if array == statement.array}
            inside += StatementLoops(program, group, statement, ends, numbers).loops()
        body += over(program, group.dims, tuple(inside))
    outputs = (array for array in program.assigned if array.name in program.outputs)
    arrays = tuple(buffer(program, array) for array in (*program.inputs, *outputs))
    return Kernel(arrays, tuple(body), numbers=tuple(program.numbers.items()))
