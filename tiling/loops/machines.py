"""The statements of the loop language that only some machines have.

On a CPU: cursors, which walk what is prefetched; tile registers, whose shapes are set; and a fence for compilers. On a
GPU: copies that go on beside other work, mbarriers that count them, and roles of warps.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.loops.buffer import Buffer
from tiling.loops.index import Index
from tiling.loops.language import Address, Body, Condition, OfMachine

MBARRIER = "mbarrier"  # the dtype of a buffer of them

# --- CPUs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cursors(OfMachine):
    """From here on this worker has cursors of its own. They begin at their end."""


@dataclass(frozen=True, slots=True)
class Aim(OfMachine):
    """Sets a cursor to a place in an array. Its end lies so many elements further."""

    cursor: str
    address: Address
    elements: Index


@dataclass(frozen=True, slots=True)
class Advance(OfMachine):
    """Prefetches the cache line at a cursor into L2 and moves the cursor to the next line. At its end it stays."""

    cursor: str


@dataclass(frozen=True, slots=True)
class Tiles(OfMachine):
    """From here on this worker has tile registers. They begin without shapes."""


@dataclass(frozen=True, slots=True)
class Shape(OfMachine):
    """Gives all tile registers of this worker the shapes of these buffers. Their contents are lost.

    name: the name of the set of shapes.
    """

    name: str
    registers: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class Fence(OfMachine):
    """The compiler moves no access to memory across it."""


# --- GPUs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copy(OfMachine):
    """An asynchronous copy of `count` neighbouring elements. It is complete after a `Wait` for its `Commit`.

    conditions: where they do not all hold, the copy writes zeros and reads nothing.
    """

    target: Address
    source: Address
    count: int
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit(OfMachine):
    """Makes the copies since the last commit a group."""


@dataclass(frozen=True, slots=True)
class Wait(OfMachine):
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
class CopyBox(OfMachine):
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
class StoreBox(OfMachine):
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
class WaitStores(OfMachine):
    """Waits until the copy engine has read all but this thread's last `pending` boxes that it stores."""

    pending: int = 0


@dataclass(frozen=True, slots=True)
class Open(OfMachine):
    """Makes an mbarrier. A phase of it ends after `arrivals` arrivals, once all expected bytes have come."""

    barrier: Address
    arrivals: int


@dataclass(frozen=True, slots=True)
class Arrive(OfMachine):
    """Arrives at an mbarrier. The phase ends only after so many more bytes of copies.

    rank: the number in the cluster of the block whose mbarrier it is; None for that of this block.
    """

    barrier: Address
    bytes: int = 0
    rank: Index | None = None


@dataclass(frozen=True, slots=True)
class Await(OfMachine):
    """Waits until this phase of an mbarrier, counted from 0, has ended. Phases below 0 have."""

    barrier: Address
    phase: Index


@dataclass(frozen=True, slots=True)
class AwaitParity(OfMachine):
    """Waits until the phase of an mbarrier that ended last has this parity, 0 or 1: all that hardware knows of it."""

    barrier: Address
    parity: Index


@dataclass(frozen=True, slots=True)
class Beside(OfMachine):
    """The first `warps` warps of a block run `body`; those behind them run `otherwise` meanwhile.

    Only mbarriers order the two.
    """

    warps: int
    body: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Take(OfMachine):
    """`name` is how often a counter in memory was taken before, until the end of the block. It counts to `count - 1`,
    then begins again at 0.

    One worker takes it for its group. A group that takes the counter later, and then waits, sees what this group did
    before it waited and took it.
    """

    name: str
    counter: Address
    count: int
