"""A kernel of the loop language as pseudo-code, whatever its form: for readers of passes.

    for m in 0..23 by 6:
      tile 6mx16n:
        acc[6, 1, 16] in registers
        …

The arrays come first, then what the kernel does, then the functions that it calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from tiling.loops.buffer import Buffer
from tiling.loops.index import Index
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Alloc,
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
    Let,
    Load,
    Move,
    Prefetch,
    Read,
    Register,
    Seen,
    Set,
    SetFlag,
    StagedPart,
    Statement,
    Store,
    Team,
    View,
)
from tiling.loops.machines import (
    Advance,
    Aim,
    Arrive,
    Await,
    AwaitParity,
    Beside,
    Commit,
    Copy,
    CopyBox,
    Cursors,
    Fence,
    Open,
    Shape,
    StoreBox,
    Take,
    Tiles,
    Wait,
    WaitStores,
)
from tiling.loops.value_text import all_of, assigned, operand_text, place

WIDTH = 100  # a block of simple statements is one line where it fits
_MEMORIES = {
    "global": "global memory",
    "shared": "shared memory",
    "own": "its own memory",
    "stack": "memory of the function",
    "tile": "a tile register",
}
_SIMPLE = (Let, Set, Store, Do)


def listing(kernel: Kernel) -> str:
    """The kernel as text, two spaces a level."""
    return "\n".join([*arrays_of(kernel), "", *_lines(kernel.body), *_functions(kernel)])


def functions_of(kernel: Kernel) -> dict[str, str]:
    """The text of each function by its name."""
    return {function.name: "\n".join(_function(function)) for function in kernel.functions}


def arrays_of(kernel: Kernel) -> list[str]:
    """A line for each array and number that the caller hands over."""
    arrays = [f"{_buffer(buffer)}: {', '.join(buffer.axes) or 'one number'}" for buffer in kernel.arrays]
    return [*arrays, *(f"{name}: a number from 1 to {most}" for name, most in kernel.numbers)]


def _functions(kernel: Kernel) -> Iterator[str]:
    for text in functions_of(kernel).values():
        yield ""
        yield from text.splitlines()


def _function(function: Function) -> Iterator[str]:
    parameters = (*(view for view, _ in function.views), *function.numbers, *function.flags)
    if function.comment:
        yield f"# {function.comment}"
    if function.cursors:
        yield f"# advances the cursors {', '.join(function.cursors)} of its caller"
    yield f"{function.name}({', '.join(parameters)}):"
    yield from _deeper(function.body)


def _buffer(buffer: Buffer) -> str:
    dtype = "" if buffer.dtype == "f32" else f" of {buffer.dtype}"
    shape = ", ".join(map(str, buffer.sizes))
    return f"{buffer.name}[{shape}]{dtype} in {_MEMORIES.get(buffer.memory, buffer.memory)}"


def _deeper(body: Body) -> Iterator[str]:
    for line in _lines(body):
        yield f"  {line}"


def _lines(body: Body) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement)


def _statement(statement: Statement) -> Iterator[str]:
    match statement:
        case For():
            yield _loop(statement)
            yield from _deeper(statement.body)
        case If():
            yield from _choice(statement, "if")
        case Beside(warps, body, otherwise):
            yield f"the first {warps} warps:"
            yield from _deeper(body)
            yield "the others, beside them:"
            yield from _deeper(otherwise)
        case Block():
            yield from _block(statement)
        case StagedPart(buffer, part, body):
            yield f"stage {buffer}, {', '.join(f'{a.dim} from {a.start} for {a.points}' for a in part)}:"
            yield from _deeper(body)
        case Team(body):
            yield "every worker:"
            yield from _deeper(body)
        case _:
            yield _line(statement)


def _loop(loop: For) -> str:
    step = "" if loop.step == 1 else f" by {loop.step}"
    kind = "" if loop.kind == "serial" else f", {loop.kind}"
    needed = "" if loop.limit is None else f", needed below {loop.limit}"
    together = "" if loop.together == 1 else f", {loop.together} together"
    return f"for {loop.name} in {_end(loop.start)}..{_end(loop.stop)}{step}{kind}{needed}{together}:"


def _end(index: Index) -> str:
    """An end of a range: a sum gets brackets."""
    return f"({index})" if index.is_sum else str(index)


def _choice(choice: If, word: str) -> Iterator[str]:
    yield f"{word} {all_of(choice.conditions)}:"
    yield from _deeper(choice.body)
    if len(choice.otherwise) == 1 and isinstance(choice.otherwise[0], If):
        yield from _choice(choice.otherwise[0], "else if")
    elif choice.otherwise:
        yield "else:"
        yield from _deeper(choice.otherwise)


def _block(block: Block) -> Iterator[str]:
    if block.name:
        yield f"tile {', '.join((block.name, *block.notes))}:"
        yield from _deeper(block.body)
        return
    line = f"{{ {'; '.join(_lines(block.body))} }}"
    if all(isinstance(statement, _SIMPLE) for statement in block.body) and len(line) <= WIDTH:
        yield line
        return
    yield "{"
    yield from _deeper(block.body)
    yield "}"


def _line(statement: Statement) -> str:
    """A statement that is one line."""
    match statement:
        case Alloc(buffer, at, first):
            place_in_scratch = "" if at is None else f" at byte {at}"
            return _buffer(buffer) + place_in_scratch + ("" if first is None else f" = {operand_text(first)}")
        case Store(buffer, at, value):
            return assigned(place(buffer, at), Load(buffer, at), value)
        case Let(name, None):
            return f"{name} in a register"
        case Let(name, value) | Set(name, value):
            assert value is not None
            return assigned(name, Register(name), value)
        case Define(name, index):
            return f"{name} = {index}"
        case Read(name, value):
            return f"{name} = {operand_text(value)}"
        case SetFlag(name, holds):
            return f"{'raise' if holds else 'clear'} {name}"
        case Decide(name, conditions):
            return f"{name} = whether {all_of(conditions)}"
        case View(name, address):
            return f"{name} = {operand_text(address)}"
        case Seen(buffer, of, flag, otherwise):
            memory = f"({of} if {flag} else {otherwise})" if flag else of
            return f"{buffer.name}[{', '.join(map(str, buffer.sizes))}] of {buffer.dtype} is {memory}"
        case Move(view, at):
            return f"{view} += [{', '.join(map(str, at))}]"
        case Do(invoke):
            return operand_text(invoke)
        case Call(function, views, numbers, flags):
            return f"{function}({', '.join((*map(operand_text, views), *map(str, numbers), *flags))})"
        case Comment(text):
            return f"# {text}"
        case Fence():
            return "fence"
        case Barrier(kind):
            return f"barrier of {kind}s"
    return _of_memory(statement)


def _of_memory(statement: Statement) -> str:
    """The line of a copy, a prefetch or another statement about memory."""
    match statement:
        case Prefetch(address, level, write):
            return f"prefetch {place(address.buffer, address.at)} to L{level}" + (", to be written" if write else "")
        case Cursors():
            return "cursors of this worker"
        case Aim(cursor, address, elements):
            return f"aim {cursor} at {place(address.buffer, address.at)}, {elements} elements"
        case Advance(cursor):
            return f"advance {cursor}"
        case Tiles():
            return "tile registers of this worker"
        case Shape(_, registers):
            return f"shape tile registers {', '.join(f'{r.name}[{r.shape[0]}, {r.shape[1]}]' for r in registers)}"
        case Copy(target, source, count, conditions):
            places = (place(address.buffer, address.at) for address in (target, source))
            tests = f" if {all_of(conditions)}, else zeros" if conditions else ""
            return f"copy {count} elements to {' from '.join(places)}{tests}"
        case Commit():
            return "commit"
        case CopyBox(target, source, extents, barrier, function, swizzled, windows, blocks):
            places = (place(address.buffer, address.at) for address in (target, source))
            size = " x ".join(map(str, extents)) + f", {function}," * bool(function)
            taps = f" pixels at {', '.join(str(each.tap) for each in windows)} of windows" if windows else ""
            box = f"{'swizzled ' * swizzled}box of {size}{taps}"
            each = f" of {blocks} blocks" if blocks else ""
            return f"copy a {box} to {' from '.join(places)}, counted at {operand_text(barrier)}{each}"
        case StoreBox(target, source, extents, _, swizzled):
            places = (place(address.buffer, address.at) for address in (target, source))
            return f"store a {'swizzled ' * swizzled}box of {' x '.join(map(str, extents))} to {' from '.join(places)}"
        case WaitStores(pending):
            return f"wait until {pending or 'no'} boxes are still to be read"
        case Open(barrier, arrivals):
            return f"open {operand_text(barrier)} for {arrivals} arrivals"
        case Arrive(barrier, 0, rank):
            return f"arrive at {operand_text(barrier)}" + ("" if rank is None else f" of block {rank}")
        case Arrive(barrier, size):
            return f"arrive at {operand_text(barrier)}, expect {size} bytes"
        case Await(barrier, phase):
            return f"wait for phase {phase} of {operand_text(barrier)}"
        case AwaitParity(barrier, parity):
            return f"wait for parity {parity} of {operand_text(barrier)}"
        case Take(name, counter, count):
            return f"{name} = how often {place(counter.buffer, counter.at)} was taken before, of {count} times"
        case Wait(pending):
            return f"wait until {pending} groups are pending" if pending else "wait"
    raise TypeError(f"{type(statement).__name__} is no statement of the loop language")
