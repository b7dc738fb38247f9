"""Threads wait where the order of two steps matters, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.passes.waits import Deed, Touch, Waits


@st.composite
def deeds(draw):
    touches = st.builds(
        lambda memory, begin, size, writes: Touch(memory, begin, begin + size, writes),
        st.sampled_from(["arena", "output_0"]),
        st.integers(0, 5),
        st.integers(1, 3),
        st.booleans(),
    )
    return draw(st.lists(st.builds(Deed, st.lists(touches, max_size=3).map(tuple), st.booleans()), max_size=12))


def matters(one: Deed, two: Deed) -> bool:
    """Whether two deeds touch a byte that one of them writes, and different threads may do so."""
    bytes_of = [
        {(touch.memory, at): touch.writes or None for touch in deed.touches for at in range(touch.begin, touch.end)}
        for deed in (one, two)
    ]
    written = [
        {(t.memory, at) for t in deed.touches if t.writes for at in range(t.begin, t.end)} for deed in (one, two)
    ]
    both = written[0] & set(bytes_of[1]) or written[1] & set(bytes_of[0])
    return bool(both) and not (one.alone and two.alone)


@pytest.mark.slow
@given(deeds())
def test_there_is_a_wait_between_any_two_deeds_whose_order_matters(deeds):
    waits, before = Waits(), []
    for deed in deeds:
        before.append(waits.before(deed))
    for last, two in enumerate(deeds):
        for first, one in enumerate(deeds[:last]):
            assert not matters(one, two) or any(before[first + 1 : last + 1])


@pytest.mark.slow
@given(deeds())
def test_every_wait_is_for_a_deed_since_the_last_one(deeds):
    waits, since = Waits(), []
    for deed in deeds:
        wait = waits.before(deed)
        assert wait == any(matters(one, deed) for one in since)
        since = [deed] if wait else [*since, deed]


def test_what_one_thread_does_it_does_in_order():
    write = Touch("arena", 0, 64, True)
    waits = Waits()
    assert [waits.before(Deed((write,), alone)) for alone in (True, True, False, True)] == [False, False, True, True]
