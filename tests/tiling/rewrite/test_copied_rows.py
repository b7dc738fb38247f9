"""Products whose a is (K,M), and the schemes that copy it first, S(a)."""

import pytest

from cpu.codegen.check import check
from microkernels.tile.isa import EVERY_ISA
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.rewrite.copied_rows import copies_rows, in_rows, scheme_in_rows, with_rows
from tiling.rewrite.copies.plan import TRANSPOSED, plan_copy
from tiling.rewrite.dot_groups import scheme_from_dot_groups, scheme_in_dot_groups
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

ACROSS = matmul(m=24, n=16, k=40, batch=3, transpose_a=True)
LOOPS = "T(l,3) T(m,4) R(n) S(c) T(k,40) U(m,6) V(n,8)"


def test_the_copy_is_the_product_of_rows():
    rows = in_rows(ACROSS)
    assert rows.tensors == matmul(m=24, n=16, k=40, batch=3).tensors
    assert rows.dims == ACROSS.dims


def test_an_epilogue_stays():
    problem = fused(ACROSS, "relu(y + b)")
    assert in_rows(problem).epilogue == problem.epilogue


@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=24, n=16, k=40),
        matmul(m=24, n=16, k=40, transpose_b=True),
        matmul(m=24, n=16, k=40, transpose_a=True, dtype="bf16", output_dtype="f32"),
        conv2d(c=8, h=6, w=6, k=16, r=3, s=3, layout="nchw"),
        conv2d(c=8, h=6, w=6, k=8, r=3, s=3, groups=8, layout="nchw"),
    ],
    ids=["rows", "b transposed", "bf16", "an image", "depthwise"],
)
def test_no_other_problem_has_such_a_copy(problem):
    assert in_rows(problem) is None


def test_schemes_go_there_and_back():
    plain = parse(ACROSS, LOOPS)
    copied = parse(ACROSS, f"S(a) {LOOPS}")
    assert not copies_rows(plain) and copies_rows(copied)
    assert scheme_in_dot_groups(plain) == plain == scheme_from_dot_groups(ACROSS, plain)
    rows = scheme_in_dot_groups(copied)
    assert rows.problem == in_rows(ACROSS) and rows.text == LOOPS
    assert scheme_in_rows(copied) == rows == scheme_in_dot_groups(rows)
    assert scheme_from_dot_groups(ACROSS, rows) == copied == with_rows(ACROSS, rows)


def test_the_kernel_makes_the_copy():
    plan = plan_copy(parse(ACROSS, f"S(a) {LOOPS}"))
    assert plan.kind == TRANSPOSED and plan.always
    assert plan.read == plan.written == 4 * 3 * 24 * 40
    assert plan_copy(parse(ACROSS, LOOPS)) is None


@pytest.mark.parametrize("cores", ["", "@core"])
def test_it_stands_outermost(cores):
    check(parse(ACROSS, f"S(a) T(l,3){cores} T(m,4) R(n) S(c) T(k,40) U(m,6) V(n,8)"), EVERY_ISA["avx2"])
    inside = parse(ACROSS, f"T(l,3){cores} S(a) T(m,4) R(n) S(c) T(k,40) U(m,6) V(n,8)")
    with pytest.raises(SchemeError, match=r"S\(a\): all of a is copied first: put it outermost"):
        check(inside, EVERY_ISA["avx2"])


def test_rows_are_not_copied():
    with pytest.raises(SchemeError, match=r"S\(a\): on a CPU only the output is staged"):
        check(parse(matmul(m=24, n=16, k=40), "S(a) T(m,4) R(n) S(c) T(k,40) U(m,6) V(n,8)"), EVERY_ISA["avx2"])


def test_no_other_stage_stands_outside_cores():
    with pytest.raises(SchemeError, match="core loops stand outermost"):
        parse(ACROSS, "S(b) T(l,3)@core T(m,4) R(n) S(c) T(k,40) U(m,6) V(n,8)")
