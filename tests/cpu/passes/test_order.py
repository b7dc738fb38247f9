"""Every pass keeps the meaning: the interpreter finds the same numbers before and after each, on random kernels."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.passes.order import PRODUCT, ProductPass
from cpu.reference.oracle import reference
from microkernels.tile.isa import ISAS
from tests.exactness import FAR
from tests.support.kernels.cases import BATCHED, DEPTHWISE, FOURS, GROUPED, TAIL, kernel_of
from tests.support.loops import winograd_loops
from tests.support.loops.loops import inputs, result, sums
from tests.support.loops.passes import (
    PACKING,
    SAME,
    TILES,
    Small,
    by_loops,
    forms_by_name,
    packed,
    packed_forms,
    same_meaning,
    small,
)
from tiling.arrays.access import access_of
from tiling.epilogue import fused
from tiling.loops.language import Instruction, Invoke, Kernel, Number, Operand
from tiling.loops.meaning.prefetches import Asked
from tiling.loops.passes import LOWER, names
from tiling.loops.rewrite import with_values
from tiling.operators import conv2d
from tiling.problem import Problem
from tiling.text.notation import parse

PREFETCH = "prefetch"
# The last passes, which make a kernel what one thread of a team does.
OF_TEAMS = tuple(each.name for each in PRODUCT if each.whole)


def check(drawn: Small, seed: int) -> set[str]:
    """The plain loops give the definition, and each pass leaves that as it is, and what is prefetched, too.

    Returns the passes that change loops.
    """
    problem, arrays = drawn.problem, inputs(drawn.problem, seed)
    forms = drawn.forms()
    (first, lowered), *passed = forms
    assert first == LOWER
    x = None
    if strips := drawn.strips(seed):
        x, arrays["X"] = strips
    epilogue = [arrays[f"E_{array.name}"] for array in problem.epilogue_arrays]
    if problem.dtype == "f32":
        wanted = of_original(problem, arrays["X"], arrays["W"], *epilogue)
        arrays = arrays | {"X": drawn.copied(arrays["X"])}
        np.testing.assert_array_equal(result(lowered, arrays), wanted)
    else:
        wanted = result(lowered, arrays)
        exchanged = access_of(problem).exchange_dim is not None  # by indices of lanes, which no definition has
        if problem.keeps_sums and not problem.epilogue and not problem.broadcast.reach and not exchanged:
            np.testing.assert_array_equal(wanted, sums(problem, arrays))
    unpacked, arrays = arrays, arrays | {"W": packed(*packed_forms(dict(forms)), arrays["W"])}
    if problem.dtype == "f32":  # else W is of words here, and of numbers there
        np.testing.assert_array_equal(by_loops(drawn.scheme, unpacked["W"]), arrays["W"])
    before, given, changed, prefetched = lowered, unpacked, set(), []
    for name, kernel in passed:
        if not same_meaning(kernel, before):
            changed.add(name)
            given = unpacked if kernel.arrays == lowered.arrays else arrays
            if kernel.arrays[0] != lowered.arrays[0]:  # strips are copied from x itself
                given = given | {"X": x}
            asked: list[Asked] = []
            found = result(kernel, given, aligned=bool(seed % 2), asked=asked)
            np.testing.assert_array_equal(
                found, wanted, err_msg=f"{name}: {problem} {drawn.scheme.text} {drawn.isa.name}"
            )
            assert name == PREFETCH or asked == prefetched, f"{name}: {problem} {drawn.scheme.text} {drawn.isa.name}"
            prefetched = asked
        before = kernel
    for (_, before), (name, shared) in pairwise(drawn.forms(2)[-1 - len(OF_TEAMS) :]):
        if not same_meaning(shared, before):  # a team of one runs any form, a larger one the last
            changed.add(name)
            asked = []
            found = result(shared, given, aligned=bool(seed % 2), asked=asked)
            assert asked == prefetched, f"{name}: {problem} {drawn.scheme.text}"
            np.testing.assert_array_equal(found, wanted, err_msg=f"{name}: {problem} {drawn.scheme.text}")
    for threads in (2, 3):
        found = result(shared, given, threads, aligned=bool(seed % 2))
        np.testing.assert_array_equal(found, wanted, err_msg=f"{threads} threads: {problem} {drawn.scheme.text}")
    return changed


def of_original(problem: Problem, x: np.ndarray, w: np.ndarray, *epilogue: np.ndarray) -> np.ndarray:
    """The definition, of a problem that may have fused the pixels of another one."""
    original = problem.original
    given = [array.reshape(tensor.shape) for array, tensor in zip((x, w), original.tensors)]
    given += [array.reshape(t.shape) for array, t in zip(epilogue, original.epilogue_arrays)]
    return reference(problem, *given).reshape(problem.output.shape)


def drawn(random: Random) -> set[str]:
    """A random kernel, half of them as if all arrays were large, so that tiles prefetch. One in eight is of Winograd's
    algorithm. Returns the passes that change its loops.
    """
    if random.choice(range(8)) == 7:
        return winograd_loops.check(*winograd_loops.small(random))
    with patch.multiple("tiling.loops.lowering.prefetch", **FAR) if random.random() < 0.5 else nullcontext():
        return check(small(random), random.randrange(1 << 16))


RANDOM = st.randoms(use_true_random=False)  # hypothesis's own draws, which it makes simpler where a test fails


@pytest.mark.slow
@settings(max_examples=25)
@given(RANDOM)
def test_passes_keep_the_meaning(random):
    drawn(random)


@pytest.mark.slow
def test_a_pass_that_changes_only_what_an_instruction_means_is_found():
    """Instructions are equal whatever they mean, so such a form is equal to the one before."""

    def other(instruction: Instruction) -> Instruction:
        stores = [replace(s, body=(replace(s.body[0], value=Number(1)),)) for s in instruction.meaning]
        return replace(instruction, meaning=tuple(stores))

    def spoilt(kernel: Kernel, facts) -> Kernel:
        def changed(part: Operand) -> Operand | None:
            fma = isinstance(part, Invoke) and part.instruction.name == "fma"
            return replace(part, instruction=other(part.instruction)) if fma else None

        functions = (replace(f, body=tuple(with_values(s, changed) for s in f.body)) for f in kernel.functions)
        return replace(kernel, functions=tuple(functions))

    case = Small(parse(SAME, TILES.format(v=4)), ISAS["portable"], False)
    check(case, 1)
    with patch("cpu.passes.forms.PRODUCT", (*PRODUCT, ProductPass("spoil", spoilt, whole=True))):
        *_, (_, before), (name, kernel) = case.forms()
        assert name == "spoil" and kernel == before
        with pytest.raises(AssertionError, match="spoil"):
            check(case, 1)


@pytest.mark.slow
def test_random_kernels_need_every_pass():
    """What these tests draw: of so many kernels, how many each pass changes. Winograd's transforms have tests apart."""
    changed = Counter()
    for seed in range(250):
        random = Random(seed)
        with patch.multiple("tiling.loops.lowering.prefetch", **FAR) if random.random() < 0.5 else nullcontext():
            forms = small(random).forms(2)
        changed.update(name for (_, before), (name, kernel) in pairwise(forms) if kernel != before)
    print(*(f"{name}: {changed[name]}" for name in names(PRODUCT)[1:]), sep="\n")
    assert set(changed) >= set(names(PRODUCT)) - {LOWER, "share sums"}


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_passes_keep_the_meaning_of_sums_that_cores_share(layout):
    problem = fused(conv2d(c=6, h=3, w=2, k=6, r=3, s=1, padding=(1, 0), layout=layout), "relu(y*scale + b)")
    text = "T(c,3)@core R(h) R(k) S(y) T(r,3) T(c,2) U(w,2) V(k,4)"
    check(Small(parse(problem, text), ISAS["portable"], False), 1)


