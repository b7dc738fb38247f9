"""Random kernels of products after each pass, as the interpreter runs them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from random import Random
from unittest.mock import patch

import numpy as np

from cpu.passes.order import PRODUCT
from cpu.reference.oracle import reference
from tests.exactness import FAR
from tests.support.loops import winograd_loops
from tests.support.loops.loops import inputs, result, sums
from tests.support.loops.packed_weights import by_loops, packed, packed_forms
from tests.support.loops.passes import same_meaning
from tests.support.loops.small_kernels import Small, small
from tiling.arrays.access import access_of
from tiling.loops.conditions import conditions_of
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Body, For, If, Inside, Statement
from tiling.loops.meaning.prefetches import Prefetched
from tiling.loops.passes import LOWER
from tiling.loops.walk import walk, with_blocks
from tiling.problem import Problem

PREFETCHES = tuple(each.name for each in PRODUCT if each.name.startswith("prefetch"))  # the passes that ask for lines
BOUND_TAPS = "bound taps"
# The last passes, which make a kernel what one thread of a team does.
OF_TEAMS = tuple(each.name for each in PRODUCT if each.whole)


def check(drawn: Small, seed: int) -> set[str]:
    """The plain loops give the definition, and each pass leaves that as it is, and what is prefetched, too; but steps
    of taps on padding, which are left out, prefetch nothing.

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
    before, given, changed, earlier = lowered, unpacked, set(), []
    for name, kernel in passed:
        if not same_meaning(kernel, before):
            changed.add(name)
            given = unpacked if kernel.arrays == lowered.arrays else arrays
            if kernel.arrays[0] != lowered.arrays[0]:  # strips are copied from x itself
                given = given | {"X": x}
            if name == BOUND_TAPS:
                earlier = []
                result(without_steps_on_padding(before), given, aligned=bool(seed % 2), prefetched=earlier)
            prefetched: list[Prefetched] = []
            found = result(kernel, given, aligned=bool(seed % 2), prefetched=prefetched)
            said = f"{name}: {problem} {drawn.scheme.text} {drawn.isa.name}"
            np.testing.assert_array_equal(found, wanted, err_msg=said)
            assert name in PREFETCHES or prefetched == earlier, said
            earlier = prefetched
        before = kernel
    for (_, before), (name, shared) in pairwise(drawn.forms(2)[-1 - len(OF_TEAMS) :]):
        if not same_meaning(shared, before):  # a team of one runs any form, a larger one the last
            changed.add(name)
            prefetched = []
            found = result(shared, given, aligned=bool(seed % 2), prefetched=prefetched)
            assert prefetched == earlier, f"{name}: {problem} {drawn.scheme.text}"
            np.testing.assert_array_equal(found, wanted, err_msg=f"{name}: {problem} {drawn.scheme.text}")
    for threads in (2, 3):
        found = result(shared, given, threads, aligned=bool(seed % 2))
        np.testing.assert_array_equal(found, wanted, err_msg=f"{threads} threads: {problem} {drawn.scheme.text}")
    return changed


def without_steps_on_padding(kernel: Kernel) -> Kernel:
    """The kernel whose loops over taps in a tile do nothing where the tap lies on padding for the whole tile."""

    def of_tile(tile: Block) -> Block:
        inside = {s.name for s in walk(tile.body) if isinstance(s, For)}

        def guarded(statement: Statement) -> Statement:
            found = with_blocks(statement, lambda body: tuple(map(guarded, body)))
            if not isinstance(found, For) or not isinstance(statement, For) or found.kind != "serial":
                return found
            tests = [c for c in dict.fromkeys(conditions_of(statement.body)) if isinstance(c, Inside)]
            on_window = [c for c in tests if c.low is not None and c.index.coefficient(found.name)]
            alone = [c for c in on_window if inside.intersection(c.index.names()) == {found.name}]
            return replace(found, body=(If(tuple(alone), found.body),)) if alone else found

        return replace(tile, body=tuple(map(guarded, tile.body)))

    def with_tiles(body: Body) -> Body:
        return tuple(of_tile(s) if isinstance(s, Block) else with_blocks(s, with_tiles) for s in body)

    return replace(kernel, body=with_tiles(kernel.body))


def of_original(problem: Problem, x: np.ndarray, w: np.ndarray, *epilogue: np.ndarray) -> np.ndarray:
    """The definition, of a problem that may have fused the pixels of another one."""
    original = problem.original
    given = [array.reshape(tensor.shape) for array, tensor in zip((x, w), original.tensors)]
    given += [array.reshape(t.shape) for array, t in zip(epilogue, original.epilogue_arrays)]
    return reference(problem, *given).reshape(problem.output.shape)


def drawn(random: Random) -> set[str]:
    """A random kernel, half of them as if all arrays were large, so that tiles prefetch. Returns the passes that change
    its loops.
    """
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR) if random.random() < 0.5 else nullcontext():
        return check(small(random), random.randrange(1 << 16))


def drawn_with_winograd(random: Random) -> set[str]:
    """The same. One in eight is of Winograd's algorithm."""
    if random.choice(range(8)) == 7:
        return winograd_loops.check(*winograd_loops.small(random))
    return drawn(random)
