"""The loop language: what a kernel does, as small immutable nodes.

A kernel begins as plain loops over scalars (`tiling.loops.lowering.lower`). Passes refine it, loops to loops; a back
end prints the last form. `tiling.loops.interpreter.interpret` runs any form, `tiling.loops.listing` prints any form for
readers.
"""

#     for h in 0..56 by 14:                                  For
#       acc[14, 2, 16] in registers                          Alloc
#       for r in 0..3:
#         if 0 <= h + r - 1 < 56:                            If, Inside
#           for lane in 0..16, vector:                       For, of kind "vector"
#             acc[0, 0, lane] += X[…] * W[…]                 Store, Apply, Load

from __future__ import annotations

from dataclasses import dataclass, field

from tiling.loops.buffer import Buffer
from tiling.loops.index import Index

# The number of this thread, from 0, and how many threads the team has that runs the kernel.
THREAD, THREADS = "thread", "threads"
LINE = 64  # bytes of a cache line

# --- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """A number, and the dtype in which it is computed."""

    value: float
    dtype: str = "f32"


@dataclass(frozen=True, slots=True)
class Load:
    """The element of a buffer at an index for each axis. Where `lane` occurs: one element for each lane."""

    buffer: str
    at: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar or a vector, by the name that `Let` or `Set` has given it."""

    name: str


@dataclass(frozen=True, slots=True)
class Position:
    """The value of an index, as a whole number of 64 bits."""

    index: Index


@dataclass(frozen=True, slots=True)
class Choose:
    """One value where all the conditions hold, else another one. Only the chosen value is computed."""

    conditions: tuple[Condition, ...]
    value: Value
    otherwise: Value


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of values, lane by lane: add sub mul div neg min max, a function of epilogues, or of dot groups."""

    function: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a buffer: what an instruction, a view or a prefetch gets.

    Where `lane` occurs, an instruction of a warp gets a place for each lane.
    """

    buffer: str
    at: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Mask:
    """The first `lanes` lanes of a vector, which is a number once loops are unrolled."""

    lanes: Index


@dataclass(frozen=True, slots=True)
class Immediate:
    """A whole number as an operand. On a CPU it is part of the instruction itself, and a constant once loops are
    unrolled.
    """

    number: Index


@dataclass(frozen=True, slots=True)
class Stride:
    """The distance in bytes between two places of a buffer whose indices differ by `at`: an operand."""

    buffer: str
    at: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Invoke:
    """An instruction of the machine, with its operands by name. It has a value where the instruction gives one."""

    instruction: Instruction
    operands: tuple[tuple[str, Operand], ...]


Value = Number | Position | Load | Register | Choose | Apply | Invoke
Operand = Value | Address | Mask | Immediate | Stride


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: its text in the printed language, and its meaning in loops.

    text: C or PTX with a field `{name}` for each operand. meaning: statements over buffers of those names. They store a
    value to the buffer `out`, which has as many elements as a vector has lanes; an operand that is a vector is a buffer
    of so many elements, a mask is the number `{name}` of used lanes. For an address of each lane, the buffer has the
    lane as a first index. dtype: the dtype of `out`, or "" where it is the dtype of `p`. registers: vector registers
    that it takes beside those of its operands and its value. header: the header of the C library that the text needs.
    definition: what a file defines for the text. calls: the name of the function that the text calls, and what tells it
    from others of that name, such as a dtype. It is given where the printer has a definition of the function.
    """

    name: str
    text: str
    meaning: tuple[Statement, ...] = field(compare=False)
    dtype: str = field(default="f32", compare=False)
    registers: int = field(default=0, compare=False)
    header: str = field(default="", compare=False)
    definition: str = field(default="", compare=False)
    calls: tuple[str, ...] = field(default=(), compare=False)


# --- conditions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inside:
    """low <= index < high. None leaves a side open."""

    index: Index
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Flag:
    """What `Decide` found out, or `SetFlag` has said."""

    name: str


@dataclass(frozen=True, slots=True)
class Aligned:
    """The memory of a buffer begins at a multiple of so many bytes; where `does` is False, it does not."""

    buffer: str
    bytes: int
    does: bool = True


Condition = Inside | Flag | Aligned

