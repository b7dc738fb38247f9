"""The ranked microkernels of a machine, and a score for every tile, measured or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from microkernels.tile.estimate import estimate, moving
from microkernels.tile.isa import isa_named
from microkernels.tile.microkernel import Microkernel
from tiling.machine import Timing

GOOD = 0.85  # the fraction of the best score that makes a microkernel worth composing, by TTile


@dataclass(frozen=True)
class Entry:
    """A measured microkernel. score: the fraction of one core's FMA peak that its fastest sample reached.

    timing: None where another machine of the kind was measured.
    """

    kernel: Microkernel
    score: float
    timing: Timing | None = None


@dataclass(frozen=True)
class Failure:
    """A microkernel that could not be measured. reason: one sentence."""

    kernel: Microkernel
    reason: str


@dataclass(frozen=True)
class Catalog:
    """The microkernels of one operator on one instruction set of one machine; entries best first.

    An operator that runs the tiles of another (`RANKED_AS`) has the other's entries. origin: when and on which machine
    the scores were measured, where that is not this one; else "".
    """

    fingerprint: str
    isa: str
    op: str
    entries: tuple[Entry, ...] = ()
    failures: tuple[Failure, ...] = ()
    origin: str = ""

    @property
    def best(self) -> Entry | None:
        """The entry of the highest score; None where nothing was measured."""
        return self.entries[0] if self.entries else None

    def score(self, kernel: Microkernel) -> float:
        """The expected fraction of peak of any tile, at most 1. The first of these that is known counts:

        1. the score of the tile, or of the equal one measured for it (`Microkernel.measured_as`); 0 if that failed
        2. its score at stride 1, where the FMAs are the same and only the addresses differ
        3. the score of one row of as many points (`_alike`)
        4. its `estimate`, scaled by the best score, since no tile of this machine was faster

        Where loads move narrow numbers to their lanes, the score is multiplied by `moving`.
        """
        return moving(kernel) * self._measured(kernel.measured_as)

    def _measured(self, kernel: Microkernel) -> float:
        for known in _as_fast(kernel):
            if known in self._scores:
                return min(1.0, self._scores[known])
            if known == kernel and known in self._failed:
                return 0.0
        # Matrix instructions do at most one row a cycle, so their best score is half the peak, as is its estimate.
        return estimate(kernel) * min(1.0, self.best.score / estimate(self.best.kernel) if self.best else 1.0)

    def is_measured(self, kernel: Microkernel) -> bool:
        """Whether `score` rests on a measurement of this tile, perhaps at stride 1 or under another operator's name."""
        kernel = kernel.measured_as
        return kernel in self._scores or replace(kernel, stride=1) in self._scores

    @cached_property
    def _scores(self) -> dict[Microkernel, float]:
        return {entry.kernel: entry.score for entry in self.entries}

    @cached_property
    def _failed(self) -> frozenset[Microkernel]:
        return frozenset(failure.kernel for failure in self.failures)


def _as_fast(kernel: Microkernel) -> Iterator[Microkernel]:
    """The tile, then those whose score stands for its own."""
    yield kernel
    if kernel.stride != 1:
        yield replace(kernel, stride=1)
    yield from _alike(kernel)


def _alike(kernel: Microkernel) -> tuple[Microkernel, ...]:
    """Tiles with as many sums in one row of w, the most alike first: with the same taps of s unrolled, then with none.

    Empty for tiles that read x by vectors, and for tiles with sums in tile registers.
    """
    # 99 tiles of f32 on Sapphire Rapids reached 1.03 of the scores of such tiles in the mean, with a standard deviation
    # of 0.06. They reached 0.89 of the best score, which is what `estimate` gives for most of them.
    if kernel.lanewise or isa_named(kernel.isa).matrix:
        return ()
    row = replace(kernel, rows=(("w", kernel.row_count),) if kernel.row_count > 1 else (), unrolled=(), stride=1)
    only_s = [dim for dim, _ in kernel.unrolled] == ["s"]
    return (replace(row, unrolled=kernel.unrolled), row) if only_s else (row,)
