"""Which arrays a kernel writes to, whatever name it stores by."""

import pytest

from tiling.loops.buffer import Buffer
from tiling.loops.facts.writes import loaded_from, stored_to, touched, written
from tiling.loops.index import LANE, ZERO, constant
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Address, Alloc, Call, Do, For, Instruction, Invoke, Load, Number, Seen, Store, View
from tiling.loops.machines import Copy

X, Y, Z = (Buffer(name, (16,), ("at",)) for name in "XYZ")
NOTHING = Number(0)


def put(name):
    return Store(name, (ZERO,), NOTHING)


def at(name):
    return Address(name, (ZERO,))


def moving(target, source):
    """An instruction that stores to the operand `target` what the operand `source` holds."""
    one = Store(target, (LANE,), Load(source, (LANE,)))
    return Instruction("move", "move({a}, {b})", (For("lane", ZERO, constant(4), 1, (one,), "vector"),))


@pytest.mark.parametrize("target, source, wanted", [("a", "b", {"Y"}), ("b", "a", {"X"})])
def test_an_instruction_writes_to_what_its_meaning_stores_to(target, source, wanted):
    instruction = moving(target, source)
    # Those of one name and text are one instruction, so each is of its own text here.
    named = Instruction(f"move_{target}", f"move_{target}({{a}}, {{b}})", instruction.meaning)
    done = Do(Invoke(named, (("a", at("Y")), ("b", at("X")))))
    assert written(Kernel((X, Y), (For("i", ZERO, constant(2), 1, (done,)),))) == wanted


def test_a_store_through_a_view_writes_to_the_array():
    body = (View("y", at("Y")), View("y_i", at("y")), put("y_i"))
    assert written(Kernel((X, Y), body)) & {"X", "Y"} == {"Y"}


def test_a_function_writes_to_the_array_that_its_view_shows():
    function = Function("f", (("y", "X"), ("x", "Y")), (), (), (View("y_i", at("y")), put("y_i")))
    assert written(Kernel((X, Y), (Call("f", (at("X"), at("Y"))),), (function,))) == {"X"}


def test_a_function_that_a_function_calls_writes_to_what_each_call_shows():
    """What the inner one's views show has its name in the function between, and another one at each call."""
    inner = Function("inner", (("y", "part"), ("x", "X")), (), (), (Store("y", (ZERO,), Load("x", (ZERO,))),))
    body = (View("part", at("to")), Call("inner", (at("part"), at("of"))))
    between = Function("between", (("of", "X"), ("to", "Y")), (), (), body)
    calls = (Call("between", (at("X"), at("Y"))), Call("between", (at("X"), at("Z"))))
    kernel = Kernel((X, Y, Z), calls, (inner, between))
    assert written(kernel) & {"X", "Y", "Z"} == {"Y", "Z"}
    # Whichever stands first.
    assert touched((between, inner), loaded_from)["between"] == (True, False)
    assert touched((between, inner), stored_to)["between"] == (False, True)


def test_memory_that_is_seen_otherwise_is_written_to():
    own = Buffer("own", (16,), ("at",), memory="own")
    seen = Seen(Buffer("rows", (4, 4), ("row", "at")), "own", "flag", "Z")
    function = Function("f", (("r", "rows"),), (), (), (put("r"),))
    kernel = Kernel((X, Y, Z), (Alloc(own), seen, Call("f", (at("rows"),))), (function,))
    assert written(kernel) == {"rows", "own", "Z"}


def test_a_copy_writes_to_its_target():
    assert written(Kernel((X, Y), (Copy(at("Y"), at("X"), 4),))) == {"Y"}
