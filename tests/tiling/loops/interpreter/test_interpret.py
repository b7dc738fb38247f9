"""What statements do, and what is a fault, on kernels written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.loops.loops import indices
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Barrier,
    Block,
    Call,
    Decide,
    Define,
    Do,
    Flag,
    For,
    If,
    Immediate,
    Inside,
    Instruction,
    Invoke,
    Let,
    Load,
    Move,
    Number,
    Register,
    Set,
    Store,
    View,
)
from tiling.loops.machines import Commit, Copy, Shape, Tiles, Wait
from tiling.loops.meaning.memory import Fault

AT, OTHER = variable("i"), variable("j")
SHARED = Buffer("S", (4,), ("i",), memory="shared")


def run(*body, x=(1, 2, 3, 4), functions=(), shapes=False):
    """What a kernel makes of X and of a Y of four -1."""
    arrays = (Buffer("X", (4,), ("i",)), Buffer("Y", (4,), ("i",)))
    given = {"X": np.array(x, np.float32), "Y": np.full(4, -1, np.float32)}
    interpret(Kernel(arrays, body, functions, shapes=shapes), given)
    return given["Y"].tolist()


def put(value, at=ZERO):
    return Store("Y", (at,), value)


def get(buffer, at=ZERO):
    return Load(buffer, (at,))


def get2(buffer, *at):
    return Load(buffer, indices(*at))


def each(*body, stop=4, kind="serial"):
    return For("i", ZERO, constant(stop), 1, body, kind)


# ---- plain statements


def test_loops_conditions_and_functions_of_values():
    halved = Apply("div", (get("X", AT), Number(2)))
    assert run(each(If((Inside(AT, 1, 3),), (put(halved, AT),), (put(Number(0), AT),)))) == [0, 1, 1.5, 0]
    assert run(For("i", constant(1), constant(4), 2, (put(Number(9), AT),))) == [-1, 9, -1, 9]
    assert run(For("i", constant(3), constant(2), 1, (put(Number(9), AT),))) == [-1] * 4


def test_names_for_indices_and_facts():
    body = (
        Define("j", AT * 2 % 4),
        Decide("even", (Inside(OTHER, 0, 1),)),
        If((Flag("even"),), (put(get("X", OTHER), AT),)),
    )
    assert run(each(*body)) == [1, -1, 1, -1]
    assert run(If((Flag("stream"),), (put(Number(5)),))) == [-1] * 4  # what nobody has set does not hold


def test_a_register_is_that_of_its_block():
    inner = Block("", (Let("a", Number(2)), put(Register("a"), constant(1))))
    assert run(Let("a", Number(1)), inner, put(Register("a"))) == [1, 2, -1, -1]
    changed = Block("", (Set("a", Number(2)),))
    assert run(Let("a", Number(1), changes=True), changed, put(Register("a"))) == [2, -1, -1, -1]


def test_a_view_begins_at_its_place_and_may_be_moved():
    body = (View("x", Address("X", indices(1))), View("x_i", Address("x", (AT,))), put(get("x_i", constant(-1)), AT))
    assert run(each(*body)) == [1, 2, 3, 4]


def test_a_view_moves_for_the_blocks_outside_too():
    body = (View("x", Address("X", indices(0))), each(put(get("x"), AT), Move("x", (constant(1),))))
    assert run(*body) == [1, 2, 3, 4]


def test_a_tile_register_has_the_shape_that_was_set_last():
    register = Buffer("tmm0", (2, 2), ("row", "at"), memory="tile")
    other = Buffer("tmm0", (1, 2), ("row", "at"), memory="tile")
    use = (Alloc(register), Store("tmm0", indices(1, 0), Number(7)), put(get2("tmm0", 1, 0)))
    good, bad = Shape("A", (register,)), Shape("B", (other,))
    assert run(Tiles(), good, *use, shapes=True) == [7, -1, -1, -1]
    wrong = ((Tiles(), *before) for before in ((), (good, bad), (good, Tiles()), (bad,)))
    for before in ((), *wrong):
        with pytest.raises(Fault, match="tile register tmm0 has no shape of 2 x 2"):
            run(*before, *use, shapes=True)


def test_tile_registers_need_shapes_only_where_a_pass_has_set_them():
    """Before that pass a register has the shape that its `Alloc` says."""
    register = Buffer("tmm0", (2, 2), ("row", "at"), memory="tile")
    use = (Alloc(register), Store("tmm0", indices(1, 0), Number(7)), put(get2("tmm0", 1, 0)))
    assert run(*use) == [7, -1, -1, -1]
    for shapes in (False, True):
        with pytest.raises(Fault, match="A is given to a worker that has no tile registers"):
            run(Shape("A", (register,)), *use, shapes=shapes)


def test_a_count_is_a_number_of_the_meaning():
    meaning = (Store("p", (variable("at"),), Number(3)),)
    count = Invoke(
        Instruction("put", "put({p}, {at})", meaning), (("p", Address("Y", (ZERO,))), ("at", Immediate(AT + 1)))
    )
    assert run(each(Do(count), stop=2)) == [-1, 3, 3, -1]


def test_a_function_knows_its_parameters_only():
    shows = Function("shows", (("x", "X"), ("y", "Y")), ("j",), ("odd",), (Store("y", (OTHER,), get("x")),))
    call = Call("shows", (Address("X", (AT,)), Address("Y", (ZERO,))), (constant(3) - AT,), ("even",))
    assert run(each(call), functions=(shows,)) == [4, 3, 2, 1]
    body = (Store("y", (AT,), get("x")),)  # i is a variable of the caller
    with pytest.raises(KeyError, match="i"):
        run(each(call), functions=(Function("shows", shows.views, ("j",), ("odd",), body),))


def test_an_instruction_runs_its_meaning():
    lanes = (For("lane", ZERO, constant(4), 1, (Store("out", (LANE,), Apply("neg", (get("p", LANE),))),), "vector"),)
    negated = Invoke(Instruction("negated", "neg({p})", lanes), (("p", Address("X", (ZERO,))),))
    assert run(Store("Y", (LANE,), negated)) == [-1, -2, -3, -4]
    half = (For("lane", ZERO, constant(4), 1, (If((Inside(LANE, None, 2),), lanes[0].body),), "vector"),)
    with pytest.raises(Fault, match="half leaves lanes of its value without one"):
        run(Store("Y", (LANE,), Invoke(Instruction("half", "", half), negated.operands)))


# ---- faults


@pytest.mark.parametrize("at", [-1, 4])
def test_outside_a_buffer(at):
    with pytest.raises(Fault, match=rf"X\[{at}\] lies outside its 4 elements"):
        run(put(get("X", constant(at))))
    with pytest.raises(Fault, match=rf"Y\[{at}\] lies outside its 4 elements"):
        run(put(Number(0), constant(at)))
    moved = View("y", Address("Y", indices(at)))  # may lie outside as long as nothing is read there
    assert run(moved, Store("y", indices(-at), Number(7))) == [7, -1, -1, -1]
    with pytest.raises(Fault, match="lies outside its 4 elements"):
        run(moved, Store("y", indices(0), Number(7)))


def test_read_before_write():
    with pytest.raises(Fault, match=r"S\[2\] is read before anything is written there"):
        run(Alloc(SHARED), Store("S", indices(1), Number(1)), put(get("S", constant(2))))
    # A buffer ends with its block: the next iteration's is new.
    again = If((Inside(AT, None, 1),), (Store("S", indices(0), Number(1)),))
    with pytest.raises(Fault, match=r"S\[0\] is read before"):
        run(each(Alloc(SHARED), again, put(get("S"), AT)))


def test_a_register_without_a_value():
    for body in ((Let("a", None, changes=True),), ()):
        with pytest.raises(Fault, match="a is read before it has a value"):
            run(*body, put(Register("a")))
    with pytest.raises(Fault, match="a is read before it has a value"):  # it was that of a block that has ended
        run(Block("", (Let("a", Number(1)),)), put(Register("a")))


# ---- asynchronous copies


def copied(start, count=1):
    return Copy(Address("S", indices(start)), Address("X", indices(start)), count)


def test_a_copy_is_complete_after_a_wait_for_its_group():
    assert run(Alloc(SHARED), copied(1, 2), Commit(), Wait(), put(get("S", constant(2)))) == [3, -1, -1, -1]


@pytest.mark.parametrize(
    "between", [(), (Commit(),), (Wait(),), (Commit(), Wait(1)), (Commit(), Barrier("warp")), (Commit(), Wait(5))]
)
def test_before_it_new_memory_is_a_fault(between):
    """Nothing committed, nobody waited, or the group is one that may be pending. A barrier waits for no copy."""
    with pytest.raises(Fault, match=r"S\[0\] is read before anything is written there"):
        run(Alloc(SHARED), copied(0), *between, put(get("S")))


def test_before_it_memory_in_use_has_its_old_data():
    old = (Alloc(SHARED), Store("S", indices(0), Number(9)), copied(0), Commit())
    assert run(*old, put(get("S")), Wait(), put(get("S"), constant(1))) == [9, 1, -1, -1]


def test_a_wait_leaves_the_last_groups_pending():
    groups = [s for start in range(3) for s in (copied(start), Commit())]
    assert run(Alloc(SHARED), *groups, Wait(1), put(get("S", constant(1)))) == [2, -1, -1, -1]
    for pending, place in ((1, 2), (2, 1), (3, 0), (4, 0), (9, 0)):
        with pytest.raises(Fault, match=rf"S\[{place}\] is read before"):
            run(Alloc(SHARED), *groups, Wait(pending), put(get("S", constant(place))))


def test_a_copy_from_outside_brings_zeros():
    both = Copy(Address("S", (AT,)), Address("X", (AT + 3,)), 1, (Inside(AT + 3, 0, 4),))
    assert run(Alloc(SHARED), each(both), Commit(), Wait(), each(put(get("S", AT), AT))) == [4, 0, 0, 0]


def test_a_copy_goes_on_behind_the_end_of_a_row():
    """Its elements are neighbours in memory, of the source and of the target."""
    rows = Buffer("S", (2, 2), ("row", "column"), memory="shared")
    copy = Copy(Address("S", indices(0, 1)), Address("X", indices(1)), 3)
    found = run(
        Alloc(rows), copy, Commit(), Wait(), put(Load("S", indices(1, 1))), put(Load("S", indices(1, 0)), constant(1))
    )
    assert found == [4, 3, -1, -1]


def test_a_ring_of_stages():
    """Two stages: the copy of the next element is under way while this one is read."""
    next_one = Copy(Address("S", ((AT + 1) % 2,)), Address("X", (AT + 1,)), 1)
    steps = (If((Inside(AT, None, 3),), (next_one,)), Commit(), Wait(1), put(get("S", AT % 2), AT))
    ring = Buffer("S", (2,), ("stage",), memory="shared")
    assert run(Alloc(ring), copied(0), Commit(), each(*steps)) == [1, 2, 3, 4]
    late = (If((Inside(AT, None, 3),), (next_one,)), Commit(), Wait(2), put(get("S", AT % 2), AT))
    with pytest.raises(Fault):
        run(Alloc(ring), copied(0), Commit(), each(*late))


def test_workers_run_one_after_the_other_and_wait_for_their_own_copies():
    """So a barrier is nothing to wait at, and what a later worker writes is not there yet."""
    alone = (Copy(Address("S", (AT,)), Address("X", (AT,)), 1), Commit(), Wait(), put(get("S", AT), AT))
    assert run(Alloc(SHARED), each(*alone, kind="warp")) == [1, 2, 3, 4]
    shared = (Store("S", (AT,), get("X", AT)), Barrier("warp"))
    assert run(Alloc(SHARED), each(*shared, put(get("S"), AT), kind="warp")) == [1, 1, 1, 1]
    with pytest.raises(Fault, match=r"S\[3\] is read before"):
        run(Alloc(SHARED), each(*shared, put(get("S", constant(3)), AT), kind="warp"))
    others = (Copy(Address("S", (AT,)), Address("X", (AT,)), 1), Commit(), If((Inside(AT, 1, None),), (Wait(1),)))
    with pytest.raises(Fault, match=r"S\[0\] is read before"):
        run(Alloc(SHARED), each(*others, put(get("S"), AT), kind="warp"))
