"""The schedule space and the model that ranks it: size, limits, exactness of a sample, and what the model must know."""

import random
from math import hypot

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES, device_named
from gpu.model.predict import predict, rank
from gpu.model.schedules import schedules
from gpu.model.space import candidates, limits, scheme_of
from gpu.model.traffic import tiles_within
from gpu.passes.warpgroups.kinds import has_clusters
from tests.support.gpu.cases import check_on_twin, product_scheme
from tests.support.gpu.schemes import MOVING, WARPGROUPS
from tests.support.gpu.schemes import scheme_of as scheme_named
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

A100, H200 = DEVICES["A100"], DEVICES["H200"]
LARGE = matmul(m=4096, n=4096, k=4096, dtype="bf16")


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
def test_the_space_is_small_and_knows_no_sizes(dtype):
    assert len(set(schedules(dtype))) == len(schedules(dtype)) < 200
    for extent in (4096, 1):
        problem = matmul(m=extent, n=extent, k=extent, dtype=dtype)
        found = [scheme_of(problem, schedule) for schedule in schedules(dtype)]
        assert all(parse(s.problem, s.text) == s for s in found)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
def test_every_schedule_fits_a_device(dtype):
    problem = matmul(m=4096, n=4096, k=4096, dtype=dtype, transpose_b=True)
    nowhere = [
        scheme.text
        for scheme in (scheme_of(problem, schedule) for schedule in schedules(dtype))
        if all(limits(scheme, device) for device in DEVICES.values())
    ]
    assert nowhere == []


@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=256, n=256, k=8192, dtype="bf16"),
        matmul(m=1, n=1000, k=4096, dtype="tf32"),
        conv2d(c=512, h=7, w=7, k=512, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
    ],
    ids=str,
)
def test_every_schedule_is_at_most_one_candidate(problem):
    found = [pipeline_of(scheme) for scheme in candidates(problem, H200)]
    assert len(found) <= len(schedules(problem.dtype)) < 200
    alike = [(p.instruction, p.block_tile, p.warp_tile) for p in found if p.split_k > 1]
    assert alike and set(alike) <= {(p.instruction, p.block_tile, p.warp_tile) for p in found if p.split_k == 1}


def test_a_dtype_without_a_matrix_instruction_is_refused():
    with pytest.raises(SchemeError, match="no matrix instruction reads f32; use f16, bf16 or tf32"):
        candidates(matmul(m=8, n=8, k=8), H200)


def sampled(problem, device, count):
    return random.Random(str(problem)).sample(candidates(problem, device), count)


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=130, n=70, k=300, dtype="f16"),
        matmul(m=70, n=130, k=150, dtype="tf32", transpose_a=True),
        matmul(m=17, n=33, k=65, dtype="bf16", batch=2, transpose_b=True),
        conv2d(n=2, c=16, h=9, w=9, k=40, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
        conv2d(c=3, h=17, w=17, k=20, r=7, s=7, stride=2, padding=3, dtype="bf16", filters="krsc"),
    ],
    ids=str,
)
def test_a_sample_of_schedules_is_exact_and_free_of_bank_conflicts(problem):
    for scheme in sampled(problem, H200, 3):
        assert check_on_twin(scheme) == 0


def test_limits_are_said_in_a_sentence():
    deep = product_scheme(LARGE, warps=(2, 4), unrolled=(4, 8, 4), depth=6)
    assert limits(deep, A100) == "needs 294912 bytes of shared memory, a block on A100 has at most 166912"
    assert "lanes of a warp share" in limits(parse(LARGE, deep.text.replace("@warp", "@lane")), A100)
    wide = product_scheme(LARGE, unrolled=(4, 16, 2))
    assert limits(wide, A100) == "needs about 352 registers a thread, there are 255"
    many = product_scheme(LARGE, warps=(4, 4), unrolled=(4, 8, 2))
    assert "registers for each of 512 threads, a multiprocessor of A100 has 65536" in limits(many, A100)
    assert all(not limits(scheme, A100) for scheme in candidates(LARGE, A100))


@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=4096, n=4096, k=4096, dtype="f16", transpose_b=True),
        fused(matmul(m=512, n=512, k=4096, dtype="f16", transpose_b=True), "relu(y + b + z)"),
        fused(matmul(m=512, n=512, k=4096, dtype="tf32", transpose_b=True), "y + z*q[m,n]"),
        matmul(m=1001, n=999, k=2039, dtype="bf16", transpose_a=True),
    ],
    ids=str,
)
def test_a_cluster_takes_as_much_of_a_multiprocessor_as_its_text_says(problem):
    found = [pipeline for pipeline in map(pipeline_of, candidates(problem, H200)) if pipeline.tma]
    for pipeline in found[::7]:
        source = emit_scheme(pipeline.scheme)
        assert (pipeline.shared_bytes, pipeline.blocks_at_once) == (source.shared_bytes, source.persistent)


