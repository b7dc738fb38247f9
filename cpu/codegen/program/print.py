"""Prints the last form of a program's kernel as C: one line a statement.

    x_0 = load(p: x + [i, j])          const __m512 x_0 = _mm512_loadu_ps(x + i * x_i + j);
    acc_y[lane] = acc_y[lane] + x_0    acc_y = acc_y + x_0;

A buffer in registers is a vector with its name. `[each]` is one of its lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from cpu.codegen.indices import in_scratch, words_of
from cpu.codegen.print import Printer
from cpu.codegen.program.functions import BEFORE, COMPARED, INFIX, c_name, comparison, vector_type
from cpu.passes.program.lanes.instructions import literal
from cpu.runtime.numbers import ELEMENTS
from tiling.loops.buffer import Buffer
from tiling.loops.c_text import number
from tiling.loops.facts.values import dtype_of, dtypes_of, telling
from tiling.loops.index import LANE, Index, constant
from tiling.loops.language import (
    LINE,
    Address,
    Alloc,
    Apply,
    Invoke,
    Let,
    Load,
    Mask,
    Number,
    Operand,
    Position,
    Read,
    Register,
    Statement,
    Value,
)

_TIGHT = {"*": 4, "/": 4, "+": 3, "-": 3, "&": 2, "|": 1}
FIRST = "FIRST"  # the macro of the first lanes of a vector, so many as a call has


@dataclass(frozen=True)
class ProgramPrinter(Printer):
    """Prints the statements of a program's kernel."""

    @cached_property
    def dtypes(self) -> dict[str, str]:
        """The dtype of every buffer and register."""
        return dtypes_of(self.kernel)

    def vector_of(self, dtype: str) -> str:
        """The C type of a vector of a dtype."""
        return vector_type(dtype, self.vector)

    def line(self, statement: Statement, arrays: Mapping[str, str]) -> str:
        """A statement that is one line."""
        match statement:
            case Alloc(buffer, _, first) if buffer.memory == "registers":
                value = "" if first is None else f" = {self.operand(first, arrays)}"
                return f"{self.vector_of(buffer.dtype)} {buffer.name}{value};"
            case Alloc(buffer, at):
                return self.array(buffer, at)
            case Let(name, value, changes, dtype) if value is not None:
                before = "" if changes else "const "
                return f"{before}{self.vector_of(dtype)} {name} = {self.operand(value, arrays)};"
            case Read(name, value):
                return f"const long {name} = {self.operand(value, arrays)};"
        return super().line(statement, arrays)

    def array(self, buffer: Buffer, at: Index | None) -> str:
        """The declaration of a buffer in memory. at: its place in scratch memory."""
        element = ELEMENTS[buffer.dtype].c
        if buffer.memory == "stack":
            return f"{element} {buffer.name}[{prod(buffer.shape)}] __attribute__((aligned({LINE})));"
        assert at is not None
        return f"{element} *const {buffer.name} = ({element} *){in_scratch(at)};"

    def operand(self, operand: Operand, arrays: Mapping[str, str]) -> str:
        """A value, or another operand of an instruction."""
        match operand:
            case Number():
                return literal(operand)
            case Position(index):
                return number(index)
            case Mask(lanes):
                return self.masks[lanes.offset] if lanes.is_constant else f"{FIRST}({number(lanes)})"
            case Apply(function, arguments):
                return self.applied(function, arguments, arrays)
        return super().operand(operand, arrays)

    def applied(self, function: str, arguments: tuple[Value, ...], arrays: Mapping[str, str]) -> str:
        """A function of vectors: an operator of C, or a call."""
        dtype = dtype_of(telling(function, arguments), self.dtypes)
        given = [self.operand(argument, arrays) for argument in arguments]
        if function in BEFORE:
            return f"{BEFORE[function]}{given[0] if _is_one(arguments[0]) else f'({given[0]})'}"
        if function in COMPARED:
            left, right = given
            return comparison(function, left, right, dtype)
        if function in INFIX:
            symbol = INFIX[function]
            left = given[0] if _binds(arguments[0]) >= _TIGHT[symbol] else f"({given[0]})"
            right = given[1] if _binds(arguments[1]) > _TIGHT[symbol] else f"({given[1]})"
            return f"{left} {symbol} {right}"
        return f"{c_name(function, dtype)}({', '.join(given)})"

    def element(self, buffer: str, at: tuple[Index, ...], arrays: Mapping[str, str]) -> str:
        """A vector, one of its lanes, or an element of an array."""
        if self.buffers[buffer].memory == "registers":
            return buffer if at == (LANE,) else f"{buffer}[{number(at[0])}]"
        return f"{buffer}[{self.further(Address(buffer, at), arrays)}]"

    def address(self, address: Address, arrays: Mapping[str, str]) -> str:
        """A pointer and the elements that it moves by."""
        return " + ".join([address.buffer, *self.steps(address, arrays)])

    def steps(self, address: Address, arrays: Mapping[str, str]) -> list[str]:
        """How far each axis moves a pointer, where it does."""
        buffer = self.buffers[address.buffer]
        terms = []
        for index, name, stride in zip(address.at, buffer.axes, buffer.steps):
            text = number(index)
            if index == Index(()):
                continue
            if stride != constant(1):
                text = f"({text})" if " + " in text or " - " in text else text
                text = stride_name(buffer, name) if text == "1" else f"{text} * {stride_name(buffer, name)}"
            terms.append(text)
        return terms

    def strides(self, lines: Sequence[str]) -> list[tuple[str, Index]]:
        """(name, elements) of every stride that these lines name. Those of runtime extents differ from call to call."""
        words = words_of(lines)
        arrays = [buffer for buffer in self.buffers.values() if buffer.memory != "registers"]
        named = ((stride_name(b, axis), stride) for b in arrays for axis, stride in zip(b.axes, b.steps))
        return [(name, stride) for name, stride in named if stride != constant(1) and name in words]


def stride_name(buffer: Buffer, axis: str) -> str:
    """The C name of the stride of an axis."""
    return f"{buffer.name}_{axis}"


def _is_one(operand: Operand) -> bool:
    """Whether a text needs no brackets anywhere."""
    return isinstance(operand, (Register, Load, Number, Invoke)) or (
        isinstance(operand, Apply) and operand.function not in (*INFIX, *BEFORE)
    )


def _binds(operand: Operand) -> int:
    """How tightly the outermost operator of a text binds."""
    if isinstance(operand, Apply) and operand.function in INFIX:
        return _TIGHT[INFIX[operand.function]]
    return 5
