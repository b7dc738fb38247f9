"""All core loops as one parallel loop."""

from __future__ import annotations

from itertools import product

from cpu.passes.control.bind_cores import WORKER
from tests.support.loops.loops import statements
from tests.support.loops.passes import around
from tiling.loops.language import Define, For
from tiling.operators import matmul


def test_each_worker_has_a_part_of_its_own():
    problem = matmul(m=12, n=8, k=2, batch=2)
    _, after = around("bind cores", problem, "T(l,2)@core T(m,3)@core T(n,2)@core T(m,2) S(c) T(k,2) U(m,2) V(n,{v})")
    (loop,) = after.body
    assert isinstance(loop, For) and (loop.name, loop.kind, str(loop.stop)) == (WORKER, "core", "12")
    defines = {s.name: s.index for s in loop.body if isinstance(s, Define)}
    assert list(defines) == ["l", "m_1", "n"]
    parts = [tuple(index.at({WORKER: worker}) for index in defines.values()) for worker in range(12)]
    assert parts == list(product((0, 1), (0, 4, 8), (0, 4)))  # row-major over the loops
    assert not [s for s in statements(after) if isinstance(s, For) and s.kind == "core" and s is not loop]


def test_without_core_loops_nothing_changes():
    before, after = around("bind cores")
    assert before is after
