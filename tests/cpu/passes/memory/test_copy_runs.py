"""Loops over neighbours become moves of memory; other loops stay."""

from __future__ import annotations

import pytest

from cpu.passes.memory.copy_runs import copy_runs
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import For, Load, Number, Store
from tiling.loops.listing import listing

N, ROW = variable("n"), variable("row")
ARRAYS = (Buffer("X", (4, 20), ("row", "number")), Buffer("x_copy", (4, 20), ("row", "number")))


def after(store: Store, start: int = 0, step: int = 1, kind: str = "serial") -> str:
    loop = For("n", constant(start), constant(6), step, (store,), kind)
    kernel = Kernel(ARRAYS, (For("row", ZERO, constant(4), 1, (loop,), "core"),))
    return listing(copy_runs(kernel)).partition("\n\n")[2]


def test_a_loop_over_neighbours_is_one_copy():
    text = after(Store("x_copy", (ROW, N + 3), Load("X", (ROW, N + ROW * 2))))
    assert text == "for row in 0..4, core:\n  copy_6(to: x_copy + [row, 3], given: X + [row, 2*row])"


def test_a_loop_of_zeros_is_one_too_and_may_begin_later():
    assert "zeros_4(x_copy + [row, 2])" in after(Store("x_copy", (ROW, N), Number(0)), start=2)


@pytest.mark.parametrize(
    "store, more",
    [
        (Store("x_copy", (ROW, N * 2), Load("X", (ROW, N))), {}),  # no neighbours
        (Store("x_copy", (N, N), Load("X", (ROW, N))), {}),
        (Store("x_copy", (ROW, N), Load("X", (N, ROW))), {}),
        (Store("x_copy", (ROW, N), Load("X", (ROW, N))), {"step": 2}),
        (Store("x_copy", (ROW, N), Load("X", (ROW, N))), {"kind": "core"}),
        (Store("x_copy", (ROW, N), Number(1)), {}),
    ],
)
def test_other_loops_stay(store, more):
    assert "for n in" in after(store, **more)
