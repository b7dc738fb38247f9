"""What the statements of a program's kernel need of its file: found before they are printed."""

from __future__ import annotations

from cpu.codegen.program.definitions import Definitions
from microkernels.tile.isa_row import Isa
from tiling.loops.facts.values import dtype_of, dtypes_of, telling
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Apply, Invoke, Let, Operand
from tiling.loops.rewrite import operands_of
from tiling.loops.walk import walk


def definitions_of(kernel: Kernel, isa: Isa) -> Definitions:
    """The definitions of the vectors and functions that a kernel names, in the order in which it does."""
    found, dtypes = Definitions(isa), dtypes_of(kernel)

    def add(operand: Operand) -> None:
        if isinstance(operand, Apply):
            for argument in operand.arguments:
                add(argument)
            found.applied(operand.function, dtype_of(telling(operand.function, operand.arguments), dtypes))
        elif isinstance(operand, Invoke):
            found.called(*operand.instruction.calls)
            for _, given in operand.operands:
                add(given)

    for statement in walk(kernel.body):
        if isinstance(statement, Let):
            found.vector(statement.dtype)
        elif isinstance(statement, Alloc) and statement.buffer.memory == "registers":
            found.vector(statement.buffer.dtype)
        for operand in operands_of(statement):
            add(operand)
    return found
