"""An emitted kernel, and what its launch needs: plain data, for the compiler, the twin and the callable alike."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu.aligned import AlignedRows
from gpu.tensor_map import TensorMap
from tiling.scheme import Scheme


@dataclass(frozen=True)
class Program:
    """Kernel text that defines `symbol`, a function of so many pointers to contiguous arrays, each on a 16-byte
    boundary.

    The last one is the output. It is to be launched on `grid` blocks of `threads` threads with `shared_bytes` of
    dynamic shared memory. Arrays that `maps` name are passed as tensor maps instead. Blocks come in clusters of
    `cluster`. A `persistent` program needs no more blocks than that many for every multiprocessor: each then takes
    several tiles, one after the other. Where blocks share sums two pointers follow: to so many `tickets`, words that
    are 0 before and after every launch, and to so many `partial_sums`, floats. No other launch may use them at the same
    time. Arrays that `copied` names are to be copied first, by the program `copier` gives, and taken from there.
    """

    symbol: str
    text: str
    grid: int
    threads: int
    shared_bytes: int
    arrays: int
    maps: tuple[TensorMap, ...] = field(default=(), kw_only=True)
    cluster: int = field(default=1, kw_only=True)
    persistent: int = field(default=0, kw_only=True)
    tickets: int = field(default=0, kw_only=True)
    partial_sums: int = field(default=0, kw_only=True)
    copied: tuple[AlignedRows, ...] = field(default=(), kw_only=True)

    @property
    def uses_bulk(self) -> bool:
        """Whether the text needs bulk copies, mbarriers or clusters."""
        return any(
            call in self.text for call in ("TENSOR_MAP", "mbarrier_", "cluster_", "registers_", "stage_", "word(")
        )

    @property
    def uses_wgmma(self) -> bool:
        """Whether the text needs the part of the device layer that only Hopper has."""
        return "wgmma_" in self.text or self.uses_bulk

    def blocks_on(self, multiprocessors: int) -> int:
        """Blocks to launch on a device of so many multiprocessors."""
        if not self.persistent:
            return self.grid
        at_once = multiprocessors * self.persistent // self.cluster
        return min(self.grid, max(at_once, 1) * self.cluster)

    @property
    def shares_sums(self) -> bool:
        """Whether several blocks add up one tile of the output."""
        return self.tickets > 0


@dataclass(frozen=True)
class Source(Program):
    """The kernel that a scheme stands for. Arguments: the problem's two inputs, its epilogue's arrays, its output."""

    scheme: Scheme
