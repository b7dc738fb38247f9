"""Winograd's algorithm as loops: the plain ones compute the convolution, and each pass keeps their meaning."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cpu.codegen.winograd import winograd_packing_forms_of
from microkernels.tile.isa import ISAS
from tests.support.kernels.winograd_cases import text_of
from tests.support.loops.winograd_loops import check, small, transformed
from tiling.epilogue import fused
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.language import Call, For
from tiling.loops.walk import walk as walked
from tiling.operators import conv2d
from tiling.rewrite.winograd.algorithm import transforms
from tiling.rewrite.winograd.loops import lower_around, point_strides
from tiling.text.notation import parse

SMALL = conv2d(n=2, c=3, h=5, w=4, k=6, r=3, s=3, padding=1)
# A problem, m, tiles and vectors of output channels of a block, and workers.
CASES = {
    "tiles cut by the image, parts of channels": (SMALL, 2, 4, 1, 1),
    "blocks shared by workers, tiles left over": (SMALL, 3, 5, 1, 3),
    "an epilogue with arrays of every shape": (fused(SMALL, "relu(y*scale + t[h] * u[n,w])"), 2, 3, 2, 2),
    "no padding, whole vectors": (conv2d(c=4, h=6, w=6, k=4, r=3, s=3), 4, 1, 1, 1),
    "padding wider than the image": (conv2d(c=5, h=1, w=2, k=4, r=3, s=3, padding=3), 2, 3, 1, 1),
}


def sizes_of(name):
    """F(2), F(3) and F(4), and how many workers there are."""
    _, m, *_, workers = CASES[name]
    return {f"F({m})", f"{workers} workers"}


@pytest.mark.slow
@pytest.mark.exhaustive(name=sizes_of)
@pytest.mark.parametrize("name", CASES)
def test_every_form_computes_the_convolution(name):
    problem, *sizes, workers = CASES[name]
    check(parse(problem, text_of(problem, *sizes, 4)), "portable", workers)


@pytest.mark.slow
@pytest.mark.exhaustive(seed=lambda seed: seed % 2)
@pytest.mark.parametrize("seed", range(10))
def test_every_form_of_random_kernels_computes_the_convolution(seed):
    check(*small(Random(seed)))


def test_the_parts_of_a_block_follow_one_another_so_v_is_made_once():
    problem, *sizes, _ = CASES["blocks shared by workers, tiles left over"]
    winograd = parse(problem, text_of(problem, *sizes, 4))
    kernel = lower_around(winograd, 1)
    (workers,) = [s for s in kernel.body if isinstance(s, For)]
    (blocks,) = [s for s in workers.body if isinstance(s, For)]
    tiles, parts = (s for s in blocks.body if isinstance(s, For))
    assert tiles.name == "tile" and parts.name == "part" and winograd.parts == 2
    called = {s.function for s in walked(tiles.body) if isinstance(s, Call)}
    assert called == {"input_tile", "padded", "input_patch"}


@pytest.mark.exhaustive(name=sizes_of)
@pytest.mark.parametrize("name", CASES)
def test_the_loops_that_pack_make_u_of_each_point_and_part(name):
    problem, *sizes, _ = CASES[name]
    winograd = parse(problem, text_of(problem, *sizes, 4))
    w = np.random.default_rng(0).standard_normal(problem.vector.shape).astype(np.float32)
    expected = transformed(winograd, w)
    for name, kernel in winograd_packing_forms_of(winograd, ISAS["portable"], 1):
        packed = next(buffer for buffer in kernel.arrays if buffer.name == "packed")
        given = {"W": w, "packed": np.full(packed.shape, np.nan, np.float32)}
        interpret(kernel, given | {"G": np.array(transforms(winograd.m).weights, np.float64)})
        np.testing.assert_allclose(given["packed"], expected, rtol=2e-7, atol=1e-12, err_msg=name)
        assert np.array_equal(given["packed"] == 0, expected == 0)  # channels that fill the last part


def test_only_tiles_beyond_the_image_have_functions_of_their_own():
    problem, *sizes, _ = CASES["no padding, whole vectors"]
    kernel = lower_around(parse(problem, text_of(problem, *sizes, 4)), 1)
    assert [function.name for function in kernel.functions] == ["input_tile", "output_tile"]


def test_points_lie_an_odd_number_of_lines_apart():
    winograd = parse(SMALL, text_of(SMALL, 2, 4, 1, 4))
    assert all(floats % 16 == 0 and floats // 16 % 2 == 1 for floats in point_strides(winograd))
