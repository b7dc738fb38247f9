"""A nest of loops around one store does at once what it does in turn: its results, its faults, its races."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops.histories import history
from tests.support.loops.indices import combined
from tests.support.sampled import examples
from tiling.loops.index import Index, applied, constant, variable
from tiling.loops.interpreter import interpret
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import Apply, Body, Choose, Condition, For, If, Inside, Load, Number, Position, Store, Value
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.histories import Memory
from tiling.loops.meaning.memory import Fault, by_lane, complete, undefined
from tiling.loops.meaning.workers import Race, Workers

ROW, COLUMN, DEEP = map(variable, "ijk")
ACROSS, ALONG = Load("X", (ROW, DEEP)), Load("X", (ROW, COLUMN))
SUM = Apply("add", (Load("Y", (ROW, COLUMN)), Apply("mul", (ACROSS, Load("W", (DEEP, COLUMN))))))
MIXED = Choose((Inside(ROW - DEEP, 0, None),), Number(1), Number(2, "s32"))


def loops(body: Body, **counts: int | tuple[int, int, int]) -> For:
    """A nest, outermost loop first."""
    for name, count in reversed(counts.items()):
        start, stop, step = (0, count, 1) if isinstance(count, int) else count
        body = (For(name, constant(start), constant(stop), step, body),)
    return body[0]


def put(value: Value, *at: Index) -> Store:
    return Store("Y", at or (ROW, COLUMN), value)


def scope(shared: bool = False, also: bool = False, dtype: type = np.float32) -> Scope:
    """X, W and Y of 6 x 6 numbers. Y[5, 5] has none. shared: threads meet in X and Y. also: another one wrote X[3, 3]
    and read Y[2, 2].
    """
    workers = Workers(barriers=True, now=(("thread", 0),))
    memory = {name: Memory(workers) if shared else None for name in "XY"} | {"W": None}
    rng = np.random.default_rng(0)
    drawn = {name: (8 * rng.random(size=(6, 6))).astype(dtype) for name in "XWY"}
    arrays = {name: complete(name, elements, memory[name]) for name, elements in drawn.items()}
    arrays["Y"].written[5, 5] = False
    if also:
        workers.now = (("thread", 1),)
        arrays["X"].meet((3, 3))
        arrays["Y"].read((2, 2))
        workers.now = (("thread", 0),)
    return Scope({}, arrays=arrays, numbers={"n": 2}, workers=workers)


def outcome(loop: For, here: Scope):
    """What is there after a loop, for which threads; or what is wrong with it."""
    try:
        interpret.run((loop,), here)
    except (Fault, Race) as error:
        return type(error), str(error)
    arrays = [(name, a.elements.tobytes(), a.written.tolist()) for name, a in here.arrays.items()]
    notes = [history(a.memory) for a in here.arrays.values() if a.memory]
    return arrays, notes


def both_ways(loop: For, **how: Any):
    """The outcome, which is the same either way, and whether the nest ran at once."""
    beside = interpret.at_once(loop, scope(**how))
    found = outcome(loop, scope(**how))
    with patch.object(interpret, "at_once", lambda loop, scope: False):
        assert found == outcome(loop, scope(**how))
    return found, beside


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "loop",
    [
        loops((put(Number(3)),), i=6, j=6),
        loops((put(ALONG),), i=6, j=(1, 6, 2)),
        loops((put(SUM),), k=6, i=5, j=5),
        loops((put(SUM),), i=5, k=6, j=5),
        loops((put(SUM),), i=5, j=5, k=6),
        loops((put(Apply("sub", (ACROSS, Load("Y", (ROW, COLUMN))))),), i=4, j=4, k=5),
        loops((put(Apply("max", (Load("Y", (ROW, COLUMN)), Load("Y", (ROW, COLUMN))))),), i=4, j=4, k=2),
        loops((put(ACROSS),), i=4, j=4, k=5),  # the last one stays
        loops((If((Inside(ROW + COLUMN, 2, 6),), (put(SUM),)),), k=6, i=5, j=5),
        loops((If((Inside(ROW + DEEP, 2, 6),), loops((put(SUM),), j=5).body),), k=6, i=5, j=5),
        loops((If((Inside(variable("n"), 0, 2),), (put(SUM),)),), k=6, i=5, j=5),
        loops((put(Choose((Inside(ROW - COLUMN, 0, None),), ALONG, Load("X", (COLUMN, ROW)))),), i=6, j=6),
        loops((put(Apply("as_f32", (Position(ROW * 6 + COLUMN),))),), i=6, j=6),
        loops(
            (put(Apply("add", (Load("Y", (constant(1), constant(1))), ACROSS)), constant(1), constant(1)),), i=4, k=4
        ),
        loops((put(ALONG, ROW, applied("^", COLUMN, constant(1))),), i=6, j=6),
        loops((put(ALONG, (ROW * 6 + COLUMN) % 6, (ROW * 6 + COLUMN) // 6),), i=6, j=5),
    ],
)
def test_at_once(loop, shared):
    _, beside = both_ways(loop, shared=shared)
    assert beside


@pytest.mark.parametrize(
    "loop",
    [
        loops((put(ALONG),), i=2, j=3),  # few
        loops((put(Load("Y", (ROW, COLUMN - 1))),), i=6, j=(1, 6, 1)),  # what another iteration writes
        loops((put(ALONG, ROW // 2, COLUMN),), i=6, j=6),  # several write one element
        loops((put(ALONG, applied("min", ROW, constant(4)), COLUMN),), i=6, j=6),
        loops((put(Number(1)), put(ALONG)), i=6, j=6),
        loops((If((Inside(ROW, 2, 4),), (put(ALONG),), (put(Number(1)),)),), i=6, j=6),
        loops((put(Apply("add", (Load("Y", (DEEP, COLUMN)), ALONG))),), k=4, i=4, j=4),
        loops(
            (put(Apply("neg", (Apply("add", (Load("Y", (ROW, COLUMN)), MIXED)),))),), k=2, i=4, j=4
        ),  # seen when k is 1
    ],
)
def test_in_turn(loop):
    _, beside = both_ways(loop)
    assert not beside


@pytest.mark.parametrize(
    "loop, words",
    [
        (loops((put(Apply("neg", (Load("Y", (ROW, COLUMN)),))),), i=6, j=6), r"Y\[5, 5\] is read before anything"),
        (loops((put(SUM),), k=6, i=6, j=6), r"Y\[5, 5\] is read before anything"),
        (loops((put(ALONG),), i=6, j=7), r"X\[0, 6\] lies outside its 6 x 6"),
        (loops((put(ALONG, ROW - 1, COLUMN),), i=6, j=6), r"Y\[-1, 0\] lies outside"),
    ],
)
def test_a_fault_names_the_first_iteration(loop, words):
    (kind, said), beside = both_ways(loop)
    assert kind is Fault and not beside
    with pytest.raises(Fault, match=words):
        raise kind(said)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
@pytest.mark.parametrize(
    "loop, words",
    [
        (loops((put(ALONG),), i=6, j=6), "writes Y[2, 2], which thread 1 has read"),
        (
            loops((put(ALONG),), i=(3, 6, 1), j=6),
            "reads X[3, 3], which thread 1 has written",
        ),
    ],
)
def test_a_race_names_the_first_iteration(loop, words, dtype):
    (kind, said), beside = both_ways(loop, shared=True, also=True, dtype=dtype)
    assert kind is Race and said == f"thread 0 {words}: no barrier between" and not beside


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_a_race_of_many_elements_is_found(dtype):
    """A box of the copy engine writes all of them."""
    y = scope(shared=True, also=True, dtype=dtype).arrays["Y"]
    with pytest.raises(Race, match=r"writes Y\[2, 2\], which thread 1 has read"):
        y.write_all(np.unravel_index(np.arange(36), (6, 6)), np.ones(36, dtype))


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_lanes_may_see_one_element_from_several_places(apart):
    """Each lane adds 1 to three elements from its own place on, which are those of other lanes too if they lie near."""
    more = put(Apply("add", (Load("Y", (ROW, COLUMN)), Number(1))))
    loop, found = loops((more,), i=4, j=3), []
    for once in (True, False):
        here, y = scope(), complete("Y", np.zeros((6, 6), np.float32))
        here.arrays["Y"] = by_lane(y, lambda lane: (0, apart * lane))
        with nullcontext() if once else patch.object(interpret, "at_once", lambda loop, scope: False):
            interpret.run((loop,), here)
        found.append(y.elements)
    assert found[0].sum() == 12 and found[0].tobytes() == found[1].tobytes()


leaves = st.builds(constant, st.integers(0, 3)) | st.sampled_from([ROW, COLUMN, DEEP, ROW, COLUMN])
places = st.recursive(leaves, combined, max_leaves=3).map(lambda index: index % 6) | st.sampled_from(
    [ROW, COLUMN, DEEP]
)
values = st.builds(lambda *at: Load("X", at), places, places) | st.just(Load("W", (DEEP, COLUMN)))
conditions = st.lists(
    st.builds(lambda i, low, n: Inside(i, low, low + n), places, st.integers(0, 3), st.integers(1, 5))
)


@pytest.mark.slow
@examples(100)
@given(
    at=st.permutations([ROW, COLUMN, DEEP]).map(lambda free: (free[0], free[1])) | st.tuples(places, places),
    value=values | st.builds(lambda c, v, o: Choose(tuple(c), v, o), conditions, values, values),
    function=st.sampled_from(["", "add", "mul", "max"]),
    conditions=conditions,
    order=st.permutations("ijk"),
    counts=st.tuples(*[st.integers(1, 6)] * 3),
    shared=st.booleans(),
)
def test_any_nest(at, value, function, conditions: list[Condition], order, counts, shared):
    body: Body = (put(Apply(function, (Load("Y", at), value)) if function else value, *at),)
    body = (If(tuple(conditions), body),) if conditions else body
    both_ways(loops(body, **dict(zip(order, counts))), shared=shared)


@pytest.mark.parametrize("name", ["word", "dot_f16", "low_f16", "high_f16", "low_bf16", "high_bf16"])
def test_functions_of_words_take_vectors(name):
    rng = np.random.default_rng(0)
    arguments = [rng.integers(0, 2**32, 9, dtype=np.uint32) for _ in range(1 + (name in ("word", "dot_f16")))]
    if name == "word":
        arguments = [rng.normal(size=9).astype(np.float16) for _ in range(2)]
    with np.errstate(all="ignore"):
        one_by_one = np.array([FUNCTIONS[name](*each) for each in zip(*arguments)])
        found = FUNCTIONS[name](*arguments)
    assert found.dtype == one_by_one.dtype and found.tobytes() == one_by_one.tobytes()


def test_what_has_no_number_yet_may_be_written():
    here = scope()
    here.arrays["Y"] = undefined("Y", (6, 6), np.float32)
    assert interpret.at_once(loops((put(ALONG),), i=6, j=6), here) and here.arrays["Y"].written.all()
