"""The copies of x for dot groups: the loops, run, against NumPy; and as moves of memory."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.passes.memory.copy_runs import copy_runs
from tests.support.loops.loops import statements
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Do, For, Store
from tiling.operators import conv2d, matmul
from tiling.rewrite.copies.im2col import Im2col, lower_copy
from tiling.rewrite.copies.plan import ALIGNED, plan_copy
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse


def copy_of(problem, text: str, kind: str = "") -> Im2col:
    """The copy that the plan says, or one of another kind."""
    scheme = parse(problem, text)
    plan = plan_copy(scheme)
    return lower_copy(scheme, scheme_in_dot_groups(scheme).problem, kind or plan.kind)


def copied(loops: Kernel, x: np.ndarray) -> np.ndarray:
    """What the loops leave in the copy. Numbers that they left out would be 99."""
    x_buffer, words = loops.arrays
    given = {"X": x.reshape(x_buffer.shape), "x_copy": np.full(words.shape, 99, x.dtype)}
    interpret(loops, given)
    return given["x_copy"].reshape(-1)


def beside(x: np.ndarray, left: int, right: int) -> np.ndarray:
    """Rows of (N,H,W,C) with zeros on both sides."""
    return np.pad(x, [(0, 0), (0, 0), (left, right), (0, 0)])


def filled(x: np.ndarray, numbers: int) -> np.ndarray:
    return np.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, -x.shape[-1] % numbers)])


CASES = {
    "filled": (
        conv2d(c=5, h=3, w=4, k=16, r=1, s=1, dtype="bf16"),
        "R(k) R(h) R(w) S(y) R(c) D(c,2) V(k,16)",
        lambda x: filled(x, 2),
    ),
    "filled, a product": (
        matmul(m=3, n=16, k=7, dtype="int8"),
        "R(m) R(n) S(c) R(k) D(k,4) V(n,16)",
        lambda x: filled(x, 4),
    ),
    "filled, groups of channels": (
        conv2d(c=6, h=3, w=4, k=32, r=1, s=1, groups=2, dtype="bf16"),
        "R(g) R(k) R(h) R(w) S(y) R(c) D(c,2) V(k,16)",
        lambda x: filled(x.reshape(*x.shape[:-1], 2, 3), 2),
    ),
    "window": (
        conv2d(c=3, h=2, w=9, k=32, r=1, s=3, padding=(0, 2), stride=(1, 2), dtype="int8"),
        "R(k) R(h) R(w) S(y) R(sc) D(sc,4) V(k,16)",
        lambda x: filled(
            np.stack([beside(x, 2, 2)[:, :, 2 * w : 2 * w + 3].reshape(1, 2, 9) for w in range(6)], axis=2), 4
        ),
    ),
    "sides": (
        conv2d(c=40, h=2, w=3, k=16, r=1, s=3, padding=(0, 1), dtype="bf16"),
        "R(k) R(h) R(w) S(y) R(c) R(s) D(c,32) V(k,16)",
        lambda x: np.moveaxis(filled(beside(x, 1, 1), 32).reshape(1, 2, 5, 2, 32), 3, 2),
    ),
    "sides, groups of channels": (
        conv2d(c=6, h=2, w=3, k=32, r=1, s=3, groups=2, padding=(0, 1), dtype="bf16"),
        "R(g) R(k) R(h) R(w) S(y) R(s) D(c,4) V(k,16)",
        lambda x: np.moveaxis(filled(beside(x, 1, 1).reshape(1, 2, 5, 2, 3), 4), 3, 2),
    ),
    "overlap": (
        conv2d(c=3, h=3, w=9, k=16, r=1, s=3, stride=2, dtype="bf16", padding=(0, 1)),
        "R(h) R(w) S(y) D(sc,12) V(k,16)",
        lambda x: filled(beside(x, 1, 1), 4),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_loops_copy_what_tiles_read(name):
    problem, text, expected = CASES[name]
    copy = copy_of(problem, text)
    assert plan_copy(parse(problem, text)).kind == name.partition(",")[0]
    x = np.random.default_rng(0).integers(1, 99, problem.broadcast.shape).astype(np.uint8)
    wanted = expected(x).reshape(-1)
    np.testing.assert_array_equal(copied(copy.loops, x), wanted)
    assert copy.total == wanted.size
    moved = copy_runs(copy.loops)
    np.testing.assert_array_equal(copied(moved, x), wanted)
    assert any(isinstance(s, Do) for s in statements(moved)) and not any(
        isinstance(s, Store) for s in statements(moved)
    )


def test_an_x_that_only_has_to_be_aligned_is_copied_as_it_is():
    problem = conv2d(c=32, h=3, w=4, k=16, r=1, s=1, dtype="bf16")
    copy = copy_of(problem, "R(k) R(h) R(w) S(y) D(c,32) V(k,16)", ALIGNED)
    x = np.random.default_rng(0).integers(1, 99, problem.broadcast.shape).astype(np.uint8)
    np.testing.assert_array_equal(copied(copy.loops, x), x.reshape(-1))


def test_workers_share_the_rows():
    problem, text, _ = CASES["window"]
    (rows,) = copy_of(problem, text).loops.body
    assert isinstance(rows, For) and rows.kind == "core" and rows.stop.offset == 2
