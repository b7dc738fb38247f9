"""Prints loops that are bound to workers as CUDA: one line a statement. It decides nothing.

    for thread in 0..96, thread:                 for (int j = thread; j < 768; j += 96) {
      for j in thread..768 by 96:        ->          put_f32(e + j, exp_f32(get_f32(x + 768 * block + j) - m));
        e[j] = exp(x[block, j] - m[0])           }

A loop over threads becomes the code of one thread. A register of each thread becomes a variable. The indices of an
element are added up to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu.codegen.loops.functions import STORED, VALUE, applied, bare, literal
from gpu.passes.facts.reading import WIDTH, flat
from gpu.passes.facts.workers import MEMBER, WARP, WORKERS
from gpu.passes.memory.prefetch_maps import map_of
from tiling.loops.buffer import Buffer
from tiling.loops.c_text import number, test
from tiling.loops.facts.values import dtype_of, telling
from tiling.loops.index import ZERO, Index, variable
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Barrier,
    Body,
    Choose,
    Comment,
    Define,
    Do,
    For,
    If,
    Immediate,
    Load,
    Number,
    Operand,
    Position,
    Read,
    Statement,
    Store,
    Value,
)
from tiling.loops.machines import (
    Arrive,
    AwaitParity,
    Beside,
    Commit,
    Copy,
    CopyBox,
    Open,
    StoreBox,
    Take,
    Wait,
    WaitStores,
)

_BARRIERS = {
    "block": ["cluster_arrive();", "cluster_wait();"],
    "thread": ["__syncthreads();"],
    "lane": ["__syncwarp();"],
}


@dataclass(frozen=True)
class GpuPrinter:
    """Prints the statements of a launch.

    dtypes: the dtype of each buffer and register. integer: the C type that holds every index.
    """

    buffers: Mapping[str, Buffer]
    dtypes: Mapping[str, str]
    integer: str

    def lines(self, body: Body) -> list[str]:
        """The lines of a block."""
        return [line for statement in body for line in self.statement(statement)]

    def statement(self, statement: Statement) -> list[str]:
        """The lines of one statement."""
        match statement:
            case For():
                return self.loop(statement)
            case If():
                return self.choice(statement)
            case Beside():
                return self.beside(statement)
            case Barrier(kind):
                return _BARRIERS[kind]
            case StoreBox():
                return [self.stored_box(statement), "tma_commit();"]
        return [self.line(statement)]

    def line(self, statement: Statement) -> str:
        """A statement that is one line."""
        match statement:
            case Store(buffer, at, value):
                return self.store(self.buffers[buffer], at, value)
            case Read(name, value):  # any number: it is tested before it is used as an index
                return f"const long long {name} = {bare(self.value(value))};"
            case Define(name, index):
                return f"const {self.integer} {name} = {number(index)};"
            case Alloc(buffer, at, first):
                return self.declaration(buffer, at, first)
            case Do(invoke):
                given = {name: self.operand(operand) for name, operand in invoke.operands}
                return f"{invoke.instruction.text.format(**given)};"
            case Take(name, counter, count):
                return f"const int {name} = take_semaphore({self.operand(counter)}, {count});"
            case Comment(text):
                return f"/* {text} */"
        return self.line_beside(statement)

    def line_beside(self, statement: Statement) -> str:
        """The line of a statement about copies that go on beside other work."""
        match statement:
            case Copy(target, source, count, conditions):
                size, inside = WIDTH[self.buffers[target.buffer].dtype], " && ".join(map(test, conditions)) or "1"
                return f"copy_async_{count * size}({self.operand(target)}, {self.operand(source)}, {inside});"
            case Commit():
                return "cp_async_commit();"
            case Wait(pending):
                return f"cp_async_wait({pending});"
            case CopyBox():
                return self.copied_box(statement)
            case WaitStores(pending):
                return f"tma_wait_read({pending});"
            case Open(barrier, arrivals):
                return f"mbarrier_init({self.shared(barrier)}, {arrivals});"
            case Arrive(barrier, 0, None):
                return f"mbarrier_arrive({self.shared(barrier)});"
            case Arrive(barrier, 0, rank) if rank is not None:
                return f"mbarrier_arrive_at({self.shared(barrier)}, {number(rank)});"
            case Arrive(barrier, size):
                return f"mbarrier_expect({self.shared(barrier)}, {size});"
            case AwaitParity(barrier, parity):
                return f"mbarrier_wait({self.shared(barrier)}, {number(parity)});"
        raise TypeError(f"{type(statement).__name__} has no text in CUDA: a pass has to lower it")

    def loop(self, loop: For) -> list[str]:
        """A loop; for a loop over workers the code of one worker."""
        inside = self.lines(loop.body)
        if loop.name in WORKERS and loop.kind != "serial":
            simple = not any(isinstance(s, (Alloc, Define, Read, Take)) for s in loop.body)
            return inside if simple else ["{", *_indented(inside), "}"]
        name, advance = loop.name, f"++{loop.name}" if loop.step == 1 else f"{loop.name} += {loop.step}"
        head = f"for ({self.integer} {name} = {number(loop.start)}; {name} < {number(loop.stop)}; {advance}) {{"
        unrolled = {"unrolled": ["#pragma unroll"], "rolled": ["#pragma unroll 1"]}.get(loop.kind, [])
        return [*unrolled, head, *_indented(inside), "}"]

    def choice(self, choice: If) -> list[str]:
        """An if/else."""
        conditions = " && ".join(map(test, choice.conditions))
        if not choice.body:
            return [f"if (!({conditions})) {{", *_indented(self.lines(choice.otherwise)), "}"]
        lines = [f"if ({conditions}) {{", *_indented(self.lines(choice.body))]
        return [*lines, *(["} else {", *_indented(self.lines(choice.otherwise))] if choice.otherwise else []), "}"]

    def beside(self, roles: Beside) -> list[str]:
        """Warps in two roles."""
        lines = [f"if ({WARP} < {roles.warps}) {{", *_indented(self.lines(roles.body)), "} else {"]
        return [*lines, *_indented(self.lines(roles.otherwise)), "}"]

    def copied_box(self, copy: CopyBox) -> str:
        """A copy of a box by the tensor map of its array."""
        taps = "".join(f", {number(each.tap)}" for each in reversed(copy.windows))
        at = f"{self.place_of_box(copy.source, 1 if copy.windows else copy.joined)}{taps}"
        given = f"{self.shared(copy.target)}, &{map_of(copy.source.buffer)}, {self.shared(copy.barrier)}, {at}"
        kind = "pixels" if copy.windows else f"box_{len(copy.extents)}d"
        if copy.blocks:
            return f"copy_{kind}_multicast({given}, {(1 << copy.blocks) - 1});"
        return f"copy_{kind}({given});"

    def stored_box(self, box: StoreBox) -> str:
        """A store of a box by the tensor map of its array."""
        at = self.place_of_box(box.target, box.joined)
        return f"store_box_{len(box.extents)}d(&{map_of(box.target.buffer)}, {self.shared(box.source)}, {at});"

    def place_of_box(self, begin: Address, joined: int) -> str:
        """Where a box begins, innermost first. joined: axes before the last that its tensor map has as one."""
        *others, last = begin.at
        first, shape = len(others) - joined, self.buffers[begin.buffer].shape
        row = flat(Buffer("", shape[first:-1], ()), tuple(others[first:]))
        return ", ".join(map(number, (last, row, *reversed(others[:first]))))

    def shared(self, address: Address) -> str:
        """A place in shared memory as the copy engine and mbarriers know it."""
        return f"shared_address({self.operand(address)})"

    def declaration(self, buffer: Buffer, at: Index | None, first: Value | None) -> str:
        """The declaration of a buffer."""
        if buffer.memory == "registers":
            value = "" if first is None else f" = {bare(self.value(first))}"
            return f"{VALUE[buffer.dtype]} {buffer.name}{''.join(f'[{extent}]' for extent in _own(buffer))}{value};"
        assert at is not None, f"{buffer.name} has no place in shared memory"
        stored = STORED[buffer.dtype]
        return f"{stored} *const {buffer.name} = SHARED({stored}, {number(at)});"

    def store(self, buffer: Buffer, at: tuple[Index, ...], value: Operand) -> str:
        """A store to memory or to a register."""
        if buffer.memory == "registers":
            return f"{self.register(buffer, at)} = {bare(self.value(value))};"
        return f"put_{buffer.dtype}({self.place(buffer, at)}, {bare(self.value(value))});"

    def operand(self, operand: Operand) -> str:
        """An operand of an instruction: a place, a register or a value."""
        if isinstance(operand, Immediate):
            return number(operand.number)
        if not isinstance(operand, Address):
            return bare(self.value(operand))
        buffer = self.buffers[operand.buffer]
        at = tuple(index.replaced({"lane": variable(MEMBER)}) for index in operand.at)  # each lane gives its own
        if buffer.memory != "registers":
            return self.place(buffer, at)
        *own, last = self.own(buffer, at) or [ZERO]
        return _plus(buffer.name + "".join(f"[{number(index)}]" for index in own), last)

    def value(self, value: Operand) -> str:
        """A value, in brackets where it is a sum."""
        match value:
            case Number():
                return literal(value)
            case Load(name, at):
                buffer = self.buffers[name]
                if buffer.memory == "registers":
                    return self.register(buffer, at)
                return f"get_{buffer.dtype}({self.place(buffer, at)})"
            case Position(index):
                return f"(long long)({number(index)})"
            case Choose(conditions, chosen, otherwise):
                tests = " && ".join(map(test, conditions))
                return f"({tests} ? {self.value(chosen)} : {self.value(otherwise)})"
            case Apply(function, arguments):
                dtype = dtype_of(telling(function, arguments), self.dtypes)
                return applied(function, [self.value(argument) for argument in arguments], dtype)
        raise TypeError(f"{type(value).__name__} has no text in CUDA: a pass has to lower it")

    def place(self, buffer: Buffer, at: tuple[Index, ...]) -> str:
        """The address of an element."""
        return _plus(buffer.name, flat(buffer, at))

    def is_variable(self, buffer: Buffer) -> bool:
        """Whether a thread has one number of a buffer."""
        return buffer.memory == "registers" and not _own(buffer)

    def register(self, buffer: Buffer, at: tuple[Index, ...]) -> str:
        """A register of this thread."""
        if self.is_variable(buffer):
            return buffer.name
        return buffer.name + "".join(f"[{number(index)}]" for index in self.own(buffer, at))

    def own(self, buffer: Buffer, at: tuple[Index, ...]) -> list[Index]:
        """The index of an element among the elements of a buffer that one thread has."""
        return [i for i, extent, axis in zip(at, buffer.shape, buffer.axes) if axis not in WORKERS and extent > 1]


def _own(buffer: Buffer) -> tuple[int, ...]:
    """How many numbers of a buffer in registers each thread has, along each axis that is longer than one."""
    return tuple(extent for extent, axis in zip(buffer.shape, buffer.axes) if axis not in WORKERS and extent > 1)


def _plus(name: str, index: Index) -> str:
    """The address of an element at an offset from a name."""
    return name if index == ZERO else f"{name} + {number(index)}"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
