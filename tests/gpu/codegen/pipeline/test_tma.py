"""Hopper's TMA pipeline: exact on the twin with clusters, edges and every orientation; nothing that orders it can be
left out.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from cpu.runtime.machine.host import host
from gpu.codegen.copies.aligned import copied_bytes, slices
from gpu.codegen.copies.tensor_map import TensorMapError
from gpu.codegen.loops.copier import copier
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES
from gpu.model.predict import predict, rank
from gpu.model.space import candidates, limits
from gpu.runtime.arrays import from_device, poisoned, to_device
from gpu.runtime.compiler.compile import cuda_text
from gpu.runtime.kernel import load
from gpu.twin.launch import Twin, run_on_twin
from tests.support.gpu.cases import (
    SYNCHRONISATION,
    check_on_twin,
    check_within_arrays,
    expected,
    image,
    integers,
    product,
    survives,
    tma_scheme,
)
from tests.support.gpu.compiling import check_compiles, fault, needs_nvrtc, ptx_of
from tiling.epilogue import fused
from tiling.operators import matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse


@pytest.mark.parametrize("cluster", [(1, 1), (2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (product(), {"groups": (2, 1), "columns": 128}),
        (product(transpose_b=False, transpose_a=True, dtype="bf16"), {"columns": 128}),
        (product(k=100, dtype="tf32"), {"groups": (2, 1), "columns": 128}),
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


def test_no_index_leaves_the_sums():
    check_within_arrays(tma_scheme(product(), cluster=(2, 1), columns=128))


WITH_Z = fused(product(m=200, n=264, k=72, dtype="bf16"), "relu(y + b + z)")


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (WITH_Z, {"columns": 256}),
        (WITH_Z, {"columns": 128, "rows": 2, "cluster": (2, 1)}),
        (WITH_Z, {"groups": (2, 1), "cluster": (1, 2)}),
        (fused(product(m=200, n=264, k=36, dtype="tf32"), "z - y*scale"), {"columns": 128, "rows": 2}),
        (fused(product(m=130, n=200, k=72, output_dtype="f32"), "y*z + q[m,n]*p[m]"), {"columns": 256}),
        (fused(product(m=130, n=72, k=72, batch=3), "z + y*r[l,n] - q[l,m,n] + t[l]"), {"rows": 2}),
        (fused(image(k=72), "max(y, z) + p[n,w]*q[h,k]"), {"columns": 128}),
    ],
    ids=str,
)
def test_what_lies_as_the_output_comes_by_tma(problem, options):
    """In several stores a tile or in one, whose buffers take turns across tiles."""
    source = emit_scheme(tma_scheme(problem, **options))
    assert [tensor.name for tensor in source.maps] == ["X", "W", "E_z", "Y"]
    assert not re.search(r"\bE_z \+", source.text)
    check_on_twin(source.scheme, seeds=(1, 2, 3))


FOUR_STORES = tma_scheme(fused(product(m=500, n=256, k=130), "relu(y + z)"), columns=256)
THREE_STORES = tma_scheme(fused(product(m=800, n=128, k=72), "relu(y + z)"), rows=3)


@pytest.mark.parametrize(
    ("scheme", "old", "new"),
    [
        (FOUR_STORES, "((4 * turn + n_box / 64 + m_u / 64) / 2) % 2", "(n_box / 64 / 2 + 1) % 2"),
        (FOUR_STORES, "+ 2 < 4)", "+ 2 < 3)"),
        (FOUR_STORES, "+ 2 < 4)", "+ 2 <= 4)"),
        (FOUR_STORES, ", 2048);", ", 1024);"),
        (FOUR_STORES, "n + 64, m", "n, m"),
        (FOUR_STORES, "(m_u / 64) + 128,", "(m_u / 64) + 64,"),
        (FOUR_STORES, "&E_z_map, shared_address(loaded + 2 * warp + 1)", "&E_z_map, shared_address(loaded + 2 * warp)"),
        (FOUR_STORES, "loaded = SHARED(unsigned long long, 139328)", "loaded = SHARED(unsigned long long, 139296)"),
        (THREE_STORES, "3 * turn", "2 * turn"),
        (THREE_STORES, "3 * turn", "4 * turn"),
        (THREE_STORES, "m + 16 * (warp % 4)", "m + 16 * (warp % 2)"),
    ],
)
def test_mistakes_about_z_are_found(scheme, old, new):
    source = emit_scheme(scheme)
    assert old in source.text
    assert not survives(replace(source, text=source.text.replace(old, new)), range(8))


def test_texts_load_a_bias_for_each_pair_of_sums_and_a_residual_too_or_not_at_all():
    """z by TMA, where it stores the output."""
    by_tma = tma_scheme(fused(product(m=256, n=256, k=64), "relu(y + b + z)"), columns=128, rows=2)
    by_threads = tma_scheme(fused(product(m=256, n=252, k=64), "relu(y + b + z)"))
    for scheme, loads in ((by_tma, 2 * 64 * 256), (by_threads, 256 * 252)):
        assert run_on_twin(emit_scheme(scheme), *integers(scheme.problem)).loads == loads


@needs_nvrtc
def test_the_compiler_leaves_one_load_of_a_bias_for_each_pair_of_columns():
    """A warp has 128 columns, of which each of its quads of lanes takes 8 at once."""
    scheme = tma_scheme(fused(product(m=256, n=256, k=64), "relu(y + b + z)"), columns=128, rows=2)
    assert len(re.findall(r"\bld\.global", ptx_of(cuda_text(emit_scheme(scheme)), "compute_90a"))) == 128 // 8


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (product(n=131), {"cluster": (2, 1)}),
        (product(n=132, k=72), {"cluster": (1, 2), "depth": 4}),
        (product(n=131, output_dtype="f32"), {"columns": 128}),
        (fused(product(m=71, n=73, k=136, batch=3), "relu(y + b + z)"), {"cluster": (2, 1)}),
        (fused(image(k=41), "y*scale + z"), {"rows": 2}),
        (product(n=131, k=100, dtype="tf32"), {"cluster": (1, 2)}),
    ],
    ids=str,
)
def test_rows_of_the_output_that_cannot_be_stored_by_tma(problem, options):
    scheme = tma_scheme(problem, **options)
    assert len(emit_scheme(scheme).maps) == 2
    check_on_twin(scheme, seeds=(1, 2))


ODD = product(n=131, k=203)
ACROSS = product(m=201, n=131, k=203, transpose_a=True, transpose_b=False, dtype="bf16")


@pytest.mark.parametrize(
    ("problem", "copied", "options"),
    [
        (ODD, "ab", {"cluster": (2, 1)}),
        (ACROSS, "ab", {"cluster": (1, 2)}),
        (product(k=75, transpose_b=False, output_dtype="f32"), "a", {"cluster": (1, 2), "groups": (2, 1)}),
        (fused(product(n=132, transpose_b=False), "relu(y + b + z)"), "b", {"columns": 128, "rows": 2}),
        (product(m=71, n=73, k=99, batch=3, transpose_a=True), "ab", {"depth": 4}),
        (image(c=20), "xw", {}),
        (product(n=131, k=99, dtype="tf32"), "ab", {"cluster": (2, 1)}),
        (product(k=98, dtype="tf32", transpose_b=False), "ab", {"cluster": (1, 2)}),
        (product(n=132, k=100, dtype="tf32", transpose_b=False), "b", {"groups": (2, 1)}),
        (product(m=131, dtype="tf32", transpose_a=True), "a", {"depth": 4}),
        (product(m=71, n=73, k=99, batch=3, dtype="tf32", transpose_a=True, transpose_b=False), "ab", {}),
        (image(c=18, dtype="tf32"), "xw", {}),
    ],
    ids=str,
)
def test_inputs_whose_rows_are_not_aligned_are_copied_first(problem, copied, options):
    scheme = tma_scheme(problem, **options)
    assert "".join(copy.name for copy in emit_scheme(scheme).copied) == copied
    check_on_twin(scheme, seeds=(1, 2))


def copies_of(program, first, second):
    """What the copying kernel makes of two arrays of bits: rows, with the zeros behind them. No two loads of a warp may
    meet in a bank.
    """
    room = np.full(copied_bytes(program.copied), 0x77, np.uint8)
    run = Twin(copier(program)).launch(first, second, room)
    assert run.conflicts == 0
    return [
        run.output[place].view(first.dtype).reshape(copy.rows, -1)
        for copy, place in zip(program.copied, slices(program.copied))
    ]


@pytest.mark.parametrize(("dtype", "k", "zeros"), [("f16", 203, 5), ("tf32", 97, 7)])
def test_a_copy_has_zeros_behind_its_rows(dtype, k, zeros):
    source = emit_scheme(tma_scheme(product(m=70, n=65, k=k, dtype=dtype)))
    element = {"f16": np.uint16, "tf32": np.uint32}[dtype]
    bits = [np.arange(1, 1 + rows * k, dtype=element).reshape(rows, k) for rows in (70, 65)]
    for found, given in zip(copies_of(source, *bits), bits):
        np.testing.assert_array_equal(found, np.pad(given, ((0, 0), (0, zeros))))


def test_words_that_lie_across_the_reduction_are_transposed():
    source = emit_scheme(tma_scheme(product(m=70, n=64, k=97, dtype="tf32", transpose_a=True, transpose_b=False)))
    bits = [np.arange(1, 1 + n * 97, dtype=np.uint32).reshape(97, n) for n in (70, 64)]
    for found, given in zip(copies_of(source, *bits), bits):
        np.testing.assert_array_equal(found, np.pad(given.T, ((0, 0), (0, 7))))


ROWS = product(m=70, n=65, k=203)
COLUMNS = product(m=70, n=65, k=99, dtype="tf32", transpose_a=True, transpose_b=False)


@pytest.mark.parametrize(
    ("problem", "old", "new"),
    [
        (ROWS, "column < 203", "column < 202"),
        (ROWS, "column < 203 ?", "1 ?"),
        (ROWS, "point % 208", "point % 200"),
        (ROWS, "203 * row", "208 * row"),
        (ROWS, "+ 14560", "+ 14559"),
        (ROWS, "block < 57", "block < 56"),
        (ROWS, "- 14592", "- 14591"),
        (ROWS, "point - 14560 < 0", "1"),
        (COLUMNS, "row < 70 &&", "1 &&"),
        (COLUMNS, "&& column < 104", "&& column < 103"),
        (COLUMNS, "column < 99 ?", "1 ?"),
        (COLUMNS, "33 * (element % 32) + element / 32", "33 * (element / 32) + element % 32"),
        (COLUMNS, "element < 1024", "element < 1023"),
        (COLUMNS, "block - 12", "block"),
        (COLUMNS, "row_first = 32 * (block / 4)", "row_first = 32 * (block / 3)"),
        (COLUMNS, "__syncthreads();", ""),
    ],
)
def test_mistakes_about_copies_are_found(problem, old, new, monkeypatch):
    source = emit_scheme(tma_scheme(problem))
    wrong = copier(source)
    assert old in wrong.text
    wrong = replace(wrong, text=wrong.text.replace(old, new))
    monkeypatch.setattr("gpu.twin.launch.copier", lambda program: wrong)
    assert not survives(source)


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
        (product(m=500, n=128, k=320), SHARED, 26),
        (product(m=500, n=128, k=160, dtype="tf32"), SHARED, 26),
        (fused(product(m=500, n=256, k=130), "relu(y + z)"), {"columns": 256}, 35),
    ],
    ids=str,
)
def test_no_barrier_fence_commit_or_wait_can_be_left_out(problem, options, statements, monkeypatch):
    """One program for all of them: it asks the environment which statement it is to leave out."""
    source = emit_scheme(tma_scheme(problem, **options))
    found = list(SYNCHRONISATION.finditer(source.text))
    assert len(found) == statements
    numbers = count()
    guarded = SYNCHRONISATION.sub(lambda s: f'if (atoi(getenv("LEFT_OUT")) != {next(numbers)}) {s[0]}', source.text)
    monkeypatch.setenv("LEFT_OUT", "-1")
    assert survives(replace(source, text=guarded), range(2))
    for number, statement in enumerate(found):
        monkeypatch.setenv("LEFT_OUT", str(number))
        assert not survives(replace(source, text=guarded), range(12)), f"without {statement[0]} nothing went wrong"


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


@pytest.mark.parametrize(
    ("problem", "old", "new", "message"),
    [
        (product(), "T(m,1)@block", "T(m,4)@block", "T.m,4.@block .*a cluster has at most 2 blocks"),
        (image(), "T(c,1) ", "T(c,1) T(c,1) ", r"T\(c,steps\) is missing"),
        (product(), "M(m64n64k16)", "M(m16n8k16)", "clusters multiply by wgmma"),
        (product(), "T(m,1)@block T(n,1)@block", "", None),
    ],
)
def test_schemes_that_clusters_cannot_run(problem, old, new, message):
    text = tma_scheme(problem).text
    assert old in text
    text = text.replace(old, new)
    if "m16n8k16" in text:
        text = text.replace("U(m,1) U(n,1)", "U(m,4) U(n,8)").replace("warpgroup", "warp")
    if "T(m,4)@block" in text:
        text = text.replace("T(m,4)@cluster", "T(m,1)@cluster")
    if message is None:
        assert pipeline_of(parse(problem, text)).rank_map.workers == 1
        return
    with pytest.raises(SchemeError, match=message):
        emit_scheme(parse(problem, text))


def test_a_fused_window_is_no_tma_copy():
    problem = image()
    text = tma_scheme(problem).text.replace("T(r,3) T(s,3) T(c,1)", "T(rsc,3)").replace("U(c,4)", "U(rsc,4)")
    with pytest.raises(
        SchemeError, match="one tap of a window at a time: loop over r and s by T outside the loop over c"
    ):
        emit_scheme(parse(problem, text.replace("c16)", "rsc16)")))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (image(h=40, w=40, stride=9), "x: a stride of 9 cannot be copied by TMA"),
        (image(h=300, w=300, r=2, s=2, dilation=140, padding=0), "x: padding or windows of more than 128 pixels"),
        (image(h=200, s=1, r=2, dilation=(260, 1), padding=((0, 150), (0, 0))), "x: taps 260 pixels apart"),
    ],
    ids=str,
)
def test_arrays_that_tma_copies_cannot_move(problem, message):
    with pytest.raises(TensorMapError, match=message):
        emit_scheme(tma_scheme(problem))


H200 = DEVICES["H200"]


def tma_candidates(problem, device=H200):
    return [scheme for scheme in candidates(problem, device) if "@cluster" in scheme.text]


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        product(m=300, n=264, k=200, dtype="bf16"),
        product(m=300, n=264, k=100, dtype="tf32", transpose_b=False),
        image(n=3, c=72, k=136),
    ],
    ids=str,
)
def test_a_sample_of_the_space_is_exact(problem):
    for scheme in tma_candidates(problem)[::9]:
        check_on_twin(scheme)


def test_the_space_has_tma_schedules_where_they_can_run():
    assert tma_candidates(product()) and not tma_candidates(product(), DEVICES["A100"])
    far = image(h=200, s=1, r=2, dilation=(260, 1), padding=((0, 150), (0, 0)))
    assert not tma_candidates(far) and candidates(far, H200)
    assert tma_candidates(product(n=131, k=201)) and tma_candidates(image(k=255))
    small = tma_candidates(product(m=64, n=64))
    assert small and all(pipeline_of(scheme).rank_map.workers == 1 for scheme in small)
    wide = tma_scheme(product(m=4096, n=4096), groups=(2, 1), rows=2, columns=256)
    assert limits(wide, H200) == "needs about 296 registers a thread, there are 255"


def test_large_prime_sizes_are_copied_to_aligned_rows_rather_than_gathered():
    times = []
    for n in (8191, 8192):
        best = rank(matmul(m=n, n=n, k=n, dtype="bf16"), H200)[0]
        assert "@cluster" in best.scheme.text and bool(emit_scheme(best.scheme).copied) == (n == 8191)
        times.append(best.seconds)
    assert 0.8 < times[1] / times[0] < 1


def test_a_large_product_is_copied_by_tma_by_clusters():
    large = product(m=8192, n=8192, k=8192, dtype="bf16")
    best = rank(large, H200)[0]
    assert pipeline_of(best.scheme).rank_map.workers == 2
    alone = tma_scheme(large, groups=(2, 1), columns=256, depth=4, group=8)
    shared = tma_scheme(large, groups=(2, 1), columns=256, depth=4, group=4, cluster=(2, 1))
    l2, l2_shared = (dict(predict(scheme, H200).parts)["l2"] for scheme in (alone, shared))
    assert l2_shared < 0.7 * l2


def test_tf32_takes_twice_the_time_of_16_bits_and_a_turning_copy_little():
    seconds, matrix = {}, {}
    for dtype, transpose_b in (("bf16", True), ("tf32", True), ("tf32", False)):
        best = rank(product(m=4096, n=4096, k=4096, dtype=dtype, transpose_b=transpose_b), H200)[0]
        assert pipeline_of(best.scheme).tma
        seconds[dtype, transpose_b] = best.seconds
        matrix[dtype, transpose_b] = dict(best.parts)["matrix"]
    assert matrix["tf32", True] == pytest.approx(2 * matrix["bf16", True], rel=0.05)
    assert 1.8 < seconds["tf32", True] / seconds["bf16", True] < 2.1
    assert 1 < seconds["tf32", False] / seconds["tf32", True] < 1.15


@pytest.mark.slow
@needs_nvrtc
@pytest.mark.parametrize(
    "problem",
    [
        product(m=1000, n=1000, k=2040, batch=2, transpose_a=True, transpose_b=False, dtype="bf16"),
        product(m=1000, n=999, k=517, transpose_a=True, transpose_b=False, dtype="tf32"),
        product(m=512, n=95, k=999, transpose_a=True, transpose_b=False),
        fused(product(m=2039, n=2039, k=999, dtype="bf16"), "relu(y + b)"),
        fused(image(n=16, c=64, h=56, w=56, k=72), "relu(y + b + z)"),
        fused(product(m=512, n=512, k=4096, dtype="bf16"), "relu(y*scale + b + z*q[m,n])"),
        fused(product(m=1000, n=1002, k=520), "relu(y*scale + z + p[m]*q[m,n])"),
    ],
    ids=str,
)
def test_tma_schedules_compile_without_spills_and_stay_asynchronous(problem):
    for scheme in tma_candidates(problem)[::4]:
        check_compiles(scheme, "H200")


@pytest.mark.slow
@needs_nvrtc
def test_no_tma_schedule_spills_for_rows_that_its_threads_store():
    """Each of them: what a thread needs beside its sums to store odd rows has spilled some, not those of a sample."""
    schemes = tma_candidates(product(m=1001, n=999, k=2039, transpose_a=True, transpose_b=False))
    with ThreadPoolExecutor(host().cores) as pool:
        assert [why for why in pool.map(lambda scheme: fault(scheme, "H200"), schemes) if why] == []


@pytest.mark.gpu
@pytest.mark.parametrize(
    "problem",
    [
        product(m=3000, n=1000, k=520),
        product(m=1000, n=1000, k=520, batch=3, transpose_a=True, transpose_b=False, dtype="bf16"),
        product(m=1001, n=999, k=517, transpose_b=False),
        product(m=1001, n=1000, k=517, transpose_a=True, dtype="tf32"),
        product(m=1000, n=1000, k=520, batch=3, transpose_b=False, dtype="tf32"),
        image(n=16, c=72, h=28, w=28, k=136),
        image(n=16, c=36, h=28, w=28, k=136, dtype="tf32"),
        image(n=4, c=64, h=57, w=40, k=64, stride=2, dilation=2, padding=((2, 1), (0, 3)), dtype="f16"),
    ],
    ids=str,
)
def test_on_the_device_every_tma_schedule_is_exact(problem):
    inputs = integers(problem)
    wanted, arrays = expected(problem, *inputs), to_device(problem, inputs)
    for scheme in tma_candidates(problem):
        found = load(scheme)(*arrays, out=poisoned(problem))
        np.testing.assert_array_equal(from_device(problem, found), wanted, scheme.text)
