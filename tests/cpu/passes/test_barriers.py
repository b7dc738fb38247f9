"""The interpreter finds out that a team of threads lacks a barrier."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import cpu.passes.program.bind_tasks as bind_tasks
from cpu.codegen.inside import facts_of_scheme
from cpu.passes.control.place_barriers import place_barriers
from cpu.passes.control.share_threads import share_threads
from cpu.passes.forms import product_forms, program_forms
from cpu.passes.order import PLACE_BARRIERS
from cpu.reference.programs import evaluate
from microkernels.tile.isa import PORTABLE
from tests.support.loops.loops import ones, result, without_each_barrier
from tests.support.programs.programs import inputs_of, interpreted
from tiling.epilogue import fused
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    THREADS,
    Address,
    Aligned,
    Alloc,
    Barrier,
    Call,
    Decide,
    Flag,
    For,
    If,
    Load,
    Number,
    Seen,
    Statement,
    Store,
    View,
)
from tiling.loops.meaning.memory import Fault
from tiling.loops.meaning.workers import Race
from tiling.loops.walk import walk
from tiling.operators import conv2d
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.text.notation import parse

# What a later thread would write is not there yet; else two threads meet.
MISSED = r"no barrier between|before anything is written"
# Each loop that threads share needs what all of them did in the one before.
PROGRAMS = {
    "a sum of all": ("s[] = sum[i,j] x[i,j]; y[i,j] = x[i,j] - s[]", (6, 40)),
    "columns, then their sum": ("m[j] = max[i] x[i,j]; s[] = sum[j] m[j]; y[i,j] = x[i,j] - m[j] + s[]", (6, 32)),
}


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_needs_each_of_its_barriers(name, threads, monkeypatch):
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    text, shape = PROGRAMS[name]
    program = sized(read(text), {}, {"x": shape})
    kernel = dict(program_forms(program, PORTABLE, threads))[PLACE_BARRIERS]
    arrays = inputs_of(program, Random(0))
    interpreted(program, kernel, arrays, threads=threads)
    found = without_each_barrier(kernel)
    assert found
    for changed in found:
        with pytest.raises((Race, Fault), match=MISSED):
            interpreted(program, changed, arrays, threads=threads)


# Loops of their own, of which none needs what another one did.
APART = {
    "rows, and columns": ("y[i,j] = x[i,j] + 1; m[j] = max[i] x[i,j]", {"x": (6, 40)}),
    "pairs of rows, and the last one": ("y[i,j] = sum[c] x[i,c] * k[c,j]", {"x": (17, 4), "k": (4, 33)}),
}


@pytest.mark.parametrize("name", APART)
def test_threads_wait_for_nothing_that_they_do_not_need(name, monkeypatch):
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 1)
    text, shapes = APART[name]
    program = sized(read(text), {}, shapes, outputs=("y", "m") if "m[j]" in text else ("y",))
    kernel = dict(program_forms(program, PORTABLE, 3))[PLACE_BARRIERS]
    loops = [s for s in kernel.body if isinstance(s, For) and THREADS in s.stop.names()]
    assert len(loops) > 1 and not [s for s in walk(kernel.body) if isinstance(s, Barrier)]
    arrays = inputs_of(program, Random(0))
    for threads in (1, 2, 3):
        found = interpreted(program, kernel, arrays, threads=threads)
        for output, wanted in evaluate(program, arrays).items():
            np.testing.assert_array_equal(found[output], wanted)


@pytest.mark.parametrize("aligned", [False, True])
def test_threads_wait_for_a_copy_only_where_one_is_made(aligned):
    """The barrier stands in the branch that copies."""
    copies, copied = Flag("copies"), Buffer("copy", (8,), ("i",))
    x, y = (Buffer(name, (8,), ("i",)) for name in "XY")
    at = variable("i")

    def each(to: Store) -> For:
        return For("i", ZERO, constant(8), 1, (to,), "core")

    made = If((copies,), (each(Store("copy", (at,), Load("X", (at,)))),))
    read = each(Store("Y", (at,), Load("seen", (constant(7) - at,))))
    decide = Decide("copies", (Aligned("X", 64, does=False),))
    body = (Alloc(copied, ZERO), decide, made, Seen(replace(copied, name="seen"), "copy", "copies", "X"), read)
    kernel = place_barriers(share_threads(Kernel((x, y), body), True))
    assert not [s for s in kernel.body if isinstance(s, Barrier)]
    assert [isinstance(s, Barrier) for s in walk(kernel.body)].count(True) == 1
    memory = np.zeros(40, np.float32)
    first = -memory.ctypes.data % 64 // 4 + (0 if aligned else 1)
    given = memory[first : first + 8]
    given[:] = range(8)
    found = np.zeros(8, np.float32)
    interpret(kernel, {"X": given, "Y": found}, threads=3)
    np.testing.assert_array_equal(found, given[::-1])


def swapped(*made: Statement, functions: tuple[Function, ...] = ()) -> Kernel:
    """Threads make M as a copy of X, then Y as M from its end."""
    x, y, m = (Buffer(name, (8,), ("i",)) for name in "XYM")
    at = variable("i")
    read = For("i", ZERO, constant(8), 1, (Store("Y", (at,), Load("M", (constant(7) - at,))),), "core")
    make = For("i", ZERO, constant(8), 1, made, "core")
    return Kernel((x, y), (Alloc(m, ZERO), make, read), functions)


@pytest.mark.parametrize("start, barriers", [(0, 1), (8, 0)])
def test_what_is_written_again_is_waited_for(start, barriers):
    """The second loop begins at the end, so its threads write over what others have written; or behind all that."""
    x, y = (Buffer(name, (16,), ("i",)) for name in "XY")
    at = variable("i")
    once = For("i", ZERO, constant(8), 1, (Store("Y", (at,), Number(0)),), "core")
    again = For("i", ZERO, constant(8), 1, (Store("Y", (constant(7 + start) - at,), Load("X", (at,))),), "core")
    kernel = place_barriers(share_threads(Kernel((x, y), (once, again)), True))
    assert [type(s) for s in kernel.body] == [For, *[Barrier] * barriers, For]
    given, found = np.arange(16, dtype=np.float32), np.full(16, -1, np.float32)
    interpret(kernel, {"X": given, "Y": found}, threads=3)
    np.testing.assert_array_equal(found[start : start + 8], given[7::-1])


def test_what_a_function_of_a_function_writes_is_waited_for():
    """The inner one's views show what the function between names, which shows the kernel's memory."""
    at = variable("i")
    inner = Function("inner", (("y", "part"), ("x", "X")), (), (), (Store("y", (ZERO,), Load("x", (ZERO,))),))
    body = (View("part", Address("m", (ZERO,))), Call("inner", (Address("part", (ZERO,)), Address("of", (ZERO,)))))
    between = Function("between", (("m", "M"), ("of", "X")), (), (), body)
    call = Call("between", (Address("M", (at,)), Address("X", (at,))))
    kernel = place_barriers(share_threads(swapped(call, functions=(inner, between)), True))
    assert [type(s) for s in kernel.body] == [Alloc, For, Barrier, For]
    found, given = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    interpret(kernel, {"X": given, "Y": found}, threads=3)
    np.testing.assert_array_equal(found, given[::-1])


def test_a_barrier_stands_before_the_names_that_what_was_made_gets():
    """What was made gets its name when it is there. The flag by which it is chosen stands there too."""
    at = variable("i")
    whole = swapped(Store("M", (at,), Load("X", (at,))))
    alloc, make, read = whole.body
    named = Seen(Buffer("seen", (8,), ("i",)), "M")
    decide = Decide("lies", (Aligned("X", 64),))
    (store,) = read.body
    through = replace(read, body=(replace(store, value=Load("seen", store.value.at)),))
    kernel = place_barriers(share_threads(replace(whole, body=(alloc, make, decide, named, through)), True))
    assert [type(s) for s in kernel.body] == [Alloc, For, Barrier, Decide, Seen, For]


@pytest.mark.parametrize("threads", [2, 3])
def test_parts_of_a_sum_are_added_after_a_barrier(threads):
    problem = fused(conv2d(c=6, h=3, w=2, k=6, r=3, s=1, padding=(1, 0)), "relu(y)")
    scheme = parse(problem, "T(c,3)@core R(h) R(k) S(y) T(r,3) T(c,2) U(w,2) V(k,4)")
    *_, (_, kernel) = product_forms(facts_of_scheme(scheme, PORTABLE, False, threads))
    given = {name: array for name, array in ones(kernel).items() if name != "Y"}
    assert np.isfinite(result(kernel, given, threads)).all()
    (changed,) = without_each_barrier(kernel)
    with pytest.raises((Race, Fault), match=MISSED):
        result(changed, given, threads)
