"""Steps as matrix instructions: what each tile register holds, and its shape at every place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import product_forms
from cpu.passes.vectors.matrix_tiles import matrix_tiles
from microkernels.tile.isa import EVERY_ISA
from microkernels.tile.matrix_instructions import matrix_instructions_of
from tests.support.loops.loops import inputs, result, statements, sums
from tests.support.loops.packed_weights import packed
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Do, For, If, Stride
from tiling.loops.machines import Shape, Tiles
from tiling.loops.meaning.memory import Fault
from tiling.loops.walk import walk
from tiling.operators import conv2d
from tiling.problem import Problem
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse

NAME = "shape tiles"  # the pass after "matrix tiles", which leaves registers without shapes
ISA = EVERY_ISA["amxbf16"]
ROWS = conv2d(c=8, h=2, w=3, k=32, r=1, s=1, dtype="bf16", output_dtype="f32")
PADDED = conv2d(c=4, h=3, w=3, k=16, r=3, s=1, padding=(1, 0), dtype="bf16", output_dtype="f32")


def by_name(problem: Problem, text: str) -> tuple[Problem, dict[str, Kernel]]:
    """The problem in dot groups, and the kernel after each pass."""
    dots = scheme_in_dot_groups(parse(problem, text))
    return dots.problem, dict(product_forms(facts_of_scheme(dots, ISA, False)))


def of_tiles(kernel: Kernel) -> list[tuple[str, ...]]:
    """Each instruction of tile registers with its registers, in the order of the text."""
    found = []
    for statement in statements(kernel):
        if isinstance(statement, Do) and statement.invoke.instruction.name.startswith("tile_"):
            operands = [o for _, o in statement.invoke.operands if isinstance(o, Address)]
            name = statement.invoke.instruction.name
            found.append((name, *(o.buffer for o in operands if o.buffer.startswith("tmm"))))
    return found


def interpreted(problem: Problem, found: dict[str, Kernel], kernel: Kernel):
    """What a form computes, and what the definition says."""
    given = inputs(problem)
    w = packed(found["lower"], found["pack weights"], given["W"])
    return result(kernel, given | {"W": w}), sums(problem, given)


def test_a_step_loads_each_run_once_and_keeps_its_weights():
    _, found = by_name(ROWS, "R(h) S(y) T(c,2) U(w,3) U(k,2) D(c,4) V(k,16)")
    assert of_tiles(found[NAME]) == [
        *(("tile_zero", f"tmm{sums}") for sums in (0, 1)),
        ("tile_load", "tmm2"),
        ("tile_load", "tmm3"),
        ("tile_dot", "tmm0", "tmm2", "tmm3"),
        ("tile_load", "tmm4"),
        ("tile_dot", "tmm1", "tmm2", "tmm4"),
        *(("tile_store", f"tmm{sums}") for sums in (0, 1)),
    ]
    (alloc, *_) = [s.buffer for s in statements(found[NAME]) if isinstance(s, Alloc)]
    assert (alloc.name, alloc.shape, alloc.memory) == ("acc", (3, 2, 16), "stack")
    (load, *_) = [
        s.invoke for s in statements(found[NAME]) if isinstance(s, Do) and s.invoke.instruction.name == "tile_load"
    ]
    assert isinstance(load.operands[2][1], Stride) and [i.offset for i in load.operands[2][1].at] == [0, 0, 1, 0, 0]


def test_no_loop_over_words_is_left():
    problem, found = by_name(ROWS, "R(h) S(y) T(c,2) U(w,3) U(k,2) D(c,4) V(k,16)")
    words = [s for s in statements(found["bind cores"]) if isinstance(s, For) and s.name == "word"]
    assert words and not [s for s in statements(found[NAME]) if isinstance(s, For) and s.name == "word"]
    got, wanted = interpreted(problem, found, found[NAME])
    assert (got == wanted).all()


def test_each_worker_shapes_its_own_registers():
    """Registers belong to a thread: it begins without shapes, sets them before a tile, and gives the registers back."""
    problem, found = by_name(ROWS, "T(h,2)@core L(w, 1x1 + 1x2) S(y) T(c,2) U(w,λ) U(k,2) D(c,4) V(k,16)")
    (workers,) = found[NAME].body
    assert isinstance(workers, For) and workers.kind == "core" and isinstance(workers.body[0], Tiles)
    release = workers.body[-1]
    assert isinstance(release, Do) and release.invoke.instruction.name == "tiles_end"
    shapes = [s for s in walk(found[NAME].body) if isinstance(s, Shape)]
    assert [s.name for s in shapes] == ["SHAPES_0", "SHAPES_1"]
    assert [s.registers[0].shape for s in shapes] == [(1, 16), (2, 16)]
    got, wanted = interpreted(problem, found, found[NAME])
    assert (got == wanted).all()


def test_a_kernel_that_gives_its_workers_no_tile_registers_fails():
    """In its last form too: it keeps that its registers need shapes."""
    problem, found = by_name(ROWS, "R(h) S(y) T(c,2) U(w,3) U(k,2) D(c,4) V(k,16)")
    kernel = list(found.values())[-1]
    body = tuple(s for s in kernel.body if not isinstance(s, Tiles))
    assert len(body) < len(kernel.body)
    with pytest.raises(Fault, match="SHAPES_0 is given to a worker that has no tile registers"):
        interpreted(problem, found, replace(kernel, body=body))


def test_kinds_of_a_tile_share_their_shapes():
    """Kinds that differ by padding are chosen behind one statement that sets the shapes."""
    problem, found = by_name(PADDED, "R(n) S(y) T(r,3) T(s,1) T(c,1) U(h,3) U(w,3) D(c,4) V(k,16)")
    assert len([s for s in walk(found[NAME].body) if isinstance(s, Shape)]) == 1
    problem, found = by_name(PADDED, "R(h) S(y) T(c,1) U(r,3) U(w,3) D(c,4) V(k,16)")
    assert len(found[NAME].functions) == 3
    bodies = [s for s in walk(found[NAME].body) if isinstance(s, (Shape, If))]
    assert isinstance(bodies[0], Shape) and not [s for s in bodies[1:] if isinstance(s, Shape)]
    got, wanted = interpreted(problem, found, found[NAME])
    assert (got == wanted).all()


def test_runs_on_padding_are_left_out():
    """A tap of r reaches whole rows of the image: the first and the last of three runs each miss one."""
    _, found = by_name(PADDED, "R(n) S(y) T(c,1) U(r,3) U(h,3) U(w,3) D(c,4) V(k,16)")
    dots = [operands for name, *operands in of_tiles(found[NAME]) if name == "tile_dot"]
    assert len(dots) == 7


def test_sums_are_taken_up_through_memory():
    problem, found = by_name(ROWS, "T(c,2) R(h) S(y) U(w,3) U(k,2) D(c,4) V(k,16)")
    (choice,) = [s for s in found[NAME].functions[0].body if isinstance(s, If)]
    assert [s.invoke.instruction.name for s in choice.body] == ["tile_zero"] * 2
    assert [s.invoke.instruction.name for s in choice.otherwise if isinstance(s, Do)] == ["tile_load"] * 2
    got, wanted = interpreted(problem, found, found[NAME])
    assert (got == wanted).all()


def test_registers_without_their_shapes_are_a_fault():
    problem, found = by_name(ROWS, "R(h) S(y) T(c,2) U(w,3) U(k,2) D(c,4) V(k,16)")

    def without(kind, body):
        kept = (s for s in body if not isinstance(s, kind))
        return tuple(replace(s, body=without(kind, s.body)) if isinstance(s, For) else s for s in kept)

    kernel = found[NAME]
    with pytest.raises(Fault, match="tile register tmm0 has no shape of 3 x 16"):
        interpreted(problem, found, replace(kernel, body=without(Shape, kernel.body)))


def test_without_the_pass_words_are_multiplied_one_by_one():
    problem, found = by_name(ROWS, "R(h) S(y) T(c,2) U(w,3) U(k,2) D(c,4) V(k,16)")
    before = found["bind cores"]
    assert not of_tiles(before) and of_tiles(matrix_tiles(before, problem, matrix_instructions_of(ISA)))
