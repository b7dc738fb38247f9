"""Unrolled loops, written out."""

from __future__ import annotations

from cpu.passes.control.unroll import decided, unrolled
from tests.support.loops.loops import statements
from tests.support.loops.passes import around
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.language import Flag, For, If, Inside, Load, Number, Store

A, B = variable("a"), variable("b")


def loop(name, stop, *body, kind="unrolled"):
    return For(name, ZERO, constant(stop), 1, body, kind)


def put(*at):
    return Store("acc", at, Number(0))


def test_a_copy_for_each_iteration():
    body = (loop("a", 2, loop("b", 2, put(A, B))),)
    assert unrolled(body, {}) == tuple(put(constant(a), constant(b)) for a in range(2) for b in range(2))
    assert unrolled((loop("a", 2, put(A), kind="serial"),), {}) == (loop("a", 2, put(A), kind="serial"),)


def test_tests_of_numbers_are_decided():
    inside = If((Inside(A + B, 1, None), Flag("first")), (put(A),), (put(B),))
    assert unrolled((loop("a", 2, inside),), {}) == (
        If((Inside(B, 1, None), Flag("first")), (put(ZERO),), (put(B),)),
        If((Inside(B + 1, 1, None), Flag("first")), (put(constant(1)),), (put(B),)),
    )
    assert unrolled((loop("b", 2, loop("a", 1, inside)),), {}) == (
        put(ZERO),
        If((Flag("first"),), (put(ZERO),), (put(constant(1)),)),
    )


def test_a_test_is_decided_at_a_number_alone():
    assert decided(Inside(constant(3), 0, 4)) is True and decided(Inside(constant(4), 0, 4)) is False
    assert decided(Inside(constant(-1), None, 4)) is True and decided(Inside(constant(9), 4, None)) is True
    assert decided(Inside(A, 0, 4)) == Inside(A, 0, 4) and decided(Flag("first")) == Flag("first")


def test_no_unrolled_loop_is_left():
    before, after = around("unroll")
    assert [s for s in statements(before) if isinstance(s, For) and s.kind == "unrolled"]
    assert not [s for s in statements(after) if isinstance(s, For) and s.kind == "unrolled"]
    places = [s.at for s in statements(after) if isinstance(s, Store)]
    assert all(index.is_constant for row, vector, _ in places for index in (row, vector))
    assert not [s for s in statements(after) if isinstance(s, Load)]
