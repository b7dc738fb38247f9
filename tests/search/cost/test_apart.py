"""The price of lines that another core wrote last."""

import tracemalloc
from itertools import product

import pytest

from microkernels.tile.estimate import estimate
from search.cost.apart import apart, outside
from search.cost.predict import predict
from search.evaluator.cpu.backend import cpu_backend
from search.space.candidates import predicted
from search.space.explain import explain
from search.space.space import Candidate
from tests.support.search.model_cases import MACHINE
from tiling.operators import conv2d, in_layout
from tiling.text.notation import parse

EXPAND = conv2d(c=16, h=56, w=56, k=64, r=1, s=1)
BODY = "S(y) T(c,16) U(w,14) U(k,2) V(k,16)"
ROWS = f"T(h,56)@core T(w,4) T(k,2) {BODY}"
CHANNELS = f"T(k,2)@core T(h,56) T(w,4) {BODY}"
BOTH = f"T(h,2)@core T(k,2)@core T(h,28) T(w,4) {BODY}"


@pytest.mark.parametrize("text, x, y", [(ROWS, 0, 0), (CHANNELS, 1 / 2, 1 / 4), (BOTH, 0, 0)])
def test_a_core_finds_the_rows_that_it_wrote_and_half_of_all_rows_elsewhere(text, x, y):
    scheme = parse(EXPAND, text)
    assert outside(scheme, EXPAND.tensors[0], 2) == pytest.approx(x)
    assert outside(scheme, EXPAND.output, 2) == pytest.approx(y)


def test_channels_that_come_first_are_parts_of_the_memory():
    scheme = parse(in_layout(EXPAND, "nchw"), "T(k,2)@core T(h,56) T(w,4) T(k,2) S(y) T(c,16) U(w,14) V(k,16)")
    assert outside(scheme, scheme.problem.output, 2) == 0
    assert outside(scheme, scheme.problem.tensors[0], 2) == pytest.approx(1 / 2)


@pytest.mark.parametrize("threads", [2, 3, 5, 64])
def test_each_loop_over_cores_is_walked_as_far_as_the_first_core_goes(threads):
    scheme = parse(EXPAND, f"T(h,7)@core T(k,2)@core T(w,4)@core T(h,8) {BODY}")
    first = list(product(range(7), range(2), range(4)))[: -(-56 // threads)]
    rows, channels, columns = (len(set(each)) / trips for each, trips in zip(zip(*first), (7, 2, 4)))
    beyond = max(0.0, rows - 1 / threads)
    assert outside(scheme, EXPAND.tensors[0], threads) == pytest.approx(columns * beyond)
    assert outside(scheme, EXPAND.output, threads) == pytest.approx(channels * columns * beyond)


def test_tasks_are_not_counted_one_by_one():
    large = conv2d(c=1, h=16000, w=16000, k=8, r=1, s=1)
    scheme = parse(large, "T(h,16000)@core T(w,16000)@core S(y) T(c,1) V(k,8)")
    tracemalloc.start()
    assert outside(scheme, large.output, 2) == 0
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_small_layers_share_rows_between_cores_though_channels_were_as_even():
    rows, channels = (predict(parse(EXPAND, text), MACHINE, estimate, threads=2) for text in (ROWS, CHANNELS))
    assert rows.apart == 0 < channels.apart == apart(parse(EXPAND, CHANNELS), MACHINE, 2)
    assert rows.seconds < channels.seconds


def test_a_report_names_the_wait():
    small = conv2d(c=16, h=14, w=14, k=64, r=1, s=1)
    texts = (f"T(h,14)@core T(k,2) {BODY}", f"T(k,2)@core T(h,14) {BODY}")
    rows, channels = (Candidate(s, predict(s, MACHINE, estimate, threads=2)) for s in (parse(small, t) for t in texts))
    assert explain(rows, [channels], MACHINE).endswith("most of all by its lines of other cores.")
    assert "cores wait for lines that others wrote (" in explain(channels, [rows], MACHINE)
    assert "that others wrote" not in explain(rows, [channels], MACHINE)


def test_one_core_waits_for_no_other():
    assert predict(parse(EXPAND, CHANNELS), MACHINE, estimate).apart == 0


def test_pixels_of_an_image_that_are_one_dim_are_parts_of_the_memory():
    backend = cpu_backend("avx2", 2)
    scheme = backend.parsed(backend.problem(EXPAND), "T(hw,2)@core T(hw,392) T(k,4) S(y) T(c,16) U(hw,4) U(k,2) V(k,8)")
    (found,) = predicted([scheme], backend.knowledge)
    assert found.prediction.apart == 0
