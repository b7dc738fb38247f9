"""Blocks of a register tile that are transposed: which rows go together, and the shuffles that turn them."""

from math import log2

import numpy as np
import pytest

from microkernels.tile.isa import ISAS
from microkernels.tile.transpose import Rows, blocks, stages, transposition
from tiling.epilogue import fused
from tiling.operators import conv2d

LANES = sorted({isa.lanes for isa in ISAS.values()})


@pytest.mark.parametrize("lanes", LANES)
def test_the_shuffles_transpose_any_number_of_rows(lanes):
    for rows in range(1, lanes + 1):
        block = np.arange(rows * lanes).reshape(rows, lanes)
        found, vectors = transposition(lanes, rows), {f"r{row}": block[row] for row in range(rows)}
        for shuffle in found.shuffles:
            both = np.concatenate([vectors[shuffle.a], vectors[shuffle.b]])
            vectors[shuffle.name] = both[list(stages(lanes)[shuffle.stage][shuffle.high])]
        for point, name in enumerate(found.columns):
            assert vectors[name][:rows].tolist() == block[:, point].tolist()


@pytest.mark.parametrize("lanes", LANES)
def test_a_whole_block_takes_a_shuffle_for_each_vector_and_stage(lanes):
    counts = [len(transposition(lanes, rows).shuffles) for rows in range(1, lanes + 1)]
    assert counts[-1] == lanes * log2(lanes) and counts == sorted(counts)


def rows_together(problem, **tile):
    return blocks(problem, dict.fromkeys(problem.extents, 1) | tile, 16)


def test_rows_that_are_neighbours_in_the_output_go_together():
    problem = conv2d(n=2, c=3, h=4, w=6, k=5, r=1, s=1, layout="nchw")
    assert rows_together(problem, w=6) == (Rows(0, 6),)
    assert rows_together(problem, h=2, w=3) == (Rows(0, 3), Rows(3, 3))
    assert rows_together(problem, h=2, w=6) == (Rows(0, 12),)
    assert rows_together(problem, h=4, w=6) == (Rows(0, 16), Rows(16, 8))
    assert rows_together(problem, n=2, w=6) == (Rows(0, 6), Rows(6, 6))
    assert rows_together(problem, h=3) == (Rows(0, 1), Rows(1, 1), Rows(2, 1))


def test_an_array_of_the_epilogue_is_a_neighbour_or_the_same_all_along():
    problem = conv2d(c=3, h=4, w=6, k=5, r=1, s=1, layout="nchw")
    assert rows_together(fused(problem, "y + b + z"), h=2, w=6) == (Rows(0, 12),)
    for text in ("y + t[h]", "y + t[k,w]"):
        assert rows_together(fused(problem, text), h=2, w=6) == (Rows(0, 6), Rows(6, 6))
