"""What tile registers hold: runs of rows, blocks of dot groups, and what no matrix instruction takes."""

from __future__ import annotations

import pytest

from cpu.codegen.emit import emit
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import isa_named
from microkernels.tile.matrix import registers_of, runs_of
from microkernels.tile.microkernel import parse as parse_microkernel
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import (
    copies,
    in_dot_groups,
    matrix_dot_group,
    scheme_from_dot_groups,
    scheme_in_dot_groups,
)
from tiling.rewrite.grouped import beside_each_other
from tiling.scheme.specifiers import DotGroup, SchemeError
from tiling.text.notation import parse


@pytest.mark.parametrize(
    "runs, vectors, found",
    [
        ((16, 16), 2, ((4, 5), (6, 7))),
        ((14,), 4, ((4,), (5, 6, 7))),
        ((12, 11, 11), 1, ((3, 4, 5), (6,))),
        ((11, 11, 11), 2, ((6, 6, 6), (7,))),
        ((12, 11, 11), 2, None),
        ((16,) * 7, 1, None),
        ((16,) * 6, 1, ((6,) * 6, (7,))),
    ],
)
def test_tile_registers(runs, vectors, found):
    registers = registers_of(isa_named("amxbf16").matrix, runs, vectors)
    assert (registers and (registers.x_of, registers.weights)) == found
    if registers:
        # Runs of other lengths have other registers, and none is a sum's.
        assert all(registers.rows[register] == count for register, count in zip(registers.x_of, runs))
        assert min(registers.x_of) >= len(runs) * vectors and max(registers.weights) < 8


@pytest.mark.parametrize(
    "extents, tile, found",
    [
        (dict(h=14, w=14, r=3, s=3, padding=1), dict(h=2, w=14), [(0, 14), (14, 14)]),
        (dict(h=14, w=14), dict(h=2, w=14), [(0, 14), (14, 14)]),
        (dict(h=7, w=7), dict(h=2, w=7), [(0, 14)]),
        (dict(h=7, w=7, r=3, s=3, padding=(1, 0)), dict(h=2, w=5), [(0, 5), (5, 5)]),
        (dict(h=7, w=34), dict(w=34), [(0, 12), (12, 11), (23, 11)]),
        (dict(h=7, w=9), dict(h=3, w=2), [(0, 2), (2, 2), (4, 2)]),
    ],
)
def test_runs_are_rows_equally_far_apart(extents, tile, found):
    problem = in_dot_groups(conv2d(**{"r": 1, "s": 1, **extents}, c=64, k=16, dtype="bf16"), DotGroup("c", 32))
    assert [(run.first, run.count) for run in runs_of(problem, tile, 16)] == found


@pytest.mark.parametrize(
    "extents, dtype, dot, copied",
    [
        (dict(c=64, r=3, s=3, padding=1), "bf16", "D(c,32)", True),
        (dict(c=64, r=3, s=3), "bf16", "D(c,32)", False),
        (dict(c=64, r=3, s=1, padding=(1, 0)), "bf16", "D(c,32)", False),
        (dict(c=64), "int8", "D(c,64)", False),
        (dict(c=40), "bf16", "D(c,20)", False),
        (dict(c=74), "bf16", "D(c,26)", True),
        (dict(c=3, r=7, s=7, padding=3), "bf16", "D(sc,28)", True),
        (dict(c=3, r=7, s=7, padding=3), "int8", "D(sc,28)", True),
        (dict(c=3, r=11, s=11), "bf16", "D(sc,22)", True),
        (dict(c=1, r=3, s=3), "int8", "D(sc,12)", True),
        (dict(c=16, r=3, s=3), "bf16", "D(c,16)", False),
    ],
)
def test_blocks_are_few_and_short(extents, dtype, dot, copied):
    problem = conv2d(**{"r": 1, "s": 1, **extents}, h=14, w=14, k=32, dtype=dtype)
    found = matrix_dot_group(problem)
    assert str(found) == dot
    dims = "".join(f"R({d}) " for d in "rs" if d not in found.dim)
    scheme = parse(problem, f"R(h) R(w) R(k) S(y) {dims}R({found.dim}) {found} V(k,16)")
    assert (
        copies(scheme) is copied
        and scheme_from_dot_groups(problem, scheme_in_dot_groups(scheme), found).units == scheme.units
    )


@pytest.mark.parametrize(
    "more, dot, why",
    [
        (
            dict(c=64),
            "D(c,33)",
            "a lane of 32 bits holds 2 of bf16, a matrix instruction sums a multiple of 2 up to 32",
        ),
        (dict(c=64), "D(c,34)", "a multiple of 2 up to 32"),
    ],
)
def test_what_no_matrix_instruction_takes(more, dot, why):
    with pytest.raises(SchemeError, match=why):
        parse(conv2d(h=4, w=4, k=16, r=1, s=1, **more, dtype="bf16"), f"R(h) R(w) S(y) R(c) {dot} V(k,16)")


def test_no_matrix_instruction_takes_an_x_that_vectors_read():
    problem = beside_each_other(conv2d(c=64, h=4, w=4, k=64, r=1, s=1, groups=16, dtype="bf16"), 16)
    with pytest.raises(SchemeError, match=r"lie side by side for all k; use D\(c,2\)"):
        parse(problem, "R(h) R(w) R(k) S(y) U(c,1) D(c,4) V(k,16)")


def test_blocks_need_matrix_instructions_and_room():
    problem = conv2d(c=64, h=4, w=40, k=32, r=1, s=1, dtype="bf16")
    few = parse(problem, "R(h) R(w) R(k) S(y) R(c) D(c,32) V(k,16)")
    with pytest.raises(SchemeError, match=r"D\(c,32\): avx512bf16 has no matrix instructions: use D\(c,2\) or amxbf16"):
        emit(few, isa_named("avx512bf16"))
    with pytest.raises(SchemeError, match="6 tile registers for sums and some for what is multiplied, amxbf16 has 8"):
        emit(parse(problem, "R(h) S(y) R(c) U(w,40) U(k,2) D(c,32) V(k,16)"), isa_named("amxbf16"))


def test_schemes_of_words_are_those_of_vectors():
    scheme = parse(conv2d(c=64, h=4, w=4, k=16, r=1, s=1, dtype="bf16"), "R(h) S(y) R(c) U(w,4) D(c,2) V(k,16)")
    assert emit(scheme, isa_named("amxbf16")) == emit(scheme, isa_named("avx512bf16"))


def test_full_registers_are_estimated_faster():
    names = ("16wx16k", "16wx32k", "32wx32k", "2hx14wx32k", "28wx32k", "2hx7wx32k")
    one, two, four, rows, same, short = (
        estimate(parse_microkernel(f"bf16_conv2d_ukernel_{name}_s1__amxbf16")) for name in names
    )
    assert one < two < four <= 0.5 and rows == same and two < short < rows <= four


def test_blocks_of_a_window_hold_all_its_words_and_no_more():
    problem = conv2d(c=3, h=9, w=9, k=16, r=1, s=5, dtype="bf16")
    with pytest.raises(
        SchemeError, match=r"D\(sc,8\): .* in equal blocks, and that has 20 .* use D\(sc,4\) or D\(sc,10\)"
    ):
        parse(problem, "R(h) R(w) S(y) R(sc) D(sc,8) V(k,16)")
