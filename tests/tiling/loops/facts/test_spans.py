"""Between which places a block stores to its arrays."""

from tiling.loops.facts.spans import overlap, spans_of
from tiling.loops.index import LANE, ZERO, applied, constant, variable
from tiling.loops.language import THREAD, THREADS, Address, Define, Do, For, Instruction, Invoke, Load, Number, Store

AT = variable("i")


def found(*body):
    return list(spans_of(body))


def each(*body, start=ZERO, stop=None, step=1):
    return For("i", start, stop or constant(8), step, body)


def test_a_loop_reaches_from_its_first_to_its_last_step():
    store = Store("y", (AT * 2 + 1, ZERO), Number(0))
    assert found(each(store)) == [("y", ((1, 15), (0, 0)))]
    assert found(each(store, start=constant(2), stop=constant(7), step=4)) == [("y", ((5, 13), (0, 0)))]
    place = Define("at", constant(7) - AT)
    assert found(each(place, Store("y", (variable("at"),), Number(0)))) == [("y", ((0, 7),))]


def test_threads_together_go_as_far_as_one_alone():
    start, stop = (applied("/", (variable(THREAD) + after) * 8, variable(THREADS)) for after in (0, 1))
    assert found(each(Store("y", (AT,), Number(0)), start=start, stop=stop)) == [("y", ((0, 7),))]


def test_a_vector_instruction_stores_all_its_lanes():
    lanes = For("lane", ZERO, constant(4), 1, (Store("p", (LANE,), Load("v", (LANE,))),), "vector")
    store = Do(Invoke(Instruction("put", "put({p}, {v})", (lanes,)), (("p", Address("y", (ZERO, AT))),)))
    assert found(each(store, step=4)) == [("y", ((0, 0), (0, 7)))]


def test_what_a_number_of_the_caller_decides_has_no_span():
    store = Store("y", (AT,), Number(0))
    assert found(each(store, stop=variable("n"))) == found(Store("y", (variable("n"),), Number(0))) == []


def test_boxes_overlap_where_they_do_along_every_axis():
    assert overlap(((0, 3), (0, 7)), ((3, 5), (7, 9)))
    assert not overlap(((0, 3), (0, 7)), ((3, 5), (8, 9)))
    assert not overlap(((4, 5), (0, 7)), ((0, 3), (0, 7)))
