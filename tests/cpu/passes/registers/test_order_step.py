"""The multiplications of a step: each number is loaded once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cpu.passes.registers.order_step import order_step
from cpu.passes.registers.products import is_copy, is_product, stands_for
from tests.support.kernels.cases import CASES
from tests.support.loops.loops import statements
from tests.support.loops.passes import around, instructions
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, Do, Invoke, Let, Register, Store
from tiling.loops.machines import Fence
from tiling.loops.walk import inside, with_blocks
from tiling.operators import conv2d
from tiling.rewrite.pointwise import pointwise2d

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


PANEL = pointwise2d(conv2d(n=2, c=12, h=3, w=3, k=18, r=1, s=1, layout="nchw"))
PANEL_TEXT = CASES["pixels, a panel for each task"][1]


def test_a_vector_that_is_copied_too_is_stored_from_its_register():
    before, after = around("order step", PANEL, PANEL_TEXT)
    copies = [s for s in statements(before) if is_copy(s)]
    stored = [s for s in statements(after) if isinstance(s, Do) and s.invoke.instruction.name == "store"]
    panel = [s for s in stored if dict(s.invoke.operands)["p"].buffer.startswith("panel")]
    assert copies and panel and not [s for s in statements(after) if is_copy(s)]
    assert all(isinstance(dict(s.invoke.operands)["v"], Register) for s in panel)


def changed(kernel: Kernel, change) -> Kernel:
    """A kernel with other statements in its functions: what `change` makes of each body."""

    def body(given: Body) -> Body:
        return change(tuple(with_blocks(s, body) for s in given))

    return replace(kernel, functions=tuple(replace(f, body=body(f.body)) for f in kernel.functions))


def without_products(body: Body) -> Body:
    """A body whose copies stand alone."""
    copies = any(stands_for(s, is_copy) for s in body)
    return tuple(s for s in body if not (copies and stands_for(s, is_product)))


def copies_last(body: Body) -> Body:
    return tuple(sorted(body, key=lambda s: stands_for(s, is_copy)))


def of_elsewhere(body: Body) -> Body:
    """A body whose copies read the second place of what they read."""
    found = []
    for statement in body:
        if is_copy(statement):
            operands = dict(statement.invoke.operands)
            read = dict(operands["v"].operands)
            read["p"] = replace(read["p"], at=(*read["p"].at[:-1], read["p"].at[-1] + 1))
            operands["v"] = replace(operands["v"], operands=tuple(read.items()))
            statement = Do(replace(statement.invoke, operands=tuple(operands.items())))
        found.append(statement)
    return tuple(found)


@pytest.mark.parametrize("change", [without_products, copies_last, of_elsewhere])
def test_a_copy_of_a_vector_that_no_product_holds_is_an_error(change):
    before, _ = around("order step", PANEL, PANEL_TEXT)
    assert changed(before, lambda body: body) == before
    with pytest.raises(AssertionError, match="cop"):
        order_step(changed(before, change), 16)
