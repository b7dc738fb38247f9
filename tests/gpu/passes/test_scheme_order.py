"""Every pass of a scheme without a matrix instruction keeps what loops compute."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gpu.passes.facts.divisors import divisor
from gpu.passes.facts.workers import launches, threads_of
from gpu.passes.order import SCHEME, scheme_forms
from tests.support.gpu.cases import integers
from tests.support.gpu.schemes import MOVING, SCHEMES, WARPGROUPS, expected, interpreted, scheme_of, traits_of
from tests.support.loops.passes import different
from tests.support.programs.programs import lines
from tiling.loops.index import constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, For, If
from tiling.loops.listing import listing
from tiling.loops.machines import Wait
from tiling.loops.passes import names
from tiling.loops.walk import walk
from tiling.operators import matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

ONE_STEP = (matmul(m=16, n=16, k=16, dtype="f16"), "S(c) T(k,1) S(a, 2) S(b, 2) T(m,1)@warp U(n,2) M(m16n8k16)")


@pytest.mark.exhaustive(name=traits_of)
@pytest.mark.parametrize("name", SCHEMES)
def test_every_form_computes_the_same(name):
    scheme = scheme_of(name)
    wanted = expected(scheme.problem, *integers(scheme.problem))
    # Before `compute in f32` numbers of 16 bits have no meaning of their own.
    first = 1 if scheme.problem.dtype != "f32" else 0
    for stage, kernel in different(list(scheme_forms(scheme))[first:]):
        np.testing.assert_array_equal(interpreted(scheme, kernel), wanted, err_msg=stage)


@pytest.mark.slow
def test_every_pass_changes_some_scheme():
    changed = set()
    for name in (*SCHEMES, *WARPGROUPS, *MOVING):
        every = list(scheme_forms(scheme_of(name)))
        changed |= {stage for (_, before), (stage, after) in pairwise(every) if before != after}
    assert changed == set(names(SCHEME)[1:])


def forms(name):
    return dict(scheme_forms(scheme_of(name)))


def test_blocks_and_threads_have_their_places():
    kernel = forms("product")["bind threads"]
    (launch,) = launches(kernel)
    assert (launch.stop.offset, threads_of(launch)) == (4, 64)
    assert "m = thread % 32 / 8 + m_1" in lines(kernel) and "acc[64, 1, 2, 1] in registers" in lines(kernel)


def test_tiles_are_in_shared_memory_and_neighbours_copy_neighbours():
    text = lines(forms("product")["stage tiles"])
    assert "X_tile[8, 4] in shared memory" in text and "W_tile[4, 16] in shared memory" in text
    assert "X_tile[element / 4, element % 4] = X[m_2 + element / 4, k + element % 4]" in text
    assert any("X_tile[m + m_2" in line or "X_tile[m - m_2, k_u]" in line for line in text)


def test_a_tile_has_zeros_on_padding_so_that_products_need_no_test():
    before, after = (forms("convolution")[name] for name in ("stage tiles", "add zeros"))
    assert any(isinstance(s, If) for s in walk(before.body)) and not any(isinstance(s, If) for s in walk(after.body))
    assert any("else 0" in line for line in lines(after))
    assert any(isinstance(s, If) for s in walk(forms("depthwise, weights in place")["add zeros"].body))


def test_four_neighbours_are_staged_in_one_access():
    text = lines(forms("product")["widen copies"])
    assert "for element in 4*thread..32 by 256:" in text
    assert "get4(to: X_wide, p: X + [m_2 + element / 4, k + element % 4])" in text
    assert "put4(to: X_tile + [element / 4, element % 4], v: X_wide)" in text


@pytest.mark.parametrize(
    "problem, text",
    [
        (matmul(m=8, n=8, k=13), "S(c) T(k,4) S(a) T(m,4)@lane T(n,8)@lane U(k,4) U(m,2)"),  # rows begin anywhere
        (matmul(m=8, n=8, k=12), "S(c) T(k,2) S(a) T(m,4)@lane T(n,8)@lane U(k,6) U(m,2)"),  # and so do tiles
    ],
)
def test_neighbours_at_other_places_are_staged_one_by_one(problem, text):
    stages = dict(scheme_forms(parse(problem, text)))
    assert stages["widen copies"] == stages["stage tiles"]


def test_what_divides_an_index():
    i, k = variable("i"), variable("k")
    known = {"k": 8}
    found = [divisor(index, known) for index in (k, k * 3 + i * 12, k + 4, k % 12, (k + 16) // 2, k // 3, constant(0))]
    assert found == [8, 12, 4, 4, 4, 1, 0]


def test_register_tiles_of_composed_rows_have_names_of_their_own():
    found = [s.buffer.name for s in walk(forms("composed rows")["bind threads"].body) if isinstance(s, Alloc)]
    assert found == ["acc", "acc_2"]


def test_stages_of_a_ring_take_turns():
    text = lines(forms("matrices in a ring")["fill ahead"])
    assert "X_tile[3, 16, 16] of f16 in shared memory" in text
    for line in ("for ahead in 0..32 by 16:", "wait until 1 groups are pending", "if k + 32 < 80:"):
        assert line in text
    for stage in ("ahead / 16 % 3", "(k + 32) / 16 % 3"):
        assert any(line.startswith("copy 8 elements") and f"X_tile[{stage}, " in line for line in text)


def test_a_ring_that_threads_fill_waits_for_no_copy():
    text = lines(forms("matrices in a ring, threads gather")["fill ahead"])
    assert not any("wait" in line or "commit" in line for line in text)


def test_a_ring_has_no_more_stages_than_steps():
    scheme = parse(matmul(m=16, n=16, k=24, dtype="f16"), "S(c) T(k,2) S(a, 9) S(b, 9) T(m,1)@warp U(n,2) M(m16n8k16)")
    text = lines(dict(scheme_forms(scheme))["fill ahead"])
    assert "X_tile[2, 16, 16] of f16 in shared memory" in text and not any("X_tile[(k + " in line for line in text)


def test_words_of_the_next_part_are_loaded_before_this_one_is_multiplied():
    kernel = forms("matrices loaded ahead")["load ahead"]
    assert "X_part[1, 32, 2, 1, 4] of f16x2 in registers" in lines(kernel)
    (loop,) = (s for s in walk(kernel.body) if isinstance(s, For) and s.name == "k")
    kinds = [line.split("(")[0] for line in listing(Kernel((), loop.body)).splitlines() if "(to:" in line]
    a, b, multiply = "get_matrices", "get_matrices_across", "mma_m16n8k16_f16"
    assert [kind.strip() for kind in kinds] == [a, b, multiply, a, b, multiply]
    waits = [number for number, s in enumerate(loop.body) if any(isinstance(each, Wait) for each in walk((s,)))]
    assert waits == [len(loop.body) - 2]


def test_words_of_a_step_are_loaded_before_copies():
    stages = forms("matrices in a ring")
    orders = {}
    for name in ("load ahead", "load first"):
        (loop,) = (s for s in walk(stages[name].body) if isinstance(s, For) and s.name == "k")
        text = listing(Kernel((), loop.body))
        orders[name] = sorted(("wait", "get_matrices", "copy 8", "mma_"), key=text.index)
    assert orders["load ahead"] == ["wait", "copy 8", "get_matrices", "mma_"]
    assert orders["load first"] == ["wait", "get_matrices", "copy 8", "mma_"]


@pytest.mark.parametrize("name", ["matrices", "matrices in one step", "matrices loaded ahead"])
def test_nothing_is_loaded_first_where_no_copies_follow_or_words_are_ahead(name):
    stages = forms(name) if name in SCHEMES else dict(scheme_forms(parse(*ONE_STEP)))
    assert stages["load first"] == stages["load ahead"]


@pytest.mark.parametrize(
    "name, why",
    [
        ("matrices in a ring", "a step has one part"),
        ("matrices in a ring, threads gather", "threads gather"),
        ("matrices", "there is one stage"),
    ],
)
def test_nothing_is_loaded_ahead_where(name, why):
    stages = forms(name)
    assert stages["load ahead"] == stages["load matrices"], why


def test_two_parts_that_take_too_many_registers_are_loaded_one_by_one():
    text = "S(c) T(k,2) S(a, 2) S(b, 2) T(m,1)@warp U(k,2) U(m,4) U(n,{}) M(m16n8k16)"
    for columns, ahead in ((8, True), (16, False)):
        stages = dict(scheme_forms(parse(matmul(m=64, n=8 * columns, k=64, dtype="f16"), text.format(columns))))
        assert (stages["load ahead"] != stages["load matrices"]) == ahead


PROBLEM = matmul(m=64, n=64, k=8)


@pytest.mark.parametrize(
    "text, words",
    [
        ("T(m,2)@block S(c) R(k) T(m,4)@lane T(n,4)@lane U(m,8) U(n,16)", "a warp of a GPU has 32 lanes"),
        ("T(m,2)@block S(c) R(k) U(m,32) U(n,64)", r"no T\(…\)@lane"),
        ("T(m,2)@core S(c) R(k) T(m,8)@lane T(n,4)@lane U(m,4) U(n,16)", "workers of a scheme without M"),
        ("T(m,2) T(n,2)@block S(c) R(k) T(m,8)@lane T(n,4)@lane U(m,4) U(n,8)", "blocks stand outermost"),
        ("T(k,2)@block S(c) T(k,4) T(m,8)@lane T(n,4)@lane U(m,8) U(n,16)", "it loops inside"),
        ("T(m,2)@warp T(n,2) S(c) R(k) T(m,8)@lane T(n,4)@lane U(m,4) U(n,8)", "outside warps and lanes"),
        ("R(k) T(m,8)@lane T(n,4)@lane U(m,8) U(n,16)", r"S\(c\) is missing"),
        ("S(c, 3) R(k) T(m,8)@lane T(n,4)@lane U(m,8) U(n,16)", "several stages"),
        ("T(m,64)@warp S(c) R(k) T(n,32)@lane U(n,2)", "at most 32 warps"),
        ("T(m,2)@warp S(c) R(k) S(a) T(m,8)@lane T(n,4)@lane U(m,4) U(n,16)", r"so T\(m,2\)@warp stands inside S\(c\)"),
        ("R(m) S(c) R(k) U(n,4) V(n,16)", "vectors are a CPU's"),
    ],
)
def test_what_passes_cannot_make_is_refused(text, words):
    with pytest.raises(SchemeError, match=words):
        list(scheme_forms(parse(PROBLEM, text)))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_without_matrix_instructions_f32_alone_is_copied_ahead(dtype):
    text = "S(c) T(k,2) S(a, 2) S(b, 2) T(m,8)@lane T(n,4)@lane U(k,4) U(m,8) U(n,16)"
    assert list(scheme_forms(parse(PROBLEM, text)))
    scheme = parse(matmul(m=64, n=64, k=8, dtype=dtype), text)
    with pytest.raises(SchemeError, match=r"S\(a, 2\): without M only f32 is copied ahead of its turn; use S\(a\)"):
        list(scheme_forms(scheme))


def test_tf32_needs_matrix_instructions():
    scheme = parse(matmul(m=64, n=64, k=8, dtype="tf32"), "S(c) R(k) T(m,8)@lane T(n,4)@lane U(m,8) U(n,16)")
    with pytest.raises(SchemeError, match="by matrix instructions alone"):
        list(scheme_forms(scheme))


@pytest.mark.parametrize(
    "text, words",
    [
        ("S(c) S(a, 3) T(k,2) S(b) T(m,1)@warp U(n,2) M(m16n8k16)", r"S\(a, 3\): several stages take turns"),
        ("S(c) T(k,2) S(a, 3) S(b) T(m,1)@warp U(n,2) M(m16n8k16)", r"S\(a, 3\) S\(b\): inputs share a ring"),
        ("S(c) T(k,2) S(a, 3) S(b, 2) T(m,1)@warp U(n,2) M(m16n8k16)", "inputs share a ring"),
        ("S(c) T(k,2) S(a, 3) T(k,1) S(b, 3) T(m,1)@warp U(n,2) M(m16n8k16)", "inputs share a ring"),
        ("S(c, 2) T(k,2) S(a) S(b) T(m,1)@warp U(n,2) M(m16n8k16)", r"S\(c, 2\): several stages are for inputs"),
    ],
)
def test_rings_that_cannot_turn_are_refused(text, words):
    with pytest.raises(SchemeError, match=words):
        list(scheme_forms(parse(matmul(m=16, n=16, k=32, dtype="f16"), text)))


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "T(k,1)@block S(c) T(k,2) S(a) S(b) T(m,1)@warp U(n,2) M(m16n8k16)",
            r"T\(k,1\)@block: one block shares",
        ),
        ("T(k,2)@block S(a) S(c) S(b) T(m,1)@warp U(n,2) M(m16n8k16)", r"S\(a\): where blocks .* inside S\(c\)"),
        ("T(k,2)@block T(n,1) S(c) S(a) S(b) T(m,1)@warp U(n,2) M(m16n8k16)", r"T\(n,1\): where blocks share a sum"),
    ],
)
def test_what_blocks_cannot_share_is_refused(text, words):
    with pytest.raises(SchemeError, match=words):
        list(scheme_forms(parse(matmul(m=16, n=16, k=32, dtype="f16"), text)))
