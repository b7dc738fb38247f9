"""All lanes of an instruction at once: the same bits, and the same faults, as one statement after the other."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa import EVERY_ISA
from tiling.loops.index import LANE, ZERO, applied, constant
from tiling.loops.interpreter import interpret
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import Address, Apply, For, Instruction, Invoke, Load, Number, Register, Store
from tiling.loops.meaning.instructions import InstructionLanes, lanes_of
from tiling.loops.meaning.memory import NUMPY, Fault, complete
from tiling.loops.rewrite import parts_of

LANES, ONE = 4, constant(1)


def rows_instructions():
    """Each instruction of each row of the table that computes all lanes of its value from vectors at once."""
    for isa in EVERY_ISA.values():
        table = instructions_of(isa)
        own = [getattr(table, field.name) for field in fields(table)]
        found = [each for each in own if isinstance(each, Instruction)] + list(table.arithmetic.values())
        yield from (pytest.param(isa, each, id=f"{isa.name}-{each.name}") for each in found if of_vectors(each))


def of_vectors(instruction):
    """Whether each lane of the value is computed from the same lane of vectors, or from their first."""
    stores = instruction.meaning[0].body if at_once(instruction) else ()
    return any(isinstance(each, Store) for each in stores) and all(
        load.at in ((LANE,), (ZERO,)) for load in loads(instruction)
    )


def at_once(instruction):
    """Whether the value is a loop over lanes whose accesses are slices of vectors."""
    known = lanes_of(instruction)
    return len(known.slices) == 1 and known.of_value > 0 and known.slices[0].writes is not None


def loads(instruction):
    """What the one value of an instruction loads."""
    ((store,),) = (loop.body for loop in instruction.meaning)
    return [part for part in parts_of(store.value) if isinstance(part, Load)]


def invoked(instruction, vectors, at_once=True):
    scope = Scope({}, registers=dict(vectors))
    known = lanes_of(instruction)
    scope.instructions[id(instruction)] = known if at_once else InstructionLanes(instruction, known.of_value)
    return interpret.invoked(Invoke(instruction, tuple((name, Register(name)) for name in vectors)), scope)


@pytest.mark.parametrize("isa, instruction", list(rows_instructions()))
def test_the_value_is_that_of_one_lane_after_the_other(isa, instruction):
    random, lanes = np.random.default_rng(0), lanes_of(instruction).of_value
    drawn = {}
    for load in loads(instruction):
        whole = random.integers(0, 1 << 16, lanes if load.at == (LANE,) else 1)
        if isa.numbers is None or load.buffer == "acc":
            drawn[load.buffer] = (whole / 7).astype(NUMPY[instruction.dtype or "f32"])
        else:  # words of narrow numbers
            drawn[load.buffer] = whole.astype(np.uint32)
    beside, in_turn = invoked(instruction, drawn), invoked(instruction, drawn, at_once=False)
    assert beside.dtype == in_turn.dtype and beside.shape == (lanes,)
    np.testing.assert_array_equal(beside.view(np.uint8), in_turn.view(np.uint8))


def made(value, lanes=LANES, name="made", text="made"):
    return Instruction(name, text, (For("lane", ZERO, constant(lanes), 1, (Store("out", (LANE,), value),), "vector"),))


HALF = Apply("mul", (Load("a", (LANE,)), Number(0.5)))


def test_one_text_may_stand_for_vectors_of_several_lengths():
    short, long = made(HALF), made(HALF, lanes=8)
    assert short == long
    scope = Scope({})
    for instruction, lanes in ((short, 4), (long, 8), (short, 4)):
        scope.registers["a"] = np.arange(lanes, dtype=np.float32)
        out = interpret.invoked(Invoke(instruction, (("a", Register("a")),)), scope)
        assert out.tolist() == [each / 2 for each in range(lanes)]


def test_other_lanes_are_read_one_after_the_other():
    assert at_once(made(HALF)) and at_once(made(Load("a", (LANE + 1,))))
    assert not at_once(made(Load("a", (constant(3) - LANE,))))
    assert not at_once(made(Apply("neg", (Load("a", (applied("max", LANE, ONE),)),))))
    given = {"a": np.float32([1, 2, 3, 4])}
    assert invoked(made(Load("a", (constant(3) - LANE,))), given).tolist() == [4, 3, 2, 1]
    first = made(Apply("add", (Load("a", (ZERO,)), Load("b", (LANE,)))))
    given = {"a": np.float32([7, 1]), "b": np.float32([1, 2, 3, 4])}
    assert invoked(first, given).tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("beside", (True, False))
def test_a_vector_with_too_few_lanes_is_a_fault(beside):
    with pytest.raises(Fault, match=r"a\[1\] lies outside its 1 elements"):
        invoked(made(HALF), {"a": np.float32([1])}, beside)
    assert invoked(made(HALF), {"a": np.arange(9, dtype=np.float32)}, beside).tolist() == [0, 0.5, 1, 1.5]


def test_a_value_keeps_apart_from_its_operands():
    a = np.arange(LANES, dtype=np.float32)
    out = invoked(made(Load("a", (LANE,))), {"a": a})
    a[:] = 9
    assert out.tolist() == [0, 1, 2, 3]


def in_memory(written, place, count=6):
    """A scope with an array, some of whose elements have a value, and an address in it."""
    array = complete("A", np.arange(count, dtype=np.float32))
    array.written[written:] = False
    return Scope({}, arrays={"A": array}), (("p", Address("A", (constant(place),))),)


@pytest.mark.parametrize("value, wanted", [(Load("p", (LANE,)), [2, 3, 4, 5]), (Load("p", (ZERO,)), [2, 2, 2, 2])])
def test_a_vector_is_loaded_from_memory(value, wanted):
    scope, operands = in_memory(6, 2)
    out = interpret.invoked(Invoke(made(value), operands), scope)
    scope.arrays["A"].elements[:] = 9
    assert out.tolist() == wanted


@pytest.mark.parametrize("written, place, said", [(6, 3, r"A\[6\] lies outside"), (4, 2, r"A\[4\] is read before")])
def test_a_vector_that_may_not_be_loaded_is_a_fault(written, place, said):
    scope, operands = in_memory(written, place)
    with pytest.raises(Fault, match=said):
        interpret.invoked(Invoke(made(Load("p", (LANE,))), operands), scope)


@pytest.mark.parametrize("place", [2, 3])
def test_a_vector_is_stored_to_memory(place):
    loop = For("lane", ZERO, constant(LANES), 1, (Store("p", (LANE,), Load("v", (LANE,))),), "vector")
    scope, operands = in_memory(3, place)
    scope.registers["v"] = np.float32([6, 7, 8, 9])
    invoke = Invoke(Instruction("put", "put", (loop,)), (*operands, ("v", Register("v"))))
    if place == 3:
        with pytest.raises(Fault, match=r"A\[6\] lies outside"):
            interpret.invoked(invoke, scope)
        return
    assert interpret.invoked(invoke, scope) is None
    array = scope.arrays["A"]
    assert array.elements.tolist() == [0, 1, 6, 7, 8, 9] and array.written.all()
