"""What prefetches and cursors bring, on kernels written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Address, Alloc, Call, For, Prefetch, View
from tiling.loops.machines import Advance, Aim, Cursors
from tiling.loops.meaning.memory import Fault
from tiling.loops.meaning.prefetches import Prefetched

ROW, AT = 32, variable("i")  # floats of a row of X: two lines
X = Buffer("X", (4, ROW), ("h", "w"))


def prefetched(*body, functions=()):
    """What a kernel asks for."""
    found = []
    interpret(Kernel((X,), body, functions), {"X": np.zeros(X.shape, np.float32)}, prefetched=found)
    return found


def lines(*bytes, level=2):
    return [Prefetched("X", byte, level) for byte in bytes]


def aim(row, elements=ROW):
    return Aim("x", Address("X", (constant(row), ZERO)), constant(elements))


def test_a_prefetch_may_name_a_place_outside():
    loop = For("i", constant(3), constant(5), 1, (Prefetch(Address("X", (AT, constant(4))), 1),))
    assert prefetched(loop) == lines(3 * 128 + 16, 4 * 128 + 16, level=1)


def test_a_view_is_prefetched_as_the_array_that_it_shows():
    view = View("x_h", Address("X", (constant(2), ZERO)))
    assert prefetched(view, Prefetch(Address("x_h", (ZERO, constant(16))), 1)) == lines(2 * 128 + 64, level=1)


def test_a_view_is_prefetched_as_the_memory_of_the_kernel_that_it_shows():
    tile = Function("tile", (("y", "parts"),), (), (), (Prefetch(Address("y", (ZERO, constant(16))), 2),))
    call = Call("tile", (Address("parts", (constant(1), ZERO)),))
    assert prefetched(Alloc(Buffer("parts", (2, ROW), ("p", "n"))), call, functions=(tile,)) == [
        Prefetched("parts", 128 + 64, 2)
    ]


def test_a_cursor_goes_from_line_to_line_and_stays_at_its_end():
    assert prefetched(Cursors(), aim(1), *[Advance("x")] * 5) == lines(128, 192)


def test_a_cursor_that_nothing_has_aimed_is_at_its_end():
    assert prefetched(Cursors(), Advance("x")) == []


@pytest.mark.parametrize("row, elements, bytes", [(3, 4 * ROW, (384, 448)), (-1, 2 * ROW, (0, 64)), (5, ROW, ())])
def test_a_cursor_stays_in_its_array(row, elements, bytes):
    assert prefetched(Cursors(), aim(row, elements), *[Advance("x")] * 5) == lines(*bytes)


def test_a_function_advances_the_cursors_of_its_caller():
    tile = Function("tile", (), (), (), (Advance("x"),), cursors=("x",))
    assert prefetched(Cursors(), aim(0), Call("tile", ()), Call("tile", ()), functions=(tile,)) == lines(0, 64)


def test_each_worker_has_its_own():
    body = (Cursors(), Advance("x"), Aim("x", Address("X", (AT, ZERO)), constant(16)), Advance("x"))
    assert prefetched(For("i", ZERO, constant(2), 1, body, "core")) == lines(0, 128)


def test_a_worker_without_cursors_has_none_to_aim_or_advance():
    for statement in (aim(0), Advance("x")):
        with pytest.raises(Fault, match="cursor x"):
            prefetched(statement)
