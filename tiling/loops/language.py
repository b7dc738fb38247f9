"""The loop language: what a kernel does, as small immutable nodes.

A kernel begins as plain loops over scalars (`tiling.loops.lowering.lower`). Passes refine it, loops to loops; a back
end prints the last form. `tiling.loops.meaning.interpret` runs any form, `tiling.loops.listing` prints any form for
readers.
"""

#     for h in 0..56 by 14:                                  For
#       acc[14, 2, 16] in registers                          Alloc
#       for r in 0..3:
#         if 0 <= h + r - 1 < 56:                            If, Inside
#           for lane in 0..16, vector:                       For, of kind "vector"
#             acc[0, 0, lane] = acc[0, 0, lane] + X[…] * W[…]      Store, Apply, Load

from __future__ import annotations

from dataclasses import dataclass, field

from tiling.loops.index import Index, Range, applied, constant

# The number of this thread, from 0, and how many threads the team has that runs the kernel.
THREAD, THREADS = "thread", "threads"
LINE = 64  # bytes of a cache line
MBARRIER = "mbarrier"  # the dtype of a buffer of them
PACKED = ("packed",)  # the axes of a buffer whose numbers lie in the order in which loops read them

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
    """A function of values, lane by lane: add sub mul div neg min max, a function of epilogues, or of words."""

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
    lane as a first index. dtype: that of `out`; "" for that of `p`. registers: vector registers that it takes beside
    those of its operands and its value. header: the one of the C library that the text needs. definition: what a file
    defines for the text. calls: the name of the function that the text calls, and what tells it from others of that
    name, such as a dtype, where the printer has a definition of it.
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
    """What `Decide` found out, or `RaiseFlag` has raised."""

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
class Buffer:
    """An array: its shape, row-major, its dtype, and the memory that it lies in.

    axes: a name for each axis, for readers. memory: "global"; "shared" by the workers of a GPU's block; a worker's
    "own"; "stack", of a function while it runs; "registers"; or "tile", a tile register whose shape `Shape` has set.

    extents: indices over the kernel's numbers, where the extents are known only when the kernel runs. `shape` then has
    the largest extents. Empty: `shape` has the extents.
    """

    name: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str = "f32"
    memory: str = "global"
    extents: tuple[Index, ...] = ()

    @property
    def packed(self) -> bool:
        """Whether it holds whole vectors in the order in which loops read them, so that no axis is left."""
        return self.axes == PACKED

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each axis."""
        strides, elements = [], 1
        for extent in reversed(self.shape):
            strides.append(elements)
            elements *= extent
        return tuple(reversed(strides))

    @property
    def sizes(self) -> tuple[Index, ...]:
        """The extent of each axis, fixed or known only when the kernel runs."""
        return self.extents or tuple(map(constant, self.shape))

    @property
    def steps(self) -> tuple[Index, ...]:
        """Elements between neighbours along each axis, also where extents are known only when the kernel runs."""
        steps, elements = [], constant(1)
        for extent in reversed(self.sizes):
            steps.append(elements)
            elements = applied("*", elements, extent)
        return tuple(reversed(steps))


@dataclass(frozen=True, slots=True)
class Alloc:
    """A buffer that lives until the end of the block that the statement stands in. Its elements begin undefined.

    at: the byte of the call's scratch memory where it begins; None where nothing has placed it there.
    """

    buffer: Buffer
    at: Index | None = None


@dataclass(frozen=True, slots=True)
class For:
    """`body` for start, start + step, … below stop. A loop of another kind than "serial" or "rolled" may run in any
    order.

    kind: "serial", "rolled" where compilers may not unroll it, "unrolled" or "vector"; or the workers that run it side
    by side: "core", "block", "warp", "lane" … The blocks of a "cluster" reach each other's shared memory.
    dim: the dim of the problem that the loop walks, "" for none. limit: the iterations
    from this one on change nothing that is needed, so a pass may end the loop there; None where all are needed.
    """

    name: str
    start: Index
    stop: Index
    step: int
    body: Body
    kind: str = "serial"
    dim: str = ""
    limit: Index | None = None


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
    """All workers of a kind run `body`, each with buffers and marks of its own. They share the iterations of the core
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

    value: None where a `Set` gives the first value. dtype: the value's; "" where all registers have the same dtype.
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
class RaiseFlag:
    """Raises a flag of this worker. It holds until a `ClearFlag`."""

    name: str


@dataclass(frozen=True, slots=True)
class ClearFlag:
    """Clears a flag that `RaiseFlag` has raised."""

    name: str


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
class Cursors:
    """From here on this worker has cursors of its own. They begin at their end."""


@dataclass(frozen=True, slots=True)
class Aim:
    """Sets a cursor to a place in an array. Its end lies so many elements further."""

    cursor: str
    address: Address
    elements: Index


@dataclass(frozen=True, slots=True)
class Advance:
    """Prefetches the cache line at a cursor into L2 and moves the cursor to the next line. At its end it stays."""

    cursor: str


@dataclass(frozen=True, slots=True)
class Tiles:
    """From here on this worker has tile registers. They begin without shapes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Gives all tile registers of this worker the shapes of these buffers. Their contents are lost.

    name: the name of the set of shapes.
    """

    name: str
    registers: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class Fence:
    """The compiler moves no access to memory across it."""