# --- statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Alloc:
    """A buffer that lives until the end of the block that the statement stands in. Its elements begin undefined.

    at: the byte of the call's scratch memory where it begins; None where nothing has placed it there. first: what a
    register holds from the beginning, a number or a vector; None where it is undefined too.
    """

    buffer: Buffer
    at: Index | None = None
    first: Value | None = None


@dataclass(frozen=True, slots=True)
class For:
    """`body` for start, start + step, … below stop. A loop of another kind than "serial" or "rolled" may run in any
    order.

    kind: "serial", "rolled" where compilers may not unroll it, "unrolled" or "vector"; or the workers that run it side
    by side: "core", "block", "warp", "lane" … The blocks of a "cluster" reach each other's shared memory.
    dim: the dim of the problem that the loop walks, "" for none. limit: the iterations from this one on change nothing
    that is needed, so a pass may end the loop there; None where all are needed. together: how many iterations a
    compiler is to write out, one behind the other, in each of its own.
    """

    name: str
    start: Index
    stop: Index
    step: int
    body: Body
    kind: str = "serial"
    dim: str = ""
    limit: Index | None = None
    together: int = 1


@dataclass(frozen=True, slots=True)
class If:
    """`body` where every condition holds, else `otherwise`."""

    conditions: tuple[Condition, ...]
    body: Body
    otherwise: Body = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Statements that belong together, with a name and notes for readers. A register tile is a block until it is a
    function.
    """

    name: str
    body: Body
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Along:
    """The part of a buffer along a dim of the problem: where it begins, and how many points of the dim it covers."""

    dim: str
    start: Index
    points: int


@dataclass(frozen=True, slots=True)
class StagedPart:
    """`body` reads this part of a buffer. A pass may give it a copy in nearer memory; else the stage only runs
    `body`.
    """

    buffer: str
    part: tuple[Along, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class Team:
    """All workers of a kind run `body`, each with buffers and flags of its own. They share the iterations of the core
    loop in it.
    """

    body: Body


@dataclass(frozen=True, slots=True)
class Store:
    """Stores a value to an element of a buffer. Where `lane` occurs: one element for each lane."""

    buffer: str
    at: tuple[Index, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a value until the end of the block. Where it `changes`, a `Set` may give it another value.

    value: None where a `Set` gives the first value. dtype: what the value has; "" where all registers have the same.
    """

    name: str
    value: Value | None
    changes: bool = False
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Set:
    """A register gets another value."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Define:
    """A name for an index until the end of the block: a variable of later indices."""

    name: str
    index: Index


@dataclass(frozen=True, slots=True)
class Read:
    """A name for the whole number that a value has, until the end of the block: a variable of later indices."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Decide:
    """A flag that lives until the end of the block and says whether all the conditions hold here."""

    name: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class SetFlag:
    """Raises a new flag of this worker, or clears one that was raised: whether it holds from here on."""

    name: str
    holds: bool


@dataclass(frozen=True, slots=True)
class View:
    """A name for a buffer seen from a place in it: name[i, j] is buffer[at0 + i, at1 + j]."""

    name: str
    address: Address


@dataclass(frozen=True, slots=True)
class Seen:
    """A name for the memory of another buffer as a buffer of this shape and dtype. A view's memory counts from where
    the view begins.

    flag, otherwise: where `flag` does not hold, the name stands for the memory of the buffer `otherwise`.
    """

    buffer: Buffer
    of: str
    flag: str = ""
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """Moves the beginning of a view of this function by an index along each axis."""

    view: str
    at: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Do:
    """An instruction without a value, such as a store."""

    invoke: Invoke


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Prefetches the cache line at a place into the cache of this level, 1 or 2. write: it will be stored to."""

    address: Address
    level: int
    write: bool = False


@dataclass(frozen=True, slots=True)
class Barrier:
    """Every worker of this kind waits here for the others of its group: a block for those of its cluster."""

    kind: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the kernel: a place for each of its views, then a value for each of its numbers and flags."""

    function: str
    views: tuple[Address, ...]
    numbers: tuple[Index, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfMachine:
    """A statement that only some machines have: one of `tiling.loops.machines`."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for readers of any form, printed text included."""

    text: str


Statement = (
    Alloc | For | If | Block | StagedPart | Team | Store | Let | Set | Define | Read | Decide | SetFlag | View
    | Seen | Move | Do | Prefetch | Barrier | Call | Comment | OfMachine
)  # fmt: skip
Body = tuple[Statement, ...]
