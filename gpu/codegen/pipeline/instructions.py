"""The matrix instructions, and task maps that say which lane holds which elements.

A lane's tasks are its elements in the order of its registers. Source: PTX ISA, "Matrix fragments for mma.m16n8k16",
"mma.m16n8k8", "wgmma.mma_async.m64nNk16" and "m64nNk8". `twin/twin.h` has the same layouts as formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.scheme.taskmap import TaskMap, repeat, spatial

CHUNK = 16  # bytes: a row of the 8x8 matrices that ldmatrix moves, and the largest cp.async


@dataclass(frozen=True)
class MatrixInstruction:
    """c (rows, columns) += a (rows, depth) · b (depth, columns) by one worker, accumulated in f32.

    Where the worker is a warp, its lanes hold all three matrices: `a` maps lanes to (row, k), `b` to (column, k), `c`
    to (row, column). A warpgroup of four warps reads a and b from shared memory; then `a` and `b` are None.
    """

    call: str
    dtype: str
    rows: int
    columns: int
    depth: int
    a: TaskMap | None
    b: TaskMap | None
    c: TaskMap

    @property
    def threads(self) -> int:
        """Threads of the worker."""
        return self.c.workers

    @property
    def worker(self) -> str:
        return "warp" if self.threads == 32 else "warpgroup"

    @property
    def shape(self) -> str:
        return f"m{self.rows}n{self.columns}k{self.depth}"

    @property
    def truncates(self) -> bool:
        """Whether it truncates f32 to tf32, so that the kernel must round its inputs before."""
        return self.dtype == "tf32"

    @property
    def reads_across(self) -> bool:
        """Whether inputs may lie across the depth. wgmma has no operand for that with 32-bit elements."""
        return self.worker == "warp" or self.depth == 16


_C = repeat(2, 1) @ spatial(8, 4) @ repeat(1, 2)
_A16 = repeat(1, 2) @ repeat(2, 1) @ spatial(8, 4) @ repeat(1, 2)
_B16 = repeat(1, 2) @ spatial(8, 4) @ repeat(1, 2)
_A32 = repeat(1, 2) @ repeat(2, 1) @ spatial(8, 4)
_B32 = repeat(1, 2) @ spatial(8, 4)

INSTRUCTIONS = (
    MatrixInstruction("mma_m16n8k16_f16", "f16", 16, 8, 16, _A16, _B16, _C),
    MatrixInstruction("mma_m16n8k16_bf16", "bf16", 16, 8, 16, _A16, _B16, _C),
    MatrixInstruction("mma_m16n8k8_tf32", "tf32", 16, 8, 8, _A32, _B32, _C),
    *(
        MatrixInstruction(
            f"wgmma_m64n{n}k{k}_{dtype}", dtype, 64, n, k, None, None, spatial(4, 1) @ repeat(1, n // 8) @ _C
        )
        for dtype, k in (("f16", 16), ("bf16", 16), ("tf32", 8))
        for n in (64, 128, 192, 256)
    ),
)
DTYPES = tuple(dict.fromkeys(instruction.dtype for instruction in INSTRUCTIONS))


def instructions_for(dtype: str) -> tuple[MatrixInstruction, ...]:
    """The matrix instructions that read `dtype`, those of a warp first."""
    return tuple(i for i in INSTRUCTIONS if i.dtype == dtype)


def instruction_for(dtype: str) -> MatrixInstruction:
    """The warp's matrix instruction that reads `dtype`. Raises KeyError where there is none."""
    for instruction in instructions_for(dtype):
        return instruction
    raise KeyError(dtype)
