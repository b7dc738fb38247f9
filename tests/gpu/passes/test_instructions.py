"""The meaning of a warp's instructions, over its lanes: what the PTX ISA says where matrices lie."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.passes.matrices.instructions import WORDS, get_matrices, mma
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, applied, constant
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Do, Invoke


def bits(matrix, dtype):
    """Numbers as arrays of a dtype hold them: small whole ones, which all dtypes have."""
    if dtype == "bf16":
        return (matrix.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return matrix.astype(np.float16 if dtype == "f16" else np.float32)


def words(rows, dtype):
    """Neighbours of each row as words."""
    given = bits(rows, dtype)
    return given if dtype == "tf32" else np.ascontiguousarray(given).view(np.uint32)


@pytest.mark.parametrize("dtype", WORDS)
def test_a_matrix_instruction_multiplies_what_lanes_hold(dtype):
    kind, rng = WORDS[dtype], np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (16, kind.depth)), rng.integers(-9, 9, (8, kind.depth))  # b by columns
    sums = rng.integers(-9, 9, (16, 8))
    lanes = [(lane // 4, lane % 4) for lane in range(32)]
    in_a, in_b = words(a, dtype), words(b, dtype)
    a_words = np.array([[in_a[g + 8 * (r % 2), m + 4 * (r // 2)] for r in range(4)] for g, m in lanes])
    b_words = np.array([[in_b[g, m + 4 * r] for r in range(2)] for g, m in lanes])
    places = [[(g + 8 * (e // 2), 2 * m + e % 2) for e in range(4)] for g, m in lanes]
    held = np.array([[sums[place] for place in of_lane] for of_lane in places], np.float32)
    arrays = [("a", kind.dtype, a_words), ("b", kind.dtype, b_words), ("sums", "f32", held)]
    buffers = tuple(Buffer(name, array.shape, ("lane", "word"), of) for name, of, array in arrays)
    given = tuple((name, Address(of, (LANE, ZERO))) for name, of in (("to", "sums"), ("a", "a"), ("b", "b")))
    interpret(Kernel(buffers, (Do(Invoke(mma(dtype), given)),)), {name: array for name, _, array in arrays})
    wanted = a @ b.T + sums
    assert [[wanted[place] for place in of_lane] for of_lane in places] == held.tolist()


@pytest.mark.parametrize(
    "dtype, across", [("f16", False), ("bf16", False), ("f16", True), ("bf16", True), ("tf32", False)]
)
def test_matrices_are_loaded_row_by_row(dtype, across):
    """Lane l gives row l % 8 of matrix l / 8; matrices lie below each other here."""
    kind, width = WORDS[dtype], 4 * WORDS[dtype].per_word
    tile = np.arange(32 * width).reshape(32, width) % 251
    to = np.zeros((32, 4), np.float32 if dtype == "tf32" else np.uint32)
    buffers = (
        Buffer("tile", tile.shape, ("row", "k"), "f32" if dtype == "tf32" else dtype),
        Buffer("to", to.shape, ("lane", "word"), kind.dtype),
    )
    row = applied("/", LANE, constant(8)) * 8 + applied("%", LANE, constant(8))
    given = (("to", Address("to", (LANE, ZERO))), ("p", Address("tile", (row, ZERO))))
    kernel = Kernel(buffers, (Do(Invoke(get_matrices(dtype, across), given)),))
    interpret(kernel, {"tile": bits(tile, dtype), "to": to})
    for matrix in range(4):
        part = tile[8 * matrix : 8 * matrix + 8]
        held = words(part.T if across else part, dtype)
        assert all(to[lane, matrix] == held[lane // 4, lane % 4] for lane in range(32))
