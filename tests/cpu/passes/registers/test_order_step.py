"""The multiplications of a step: each number is loaded once."""

from __future__ import annotations

from collections import Counter

from tests.support.loops import statements
from tests.support.passes import around, instructions
from tiling.loops.language import Block, Body, Fence, Invoke, Let, Store
from tiling.loops.walk import inside
from tiling.operators import conv2d

# 3 taps of a row of 12: (12 + 3) * 1 + 1 vectors are as many as the portable row has registers.
FULL = conv2d(c=2, h=3, w=12, k=4, r=1, s=3, padding=(0, 1))
FULL_TEXT = "R(k) R(h) S(y) T(r,1) T(c,2) U(s,3) U(w,12) V(k,{v})"


def steps(kernel) -> list[Body]:
    """The blocks that load x."""

    def walk(body: Body):
        if any(isinstance(s, Block) for s in body):
            yield body
        for statement in body:
            if not isinstance(statement, Block):
                for block in inside(statement):
                    yield from walk(block)

    return [body for function in kernel.functions for body in walk(function.body)]


def loaded(body: Body, prefix: str) -> Counter:
    """How often each x or w is loaded in the blocks of a step."""
    lets = [s for s in statements_of(body) if isinstance(s, Let) and s.name.startswith(prefix)]
    return Counter(str(let.value.operands) for let in lets if isinstance(let.value, Invoke))


def statements_of(body: Body):
    for statement in body:
        yield statement
        for block in inside(statement):
            yield from statements_of(block)


def test_each_number_is_loaded_once_a_step():
    before, after = around("order step")
    found = steps(after)
    assert found and not [s for s in statements(after) if isinstance(s, Fence)]
    for step in found:
        assert set(loaded(step, "x_").values()) == {1} and set(loaded(step, "w_").values()) == {1}
    # Every multiplication is still there, with registers for operands.
    assert len(instructions(after, "fma")) == sum(isinstance(s, Store) for step in found for s in statements_of(step))
    assert len(instructions(before, "fma")) < len(instructions(after, "fma"))


def test_x_is_walked_in_order():
    _, after = around("order step")
    for step in steps(after):
        blocks = [s for s in step if isinstance(s, Block)]
        first = [block.body[0].value.operands[0][1].at[2].offset for block in blocks]
        assert first == sorted(first)


def test_where_registers_are_short_points_follow_one_another():
    _, after = around("order step", FULL, FULL_TEXT)
    found = steps(after)
    fences = [s for step in found for s in step if isinstance(s, Fence)]
    assert fences and len(fences) == 2 * len(found)  # between three points
    for step in found:
        points = [s.body for s in step if isinstance(s, Block)]
        assert len(points) == 3
        for point in points:
            assert sum(loaded(point, "w_").values()) == 1 and set(loaded(point, "x_").values()) == {1}


def test_taps_on_padding_are_no_multiplications():
    _, after = around("order step", FULL, FULL_TEXT)
    assert len(instructions(after, "fma")) == 3 * 12 - 2  # each end of the row has a tap outside
