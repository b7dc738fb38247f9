"""The interpreter finds every barrier that `place barriers` leaves out, and no race where it leaves none out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from gpu.passes.matrices.store_pairs import put2
from gpu.passes.memory.place_barriers import place_barriers
from gpu.passes.order import scheme_forms
from tests.support.gpu.programs import forms, program_of
from tests.support.gpu.schemes import SCHEMES, interpreted, scheme_of
from tests.support.loops.loops import without_each_barrier
from tests.support.programs.programs import inputs_of
from tests.support.programs.programs import interpreted as interpreted_program
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Barrier, Do, For, Invoke, Load, Store
from tiling.loops.meaning.workers import Race
from tiling.loops.walk import walk, with_blocks


def last_form(name):
    return dict(scheme_forms(scheme_of(name)))["place barriers"]


@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "nothing staged"])
def test_a_scheme_needs_each_of_its_barriers(name):
    found = without_each_barrier(last_form(name))
    assert found
    for kernel in found:
        with pytest.raises(Race, match="no barrier between"):
            interpreted(scheme_of(name), kernel)


@pytest.mark.parametrize("name", ["rows", "rows read backwards"])
def test_a_program_needs_each_of_its_barriers(name):
    program = program_of(name)
    found = without_each_barrier(forms(program)["place barriers"])
    assert found
    for kernel in found:
        with pytest.raises(Race, match="no barrier between"):
            interpreted_program(program, kernel, inputs_of(program, Random(0)))


def test_a_barrier_of_lanes_orders_no_threads_of_a_block():
    kernel = last_form("product")

    def of_lanes(statement):
        if isinstance(statement, Barrier):
            return Barrier("lane")
        return with_blocks(statement, lambda block: tuple(map(of_lanes, block)))

    with pytest.raises(Race, match="no barrier between"):
        interpreted(scheme_of("product"), replace(kernel, body=tuple(map(of_lanes, kernel.body))))


def test_an_element_is_not_apart_from_a_pair_that_begins_before_it():
    """Thread 0 writes two elements by one instruction, and all threads read the second one."""
    kept, shared = (Buffer(name, (2,), ("i",), memory=m) for name, m in (("kept", "registers"), ("pair", "shared")))
    thread, one = variable("thread"), constant(1)
    fill = (Store("kept", (constant(i),), Load("X", (constant(i),))) for i in range(2))
    put = Do(Invoke(put2("f32"), (("to", Address("pair", (ZERO,))), ("v", Address("kept", (ZERO,))))))
    first = For("thread", ZERO, one, 1, (Alloc(kept), *fill, put), "thread")
    each = For("thread", ZERO, constant(2), 1, (Store("Y", (thread,), Load("pair", (one,))),), "thread")
    block = For("block", ZERO, one, 1, (Alloc(shared), first, each), "block")
    kernel = place_barriers(Kernel((Buffer("X", (2,), ("i",)), Buffer("Y", (2,), ("i",))), (block,)))
    assert [type(s) for s in kernel.body[0].body] == [Alloc, For, Barrier, For]
    found = np.zeros(2, np.float32)
    interpret(kernel, {"X": np.array([3, 4], np.float32), "Y": found})
    assert found.tolist() == [4, 4]


def test_which_kinds_of_barriers_these_are():
    kernels = [last_form("product"), *(forms(program_of(name))["place barriers"] for name in ("rows read backwards",))]
    kinds = Counter(s.kind for kernel in kernels for s in walk(kernel.body) if isinstance(s, Barrier))
    assert kinds == {"thread": 2, "lane": 1}