@pytest.mark.slow
@settings(max_examples=100)
@given(RANDOM)
def test_passes_keep_the_meaning_of_100_kernels(random):
    drawn(random)


@pytest.mark.soak
def test_passes_keep_the_meaning_of_500_kernels():
    """Every pass of the list changes some of them. The figures are printed.

    Hypothesis draws the seeds: kernels from its own random choices hardly ever copy strips.
    """
    changed, done = Counter(), 0

    @settings(max_examples=500)
    @given(st.integers(0, 2**32 - 1))
    def run(seed):
        nonlocal done
        changed.update(drawn(Random(seed)))
        done += 1

    run()
    print(f"{done} random kernels mean the same after every pass; so many of them each pass changed:")
    print(*(f"{name}: {changed[name]}" for name in names(PRODUCT)[1:]), sep="\n")
    assert done >= 500 and set(changed) == set(names(PRODUCT)) - {LOWER}


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem, text",
    [
        (TAIL, "R(k) T(h,7) S(y) T(r,3) T(s,3) T(c,5) U(w,7) V(k,{v})"),
        (GROUPED, "T(c,2) R(k) T(g,3) R(n) T(h,7) S(y) T(c,2) T(r,3) U(s,3) U(w,6) V(k,{v})"),
        (FOURS, "R(n) R(k) T(h,9) T(w,2) S(y) T(r,3) U(s,3) U(c,4) U(w,4) V(k,{v})"),
        (DEPTHWISE, "R(n) T(h,3) L(w, 1x3 + 1x5) R(c) S(y) T(r,3) U(s,3) U(h,3) U(w,λ) V(c,{v})"),
        (BATCHED, "T(l,3)@core T(k,2) T(m,2) R(n) S(c) T(k,5) U(m,4) V(n,{v})"),
    ],
)
def test_weights_are_packed_as_the_emitted_c_packs_them(problem, text):
    """These tests pack by the loops themselves: that order is the one of the kernel's own function."""
    w = inputs(problem)["W"]
    kernel = kernel_of(problem, text, "portable")
    forms = packed_forms(forms_by_name(problem, text))
    np.testing.assert_array_equal(packed(*forms, w), np.asarray(kernel.pack(w).data))
    assert parse(problem, text.format(v=4)) == kernel.scheme


def test_every_stage_has_a_name_of_its_own():
    assert len(set(names(PRODUCT))) == len(names(PRODUCT)) == len(PRODUCT) + 1 and PACKING in names(PRODUCT)
