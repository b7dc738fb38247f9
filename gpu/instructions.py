"""The matrix instructions, and which lane of a warp holds which elements, as task maps from lanes to elements.

Source: PTX ISA, "Matrix fragments for mma.m16n8k16" and "mma.m16n8k8". A fragment's tasks, in the order in which a lane
does them, are the elements in the order of its registers. `device/twin.h` has the same layouts as formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.taskmap import TaskMap, repeat, spatial

CHUNK = 16  # bytes: a row of the 8x8 matrices that ldmatrix moves, and the largest cp.async


@dataclass(frozen=True)
class Instruction:
    """c (rows, columns) += a (rows, depth) · b (depth, columns) by one warp, f32 accumulation.

    `a` maps lanes to (row, k), `b` to (column, k), `c` to (row, column).
    """

    call: str
    dtype: str
    rows: int
    columns: int
    depth: int
    a: TaskMap
    b: TaskMap
    c: TaskMap

    @property
    def shape(self) -> str:
        return f"m{self.rows}n{self.columns}k{self.depth}"


_C = repeat(2, 1) @ spatial(8, 4) @ repeat(1, 2)
_A16 = repeat(1, 2) @ repeat(2, 1) @ spatial(8, 4) @ repeat(1, 2)
_B16 = repeat(1, 2) @ spatial(8, 4) @ repeat(1, 2)
_A32 = repeat(1, 2) @ repeat(2, 1) @ spatial(8, 4)
_B32 = repeat(1, 2) @ spatial(8, 4)

INSTRUCTIONS = (
    Instruction("mma_m16n8k16_f16", "f16", 16, 8, 16, _A16, _B16, _C),
    Instruction("mma_m16n8k16_bf16", "bf16", 16, 8, 16, _A16, _B16, _C),
    Instruction("mma_m16n8k8_tf32", "tf32", 16, 8, 8, _A32, _B32, _C),
)


def instruction_for(dtype: str) -> Instruction:
    """The matrix instruction that reads `dtype`; KeyError where there is none."""
    for instruction in INSTRUCTIONS:
        if instruction.dtype == dtype:
            return instruction
    raise KeyError(dtype)


# Which 8x8 matrix each group of eight lanes addresses in ldmatrix, as (matrices along rows, matrices along k), outermost
# first: the four registers of a's fragment; of b the fragments of two neighbouring instructions.
A_MATRICES = ((1, 2), (2, 1))
B_MATRICES = ((2, 1), (1, 2))


def matrix_rows(matrices: tuple[tuple[int, int], ...], transposed: bool) -> TaskMap:
    """Maps a lane to the (row, chunk) of the tile in shared memory whose address it gives to ldmatrix.

    Tiles lie with k along their rows, or, `transposed`, across them: then the matrices' two axes change places.
    """
    found = spatial(8, 1)
    for along in reversed(matrices):
        found = spatial(*(reversed(along) if transposed else along)) @ found
    return found