@dataclass(frozen=True, slots=True)
class Copy:
    """An asynchronous copy of `count` neighbouring elements. It is complete after a `Wait` for its `Commit`.

    conditions: where they do not all hold, the copy writes zeros and reads nothing.
    """

    target: Address
    source: Address
    count: int
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """Makes the copies since the last commit a group."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits until all but the last `pending` groups of copies are complete."""

    pending: int = 0


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows along an axis of an image. They begin at pixel `first`, and each `step` pixels after the one before.

    tap: the pixel of each window, counted from its first one.
    """

    tap: Index
    first: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class CopyBox:
    """The copy engine of a GPU brings a box of an array: its elements lie one after the other from `target` on.

    source: where the box begins; elements outside of the array are zeros. extents: the box's along each axis of the
    array. barrier: counts the bytes that have come. function: what each element goes through; "" for none. swizzled:
    whether chunk c of 16 bytes of row r, of 128 bytes, lies where c ^ r % 8 would. joined: so many axes of the array
    before the last one count as one.
    windows: where it has some, the array holds images, with axes for images, for each of `windows`, and for channels.
    Then the box is a pixel of each of extents[0] windows, in their order, and `source` is where the first one begins.
    blocks: how many blocks of the cluster, from the first on, get the box at the same place and count it at their own
    mbarrier; 0 for this block alone.
    """

    target: Address
    source: Address
    extents: tuple[int, ...]
    barrier: Address
    function: str = ""
    swizzled: bool = False
    windows: tuple[Windows, ...] = ()
    blocks: int = 0
    joined: int = 1


@dataclass(frozen=True, slots=True)
class StoreBox:
    """The copy engine of a GPU stores a box to an array. It may read it until a `WaitStores` for it is over.

    target: where the box begins; elements outside of the array are not stored. source: where its elements lie, one
    after the other. The others are as for `CopyBox`.
    """

    target: Address
    source: Address
    extents: tuple[int, ...]
    joined: int = 1
    swizzled: bool = False


@dataclass(frozen=True, slots=True)
class WaitStores:
    """Waits until the copy engine has read all but this thread's last `pending` boxes that it stores."""

    pending: int = 0


@dataclass(frozen=True, slots=True)
class Open:
    """Makes an mbarrier. A phase of it ends after `arrivals` arrivals, once all expected bytes have come."""

    barrier: Address
    arrivals: int


@dataclass(frozen=True, slots=True)
class Arrive:
    """Arrives at an mbarrier. The phase ends only after so many more bytes of copies.

    rank: the number in the cluster of the block whose mbarrier it is; None for that of this block.
    """

    barrier: Address
    bytes: int = 0
    rank: Index | None = None


@dataclass(frozen=True, slots=True)
class Await:
    """Waits until this phase of an mbarrier, counted from 0, has ended. Phases below 0 have."""

    barrier: Address
    phase: Index


@dataclass(frozen=True, slots=True)
class Beside:
    """The first `warps` warps of a block run `body`; those behind them run `otherwise` meanwhile.

    Only mbarriers order the two.
    """

    warps: int
    body: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Take:
    """`name` is how often a counter in memory was taken before, until the end of the block. It counts to `count - 1`,
    then begins again at 0.

    One worker takes it for its group. A group that takes the counter later, and then waits, sees what this group did
    before it waited and took it.
    """

    name: str
    counter: Address
    count: int


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
class Comment:
    """A line for readers of any form, printed text included."""

    text: str


Statement = (
    Alloc | For | If | Block | StagedPart | Team | Store | Let | Set | Define | Read | Decide | RaiseFlag
    | ClearFlag | View | Seen | Move | Do | Prefetch | Cursors | Aim | Advance | Tiles | Shape | Fence | Copy
    | Commit | Wait | CopyBox | StoreBox | WaitStores | Open | Arrive | Await | Beside | Take | Barrier | Call | Comment
)  # fmt: skip
Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """Part of a kernel with a name. views: the name of each parameter inside, and the kernel's array that it shows.

    cursors: the cursors of the calling worker that the function advances. apart: no two views show the same memory.
    outlined: a compiler must not inline it.
    """

    name: str
    views: tuple[tuple[str, str], ...]
    numbers: tuple[str, ...]
    flags: tuple[str, ...]
    body: Body
    cursors: tuple[str, ...] = ()
    comment: str = ""
    apart: bool = False
    outlined: bool = False


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes of memory that a call needs while it runs: `shared` by all threads, followed by `own` for each thread."""

    shared: Index
    own: Index

    def bytes(self, threads: int) -> Index:
        """The bytes of a call of so many threads."""
        return self.shared + self.own * threads


NO_SCRATCH = Scratch(constant(0), constant(0))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: its arrays in the order of the arguments, the functions that it calls, and what it does.

    arrays: inputs and outputs. A pass may change them: where weights are packed ahead, the caller hands over the packed
    copy. numbers: (name, largest value) of each extent that the caller hands over, at least 1.
    scratch: memory that the caller hands over once buffers have a place in it.
    barriers: whether a pass has placed barriers. If so, the workers of a block wait for each other only there. Else
    they wait at the end of every loop over workers.
    shapes: whether a pass has set the shapes of tile registers. Else each has the shape of its `Alloc`.
    """

    arrays: tuple[Buffer, ...]
    body: Body
    functions: tuple[Function, ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()
    scratch: Scratch = NO_SCRATCH
    barriers: bool = False
    shapes: bool = False

    @property
    def ranges(self) -> dict[str, Range]:
        """The values that each number may have."""
        return {name: (1, most) for name, most in self.numbers}
