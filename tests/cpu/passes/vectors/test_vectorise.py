"""Loops over lanes as vector instructions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cpu.passes.vectors.vectorise import vectorise
from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa import AVX2
from tests.support.loops.loops import conditions, statements
from tests.support.loops.passes import SAME, TILES, around, instructions
from tiling.epilogue import fused
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, For, If, Inside, Load, Mask, Number, Statement, Store
from tiling.loops.rewrite import parts_of
from tiling.operators import conv2d, matmul

MASKED = fused(matmul(m=2, n=7, k=2), "relu(y + b)")
MASKED_TEXT = "R(m) L(n, 1x2) S(c) T(k,2) U(n,λ) V(n,{v})"


def test_no_loop_over_lanes_is_left():
    for problem, text in ((SAME, TILES), (MASKED, MASKED_TEXT)):
        before, after = around("vectorise", problem, text)
        kinds = [{s.kind for s in statements(k) if isinstance(s, For)} for k in (before, after)]
        assert "vector" in kinds[0] and "vector" not in kinds[1]
        assert not [c for c in conditions(after) if c.index.coefficient("lane")]
        # A lane is left where whole accumulators are meant.
        lanes = [s for s in statements(after) if isinstance(s, Store)]
        loads = [p for s in lanes for p in parts_of(s.value) if isinstance(p, Load)]
        assert {place.buffer for place in (*lanes, *loads)} == {"acc"}


def test_what_lanes_share_is_broadcast_and_what_lies_side_by_side_is_loaded():
    _, after = around("vectorise")
    for fma in instructions(after, "fma"):
        operands = dict(fma.operands)
        assert (operands["x"].instruction.name, operands["w"].instruction.name) == ("broadcast", "load")
    depthwise = conv2d(c=8, k=8, groups=8, h=3, w=3, r=3, s=3, padding=1)
    _, after = around("vectorise", depthwise, "R(c) R(h) R(w) S(y) T(r,3) T(s,3) V(c,{v})")
    (fma,) = instructions(after, "fma")
    assert [dict(fma.operands)[name].instruction.name for name in "xw"] == ["load", "load"]


def test_the_last_vector_is_masked():
    """3 of the 4 lanes of the second vector exist: loads of the bias and stores know it once loops are unrolled."""
    _, after = around("unroll", MASKED, MASKED_TEXT)
    masked = [i for i in instructions(after) if i.instruction.name.endswith("_tail")]
    assert {i.instruction.name for i in masked} == {"store_tail", "load_tail"}
    assert {given.lanes.offset for i in masked for _, given in i.operands if isinstance(given, Mask)} == {3}
    assert len(instructions(after, "store")) == len(instructions(after, "store_tail")) == 1


def test_an_epilogue_is_one_function_of_vectors():
    problem = fused(matmul(m=2, n=8, k=2), "relu(y*scale + b) - z")
    _, after = around("vectorise", problem, "R(m) R(n) S(c) T(k,2) V(n,{v})")
    (epilogue,) = instructions(after, "epilogue")
    assert [name for name, _ in epilogue.operands] == ["y", "e_scale", "e_b", "e_z", "zero"]


def test_a_row_that_is_no_output_keeps_its_zeros():
    """The test is not of the lane, so both of its blocks become vectors."""
    at = (variable("row"), variable("lane"))
    choice = If((Inside(variable("row"), 0, 1),), (Store("acc", at, Load("Y", at)),), (Store("acc", at, Number(0)),))
    acc = Buffer("acc", (2, 8), ("row", "lane"), memory="registers")
    body = (Alloc(acc), rows_of(choice), rows_of(Store("Z", at, Load("acc", at))))
    kernel = Kernel(tuple(replace(acc, name=name, memory="global") for name in "YZ"), body)
    y = np.arange(1, 17, dtype=np.float32).reshape(2, 8)
    for form in (kernel, vectorise(kernel, instructions_of(AVX2), 8, False)):
        given = {"Y": y, "Z": np.full((2, 8), 7, np.float32)}
        interpret(form, given)
        np.testing.assert_array_equal(given["Z"], [y[0], np.zeros(8)])


def rows_of(statement: Statement) -> Statement:
    """The statement for each lane of two rows."""
    return For("row", ZERO, constant(2), 1, (For("lane", ZERO, constant(8), 1, (statement,), "vector"),))
