"""An emitted kernel, and what its launch needs: plain data, for the compiler, the twin and the callable alike."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu.codegen.copies.tensor_map import TensorMap
from tiling.rewrite.copied import Copied
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class CudaProgram:
    """The text of a kernel that defines the function `symbol`.

    Its parameters are pointers to `arrays` contiguous arrays, each on a 16-byte boundary, the output last. A launch has
    `grid` blocks of `threads` threads, with `shared_bytes` of dynamic shared memory.

    maps          arrays that are passed as tensor maps, not as pointers
    cluster       blocks of a cluster
    persistent    the most blocks for each multiprocessor that are of use, where a block takes several tiles one after
                  the other; 0 where a launch needs the whole grid
    semaphores    split-K semaphores: words that are 0 before and after every launch; a pointer to them follows those to
                  the arrays
    partial_sums  floats that blocks leave for each other; a pointer to them comes last
    elements      the text calls elements.cuh and values.cuh, as that of loops does
    copied        arrays that the program from `gpu.codegen.loops.copier` copies first; the kernel reads the copies

    No other launch may use the same semaphores and partial sums at the same time.
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
    semaphores: int = field(default=0, kw_only=True)
    partial_sums: int = field(default=0, kw_only=True)
    elements: bool = field(default=False, kw_only=True)
    copied: tuple[Copied, ...] = field(default=(), kw_only=True)

    @property
    def uses_tma(self) -> bool:
        """Whether the text needs TMA copies, mbarriers or clusters."""
        return any(call in self.text for call in ("TENSOR_MAP", "mbarrier_", "cluster_"))

    @property
    def uses_wgmma(self) -> bool:
        """Whether the text needs the part of the device layer that only Hopper has."""
        return "wgmma_" in self.text or "give_registers(" in self.text or self.uses_tma

    def blocks_on(self, multiprocessors: int) -> int:
        """Blocks to launch on a device with that many multiprocessors."""
        if not self.persistent:
            return self.grid
        at_once = multiprocessors * self.persistent // self.cluster
        return min(self.grid, max(at_once, 1) * self.cluster)

    @property
    def shares_sums(self) -> bool:
        """Whether several blocks add up one tile of the output."""
        return self.semaphores > 0


@dataclass(frozen=True)
class CudaSource(CudaProgram):
    """The kernel that a scheme stands for. Arguments: the problem's two inputs, its epilogue's arrays, its output.

    step_bytes: bytes of shared memory that a step fills, where passes made the kernel.
    """

    scheme: Scheme
    step_bytes: int = 0
