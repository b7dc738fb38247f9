"""Loops as pseudo-code: every kind of statement, short and without Python's own spelling."""

from __future__ import annotations

import re

import pytest

from tests.support.loops.loops import indices
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, constant, variable
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Barrier,
    Block,
    Call,
    Comment,
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
    Mask,
    Move,
    Number,
    Prefetch,
    Register,
    Set,
    Store,
    Stride,
    View,
)
from tiling.loops.listing import listing
from tiling.loops.lowering.lower import lower_scheme
from tiling.loops.machines import Advance, Aim, Commit, Copy, Cursors, Fence, Shape, Take, Tiles, Wait
from tiling.operators import conv2d
from tiling.text.notation import parse

K, M = variable("k"), variable("m")
X = Load("X", (M, K * 2 - 1))
ACC = Load("acc", (M, LANE))
TILE = Buffer("tmm1", (14, 16), ("row", "at"), memory="tile")


def text(*body) -> str:
    return listing(Kernel((), body)).strip()


def invoke(name, **operands):
    return Invoke(Instruction(name, name, ()), tuple(operands.items()))


@pytest.mark.parametrize(
    "statement, line",
    [
        (Alloc(Buffer("acc", (6, 1, 16), ("row", "vector", "lane"), memory="registers")), "acc[6, 1, 16] in registers"),
        (Alloc(Buffer("A", (8,), ("k",), "s32", "shared")), "A[8] of s32 in shared memory"),
        (
            Store("acc", (M, LANE), Apply("add", (ACC, Apply("mul", (X, X))))),
            "acc[m, lane] += X[m, 2*k - 1] * X[m, 2*k - 1]",
        ),
        (Store("Y", (M,), Apply("add", (X, ACC))), "Y[m] = X[m, 2*k - 1] + acc[m, lane]"),
        (Let("x_0", invoke("broadcast", p=Address("x", indices(3, 0)))), "x_0 = broadcast(x + [3, 0])"),
        (Let("acc_0", None, True), "acc_0 in a register"),
        (
            Set(
                "acc_0",
                invoke("fma", x=Register("x_0"), w=invoke("load", p=Address("w", (ZERO,))), acc=Register("acc_0")),
            ),
            "acc_0 = fma(x: x_0, w: load(w), acc: acc_0)",
        ),
        (
            Do(invoke("store_tail", p=Address("y", (M,)), lanes=Mask(constant(5)), v=Register("acc_0"))),
            "store_tail(p: y + [m], lanes: 5, v: acc_0)",
        ),
        (Define("h", K // 4 % 2), "h = k / 4 % 2"),
        (Decide("first", (Inside(K, 0, 1), Inside(M, None, 9))), "first = whether k == 0 and m < 9"),
        (View("x_k", Address("x", (ZERO, K))), "x_k = x + [0, k]"),
        (Prefetch(Address("W", (K * 32 + 256,)), 1), "prefetch W[32*k + 256] to L1"),
        (Prefetch(Address("Y", (K,)), 1, True), "prefetch Y[k] to L1, to be written"),
        (Cursors(), "cursors of this worker"),
        (Aim("w", Address("W", (K + 1,)), 288), "aim w at W[k + 1], 288 elements"),
        (Advance("w"), "advance w"),
        (Move("y_next", (ZERO, constant(16))), "y_next += [0, 16]"),
        (Tiles(), "tile registers of this worker"),
        (Shape("SHAPES_0", (TILE,)), "shape tile registers tmm1[14, 16]"),
        (Alloc(TILE), "tmm1[14, 16] in a tile register"),
        (
            Do(
                invoke(
                    "tile_load", t=Address("tmm1", (ZERO, ZERO)), step=Stride("x", (M * 0 + 1, ZERO)), n=Immediate(K)
                )
            ),
            "tile_load(t: tmm1, step: x by [1, 0], n: k)",
        ),
        (Fence(), "fence"),
        (Copy(Address("S", (K % 2,)), Address("X", (K,)), 8), "copy 8 elements to S[k % 2] from X[k]"),
        (Commit(), "commit"),
        (Wait(), "wait"),
        (Wait(2), "wait until 2 groups are pending"),
        (Take("before", Address("S", (K,)), 3), "before = how often S[k] was taken before, of 3 times"),
        (Barrier("warp"), "barrier of warps"),
        (Comment("the last row"), "# the last row"),
        (
            Call("tile0", (Address("X", (M, ZERO)), Address("W", (ZERO,))), (K + 1,), ("first",)),
            "tile0(X + [m, 0], W, k + 1, first)",
        ),
    ],
)
def test_a_statement_is_a_line(statement, line):
    assert text(statement) == line


def test_blocks_are_indented():
    body = (If((Inside(M, 0, 3),), (Comment("in"),), (If((Flag("odd"),), (Comment("odd"),), (Comment("out"),)),)),)
    loop = For("m", K, K + 10, 2, body, "core")
    assert text(loop).splitlines() == [
        "for m in k..(k + 10) by 2, core:",
        "  if 0 <= m < 3:",
        "    # in",
        "  else if odd:",
        "    # odd",
        "  else:",
        "    # out",
    ]
    assert text(Block("6mx16n", (Fence(),), ("m < 5", "k >= 1"))) == "tile 6mx16n, m < 5, k >= 1:\n  fence"
    lets = tuple(Let(f"x_{n}", Number(n)) for n in range(30))
    assert text(Block("", lets[:2])) == "{ x_0 = 0; x_1 = 1 }"
    assert text(Block("", lets)).splitlines()[:2] == ["{", "  x_0 = 0"]


@pytest.mark.parametrize(
    "value, shown",
    [
        (Apply("mul", (Apply("add", (X, Number(3))), Number(0.5))), "(X[m, 2*k - 1] + 3) * 0.5"),
        (Apply("sub", (X, Apply("sub", (X, X)))), "X[m, 2*k - 1] - (X[m, 2*k - 1] - X[m, 2*k - 1])"),
        (Apply("div", (Number(1), Apply("mul", (X, Number(2))))), "1 / (X[m, 2*k - 1] * 2)"),
        (Apply("mul", (Number(-1), Apply("neg", (Number(2),)))), "(-1) * (-2)"),
        (Apply("neg", (Apply("add", (Number(1), Number(2))),)), "-(1 + 2)"),
        (Apply("max", (Apply("relu", (Number(1),)), Number(0.044715))), "max(relu(1), 0.044715)"),
    ],
)
def test_values_have_the_brackets_they_need(value, shown):
    assert text(Let("v", value)) == f"v = {shown}"


def test_arrays_come_first_and_functions_last():
    x = Buffer("X", (20, 5), ("m", "k"))
    tile = Function("tile0", (("x", "X"),), ("r_begin",), ("first",), (Fence(),), ("w", "x"), "2 rows; m < 5")
    assert listing(Kernel((x,), (Comment("here"),), (tile,))) == (
        "X[20, 5] in global memory: m, k\n\n# here\n\n"
        "# 2 rows; m < 5\n# advances the cursors w, x of its caller\ntile0(x, r_begin, first):\n  fence"
    )


def test_nothing_else_is_a_statement():
    with pytest.raises(TypeError, match="Kernel is no statement"):
        text(Kernel((), ()))
    with pytest.raises(TypeError, match="Fence is no operand"):
        text(Let("v", Fence()))


def test_a_gpus_loops_can_be_read():
    """So far they are only lowered. No Python is left in the text."""
    problem = conv2d(n=2, c=16, h=9, w=10, k=64, r=3, s=3, padding=1, dtype="f16", filters="krsc")
    text = "T(nhw,2)@block S(y) T(rsc,9) S(x, 3) S(w, 3) T(nhw,2)@warpgroup M(nhw64k64rsc16)"
    shown = listing(lower_scheme(parse(problem, text)))
    assert "  for nhw in nhw_1..(nhw_1 + 128) by 64, warpgroup:\n" in shown
    assert "acc[64, 64, 1] in registers" in shown and "Y[(nhw + nhw_u) / 90, (nhw + nhw_u) / 10 % 9, " in shown
    assert not re.search(r"Index|Load|\('|None", shown)
