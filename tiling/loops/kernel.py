"""A kernel of the loop language: its arrays, its functions, and what it does."""

from __future__ import annotations

from dataclasses import dataclass

from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, Range, constant
from tiling.loops.language import Body


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

    arrays: inputs and outputs. A pass may change them: where weights are packed before the call, the caller hands over
    the packed copy. numbers: (name, largest value) of each extent that the caller hands over, at least 1.
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
