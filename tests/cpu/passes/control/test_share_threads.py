"""What one thread of a team does, and where its buffers lie."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cpu.passes.program.bind_tasks as bind_tasks
from cpu.codegen.inside import facts_of_scheme
from cpu.passes.control.place_barriers import place_barriers
from cpu.passes.control.share_threads import share_threads
from cpu.passes.forms import product_forms, program_forms
from cpu.passes.memory.place_buffers import place_buffers
from cpu.passes.order import PLACE_BARRIERS
from cpu.reference.programs import evaluate
from microkernels.tile.isa import AVX2, ISAS
from tests.support.programs.programs import after, inputs_of, interpreted
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel, Scratch
from tiling.loops.language import THREAD, Alloc, Barrier, For, If, Load, Store
from tiling.loops.meaning.memory import Fault
from tiling.loops.walk import walk
from tiling.operators import conv2d
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse

WORKER, AT = variable("worker"), variable("i")
X, Y = (Buffer(name, (6, 4), ("i", "j"), "f32", "global") for name in "XY")
BETWEEN, ROW = Buffer("e", (6, 4), ("i", "j")), Buffer("row", (4,), ("j",), memory="own")


def workers(*body, name="worker"):
    return For(name, ZERO, constant(6), 1, body, "core")


def along(*body):
    return For("i", ZERO, constant(4), 1, body)


# e = x, row by row, on all threads; then e[0] = e[5], on one; then y = e backwards, through a row of each thread.
FIRST = workers(along(Store("e", (WORKER, AT), Load("X", (WORKER, AT)))))
ALONE = along(Store("e", (ZERO, AT), Load("e", (constant(5), AT))))
LAST = workers(
    Alloc(ROW),
    along(Store("row", (AT,), Load("e", (constant(5) - WORKER, AT)))),
    along(Store("Y", (WORKER, AT), Load("row", (AT,)))),
)
KERNEL = Kernel((X, Y), (Alloc(BETWEEN), FIRST, ALONE, LAST))


def shared(team: bool) -> Kernel:
    return place_barriers(share_threads(place_buffers(KERNEL, team, lambda buffer: 4), team))


@pytest.mark.parametrize("threads", range(1, 8))
def test_any_number_of_threads_computes_the_same(threads):
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    wanted = x[::-1].copy()
    wanted[5] = x[5]
    for team in (True, False)[: 1 + (threads == 1)]:
        y = np.zeros_like(x)
        interpret(shared(team), {"X": x, "Y": y}, threads=threads)
        np.testing.assert_array_equal(y, wanted)


def test_without_a_barrier_threads_read_what_nobody_wrote():
    kernel = shared(True)
    body = tuple(statement for statement in kernel.body if not isinstance(statement, Barrier))
    given = {name: np.zeros((6, 4), np.float32) for name in "XY"}
    with pytest.raises(Fault, match=r"e\[5, 0\] is read before anything is written there"):
        interpret(Kernel(kernel.arrays, body), given, threads=2)


def test_what_no_loop_shares_one_thread_does_between_barriers():
    kinds = [type(statement) for statement in shared(True).body]
    assert kinds == [Alloc, For, Barrier, If, Barrier, For]
    assert [type(statement) for statement in shared(False).body] == [Alloc, For, For, For]


def test_buffers_of_all_threads_lie_before_those_of_each():
    kernel = shared(True)
    places = {s.buffer.name: s.at for s in walk(kernel.body) if isinstance(s, Alloc)}
    assert places == {"e": ZERO, "row": constant(128) + variable(THREAD) * 64}  # 96 and 16 bytes, in whole lines
    assert kernel.scratch == Scratch(constant(128), constant(64)) and kernel.scratch.bytes(3) == constant(320)
    assert shared(False).scratch == kernel.scratch


def test_a_panel_of_every_thread():
    problem = pointwise2d(conv2d(c=6, h=4, w=8, k=16, r=1, s=1, layout="nchw"))
    scheme = parse(problem, "T(k,2)@core T(w,8) S(x) T(k,2) S(y) T(c,6) U(k,4) V(w,4)")
    kernel = dict(product_forms(facts_of_scheme(scheme, ISAS["portable"], False, 2)))[PLACE_BARRIERS]
    (panel,) = [s for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.name == "panel"]
    assert panel.at == variable(THREAD) * kernel.scratch.own.offset and kernel.scratch.own.offset >= 4 * 6 * 4
    assert not [s for s in walk(kernel.body) if isinstance(s, Barrier)]


def test_what_one_thread_fills_and_others_read_lies_where_all_see_it(monkeypatch):
    """Rows are lanes here, so that the sum of each is a register, and small arrays lie on the stack."""
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    text = "s[i,j] = sum[c] q[i,c] * k[j,c]; m[i] = max[j] where(j <= 2 * i, s[i,j], -9); "
    text += "e[i,j] = where(j <= 2 * i, max(s[i,j] - m[i], -3), 0); d[i] = sum[j] e[i,j]; "
    text += "a[i,c] = sum[j] e[i,j] * k[j,c]; y[i,c] = a[i,c] + d[i] - m[i]"
    program = sized(read(text), {}, {"q": (2, 1), "k": (2, 1)}, outputs=("y",))
    arrays = inputs_of(program, Random(0))
    kernel = dict(program_forms(program, AVX2, 2))[PLACE_BARRIERS]
    shared = [s for s in kernel.body if isinstance(s, Alloc)]
    assert {"s", "m"} <= {s.buffer.name for s in shared}
    assert all(s.at is not None and THREAD not in s.at.names() for s in shared)
    for threads in (1, 2, 3):
        found = interpreted(program, kernel, arrays, threads=threads)
        np.testing.assert_array_equal(found["y"], evaluate(program, arrays)["y"])


def test_small_arrays_of_a_thread_need_no_place():
    kernel = after(PLACE_BARRIERS, "e[i,j] = exp(x[i,j]); s[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / s[i]", x=(4, 100))
    assert kernel.scratch.bytes(1) == ZERO
