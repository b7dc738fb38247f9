"""The ranked microkernels of a machine, and a score for those that were never measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from microkernels.estimate import estimate, moving
from microkernels.isa import isa_named
from microkernels.microkernel import Microkernel
from tiling.machine import Timing

GOOD = 0.85  # of the best: TTile's threshold for the microkernels worth composing


@dataclass(frozen=True)
class Entry:
    """A measured microkernel. score: fraction of one core's FMA peak that the fastest sample of a look reached."""

    kernel: Microkernel
    score: float
    timing: Timing


@dataclass(frozen=True)
class Failure:
    """A microkernel that could not be measured, and why, in one sentence."""

    kernel: Microkernel
    reason: str


@dataclass(frozen=True)
class Catalog:
    """What is known of one operator's microkernels on one instruction set of one machine; entries best first.

    The entries of an operator that runs another's tiles (`RANKED_AS`) are that one's.
    """

    fingerprint: str
    isa: str
    op: str
    entries: tuple[Entry, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def best(self) -> Entry | None:
        """The entry of the highest score; None while nothing was measured."""
        return self.entries[0] if self.entries else None

    def score(self, kernel: Microkernel) -> float:
        """The fraction of peak to expect of any tile: its own score (a matmul or pointwise2d tile's is that of the
        equal conv2d tile, `Microkernel.measured_as`); 0 where it failed; else its score at stride 1, where the FMAs are
        the same and only the addresses differ; else that of one row of as many points (`_alike`); else `estimate`,
        scaled by the best score since no tile here was seen to go faster. At most 1: a score beyond it says that the
        peak beside it was disturbed. Of that, where another instruction set's tile stands for it, what `moving` leaves.
        """
        return moving(kernel) * self._measured(kernel.measured_as)

    def _measured(self, kernel: Microkernel) -> float:
        for known in (kernel, replace(kernel, stride=1), *_alike(kernel)):
            if known in self._scores:
                return min(1.0, self._scores[known])
            if known == kernel and known in self._failed:
                return 0.0
        # Of matrix instructions, of which one row a cycle is the most, the best score is half the peak.
        return estimate(kernel) * min(1.0, self.best.score / estimate(self.best.kernel) if self.best else 1.0)

    def is_measured(self, kernel: Microkernel) -> bool:
        """Whether `score` rests on a measurement of this tile, be it at stride 1 or under another operator's name."""
        kernel = kernel.measured_as
        return kernel in self._scores or replace(kernel, stride=1) in self._scores

    @cached_property
    def _scores(self) -> dict[Microkernel, float]:
        return {entry.kernel: entry.score for entry in self.entries}

    @cached_property
    def _failed(self) -> frozenset[Microkernel]:
        return frozenset(failure.kernel for failure in self.failures)


def _alike(kernel: Microkernel) -> tuple[Microkernel, ...]:
    """Tiles of as many sums, in one row of w, the more alike first: with the same taps of s unrolled, and with nothing.
    99 tiles of f32 on Sapphire Rapids reached 1.03 of such scores in the mean, with a standard deviation of 0.06, and
    0.89 of the best one's, which is what `estimate` makes of most. None for tiles that read x by vectors, or have their
    sums in tile registers.
    """
    if kernel.lanewise or isa_named(kernel.isa).matrix:
        return ()
    row = replace(kernel, rows=(("w", kernel.row_count),) if kernel.row_count > 1 else (), unrolled=(), stride=1)
    only_s = [dim for dim, _ in kernel.unrolled] == ["s"]
    return (replace(row, unrolled=kernel.unrolled), row) if only_s else (row,)
