"""Tiles of matrix instructions and orientations of their inputs, without bank conflicts."""

from __future__ import annotations

import pytest

from tests.support.gpu.staged_once import EPILOGUE, conflicts, staged_once
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul

ORIENTATIONS = [(a, b) for a in (False, True) for b in (False, True)]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
@pytest.mark.parametrize("unrolled", [(2, 2, 1), (1, 6, 3), (4, 4, 4), (2, 4, 2)], ids=str)
def test_tiles_and_orientations_are_exact_without_bank_conflicts(dtype, unrolled):
    for a, b in ORIENTATIONS:
        for m, n, k in ((100, 72, 88), (33, 17, 23)):
            problem = fused(matmul(m=m, n=n, k=k, dtype=dtype, transpose_a=a, transpose_b=b), EPILOGUE)
            assert conflicts(staged_once(problem, unrolled=unrolled)[0]) == 0
    for c, stride in ((3, 1), (16, 2)):
        problem = conv2d(n=2, c=c, h=9, w=8, k=20, r=3, s=3, padding=1, stride=stride, dtype=dtype, filters="krsc")
        assert conflicts(staged_once(problem, unrolled=unrolled)[0]) == 0
