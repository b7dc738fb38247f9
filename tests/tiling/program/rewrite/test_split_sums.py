"""Long sums in parts: what is computed stays, whatever the extents."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiling.program.rewrite.split_sums as split
from cpu.reference.programs import evaluate
from tests.support.programs.programs import inputs_of, random_program
from tests.support.sampled import examples
from tiling.program.infer import Sized, sized
from tiling.program.read import read


@pytest.fixture
def short(monkeypatch):
    """Every sum counts as long."""
    monkeypatch.setattr(split, "LEAST_POINTS", 1)
    monkeypatch.setattr(split, "PARTS", (3, 2))


def same(program: Sized, arrays: dict[str, np.ndarray]) -> Sized:
    parts = split.split_sums(program)
    wanted, found = evaluate(program, arrays), evaluate(parts, arrays)
    for array in program.assigned:
        np.testing.assert_array_equal(found[array.name], wanted[array.name], err_msg=array.name)
    return parts


@examples(150)
@given(st.integers(0, 2**32))
def test_parts_give_the_same(seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "LEAST_POINTS", 1)
        patch.setattr(split, "PARTS", (3, 2))
        random = Random(seed)
        program = random_program(random)
        same(program, inputs_of(program, random))


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "mean", "any", "all"])
@pytest.mark.parametrize("extent", [1, 2, 7, 12])
@pytest.mark.parametrize("dtype", ["f32", "s32", "bool"])
def test_every_reduction(kind, extent, dtype, short):
    program = sized(read(f"y[j] = {kind}[i] x[i,j]"), {}, {"x": (extent, 2)}, dtype)
    random = np.random.default_rng(extent)
    values = random.integers(0, 2 if dtype == "bool" else 4, (extent, 2))
    parts = same(program, {"x": values * 4 if kind == "mean" and dtype != "bool" else values})
    assert len(parts.program.statements) == 2 + (kind == "mean") and parts.outputs == ("y",)


def test_parts_and_their_names():
    text = "i_part[k] = z[k] + 1; y[] = sum[i] x[i]"
    program = split.split_sums(sized(read(text), {}, {"x": (1 << 20,), "z": (3,)}, outputs=("y", "i_part")))
    assert [str(statement) for statement in program.program.statements[1:]] == [
        "y_parts[i_part_] = sum[i_in] x[16384 * i_part_ + i_in]",
        "y[] = sum[i_part_] y_parts[i_part_]",
    ]


def test_short_sums_and_many_outputs_stay():
    for shape in ((17, 1 << 18), (1, 1000)):
        program = sized(read("y[i] = sum[j] x[i,j]"), {}, {"x": shape})
        assert split.split_sums(program) == program
