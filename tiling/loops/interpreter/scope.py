"""What names stand for at a place of a kernel that runs: arrays, registers, variables, flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiling.loops.index import Index
from tiling.loops.kernel import Function
from tiling.loops.language import Aligned, Condition, Inside, Load, Store
from tiling.loops.machines import StoreBox
from tiling.loops.meaning.instructions import InstructionLanes
from tiling.loops.meaning.memory import Given, LiveArray
from tiling.loops.meaning.nests import Nest
from tiling.loops.meaning.prefetches import Prefetches
from tiling.loops.meaning.slices import Slice, Sliced
from tiling.loops.meaning.threads import Threads
from tiling.loops.meaning.workers import Workers


@dataclass(slots=True)
class Copies:
    """The asynchronous copies of a worker, in groups; the last one is open. of: the copies of each worker inside it.

    groups: from where, None for zeros; to where, and how many elements. stores: boxes that the copy engine has still to
    read.
    """

    groups: list[list[tuple[LiveArray | None, LiveArray, int]]] = field(default_factory=lambda: [[]])
    stores: list[tuple[StoreBox, Scope]] = field(default_factory=list)
    of: dict[tuple[str, int], Copies] = field(default_factory=dict)

    def worker(self, kind: str, number: int) -> Copies:
        """The copies of a worker inside this one, wherever it started them."""
        return self.of.setdefault((kind, number), Copies())


@dataclass(slots=True)
class Scope:
    """The names of a block and of the blocks outside it, and what is known of nodes that have run."""

    functions: Mapping[str, Function]
    arrays: dict[str, LiveArray] = field(default_factory=dict)
    registers: dict[str, Given | None] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # the values of variables, and of flags: 0 or 1
    copies: Copies = field(default_factory=Copies)  # the copies that the worker waits for
    raised: set[str] = field(default_factory=set)  # the flags that `SetFlag` has raised
    shapes: dict[str, tuple[int, ...]] | None = None  # the shapes of tile registers; None until `Tiles`
    own: set[str] = field(default_factory=set)  # the registers that this very block has named
    team: dict[str, LiveArray] = field(default_factory=dict)  # the buffers that all threads share
    workers: Workers = field(default_factory=Workers)
    shaped: bool = False  # whether tile registers need shapes
    prefetches: Prefetches = field(default_factory=lambda: Prefetches([]))
    # What is known of instructions, nests of loops, loops over lanes, accesses and loops over threads, by their `id`.
    instructions: dict[int, InstructionLanes] = field(default_factory=dict)
    nests: dict[int, Nest] = field(default_factory=dict)
    slices: dict[int, Sliced] = field(default_factory=dict)
    accesses: dict[int, tuple[Load | Store, Slice | None]] = field(default_factory=dict)
    together: dict[int, Threads] = field(default_factory=dict)

    def inner(self) -> Scope:
        names = dict(self.arrays), dict(self.registers), dict(self.numbers)
        return Scope(
            self.functions,
            *names,
            self.copies,
            self.raised,
            self.shapes,
            team=self.team,
            workers=self.workers,
            shaped=self.shaped,
            prefetches=self.prefetches,
            instructions=self.instructions,
            nests=self.nests,
            slices=self.slices,
            accesses=self.accesses,
            together=self.together,
        )

    def holds(self, condition: Condition) -> bool:
        """Whether a condition holds here. A flag that nobody has set does not."""
        if isinstance(condition, Inside):
            at = condition.index.at(self.numbers)
            return (condition.low is None or condition.low <= at) and (condition.high is None or at < condition.high)
        if isinstance(condition, Aligned):
            return (self.arrays[condition.buffer].address % condition.bytes == 0) == condition.does
        return condition.name in self.raised or bool(self.numbers.get(condition.name, 0))

    def all_hold(self, conditions: Iterable[Condition]) -> bool:
        """Whether conditions hold here. Those after one that does not are not looked at, as in C."""
        return all(map(self.holds, conditions))

    def is_vector(self, at: tuple[Index, ...]) -> bool:
        """Whether an access outside any loop over lanes is one to a register of all its lanes."""
        if "lane" in self.numbers:
            return False
        for index in at:  # asked at every access: a generator would take four times as long
            for term, _ in index.terms:
                if term == "lane":
                    return True
        return False

    def at(self, indices: tuple[Index, ...], lane: int | None = None) -> tuple[int, ...]:
        """The numbers that indices are here. lane: the value of `lane`."""
        numbers = self.numbers if lane is None else {**self.numbers, "lane": lane}
        if len(indices) == 1:
            return (indices[0].at(numbers),)
        return tuple([index.at(numbers) for index in indices])
