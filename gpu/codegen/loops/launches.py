"""The CUDA text of a program, and what its launches need: plain data, for the compiler, the twin and the callable."""

from __future__ import annotations

from dataclasses import dataclass

from tiling.loops.buffer import Buffer
from tiling.loops.index import Index


@dataclass(frozen=True)
class Launch:
    """One launch of `grid` blocks of `threads` threads with `shared_bytes` of dynamic shared memory.

    arrays: the names of the arrays that its function takes, in order; the extents of the call follow, then `outside`
    where it reports. written: the arrays that it writes to.
    """

    symbol: str
    grid: Index
    threads: int
    shared_bytes: int
    arrays: tuple[str, ...]
    written: tuple[str, ...]
    reports: bool


@dataclass(frozen=True)
class ProgramText:
    """A program as CUDA text that calls the device layers ptx.cuh, elements.cuh and values.cuh.

    The launches run one after the other. arrays: from the caller, inputs first. between: arrays in which one launch or
    block leaves results for another one. numbers: the name and the bound of each runtime extent, handed over as long
    long. A launch that reports sets `outside`, a word of global memory, to 1 where an index that it read from an array
    lies outside another array.
    """

    symbol: str
    text: str
    arrays: tuple[Buffer, ...]
    between: tuple[Buffer, ...]
    rows: frozenset[str]
    numbers: tuple[tuple[str, int], ...]
    launches: tuple[Launch, ...]
