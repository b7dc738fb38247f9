"""The plan of the copy of x that the cost model prices is what the loops read and write."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import product_forms
from microkernels.tile.isa import EVERY_ISA
from tests.support.kernels import random_cases
from tiling.loops.buffer import Buffer
from tiling.loops.meaning.memory import NUMPY
from tiling.loops.walk import buffers
from tiling.operators import conv2d
from tiling.rewrite.copies.laid_out import STRIP
from tiling.rewrite.copies.lower import copy_of_x
from tiling.rewrite.copies.plan import ALIGNED, FILLED, OVERLAP, POINTS, SIDES, STRIPS, TRANSPOSED, WINDOW, plan_copy
from tiling.text.notation import parse


def size_of(buffer: Buffer) -> int:
    """Bytes of a buffer."""
    return prod(buffer.shape) * np.dtype(NUMPY[buffer.dtype]).itemsize


def check(scheme, isa):
    """The kind of the scheme's copy, which must be as large as the loops are that its kernel has."""
    plan, copy = plan_copy(scheme), copy_of_x(scheme, isa.lanes)
    forms = dict(product_forms(facts_of_scheme(scheme, isa, False)))
    strips = [buffer for form in forms.values() for buffer in buffers(form) if buffer.name == STRIP]
    strips = strips if scheme.problem.dtype != "f32" else []  # there it is a panel of an x that is read in place
    if plan is None or plan.kind == STRIPS:
        assert copy is None and bool(strips) == (plan is not None)
        assert not plan or {plan.written} == {size_of(strip) for strip in strips}
    else:
        assert copy and not strips and (copy.kind, copy.always) == (plan.kind, plan.always)
        assert (plan.read, plan.written) == tuple(map(size_of, copy.loops.arrays))
    return plan.kind if plan else ""


IMAGE = dict(h=6, w=9, k=16, r=3, s=3, padding=1, dtype="bf16")
KINDS = {
    TRANSPOSED: (dict(c=37, layout="nchw"), "R(k) R(h) R(w) S(y) R(r) R(s) R(c) D(c,2) V(k,16)", "avx512bf16"),
    FILLED: (dict(c=5), "R(k) R(h) R(w) S(y) R(r) R(s) R(c) D(c,2) V(k,16)", "avx512bf16"),
    WINDOW: (dict(c=3), "R(k) R(h) R(w) S(y) R(r) R(sc) D(sc,2) V(k,16)", "avx512bf16"),
    OVERLAP: (dict(c=3), "R(k) R(h) R(w) S(y) R(r) R(sc) D(sc,12) V(k,16)", "amxbf16"),
    SIDES: (dict(c=40), "R(k) R(h) R(w) S(y) R(r) R(s) R(c) D(c,20) V(k,16)", "amxbf16"),
    ALIGNED: (dict(c=32, padding=(1, 0)), "R(k) R(h) R(w) S(y) R(r) R(s) R(c) D(c,32) V(k,16)", "amxbf16"),
    POINTS: (dict(c=32), "T(hw,4) R(k) S(y) R(r) R(s) R(c) U(hw,16) D(c,32) V(k,16)", "amxbf16"),
    STRIPS: (dict(c=32), "T(hw,4) S(x) R(k) S(y) R(r) R(s) R(c) U(hw,16) D(c,32) V(k,16)", "amxbf16"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_as_large_as_its_loops(kind):
    more, text, isa = KINDS[kind]
    assert check(parse(conv2d(**IMAGE | more), text), EVERY_ISA[isa]) == kind


def test_an_x_that_is_read_as_it_lies_has_no_copy():
    scheme = parse(conv2d(**IMAGE, c=32), "R(k) R(h) R(w) S(y) R(r) R(s) R(c) D(c,2) V(k,16)")
    assert check(scheme, EVERY_ISA["avx512bf16"]) == ""


@pytest.mark.parametrize("seed", range(60))
def test_random_copies_are_as_large_as_their_loops(seed):
    random = Random(seed)
    isa = random.choice(list(EVERY_ISA.values()))
    problem = random_cases.followed(random, random_cases.problem(random, isa, 40_000))
    check(random_cases.scheme(random, problem, isa), isa)
