"""What the threads of a loop do at once is what they do in turn: results, faults, races, and what memory knows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops.histories import history
from tests.support.sampled import examples
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, Index, applied, constant, variable
from tiling.loops.interpreter import interpret, workers
from tiling.loops.interpreter.scope import Scope
from tiling.loops.interpreter.together import together
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Choose,
    Decide,
    Define,
    Do,
    Flag,
    For,
    If,
    Inside,
    Instruction,
    Invoke,
    Let,
    Load,
    Number,
    Position,
    Read,
    Register,
    Set,
    Statement,
    Store,
    Value,
    View,
)
from tiling.loops.machines import Await, Commit
from tiling.loops.meaning.histories import Memory
from tiling.loops.meaning.memory import Fault, complete
from tiling.loops.meaning.workers import Mbarrier, Race, Workers

THREADS = 12
NONE, ONE, ROW = constant(0), constant(1), variable("row")
T, W, A, B = map(variable, ("thread", "warp", "a", "b"))
SUM = Register("sum")
MOVED = Store("to", (variable("lane"),), Load("v", (variable("lane"),)))
PUT2 = Instruction("put2", "put2({to}, {v})", (For("lane", NONE, constant(2), 1, (MOVED,), "vector"),))
OWN = Alloc(Buffer("own", (2,), ("a",), "f32", "registers"))
UNWRITTEN, BETWEEN = "is read before anything is written there", ": no barrier between"


def threads(*body: Statement, kind: str = "thread") -> For:
    return For("thread", NONE, constant(THREADS), 1, body, kind)


def nested(*body: Statement, stop: Index | None = None) -> For:
    """Three warps of four threads."""
    inner = For("thread", W * 4, W * 4 + 4 if stop is None else stop, 1, body, "lane")
    return For("warp", NONE, constant(3), 1, (inner,), "warp")


def each(*body: Statement, name: str = "a", start: Index | None = None, stop: Index | None = None) -> For:
    return For(name, start or NONE, stop or constant(2), 1, body)


def x(*at: Index) -> Load:
    return Load("X", at)


def put(value: Value, *at: Index) -> Store:
    return Store("Y", at or (T, A), value)


def add(*values: Value) -> Apply:
    return Apply("add", values)


def scope(barriers: bool = True, also: bool = False) -> Scope:
    """X, W and Y of 12 x 6 numbers, where threads meet. Y[11, 5] has none. also: another block wrote X[3, 3] and read
    Y[2, 2].
    """
    block = (("block", 1),)
    workers = Workers(barriers=barriers, now=block if barriers else ())
    rng = np.random.default_rng(0)
    arrays = {
        name: complete(name, (8 * rng.random(size=(THREADS, 6))).astype(np.float32), Memory(workers)) for name in "XWY"
    }
    arrays["N"] = complete("N", rng.integers(0, 6, THREADS), None)
    arrays["Y"].written[THREADS - 1, 5] = False
    if also:
        workers.now = (("block", 2), ("thread", 0))
        arrays["X"].meet((3, 3))
        arrays["Y"].read((2, 2))
        workers.now = block
    return Scope({}, arrays=arrays, numbers={"n": 2}, workers=workers)


def outcome(loop: For, here: Scope) -> Any:
    """What is there after a loop, and who touched it; or what is wrong with it."""
    try:
        interpret.run((loop,), here)
    except (Fault, Race) as error:
        return type(error), str(error)
    arrays = [(name, a.elements.tobytes(), a.written.tolist()) for name, a in here.arrays.items()]
    return arrays, [history(a.memory) for a in here.arrays.values() if a.memory]


def both_ways(loop: For, **how: Any) -> tuple[Any, bool]:
    """The outcome, which is the same either way, and whether the threads ran at once."""
    beside, found = together(loop, scope(**how)), outcome(loop, scope(**how))
    with patch.object(workers, "together", lambda loop, scope: False):
        assert found == outcome(loop, scope(**how))
    return found, beside


@pytest.mark.parametrize("barriers", [False, True])
@pytest.mark.parametrize(
    "loop",
    [
        threads(put(x(T, ONE), T, NONE)),
        threads(Define("row", (T * 5) % 12), each(put(add(x(ROW, A), Load("W", (T, A))), ROW, A))),
        threads(each(put(x(T, A)), start=T % 3, stop=T % 5 + 1)),  # as many as each thread says
        threads(each(If((Inside(T * 2 - A, 3, 9),), (put(x(T, A)),), (put(Number(7)),))), kind="lane"),
        threads(each(each(put(Choose((Inside(T - B * 4, 0, None),), x(T, B), Load("W", (T, B))), T, B), name="b"))),
        threads(Let("sum", Number(0), True), each(Set("sum", add(SUM, x(T, A)))), put(SUM, T, NONE)),
        threads(
            Let("sum", None, True),
            If((Inside(T, 0, 5),), (Set("sum", x(T, NONE)),), (Set("sum", Number(1)),)),
            put(SUM, T, NONE),
        ),
        threads(Read("at", Load("N", (T,))), put(x(T, variable("at")), T, variable("at"))),
        threads(Decide("few", (Inside(T, 3, 5),)), If((Flag("few"),), (put(Number(1), T, NONE),))),
        nested(each(put(add(x(T, A), Load("W", (W * 3, A))), T, A))),  # warps of threads
        threads(View("rows", Address("X", (T, ONE))), each(put(Load("rows", (NONE, A))))),
        threads(put(Apply("as_f32", (Position(T * 3),)), T, ONE)),
        threads(
            OWN,
            each(Store("own", (A,), x(T, A))),
            Do(Invoke(PUT2, (("to", Address("Y", (T, ONE))), ("v", Address("own", (NONE,)))))),
        ),
        threads(each(put(add(Load("Y", (T, A)), x(T, A)))), each(put(add(Load("Y", (T, A)), Load("Y", (T, A)))))),
    ],
)
def test_at_once(loop, barriers):
    found, beside = both_ways(loop, barriers=barriers)
    assert beside and found[0] not in (Fault, Race)


@pytest.mark.parametrize("ended", [1, 3])
def test_each_waits_first(ended):
    """Another block arrived after it wrote X[3, 3]; a phase that has ended thrice looks like one to come."""
    loop, found = threads(Await(Address("full", (NONE,)), NONE), put(x(T, constant(3)), T, NONE)), []
    for once in (True, False):
        here = scope(also=True)
        here.arrays["full"] = complete("full", np.ones(1, np.uint64), Memory(here.workers))
        told = [[((("block", 2), ("thread", 0)), 0)], [], [], []][: ended + 1]
        here.workers.mbarriers[here.workers.mbarrier(("full", (0,)))] = Mbarrier(
            "full[0]", 1, 1, ended=ended, told=told
        )
        with nullcontext() if once else patch.object(workers, "together", lambda loop, scope: False):
            found.append(outcome(loop, here))
    assert found[0] == found[1] and (found[0][0] is Race) == (ended == 3)


@pytest.mark.parametrize(
    "loop",
    [
        For("thread", NONE, constant(3), 1, (put(Number(1), T, NONE),), "thread"),  # few
        threads(put(Number(1), T, NONE), Commit()),
        nested(put(Number(1), W, NONE)),  # many write one element
        nested(put(Number(1), T, NONE), stop=W * 5 + 2),  # not as many in each warp
        nested(put(Number(1), T, NONE), stop=applied("min", W * 4 + 4, constant(12))),
        threads(put(Number(1), T, NONE), put(Load("Y", (T, NONE)), T, ONE)),  # reads what it has written
        threads(For("lane", NONE, constant(4), 1, (put(Load("Y", (T, LANE)), T, LANE + 1),), "vector")),
        threads(put(Number(1), T // 2, NONE)),  # two write one element
        threads(put(Apply("as_f32", (Position(T),)), NONE, NONE)),
        threads(put(add(Load("Y", ((T + 1) % 12, NONE)), Number(1)), T, NONE)),  # what another one writes
        threads(put(Number(1), T, NONE), put(Number(2), (T + 1) % 12, NONE)),
        threads(put(Number(1), applied("min", T, constant(4)), NONE)),
        threads(put(x(T, variable("lane")), T, variable("lane"))),  # all lanes
    ],
)
def test_in_turn(loop):
    here = scope(barriers=False)
    before = [(a.elements.tobytes(), a.written.tolist()) for a in here.arrays.values()]
    assert not together(loop, here)
    assert before == [(a.elements.tobytes(), a.written.tolist()) for a in here.arrays.values()]


@pytest.mark.parametrize(
    "loop, kind, words",
    [
        (threads(put(x(T, constant(6)), T, NONE)), Fault, "X[0, 6] lies outside its 12 x 6 elements"),
        (threads(put(x(T, NONE), T - 1, NONE)), Fault, "Y[-1, 0] lies outside its 12 x 6 elements"),
        (threads(put(Load("Y", (T, constant(5))), T, NONE)), Fault, f"Y[11, 5] {UNWRITTEN}"),
        (threads(OWN, put(Load("own", (ONE,)), T, NONE)), Fault, f"own[1] {UNWRITTEN}"),
        (threads(OWN, Store("own", (constant(2),), Number(0))), Fault, "own[2] lies outside its 2 elements"),
        (threads(Let("sum", None, True), put(SUM, T, NONE)), Fault, "sum is read before it has a value"),
        (threads(put(Number(0), T, constant(2))), Race, f"2 writes Y[2, 2], which block 2 thread 0 has read{BETWEEN}"),
        (
            threads(put(x(T, constant(3)), T, NONE)),
            Race,
            f"3 reads X[3, 3], which block 2 thread 0 has written{BETWEEN}",
        ),
        (
            threads(put(Number(1), T, NONE), put(Load("Y", (T - T % 2, NONE)), T, ONE)),
            Race,
            f"1 reads Y[0, 0], which block 1 thread 0 has written{BETWEEN}",
        ),
    ],
)
def test_what_is_wrong_names_the_first_thread(loop, kind, words):
    found, beside = both_ways(loop, also=True)
    assert found == (kind, f"block 1 thread {words}" if kind is Race else words) and not beside


@pytest.mark.parametrize("first", ["u16", "part"])
def test_arrays_that_begin_at_one_address(first):
    """Another block meets what each thread has read of X by either name."""
    loop, found = threads(put(add(Apply("as_f32", (Load("Q", (T * 2,)),)), x(T, constant(5))), T, NONE)), []
    for once in (True, False):
        here = scope()
        whole = here.arrays["X"]
        shape, dtype = ((THREADS * 12,), np.uint16) if first == "u16" else ((THREADS * 2,), np.float32)
        here.arrays["Q"] = whole.seen("Q", shape, dtype)
        with nullcontext() if once else patch.object(workers, "together", lambda loop, scope: False):
            found.append((outcome(loop, here), history(whole.memory)))
    assert found[0] == found[1] and found[0][0][0] not in (Fault, Race)


leaves = st.builds(constant, st.integers(0, 3)) | st.sampled_from([T, A, T + A, T * 5])
rows = leaves.map(lambda index: index % THREADS)
columns = leaves.map(lambda index: index % 6) | st.just(A)
values = st.recursive(
    st.builds(x, rows, columns) | st.builds(lambda *at: Load("Y", at), rows, columns) | st.just(Number(3)),
    lambda inner: (
        st.builds(add, inner, inner)
        | st.builds(lambda low, *either: Choose((Inside(T - A, low, None),), *either), st.integers(-2, 9), inner, inner)
    ),
    max_leaves=3,
)
stores = st.builds(put, values, rows, columns) | st.builds(put, values, st.just(T), columns)
blocks = st.recursive(
    stores,
    lambda inner: st.builds(
        lambda low, n, one, other: If((Inside(T * 2 + A, low, low + n),), (one,), (other,)),
        st.integers(0, 9),
        st.integers(1, 9),
        inner,
        inner,
    ),
    max_leaves=3,
)


@examples(60)
@given(bodies=st.lists(blocks, min_size=1, max_size=3), stop=st.sampled_from([constant(2), T % 4]), also=st.booleans())
def test_any_loop(bodies, stop, also):
    both_ways(threads(each(*bodies, stop=stop)), also=also)
