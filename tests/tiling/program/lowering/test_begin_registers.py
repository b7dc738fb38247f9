"""A register begins with the value that is stored to it first, and with no other one."""

from __future__ import annotations

import numpy as np

from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Apply, For, Load, Number, Store
from tiling.program.lowering.begin_registers import begin_registers

X, Y = (Buffer(name, (40,), ("i",)) for name in "xy")
ONE, LANES = Buffer("acc", (1,), ("number",), "f32", "registers"), Buffer("acc", (4,), ("lane",), "f32", "registers")
HERE = (variable("i"),)


def after(*body):
    """The statements of a block after the pass."""
    return begin_registers(Kernel((X, Y), body)).body


def test_a_second_store_stays():
    first, second = Store("acc", (ZERO,), Number(1)), Store("acc", (ZERO,), Number(2))
    assert after(Alloc(ONE), first, second) == (Alloc(ONE, first=Number(1)), second)


def test_a_vector_begins_with_a_value_for_all_lanes_alone():
    whole, one = Store("acc", (LANE,), Number(1)), Store("acc", (ZERO,), Number(1))
    assert after(Alloc(LANES), whole) == (Alloc(LANES, first=Number(1)),)
    assert after(Alloc(LANES), one) == (Alloc(LANES), one)


def test_what_is_no_register_of_one_number_stays():
    for buffer in (Buffer("acc", (2,), ("number",), "f32", "registers"), Buffer("acc", (1,), ("i",), "f32", "stack")):
        store = Store("acc", (ZERO,), Number(1))
        assert after(Alloc(buffer), store) == (Alloc(buffer), store)


def test_each_iteration_begins_anew_in_turn_and_together():
    added = Store("acc", (ZERO,), Apply("add", (Load("acc", (ZERO,)), Load("x", HERE))))
    body = (Alloc(ONE), Store("acc", (ZERO,), Load("x", HERE)), added, Store("y", HERE, Load("acc", (ZERO,))))
    for kind in ("serial", "thread"):
        kernel = begin_registers(Kernel((X, Y), (For("i", ZERO, constant(40), 1, body, kind),)))
        assert kernel.body[0].body[0] == Alloc(ONE, first=Load("x", HERE))
        x, y = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
        interpret(kernel, {"x": x, "y": y})
        np.testing.assert_array_equal(y, 2 * x)
