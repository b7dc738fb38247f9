"""Blocks that share a tile: exact, the same in every order, and wrong without any of their barriers and semaphores."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES
from gpu.model.predict import rank
from gpu.model.schedules import schedules
from gpu.model.space import candidates, scheme_of
from gpu.twin.launch import TwinError, run_on_twin
from tests.support.gpu.cases import (
    SYNCHRONISATION,
    check_on_twin,
    check_within_arrays,
    integers,
    left_out,
    product,
    product_scheme,
    survives,
    tma_scheme,
    wgmma_scheme,
)
from tests.support.gpu.compiling import check_compiles, needs_nvrtc
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

H200, A100 = DEVICES["H200"], DEVICES["A100"]
PRODUCT = matmul(m=70, n=40, k=500, dtype="f16")
CONV = conv2d(c=24, h=9, w=9, k=40, r=3, s=3, padding=1, dtype="bf16", filters="krsc")
TALL = matmul(m=200, n=136, k=504, dtype="f16", transpose_b=True)
WIDE = conv2d(c=136, h=9, w=9, k=40, r=3, s=3, padding=1, dtype="bf16", filters="krsc")
ONE_BOX = fused(matmul(m=500, n=64, k=520, dtype="f16", transpose_b=True), "relu(y + z)")
LONG = matmul(m=256, n=256, k=8192, dtype="bf16")
DEEP = conv2d(c=512, h=7, w=7, k=512, r=3, s=3, padding=1, dtype="f16", filters="krsc")


def split(scheme, split_k):
    """The same tiles with their reduction shared by so many blocks."""
    axis = pipeline_of(scheme).axes[2]
    steps = pipeline_of(scheme).steps
    each = -(-steps // split_k)
    text = scheme.text.replace(f" T({axis},{steps}) ", f" T({axis},{each}) ")
    return parse(scheme.problem, f"T({axis},{-(-steps // each)})@block {text}")


GATHERED = split(product_scheme(matmul(m=70, n=40, k=499, dtype="f16"), unrolled=(2, 2, 1)), 4)
OF_WARPGROUPS = split(wgmma_scheme(matmul(m=70, n=64, k=700, dtype="f16"), depth=3), 4)


def split_tma(scheme, **parts):
    """The same tiles, the reduction shared by so many clusters along each of its dims."""
    text, shared = scheme.text, ""
    for dim, split_k in parts.items():
        loop = re.search(rf" T\({dim},(\d+)\) ", text)
        each = -(-int(loop[1]) // split_k)
        text = text.replace(loop[0], f" T({dim},{each}) ")
        shared += f"T({dim},{-(-int(loop[1]) // each)})@cluster "
    return parse(scheme.problem, shared + text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "scheme",
    [
        split(product_scheme(PRODUCT), 4),
        split(product_scheme(fused(PRODUCT, "relu(y + b) * 2"), group=2), 3),
        split(product_scheme(matmul(m=33, n=41, k=300, dtype="tf32", batch=2, transpose_a=True)), 5),
        split(product_scheme(fused(CONV, "max(y, z) + b")), 2),
        split(wgmma_scheme(matmul(m=70, n=64, k=700, dtype="f16"), depth=3), 5),
        split(wgmma_scheme(CONV, groups=(1, 1)), 2),
        split_tma(tma_scheme(TALL, cluster=(2, 1), columns=128), k=3),
        split_tma(tma_scheme(fused(TALL, "relu(y + b) * 2"), groups=(2, 1), group=2), k=8),
        split_tma(tma_scheme(matmul(m=64, n=72, k=256, batch=2, transpose_a=True, dtype="bf16"), cluster=(1, 2)), k=4),
        split_tma(tma_scheme(matmul(m=131, n=72, k=250, dtype="tf32"), cluster=(2, 1)), k=4),
        split_tma(tma_scheme(fused(WIDE, "max(y, z) + b")), r=3, c=2),
        split_tma(tma_scheme(WIDE, cluster=(2, 1)), r=3, s=3),
        split_tma(tma_scheme(fused(product(m=1200, n=64, k=520), "relu(y + z)"), rows=3), k=3),  # three boxes a tile
        split_tma(tma_scheme(ONE_BOX), k=3),
    ],
    ids=lambda scheme: scheme.text[:60],
)
def test_products_and_convolutions_are_exact(scheme, seed):
    pipeline = pipeline_of(scheme)
    assert pipeline.split_k > 1 and pipeline.grid == pipeline.split_k * pipeline.tiles
    check_on_twin(scheme, seeds=[seed])


def test_a_tile_of_one_box_has_one_buffer_of_each_warp():
    """Nobody else may read it when the next tile comes."""
    source = emit_scheme(split_tma(tma_scheme(ONE_BOX), k=3))
    assert "(Y_box + 1024 * warp)" in source.text and source.text.count("mbarrier_init(shared_address(loaded") == 4
    assert source.text.count("tma_wait_read(0)") == 2  # before z comes, and at the end
    assert not survives(replace(source, text=source.text.replace("tma_wait_read(0)", "tma_wait_read(1)", 1)), range(8))


@pytest.mark.slow
def test_no_index_leaves_the_sums():
    check_within_arrays(split(wgmma_scheme(CONV, groups=(1, 1)), 2))
    check_within_arrays(split(product_scheme(PRODUCT), 4))


def test_the_sums_are_added_in_one_order_whichever_block_comes_last():
    rng = np.random.default_rng(7)
    source = emit_scheme(split(product_scheme(matmul(m=70, n=40, k=500, dtype="f16", output_dtype="f32")), 7))
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((70, 500), (500, 40))]
    first, *others = (run_on_twin(source, *inputs, seed=seed).output for seed in range(4))
    assert all((output == first).all() for output in others)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme, statements",
    [
        (split(product_scheme(PRODUCT), 4), 8),
        (split(product_scheme(PRODUCT, unrolled=(2, 2, 1)), 4), 6),
        (GATHERED, 6),
        (OF_WARPGROUPS, 6),
    ],
    ids=["load ahead", "load first", "gather", "warpgroups"],
)
def test_no_barrier_can_be_left_out(scheme, statements):
    barriers = re.compile(r"(?<!\w)(?:cp_async_wait\([^)]*\)|cp_async_commit\(\)|__syncthreads\(\));")
    found, needless = left_out(emit_scheme(scheme), barriers, range(4))
    assert len(found) == statements and not needless


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [(1, 1), (2, 1)], ids=str)
def test_nothing_that_orders_a_tma_pipelines_parts_can_be_left_out(cluster):
    """Eight tiles, so that a warp soon stores another one."""
    problem = matmul(m=500 * cluster[0], n=40, k=520, dtype="f16", transpose_b=True)
    source = emit_scheme(split_tma(tma_scheme(problem, cluster=cluster), k=3))
    found, needless = left_out(source, SYNCHRONISATION, range(8))
    assert found.count("__syncwarp();") == 4 and not needless


UNSEEN = "no block has stored|has not published|no split-K semaphore and barrier"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("taken == 3", "block / 4 == 3", UNSEEN),
        ("taken == 3", "taken == 2", UNSEEN),
        ("block % 4, 4)", "block % 4, 5)", "is left at 4"),
        ("take_semaphore(counts + block % 4, 4)", "block / 4", UNSEEN),
        ("counts + block % 4", "counts + 4 + block % 4", "outside the semaphores"),
        ("thread == 0", "thread % 32 == 0", "which thread .* wrote since the last barrier"),
        ("512 * column", "256 * column", "a second time|not four of them"),
        ("part < 4", "part < 3", ""),
        ("k_1 + k +", "k +", ""),
        ("k_1 = 128 * (block / 4)", "k_1 = 128 * (block % 4)", ""),
    ],
)
def test_other_mistakes_are_found(old, new, message):
    scheme = split(product_scheme(PRODUCT), 4)
    source = emit_scheme(scheme)
    assert old in source.text
    broken = replace(source, text=source.text.replace(old, new))
    assert not survives(broken)
    if message:
        with pytest.raises(TwinError, match=message):
            run_on_twin(broken, *integers(scheme.problem))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("taken == 2", "tile / 4 == 0"),
        ("taken == 2", "taken == 1"),
        ("+ 4 * rank + warp, 3)", "+ 4 * rank, 3)"),
        ("8 * (tile % 4) + 4 * rank + warp", "8 * (tile % 4) + warp"),
        ("24576 * rank + 8192 * (tile / 4)", "8192 * (tile / 4)"),
        ("part < 3", "part < 2"),
        ("k_1 + k,", "k,"),
        ("192 * (tile / 4)", "192 * (tile % 4)"),
        ("warp, 3)", "warp, 4)"),
        ("if (member == 0) {\n                    const int before", "if (1) {\n                    const int before"),
    ],
)
def test_other_mistakes_of_a_tma_pipeline_are_found(old, new):
    source = emit_scheme(split_tma(tma_scheme(TALL, cluster=(2, 1), columns=128), k=3))
    assert old in source.text
    assert not survives(replace(source, text=source.text.replace(old, new)))


@pytest.mark.parametrize("read", [pipeline_of, emit_scheme])
@pytest.mark.parametrize(
    ("scheme", "old", "new", "message"),
    [
        (split_tma(tma_scheme(TALL), k=4), "T(k,4)@cluster", "T(k,4)@block", "T.k,4.@block: clusters, not"),
        (split_tma(tma_scheme(WIDE), r=3), "T(r,3)@cluster", "T(r,2)@cluster", "3 taps along r are not shared by 2"),
        (split_tma(tma_scheme(TALL), k=4), "T(k", "T(n,1)@cluster T(k", "T.k,4.@cluster: out of place"),
    ],
)
def test_reductions_that_clusters_cannot_share(scheme, old, new, message, read):
    text = scheme.text.replace(old, new, 1).replace("T(r,1) ", "T(r,2) ")
    with pytest.raises(SchemeError, match=message):
        read(parse(scheme.problem, text))


def test_only_the_reduction_of_a_whole_tile_is_split():
    scheme = product_scheme(PRODUCT)
    with pytest.raises(SchemeError, match=r"T\(k,2\)@block: blocks that share a sum stand outside"):
        pipeline_of(
            parse(PRODUCT, "T(m,2)@block T(k,2)@block " + split(scheme, 2).text.partition("@block T(m,2)@block ")[2])
        )
    with pytest.raises(SchemeError, match="only a CPU's cores and a GPU's blocks and clusters may share it"):
        parse(PRODUCT, split(scheme, 2).text.replace("T(k,2)@block", "T(k,2)@warp"))


@pytest.mark.slow
def test_the_space_splits_where_tiles_are_fewer_than_multiprocessors():
    best = pipeline_of(rank(LONG, H200)[0].scheme)
    assert best.split_k > 1 and best.grid <= H200.multiprocessors
    assert not any(pipeline_of(s).split_k > 1 for s in candidates(matmul(m=4096, n=4096, k=4096, dtype="bf16"), A100))
    short = matmul(m=256, n=256, k=128, dtype="bf16")
    assert not any(pipeline_of(s).split_k > 1 for s in candidates(short, H200))
    assert pipeline_of(rank(DEEP, H200)[0].scheme).split_k > 1
    best = pipeline_of(rank(matmul(m=128, n=768, k=3072, dtype="bf16"), H200)[0].scheme)
    assert best.tma and best.split_k > 1


def test_taps_are_dealt_out_where_channels_are_too_few():
    found = [s for s in candidates(DEEP, H200) if "M(nhw64k64c16)" in s.text and "@cluster" in s.text]
    assert found and found[0].text.startswith("T(r,3)@cluster T(c,4)@cluster T(nhw,1)@cluster ")
    assert pipeline_of(found[0]).split_k == 12


def test_every_number_of_splits_covers_the_reduction():
    for k in (65, 1000, 2039):
        problem = matmul(m=64, n=64, k=k, dtype="f16")
        for split_k in range(2, 12):
            pipeline = pipeline_of(scheme_of(problem, schedules("f16")[0], split_k))
            assert (
                1 < pipeline.split_k <= split_k and pipeline.covered("k") - pipeline.steps * pipeline.block_tile[2] < k
            )


@pytest.mark.slow
@needs_nvrtc
@pytest.mark.parametrize("problem", [LONG, DEEP], ids=str)
def test_split_schedules_compile_without_spills(problem):
    wide = [s for s in candidates(problem, H200) if pipeline_of(s).split_k > 1 and "n256" in s.text]
    for scheme in [*(s for s in candidates(problem, H200) if pipeline_of(s).split_k > 1)][::37] + wide[:1]:
        check_compiles(scheme, "H200")
