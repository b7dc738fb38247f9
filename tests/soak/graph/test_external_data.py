"""Weights in a file above 2 GB."""

from __future__ import annotations

import os

import numpy as np
import pytest

from graph import compile_model
from tests.support.models.external_weights import saved


def test_a_model_above_2_gb_is_compiled(tmp_path):
    rows, columns = 150_000, 4096
    size = 4 * rows * columns
    if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") < 6 * size:
        pytest.skip("there is too little memory")
    path = saved(tmp_path, size, (rows, columns))
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(size)  # zeros, which take no space
        file.seek(size - 4)
        file.write(np.float32(7).tobytes())
    (y,) = compile_model(path)(np.array([0, rows - 1]))
    assert y.sum() == 7 == y[1, -1]
