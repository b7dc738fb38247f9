"""Prints the last form of a kernel as C: one line a statement. It computes nothing and decides nothing.

Store, Set, Let       const __m512 w_0 = _mm512_loadu_ps(w_k);
For                   for (long k = 0; k < 60; k += 2) {
View                  const float *x_k = x + k * X_k;
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import wrap

from cpu.codegen import cursors
from cpu.codegen.arrays import Types
from cpu.codegen.indices import in_scratch, stepped
from tiling.loops.buffer import Buffer
from tiling.loops.c_text import number, test
from tiling.loops.index import Index
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Barrier,
    Block,
    Body,
    Call,
    Comment,
    Decide,
    Define,
    Do,
    For,
    If,
    Immediate,
    Invoke,
    Let,
    Load,
    Mask,
    Move,
    Number,
    Operand,
    Prefetch,
    Register,
    Seen,
    Set,
    SetFlag,
    Statement,
    Store,
    Stride,
    View,
)
from tiling.loops.machines import Advance, Aim, Cursors, Fence, Shape, Tiles
from tiling.loops.walk import named_buffers

_COMMENT = 115  # characters of a line of a comment
_LOCALITY = {1: 3, 2: 2}  # what gcc and clang call caches: 3 is the nearest


@dataclass(frozen=True)
class PrintedFunction:
    """A function of the kernel as C text. head: what stands in front of its parameters."""

    head: str
    parameters: tuple[str, ...]
    body: tuple[str, ...]
    comment: str

    @property
    def text(self) -> str:
        comment = "\n * ".join(wrap(self.comment, _COMMENT))
        lines = (f"/* {comment}. */", f"{self.head}({', '.join(self.parameters)})", "{", *indented(self.body), "}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Printer:
    """Prints statements.

    vector: the C type of a register. masks: the macro of each mask, by its lanes. attribute: what every function has.
    """

    kernel: Kernel
    types: Types
    vector: str = ""
    masks: Mapping[int, str] = field(default_factory=dict)
    attribute: str = ""

    @cached_property
    def buffers(self) -> dict[str, Buffer]:
        """Every buffer by its name, those in the registers of functions too."""
        return {buffer.name: buffer for buffer in named_buffers(self.kernel)}

    def functions(self) -> list[PrintedFunction]:
        """The functions that the kernel calls."""
        return [self.function(function) for function in self.kernel.functions]

    def function(self, function: Function) -> PrintedFunction:
        """One function, with a pointer for each view."""
        names = dict(function.views)
        alone = "restrict " * function.apart
        parameters = [f"{self.types.pointers[array]}{alone}{view}" for view, array in function.views]
        parameters += [f"long {name}" for name in function.numbers] + [f"int {name}" for name in function.flags]
        parameters += [cursors.PARAMETER] * bool(function.cursors)
        # While a tile runs, its cursors are in registers.
        taken, left = map(cursors.taken, function.cursors), map(cursors.left, function.cursors)
        body = (*taken, *self.lines(function.body, names), *left)
        outlined = "__attribute__((noinline)) " * function.outlined
        head = f"{self.attribute}static {outlined}void {function.name}"
        return PrintedFunction(head, tuple(parameters), body, function.comment)

    def body(self) -> list[str]:
        """The lines of the kernel itself."""
        return self.lines(self.kernel.body, {name: name for name in self.buffers})

    def lines(self, body: Body, arrays: Mapping[str, str]) -> list[str]:
        """The lines of a block. arrays: the array that each name shows."""
        found: list[str] = []
        here = dict(arrays)
        for statement in body:
            if isinstance(statement, View):
                here[statement.name] = here[statement.address.buffer]
            if isinstance(statement, (Alloc, Seen)):
                here[statement.buffer.name] = statement.buffer.name
            found += self.statement(statement, here)
        return found

    def statement(self, statement: Statement, arrays: Mapping[str, str]) -> list[str]:
        """The lines of one statement."""
        match statement:
            case For():
                return self.loop(statement, arrays)
            case If():
                return self.choice(statement, arrays)
            case Block():
                return self.block(statement, arrays)
            case Alloc(Buffer(memory="tile")):
                return []
            case Aim(cursor, address, elements):
                first = self.further(address, arrays)
                return cursors.aimed(cursor, arrays[address.buffer], first, number(elements))
        return [self.line(statement, arrays)]

    def line(self, statement: Statement, arrays: Mapping[str, str]) -> str:
        """A statement that is one line."""
        match statement:  # the commonest ones first
            case Set(name, value):
                return f"{name} = {self.operand(value, arrays)};"
            case Do(invoke):
                return f"{self.operand(invoke, arrays)};"
            case Store(buffer, at, value):
                return f"{self.element(buffer, at, arrays)} = {self.operand(value, arrays)};"
            case Let(name, None):
                return f"{self.vector} {name};"
            case Let(name, value, changes) if value is not None:
                return f"{'' if changes else 'const '}{self.vector} {name} = {self.operand(value, arrays)};"
            case Define(name, index):
                return f"const long {name} = {number(index)};"
            case SetFlag(name, holds):
                return f"{'int ' * holds}{name} = {int(holds)};"
            case Decide(name, conditions):
                return f"const int {name} = {' && '.join(map(test, conditions))};"
            case Call():
                return self.call(statement, arrays)
            case Comment(text):
                return f"/* {text} */"
        return self.line_of_memory(statement, arrays)

    def line_of_memory(self, statement: Statement, arrays: Mapping[str, str]) -> str:
        """The line of a statement about memory."""
        match statement:
            case Alloc(Buffer(name=name, shape=shape, memory="registers" | "stack")):
                return f"{self.vector} {name}{''.join(f'[{extent}]' for extent in shape[:-1])};"
            case Alloc(Buffer(name=name), at) if at is not None:
                element = self.types.elements[name]
                return f"{element} *const {name} = ({element} *){in_scratch(at)};"
            case View(name, address):
                return f"{self.types.pointers[arrays[address.buffer]]}{name} = {self.address(address, arrays)};"
            case Seen(buffer, of, flag, otherwise):
                memory = f"({flag} ? {of} : {otherwise})" if flag else of
                cast = self.types.cast(arrays[of], buffer.name)
                return f"{self.types.pointers[buffer.name]}const {buffer.name} = {cast}{memory};"
            case Move(view, at):
                return f"{view} += {self.further(Address(view, at), arrays)};"
            case Prefetch(address, level, write):
                return f"__builtin_prefetch({self.address(address, arrays)}, {int(write)}, {_LOCALITY[level]});"
            case Barrier():
                return "#pragma omp barrier"
            case Cursors():
                return cursors.BEGIN
            case Advance(cursor):
                return cursors.advanced(cursor)
            case Tiles():
                return "const struct shapes *shape = 0;"
            case Shape(name):
                return f"shape = shaped(&{name}, shape);"
            case Fence():
                return "KEEP_APART;"
        raise TypeError(f"{type(statement).__name__} has no text in C: a pass has to lower it")

    def block(self, block: Block, arrays: Mapping[str, str]) -> list[str]:
        """Statements that belong together: one line where they are simple."""
        lines = self.lines(block.body, arrays)
        simple = all(isinstance(inner, (Let, Set, Do)) for inner in block.body)
        return [f"{{ {' '.join(lines)} }}"] if simple else ["{", *indented(lines), "}"]

    def call(self, call: Call, arrays: Mapping[str, str]) -> str:
        """A call of a function of the kernel."""
        given = [self.address(view, arrays) for view in call.views] + [*map(number, call.numbers), *call.flags]
        given += [cursors.ARGUMENT for f in self.kernel.functions if f.name == call.function and f.cursors]
        return f"{call.function}({', '.join(given)});"

    def loop(self, loop: For, arrays: Mapping[str, str]) -> list[str]:
        """A loop over positions."""
        name, advance = loop.name, f"++{loop.name}" if loop.step == 1 else f"{loop.name} += {loop.step}"
        head = f"for (long {name} = {number(loop.start)}; {name} < {number(loop.stop)}; {advance}) {{"
        together = [f"#pragma GCC unroll {loop.together}"] if loop.together > 1 else []
        return [*together, head, *indented(self.lines(loop.body, arrays)), "}"]

    def choice(self, choice: If, arrays: Mapping[str, str]) -> list[str]:
        """An if/else chain."""
        lines = [f"if ({' && '.join(map(test, choice.conditions))}) {{", *indented(self.lines(choice.body, arrays))]
        if len(choice.otherwise) == 1 and isinstance(choice.otherwise[0], If):
            first, *rest = self.choice(choice.otherwise[0], arrays)
            return [*lines, f"}} else {first}", *rest]
        if choice.otherwise:
            lines += ["} else {", *indented(self.lines(choice.otherwise, arrays))]
        return [*lines, "}"]

    def operand(self, operand: Operand, arrays: Mapping[str, str]) -> str:
        """A value, or another operand of an instruction."""
        match operand:
            case Register(name):
                return name
            case Invoke(instruction, operands):
                return instruction.text.format(**{name: self.operand(given, arrays) for name, given in operands})
            case Number(value):
                return str(value)
            case Load(buffer, at):
                return self.element(buffer, at, arrays)
            case Address():
                return self.address(operand, arrays)
            case Mask(lanes):
                return self.masks[lanes.offset]
            case Immediate(index):
                return number(index)
            case Stride(buffer, at):
                return self.stride(buffer, at, arrays)
            case Apply("add" | "mul" as function, (left, right)):  # sums and products of scalars
                sign = "+" if function == "add" else "*"
                return f" {sign} ".join(self._factor(part, function, arrays) for part in (left, right))
        raise TypeError(f"{type(operand).__name__} has no text in C: a pass has to lower it")

    def _factor(self, part: Operand, function: str, arrays: Mapping[str, str]) -> str:
        """An argument of a sum or a product, in brackets where it is a sum that is multiplied."""
        text = self.operand(part, arrays)
        return f"({text})" if function == "mul" and isinstance(part, Apply) and part.function == "add" else text

    def element(self, buffer: str, at: tuple[Index, ...], arrays: Mapping[str, str]) -> str:
        """One element of an array. An element of an array that a function has for itself is a vector."""
        if self.buffers[arrays[buffer]].memory in ("registers", "stack"):
            return buffer + "".join(f"[{number(index)}]" for index in at[:-1])
        return f"{buffer}[{self.further(Address(buffer, at), arrays)}]"

    def address(self, address: Address, arrays: Mapping[str, str]) -> str:
        """A pointer and the strides that it moves by, or registers by their name."""
        buffer = self.buffers[arrays[address.buffer]]
        if buffer.memory in ("tile", "registers"):
            return address.buffer
        if buffer.memory == "stack":
            return f"&{self.element(address.buffer, address.at, arrays)}"
        return " + ".join([address.buffer, *self.steps(address, arrays)])

    def further(self, address: Address, arrays: Mapping[str, str]) -> str:
        """How many elements behind the first one of an array a place lies."""
        return " + ".join(self.steps(address, arrays)) or "0"

    def steps(self, address: Address, arrays: Mapping[str, str]) -> list[str]:
        """How far each axis moves a pointer, where it does."""
        buffer = self.buffers[arrays[address.buffer]]
        terms = (stepped(index, buffer, axis) for axis, index in enumerate(address.at))
        return [term for term in terms if term]

    def stride(self, buffer: str, at: tuple[Index, ...], arrays: Mapping[str, str]) -> str:
        """The bytes between two places of an array; for an array that a function has for itself, the bytes of a row."""
        if self.buffers[arrays[buffer]].memory == "stack":
            return f"sizeof *{buffer}"
        return " + ".join(f"{step} * sizeof *{buffer}" for step in self.steps(Address(buffer, at), arrays)) or "0"


def lines_of(functions: Iterable[PrintedFunction], body: Iterable[str]) -> list[str]:
    """The lines of functions and of a kernel's own body."""
    return [*(line for function in functions for line in function.body), *body]


def indented(lines: Iterable[str]) -> list[str]:
    """The lines, indented by one level."""
    return [f"    {line}" for line in lines]
