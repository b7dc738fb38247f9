"""Hopper's TMA pipeline: exact on the twin with clusters, edges and every orientation; nothing that orders it can be
left out.
"""

from dataclasses import replace

import numpy as np
import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.twin.launch import run_on_twin
from tests.support.gpu.cases import (
    SYNCHRONISATION,
    check_on_twin,
    check_within_arrays,
    image,
    left_out,
    product,
    survives,
    tma_scheme,
)
from tiling.epilogue import fused
from tiling.text.notation import parse


@pytest.mark.exhaustive
@pytest.mark.parametrize("cluster", [(1, 1), (2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (product(), {"groups": (2, 1), "columns": 128}),
        (product(transpose_b=False, transpose_a=True, dtype="bf16"), {"columns": 128}),
        (product(k=100, dtype="tf32"), {"groups": (2, 1), "columns": 128}),
        (product(m=400, k=72), {"groups": (3, 1), "columns": 128}),
        (product(m=200, n=400, k=72, transpose_b=False, transpose_a=True, dtype="bf16"), {"columns": 192}),
        (product(m=70, n=200, k=36, dtype="tf32"), {"columns": 192}),
        (image(), {}),
        (image(dtype="tf32"), {}),
    ],
    ids=str,
)
def test_blocks_of_a_cluster_share_what_they_copy(problem, options, cluster):
    scheme = tma_scheme(problem, cluster=cluster, **options)
    assert ("_multicast(" in emit_scheme(scheme).text) == (cluster != (1, 1))
    check_on_twin(scheme)


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (product(m=130, n=264, k=72), {"columns": 256}),
        (product(m=400, n=72, k=40, output_dtype="f32"), {"rows": 2, "group": 3, "cluster": (2, 1)}),
        (product(m=64, n=64, k=1000), {"depth": 6}),
        (product(m=8, n=8, k=8, transpose_b=False), {"cluster": (1, 2), "depth": 5}),
        (image(stride=2, padding=((0, 1), (2, 0))), {}),
        (image(c=72, dilation=2, padding=2), {"depth": 4}),
        (image(r=1, s=1, padding=0, k=136, dtype="f16"), {"cluster": (2, 1), "columns": 128}),
        (fused(product(m=70, n=72, k=136, batch=2), "relu(y + b + z)"), {"cluster": (2, 1)}),
        (fused(image(k=24), "max(y + z, b)"), {"cluster": (2, 1)}),
        (fused(image(r=1, s=1, padding=0, k=200), "relu(y + b + z)"), {"groups": (3, 1), "columns": 192}),
        (product(m=400, n=200, k=40, transpose_b=False, transpose_a=True), {"groups": (3, 1), "cluster": (2, 1)}),
        (product(m=130, n=264, k=36, dtype="tf32"), {"columns": 128, "rows": 2, "group": 3}),
        (fused(image(c=36, stride=2, padding=((0, 1), (2, 0)), dtype="tf32"), "relu(y + b + z)"), {"depth": 4}),
    ],
    ids=str,
)
def test_edges_rings_batches_and_epilogues(problem, options):
    check_on_twin(tma_scheme(problem, **options))


def test_taps_are_taken_in_any_order():
    problem = image()
    text = tma_scheme(problem).text
    assert "T(r,3) T(s,3)" in text
    check_on_twin(parse(problem, text.replace("T(r,3) T(s,3)", "T(s,3) T(r,3)")))


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (image(n=1), {"cluster": (1, 2)}),
        (image(n=1, h=5, w=5), {"cluster": (2, 1)}),
        (image(n=1, h=7, w=7, stride=2, padding=((0, 1), (2, 0))), {"groups": (2, 1), "cluster": (2, 1)}),
        (image(n=1, h=1, w=1, r=1, s=1, padding=0), {"cluster": (1, 2)}),
        (image(n=3, h=5, w=5, dtype="tf32"), {"cluster": (1, 2)}),
    ],
    ids=str,
)
def test_blocks_past_the_last_pixel_begin_in_images_that_are_not_there(problem, options):
    """The half of a tile that a block copies for its cluster, or all of it, may be past the end."""
    check_on_twin(tma_scheme(problem, **options), seeds=(1, 2))


@pytest.mark.slow
def test_no_index_leaves_the_sums():
    check_within_arrays(tma_scheme(product(), cluster=(2, 1), columns=128))


def test_f32_are_rounded_to_tf32_on_their_way_and_not_cut():
    """Sums of positive numbers, of which a cut makes each one smaller."""
    problem = product(m=70, n=72, k=100, dtype="tf32", transpose_b=False)
    source, rng = emit_scheme(tma_scheme(problem)), np.random.default_rng(3)
    inputs = [rng.uniform(1, 2, shape).astype(np.float32) for shape in ((70, 100), (100, 72))]
    first, second = (np.round(array.astype(np.float64) * 1024) / 1024 for array in inputs)
    wanted = first @ second
    bound = 100 * np.finfo(np.float32).eps / 2 * wanted
    assert (np.abs(run_on_twin(source, *inputs).output - wanted) <= bound).all()
    cut = replace(source, maps=tuple(replace(tensor, dtype="f32") for tensor in source.maps))
    assert (np.abs(run_on_twin(cut, *inputs).output - wanted) > bound).all()


SHARED = {"cluster": (2, 1), "groups": (1, 2)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "options", "statements"),
    [
        (product(m=500, n=128, k=320), SHARED, 25),
        (product(m=500, n=128, k=160, dtype="tf32"), SHARED, 25),
        (fused(product(m=500, n=256, k=130), "relu(y + z)"), {"columns": 256}, 35),
    ],
    ids=str,
)
def test_no_barrier_fence_commit_or_wait_can_be_left_out(problem, options, statements):
    found, needless = left_out(emit_scheme(tma_scheme(problem, **options)), SYNCHRONISATION, range(12))
    assert len(found) == statements and not needless


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wgmma_wait(1)", "wgmma_wait(2)"),
        ("wgmma_wait(0)", "wgmma_wait(1)"),
        ("tma_wait_read(1)", "tma_wait_read(2)"),
        ("/ 3 + 1) % 2)", "/ 3) % 2)"),
        ("((5 * turn + k / 64) / 3) % 2", "((5 * turn + k / 64) / 3 + 1) % 2"),
        ("shared_address(empty), 8)", "shared_address(empty), 4)"),
        (", 16384);", ", 8192);"),
        ("n_1 + 32 * rank", "n_1"),
        ("32 * rank, 3)", "32 * rank, 1)"),
        ("+ 2048 * rank)", ")"),
        ("^ (member / 4 % 8)", "^ (member / 4 % 4)"),
        ("64 * (tile % 2)", "64 * (tile / 2)"),
        ("member < 2)", "member < 1)"),
        ("5 * turn", "4 * turn"),
    ],
)
def test_other_mistakes_are_found(old, new):
    source = emit_scheme(tma_scheme(product(m=400, n=128, k=304), cluster=(2, 1)))
    assert old in source.text
    assert not survives(replace(source, text=source.text.replace(old, new)), range(8))


def test_clusters_take_tiles_in_turns():
    source = emit_scheme(tma_scheme(product(m=1000, n=504), cluster=(2, 1)))
    assert (source.grid, source.cluster) == (2 * 8 * 8, 2)
    assert source.blocks_on(132) == min(source.grid, 132 * source.persistent)
    assert source.blocks_on(9) == 9 * source.persistent // 2 * 2 and source.blocks_on(1) == 2
