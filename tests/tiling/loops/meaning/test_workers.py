"""Two workers that touch one byte in no order, and what puts them in order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    THREAD,
    Address,
    Alloc,
    Barrier,
    For,
    If,
    Inside,
    Load,
    Number,
    Position,
    Read,
    Seen,
    Store,
)
from tiling.loops.machines import Take
from tiling.loops.meaning.workers import Race

THREAD_, WARP = variable("t"), variable("w")
X = Buffer("X", (8,), ("i",))
TILE = Buffer("tile", (8,), ("i",), memory="shared")
OWN = Buffer("own", (8,), ("t",), memory="registers")
ONE = Number(1)


def over(name: str, kind: str, *body, count: int = 4) -> For:
    return For(name, ZERO, constant(count), 1, body, kind)


def threads(*body) -> For:
    return over("t", "thread", *body)


def block(*body) -> For:
    return over("b", "block", *body, count=1)


def store(buffer: str, at: Index, value=ONE) -> Store:
    return Store(buffer, (at,), value)


def load(buffer: str, at: Index) -> Load:
    return Load(buffer, (at,))


def run(*body, barriers: bool = True, team: int = 1) -> None:
    interpret(Kernel((X,), body, barriers=barriers), {"X": np.zeros(8, np.float32)}, threads=team)


WRITE = threads(store("tile", THREAD_))
TURN = threads(store("own", THREAD_, load("tile", constant(3) - THREAD_)))
BEGIN = (Alloc(TILE), Alloc(OWN))


def test_what_another_thread_wrote_needs_a_barrier():
    run(block(*BEGIN, WRITE, Barrier("thread"), TURN))
    with pytest.raises(Race, match=r"block 0 thread 0 reads tile\[3\], which block 0 thread 3 has written: no barrier"):
        run(block(*BEGIN, WRITE, TURN))


def test_what_another_thread_read_is_not_written_before_a_barrier():
    first = (*BEGIN, WRITE, Barrier("thread"), TURN)
    run(block(*first, Barrier("thread"), WRITE))
    with pytest.raises(Race, match=r"block 0 thread 0 writes tile\[0\], which block 0 thread 3 has read: no barrier"):
        run(block(*first, WRITE))


def test_what_a_thread_wrote_itself_needs_none():
    run(block(*BEGIN, WRITE, threads(store("own", THREAD_, load("tile", THREAD_))), WRITE))


def test_two_threads_write_one_element():
    with pytest.raises(Race, match=r"thread 1 writes tile\[0\], which block 0 thread 0 has written"):
        run(block(*BEGIN, threads(store("tile", ZERO))))


def test_what_stands_in_no_loop_every_thread_does():
    with pytest.raises(Race, match=r"block 0: every thread writes tile\[0\]"):
        run(block(*BEGIN, store("tile", ZERO)))
    each = store("own", ZERO, load("tile", ZERO))
    run(block(*BEGIN, WRITE, Barrier("thread"), each, each))
    with pytest.raises(Race, match=r"block 0 reads tile\[0\], which block 0 thread 0 has written"):
        run(block(*BEGIN, WRITE, each))


def test_before_barriers_are_placed_loops_over_workers_wait():
    run(block(*BEGIN, WRITE, TURN, store("tile", ZERO)), barriers=False)


def test_no_worker_waits_inside_a_loop_over_its_kind():
    with pytest.raises(Race, match="block 0 thread 0 waits for others of its kind inside a loop over them"):
        run(block(*BEGIN, threads(store("tile", THREAD_), Barrier("thread"))))


def test_lanes_of_one_warp_wait_for_no_other_warp():
    def lanes(*body) -> For:
        return over("l", "lane", *body, count=2)

    def warps(there: Index) -> tuple:
        lane = variable("l")
        write, read = store("tile", WARP * 2 + lane), store("own", ZERO, load("tile", there - lane))
        return Alloc(TILE), Alloc(OWN), over("w", "warp", lanes(write), Barrier("lane"), lanes(read), count=2)

    run(block(*warps(WARP * 2 + 1)))
    with pytest.raises(Race, match=r"block 0 warp 1 lane 0 reads tile\[1\], which block 0 warp 0 lane 1 has written"):
        run(block(*warps(constant(1))))


def test_blocks_share_no_element_and_launches_follow_one_another():
    number = variable("b")
    first = over("b", "block", store("X", number), count=2)
    one_thread = over("b", "block", over("t", "thread", store("X", number), count=1), count=2)
    with pytest.raises(Race, match="every thread writes"):
        run(first)
    run(one_thread, over("b", "block", Alloc(OWN), store("own", ZERO, load("X", ZERO)), count=2))
    with pytest.raises(Race, match=r"block 1 thread 0 writes X\[0\], which block 0 thread 0 has written"):
        run(over("b", "block", over("t", "thread", store("X", ZERO), count=1), count=2))


def blocks_that_take(*, publish=True, see=True, take=True) -> None:
    """Two blocks leave a number each; who takes the counter last reads both."""
    count, parts, last = (Buffer(name, (2,), ("i",), "s64") for name in ("count", "parts", "last"))
    one = (Take("before", Address("count", (ZERO,)), 2), store("last", ZERO, Position(variable("before"))))
    taking = over("t", "thread", *(one if take else (store("last", ZERO, Position(variable("b"))),)), count=1)
    read = over("t", "thread", store("own", THREAD_, load("parts", constant(1) - THREAD_)), count=2)
    wait, leave = Barrier("thread"), over("t", "thread", store("parts", variable("b")), count=1)
    body = (
        *(Alloc(replace(last, memory="shared")), Alloc(OWN), leave),
        *([wait] if publish else []),
        taking,
        *([wait] if see else []),
        *(Read("turn", load("last", ZERO)), If((Inside(variable("turn"), 1, 2),), (read,))),
    )
    arrays = {"count": np.zeros(2, np.int64), "parts": np.zeros(2, np.int64)}
    interpret(Kernel((count, parts), (over("b", "block", *body, count=2),), barriers=True), arrays)
    assert arrays["parts"].tolist() == [1, 1] and arrays["count"].tolist() == [0, 0]


def test_blocks_that_take_a_counter_see_what_those_before_left():
    blocks_that_take()


@pytest.mark.parametrize("missing", ["publish", "see", "take"])
def test_blocks_see_nothing_without(missing):
    with pytest.raises(Race, match="reads"):
        blocks_that_take(**{missing: False})


def test_buffers_with_the_same_bytes_are_one():
    other = Buffer("other", (4,), ("i",), "f16", memory="shared")  # other[2] and tile[1] begin at byte 4
    late = over("t", "thread", store("other", constant(2) - THREAD_), count=1)
    for place, meets in ((0, True), (8, True), (32, False)):
        body = (Alloc(TILE, ZERO), WRITE, Alloc(other, constant(place)), late)
        if meets:
            with pytest.raises(Race, match=r"writes other\[2\], which block 0 thread [1-3] has written"):
                run(block(*body))
        else:
            run(block(*body))


def test_memory_seen_as_another_buffer():
    bytes_ = Seen(Buffer("bytes", (32,), ("i",), "u8"), "tile")
    with pytest.raises(Race, match=r"bytes\[7\], which block 0 thread 1 has written"):
        run(block(Alloc(TILE, ZERO), WRITE, bytes_, over("t", "thread", store("bytes", constant(7)), count=1)))


def test_threads_of_a_team():
    own, exchanged = store("X", variable(THREAD)), store("X", constant(1) - variable(THREAD))
    run(own, Barrier("core"), exchanged, team=2)
    with pytest.raises(Race, match=r"core 1 writes X\[1\], which core 0 has written"):
        run(own, exchanged, team=2)
    run(If((Inside(variable(THREAD), 0, 1),), (own, exchanged)), team=2)
