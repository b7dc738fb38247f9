"""When the threads of a call must wait for one another: before a step that meets an earlier one in memory.

    Waits().before(Deed((Touch("arena", 0, 4096, True),), alone=False)) -> whether all wait first

Steps that share no memory need no wait, and neither do steps that all run on the first thread.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Touch:
    """Bytes `begin` to `end` of a memory, which a step reads or writes.

    pitch, width: where it touches columns only, the bytes from one row to the next, and those of each that it touches.
    """

    memory: str
    begin: int
    end: int
    writes: bool
    pitch: int = 0
    width: int = 0

    def meets(self, other: Touch) -> bool:
        """Whether the order of both accesses matters."""
        apart = self.memory != other.memory or self.end <= other.begin or other.end <= self.begin
        return not (apart or self._beside(other)) and (self.writes or other.writes)

    def _beside(self, other: Touch) -> bool:
        """Whether both are columns of the same rows, and other ones."""
        if not self.pitch or self.pitch != other.pitch:
            return False
        further = (other.begin - self.begin) % self.pitch
        return self.width <= further <= self.pitch - other.width


@dataclass(frozen=True)
class Deed:
    """The memory that a step touches. alone: the first thread does all of the step; else every thread does a part."""

    touches: tuple[Touch, ...]
    alone: bool

    def meets(self, other: Deed) -> bool:
        """Whether this deed must wait for another one."""
        if self.alone and other.alone:
            return False
        return any(one.meets(two) for one in self.touches for two in other.touches)


@dataclass
class Waits:
    """The deeds since all threads last waited: `pending`."""

    pending: tuple[Deed, ...] = ()

    def before(self, deed: Deed) -> bool:
        """Whether all threads wait before the next deed, which is pending from then on."""
        wait = any(deed.meets(other) for other in self.pending)
        self.pending = (deed,) if wait else (*self.pending, deed)
        return wait