@pytest.mark.parametrize("name", [name for name in (*WARPGROUPS, *MOVING) if has_clusters(scheme_named(name))])
def test_so_does_a_cluster_of_any_kind(name):
    """Tiles of one box and of several, that are stored in every turn or share a sum, with a residual and without."""
    scheme = scheme_named(name)
    pipeline, source = pipeline_of(scheme), emit_scheme(scheme)
    assert (pipeline.shared_bytes, pipeline.blocks_at_once) == (source.shared_bytes, source.persistent)


def test_tiles_of_192_rows_cover_a_layer_by_one_for_each_multiprocessor():
    layer = conv2d(n=64, c=1024, h=14, w=14, k=256, r=1, s=1, dtype="f16", filters="krsc")
    found = [p for p in map(pipeline_of, candidates(layer, H200)) if p.block_tile[:2] == (192, 128)]
    assert len(found) == 3 and set(map(tiles_within, found)) == {H200.multiprocessors}
    assert {emit_scheme(pipeline.scheme).grid for pipeline in found} == {H200.multiprocessors}


def test_candidates_depend_on_the_device():
    assert len(candidates(LARGE, DEVICES["L40S"])) < len(candidates(LARGE, A100)) < len(candidates(LARGE, H200))


def test_a_large_product_wants_large_tiles_and_a_small_one_many_blocks():
    large = pipeline_of(rank(LARGE, A100)[0].scheme)
    assert large.block_tile[0] * large.block_tile[1] >= 128 * 128
    small = matmul(m=128, n=768, k=768, dtype="bf16")
    best = rank(small, A100)[0]
    fewest = min(pipeline_of(p.scheme).grid for p in rank(small, A100))
    assert pipeline_of(best.scheme).grid > 2 * fewest


def test_predictions_have_parts_that_explain_them():
    prediction = rank(LARGE, H200)[0]
    parts = dict(prediction.parts)
    assert prediction.bottleneck == max(parts, key=parts.get) == "matrix"
    assert prediction.seconds == hypot(parts["matrix"], parts["memory"]) + prediction.unhidden
    assert 0.7 < LARGE.flops / prediction.seconds / H200.peak_flops("bf16") < 0.9


@pytest.mark.parametrize(("n", "measured"), [(2040, 28.2e-6), (2042, 42.3e-6), (2047, 48.7e-6)])
def test_neighbouring_sizes_are_predicted_as_they_are_measured(n, measured):
    """By tensor map only rows of 2040 elements go as they lie. Outputs are stored by boxes, by pairs of numbers and by
    single numbers.
    """
    problem = matmul(m=n, n=n, k=n, dtype="bf16")
    clusters = "T(m,2)@cluster T(n,8)@cluster T(m,4)@cluster T(m,1)@block T(n,2)@block T(m,2)@warpgroup"
    steps = "S(c) T(k,32) S(a, 6) S(b, 6) T(m,1)@warpgroup T(n,1)@warpgroup U(k,4) U(m,2) U(n,1) M(m64n128k16)"
    if n == 2040:
        clusters = "T(m,2)@cluster T(n,8)@cluster T(m,4)@cluster T(m,2)@block T(n,1)@block"
        steps = "S(c) T(k,32) S(a, 4) S(b, 4) T(m,2)@warpgroup T(n,1)@warpgroup U(k,4) U(m,1) U(n,1) M(m64n256k16)"
    assert predict(parse(problem, f"{clusters} {steps}"), H200).seconds == pytest.approx(measured, rel=0.15)


def part(name, problem, device=A100, **tile):
    return dict(predict(product_scheme(problem, **tile), device).parts)[name]


def test_short_copies_and_gathered_chunks_cost_more_than_whole_ones():
    """With k = 512 copies are of 16 bytes, with 510 of 4; with 511 rows are gathered."""
    whole, short, gathered = (
        part("copies", matmul(m=512, n=512, k=k, dtype="f16", transpose_b=True), unrolled=(2, 4, 4))
        for k in (512, 510, 511)
    )
    assert 10 * whole < min(short, gathered)


