"""Loops are cut where a choice of their values changes; what they compute stays."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cpu.passes.program.bind_tasks as bind_tasks
import cpu.passes.program.split_ranges as split_ranges
from cpu.passes.forms import program_forms
from cpu.reference.programs import evaluate, rounded
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE
from tests.support.loops.passes import different
from tests.support.programs.programs import inputs_of, interpreted, lines
from tests.support.sampled import examples
from tiling.loops.language import Apply, For
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.read import read

CONCAT = (
    "a: f32[3,40]; b: f32[3,7]; c: f32[3,25]; y[i,j] = where(j < 40, a[i,j] else 0, where(j < 47, b[i,j-40] else 0, "
    "c[i,j-47] else 0))"
)


def split(text, **dims):
    return dict(program_forms(sized(read(text), dims, {}), AVX512F, 1))["split ranges"]


def choices(kernel):
    parts = (p for s in walk(kernel.body) for o in operands_of(s) for p in parts_of(o))
    return [part for part in parts if isinstance(part, Apply) and part.function == "where"]


def test_a_concatenation_is_a_loop_for_each_part():
    kernel = split(CONCAT, i=3, j=72)
    loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.name == "j"]
    assert [str(loop.stop) for loop in loops] == ["40", "7", "25"] and not choices(kernel)
    assert "y[i, j + 40] = b[i, j]" in lines(kernel)


def test_a_choice_by_anything_else_stays():
    assert len(choices(split("y[i] = where(i < n[i], x[i], 0)", i=12))) == 1


def test_a_loop_of_too_many_parts_stays_whole(monkeypatch):
    text = "y[i] = where(i == 3, 1, where(i == 5, 2, x[i]))"
    assert not choices(split(text, i=12))
    monkeypatch.setattr(split_ranges, "MOST_PARTS", 2)
    assert len(choices(split(text, i=12))) == 1


def condition(random: Random, dim: str, extent: int) -> str:
    one = f"{dim} {random.choice(('<', '<=', '>', '>=', '==', '!='))} {random.randint(-2, extent + 2)}"
    if random.random() < 0.3:
        one = f"{dim} + {random.randint(-3, 3)} < {random.randint(0, extent)}"
    return one if random.random() < 0.7 else f"({one} {random.choice(('and', 'or'))} {condition(random, dim, extent)})"


def value(random: Random, depth: int, extents: dict[str, int]) -> str:
    if depth == 0:
        return random.choice(("x[i,j]", "x[i,j-3] else 0", "z[j,i]", "2", "-1.5", "i", "j + 1"))
    dim = random.choice("ij")
    test = condition(random, dim, extents[dim])
    return f"where({test}, {value(random, depth - 1, extents)}, {value(random, depth - 1, extents)})"


@pytest.mark.slow
@examples(80)
@given(st.integers(0, 2**32))
def test_random_choices_keep_their_values(seed):
    random = Random(seed)
    extents = {"i": random.randint(1, 9), "j": random.randint(1, 40)}
    chosen = value(random, random.randint(1, 3), extents)
    reduced = random.random() < 0.3
    text = f"y[i] = sum[j] f32({chosen})" if reduced else f"y[i,j] = {chosen}"
    shapes = {"x": (extents["i"], extents["j"]), "z": (extents["j"], extents["i"])}
    program = read(text)
    program = sized(program, extents, {name: shapes[name] for name in program.inputs})
    arrays = inputs_of(program, random)
    wanted = rounded(evaluate(program, arrays)["y"], program.array("y").dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bind_tasks, "LEAST_ELEMENTS", random.choice((1, 100)))
        isa, threads = random.choice((PORTABLE, AVX2, AVX512F)), random.randint(1, 3)
        for name, kernel in different(program_forms(program, isa, threads)):
            found = interpreted(program, kernel, arrays)["y"]
            np.testing.assert_array_equal(found, wanted, err_msg=f"after {name}: {text} {extents}")
