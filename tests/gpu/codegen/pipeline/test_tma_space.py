"""Which schedules of Hopper's TMA pipeline there are, what refuses others, what NVRTC and a device make of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cpu.runtime.machine.host import host
from gpu.codegen.copies.tensor_map import TensorMapError
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES
from gpu.model.predict import predict, rank
from gpu.model.space import candidates, limits
from gpu.runtime.arrays import from_device, poisoned, to_device
from gpu.runtime.kernel import load
from tests.support.gpu.cases import (
    check_on_twin,
    expected,
    image,
    integers,
    product,
    tma_scheme,
)
from tests.support.gpu.compiling import check_compiles, fault, needs_nvrtc
from tests.support.sampled import in_turns
from tiling.epilogue import fused
from tiling.operators import matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse


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
@in_turns(3)
@pytest.mark.parametrize(
    "problem",
    [
        product(m=300, n=264, k=200, dtype="bf16"),
        product(m=300, n=264, k=100, dtype="tf32", transpose_b=False),
        image(n=3, c=72, k=136),
    ],
    ids=str,
)
def test_a_sample_of_the_space_is_exact(problem, turn):
    for scheme in tma_candidates(problem)[9 * turn :: 3 * 9]:
        check_on_twin(scheme)


@pytest.mark.slow
def test_the_space_has_tma_schedules_where_they_can_run():
    assert tma_candidates(product()) and not tma_candidates(product(), DEVICES["A100"])
    far = image(h=200, s=1, r=2, dilation=(260, 1), padding=((0, 150), (0, 0)))
    assert not tma_candidates(far) and candidates(far, H200)
    assert tma_candidates(product(n=131, k=201)) and tma_candidates(image(k=255))
    small = tma_candidates(product(m=64, n=64))
    assert small and all(pipeline_of(scheme).rank_map.workers == 1 for scheme in small)
    wide = tma_scheme(product(m=4096, n=4096), groups=(2, 1), rows=2, columns=256)
    said = "M(m64n256k16): 256 sums a thread leave no registers for 9 warps; use smaller tiles"
    assert limits(wide, H200) == said


def test_large_prime_sizes_are_copied_to_aligned_rows_rather_than_gathered():
    times = []
    for n in (8191, 8192):
        best = rank(matmul(m=n, n=n, k=n, dtype="bf16"), H200)[0]
        assert "@cluster" in best.scheme.text and bool(emit_scheme(best.scheme).copied) == (n == 8191)
        times.append(best.seconds)
    assert 0.8 < times[1] / times[0] < 1


def test_a_large_product_is_copied_by_tma_and_clusters_read_less_of_the_l2():
    large = product(m=8192, n=8192, k=8192, dtype="bf16")
    best = rank(large, H200)[0]
    assert pipeline_of(best.scheme).tma
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
@in_turns(12)
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
def test_tma_schedules_compile_without_spills_and_stay_asynchronous(problem, turn):
    for scheme in tma_candidates(problem)[4 * turn :: 12 * 4]:
        check_compiles(scheme, "H200")


@pytest.mark.slow
@in_turns(12)
@needs_nvrtc
def test_no_tma_schedule_spills_for_rows_that_its_threads_store(turn):
    """Each of them: what a thread needs beside its sums to store odd rows has spilled some, not those of a sample."""
    schemes = tma_candidates(product(m=1001, n=999, k=2039, transpose_a=True, transpose_b=False))[turn::12]
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