def test_copies_that_stay_in_a_loop_cost_more_and_most_where_taps_are_divided_for():
    """With rows of a beyond the edge, and the fragments of one part, copies have conditions and are not unrolled."""
    edge, even = (part("copies", matmul(m=m, n=512, k=512, dtype="f16"), unrolled=(2, 4, 1)) for m in (500, 512))
    assert edge > 5 * even

    def tapped(taps):
        problem = conv2d(c=64, h=32, w=32, k=64, r=taps, s=taps, padding=taps // 2, dtype="f16", filters="krsc")
        text = f"T(nhw,16)@block T(k,1)@block S(y) T(rsc,{taps * taps}) S(x, 3) S(w, 3) T(nhw,1)@warpgroup "
        scheme = parse(problem, text + "T(k,1)@warpgroup U(rsc,4) U(nhw,1) U(k,1) M(nhw64k64rsc16)")
        return dict(predict(scheme, H200).parts)["copies"] / pipeline_of(scheme).steps

    assert tapped(3) > 2 * tapped(1)


def test_a_step_has_a_cost_of_its_own():
    """Steps of one part are twice as many as steps of two, and take longer together."""
    one, two = (part("turns", matmul(m=512, n=512, k=1024, dtype="f16"), unrolled=(2, 4, parts)) for parts in (1, 2))
    assert two < one < 2 * two


def test_rows_of_a_box_beyond_the_edge_cost_more_than_those_within():
    """On an H200 tiles of 128 columns take 110 µs for a 3 x 3 convolution of 64 channels, tiles of 64 columns 44."""
    problem = conv2d(n=64, c=64, h=56, w=56, k=64, r=3, s=3, padding=1, dtype="f16", filters="krsc")
    steps = "S(y) T(r,3) T(s,3) T(c,1) S(x, 4) S(w, 4) T(nhw,1)@warpgroup T(k,1)@warpgroup U(c,4) U(nhw,1) U(k,1)"
    narrow, wide = (
        predict(parse(problem, f"T(nhw,{blocks} {steps} M(nhw64k{columns}c16)"), H200).seconds
        for columns, blocks in (
            (64, "392)@cluster T(k,1)@cluster T(nhw,8)@cluster T(nhw,1)@block T(k,1)@block"),
            (128, "392)@cluster T(k,1)@cluster T(nhw,4)@cluster T(nhw,2)@block T(k,1)@block"),
        )
    )
    assert wide > 1.5 * narrow


def test_tiles_beyond_the_edge_in_the_last_group_of_rows_take_no_time():
    """49 tiles of 64 rows in groups of 8: the loops have 56, of which the kernel computes 49."""
    problem = conv2d(n=64, c=512, h=7, w=7, k=2048, r=1, s=1, dtype="f16", filters="krsc")
    text = "T(nhw,7)@cluster T(k,16)@cluster T(nhw,8)@cluster T(nhw,1)@block T(k,1)@block S(y) T(r,1) T(s,1) T(c,8) "
    text += "S(x, 4) S(w, 4) T(nhw,1)@warpgroup T(k,1)@warpgroup U(c,4) U(nhw,1) U(k,1) M(nhw64k128c16)"
    pipeline = pipeline_of(parse(problem, text))
    assert (pipeline.tiles, tiles_within(pipeline)) == (56 * 16, 49 * 16)
    assert predict(parse(problem, text), H200).waves == pytest.approx(49 * 16 / (2 * 132))


def test_deeper_rings_hide_more_of_the_latency_of_copies():
    """In steps that take less time than a copy needs to arrive."""
    problem = matmul(m=512, n=512, k=1024, dtype="f16")
    shallow, deep = (part("turns", problem, H200, depth=depth, unrolled=(1, 2, 1)) for depth in (3, 6))
    assert shallow > 1.1 * deep


def test_strides_leave_pixels_out():
    """A tap with a stride of 2 reads a quarter of the image."""
    whole, quarter = (
        conv2d(n=64, c=256, h=h, w=h, k=64, r=1, s=1, stride=stride, dtype="f16", filters="krsc")
        for h, stride in ((28, 1), (56, 2))
    )
    text = "T(nhw,392)@block T(k,1)@block S(y) T(rsc,4) S(x, 3) S(w, 3) T(nhw,2)@warpgroup T(k,1)@warpgroup "
    text += "U(rsc,4) U(nhw,1) U(k,1) M(nhw64k64rsc16)"
    memory = [dict(predict(parse(p, text), H200).parts)["memory"] for p in (whole, quarter)]
    assert memory[0] == memory[1]


def test_a_nearly_empty_last_wave_costs_a_whole_one():
    def seconds(rows):
        problem = matmul(m=128 * rows, n=128, k=4096, dtype="f16")
        return dict(predict(product_scheme(problem, unrolled=(4, 8, 2)), A100).parts)["matrix"]

    assert seconds(108) == seconds(1) and seconds(109) == pytest.approx(2 * seconds(108))


def test_a_scheme_that_does_not_fit_has_no_time():
    with pytest.raises(ValueError, match="does not fit L40S"):
        predict(product_scheme(LARGE, depth=6, unrolled=(4, 8, 4)), DEVICES["L40S"])


def test_devices_by_name():
    assert device_named("h200") is H200
    with pytest.raises(KeyError, match="A100, L40S, H100, H200"):
        device_named("GTX 1080")


def test_what_an_epilogue_reads_is_priced():
    """A residual of the output's size: as many bytes again from memory and from the L2."""
    problem = conv2d(n=64, c=64, h=56, w=56, k=256, r=1, s=1, dtype="f16", filters="krsc")
    bare = rank(problem, H200)[0]
    with_residual = fused(problem, "relu(y + z)")
    residual = next(p for p in rank(with_residual, H200) if p.scheme.text == bare.scheme.text)
    more = 2 * problem.output.elements
    for name, rate in (("memory", H200.memory_bandwidth), ("l2", H200.l2_bandwidth)):
        extra = dict(residual.parts)[name] - dict(bare.parts)[name]
        assert extra == pytest.approx(more / rate)
