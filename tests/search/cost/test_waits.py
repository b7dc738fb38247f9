"""What a kernel waits for, by prediction: data from beyond L2 that no tile prefetches, and stores."""

from dataclasses import replace

import pytest

from search.cost.costs import COSTS
from search.cost.predict import predict, seconds_of
from search.cost.volume import Traffic
from tests.support.search.model_cases import L1, L2, L3, MACHINE
from tiling.loops.lowering.prefetch.plan import plan_prefetches, prefetched
from tiling.operators import conv2d, in_layout
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse


def shown(found) -> float:
    """Seconds where arithmetic is the longest part: a share of all others, but not of weights that come from L2."""
    core = found.compute + found.overhead
    assert core > max(found.movement)
    return core + COSTS.exposed * (sum(found.movement) - found.traffic[0].of("w") / L2.bandwidth)


def test_an_output_takes_the_time_of_stores_where_that_is_known():
    moved = (Traffic("L1", (("x", 100 * 10**9), ("y", 80 * 10**9)), 40 * 10**9),)
    measured = replace(MACHINE, caches=(L1, replace(L2, write_bandwidth=50e9)))
    assert seconds_of(moved, replace(MACHINE, caches=(L1, L2))) == pytest.approx((180 / 200,))
    assert seconds_of(moved, measured) == pytest.approx((100 / 200 + 40 / 50,))
    assert seconds_of(moved, measured, again=0.5) == pytest.approx((100 / 200 + 40 / 50 + 20 / 200,))


def test_what_comes_from_far_and_nobody_asks_for_costs_more():
    far = replace(MACHINE, caches=(L1, L2, replace(L3, bandwidth=60e9)))
    problem = conv2d(c=512, h=14, w=14, k=512, r=3, s=3, padding=1)
    body = "S(y) T(r,3) T(c,512) U(s,3) U(w,14) U(k,2) V(k,16)"
    few, many = (parse(problem, f"{loops} {body}") for loops in ("T(k,16) T(h,14)", "T(k,2) T(h,14) T(k,8)"))
    few_late, not_prefetched = (predict(scheme, far, lambda kernel: 0.9) for scheme in (few, many))
    assert few_late.traffic[1].of("w") < not_prefetched.traffic[1].of("w")
    for found, waited in ((not_prefetched, "xwy"), (few_late, "xy")):
        late = sum(found.movement[1] * found.traffic[1].of(tensor) / found.traffic[1].total for tensor in waited)
        assert found.seconds == pytest.approx(shown(found) + (COSTS.not_prefetched - COSTS.exposed) * late)


@pytest.mark.parametrize("share, waits", [(0.3, True), (0.4, False)])
def test_what_a_fast_l3_sends_comes_in_time_by_itself(share, waits):
    """Zen 5 reads L3 at 0.42 of L2's bandwidth, Sapphire Rapids at 0.18."""
    near = replace(MACHINE, caches=(L1, L2, replace(L3, bandwidth=share * L2.bandwidth)))
    problem = conv2d(c=512, h=14, w=14, k=512, r=3, s=3, padding=1)
    scheme = parse(problem, "T(k,2) T(h,14) T(k,8) S(y) T(r,3) T(c,512) U(s,3) U(w,14) U(k,2) V(k,16)")
    found = predict(scheme, near, lambda kernel: 0.9)
    assert found.traffic[1].total and not found.traffic[2].total
    assert (found.seconds > 1.05 * shown(found)) is waits
    assert waits or found.seconds == pytest.approx(shown(found))


def test_a_large_x_is_prefetched_where_only_rows_loop_around_it():
    problem = conv2d(c=512, h=34, w=34, k=256, r=1, s=1)
    body = "L(w, 1x10 + 2x12) S(y) T(c,512) U(w,λ) U(k,2) V(k,16)"
    rows, panels = (parse(problem, f"{loops} {body}") for loops in ("T(h,34) T(k,8)", "T(k,8) T(h,34)"))
    assert prefetched(plan_prefetches(rows)) == {"x", "w"} and "x" not in prefetched(plan_prefetches(panels))
    slow = replace(MACHINE, caches=(L1, L2, replace(L3, bandwidth=20e9)))
    few_late, not_prefetched = (predict(scheme, slow, lambda kernel: 0.9) for scheme in (rows, panels))
    x, y = (few_late.movement[1] * few_late.traffic[1].of(tensor) / few_late.traffic[1].total for tensor in "xy")
    costs = replace(COSTS, not_prefetched=COSTS.not_prefetched + 1)
    more = predict(rows, slow, lambda kernel: 0.9, costs=costs).seconds - few_late.seconds
    assert more == pytest.approx(y)
    assert predict(panels, slow, lambda kernel: 0.9, costs=costs).seconds - not_prefetched.seconds > 8 * x


def test_pixels_and_outputs_that_lie_apart_are_prefetched():
    sizes = dict(h=136, w=136, k=64, layout="nchw")
    pixels = pointwise2d(conv2d(c=128, r=1, s=1, **sizes))
    shared, alone = (
        parse(pixels, f"{loops} S(y) T(c,128) U(k,8) U(w,4) V(w,16)")
        for loops in ("T(w,289) T(k,8)", "T(k,8) T(w,289)")
    )
    assert prefetched(plan_prefetches(shared)) == {"x"} and prefetched(plan_prefetches(alone)) == set()
    transposed = conv2d(c=48, r=3, s=3, padding=1, **sizes)
    text = "T(h,136) T(k,2) T(w,17) S(y) T(r,3) T(c,48) U(s,3) U(w,8) U(k,2) V(k,16)"
    schemes = (parse(problem, text) for problem in (transposed, in_layout(transposed, "nhwc")))
    assert [prefetched(plan_prefetches(scheme)) for scheme in schemes] == [{"y"}, {"x"}]


def test_an_x_from_memory_is_waited_for_unless_it_is_prefetched_in_time():
    """P2 of ResNet-50 for 8 images, whose x and y no last cache holds: where the halves of the channels are split."""
    problem = conv2d(n=8, c=64, h=56, w=56, k=256, r=1, s=1)
    costs = replace(COSTS, from_memory=COSTS.from_memory + 1)
    whole, found = {}, {}
    for loops in ("T(n,8) T(h,56) T(k,2) T(w,4)", "T(n,8) T(k,2) T(h,56) T(w,4)", "T(k,2) T(n,8) T(h,56) T(w,4)"):
        scheme = parse(problem, f"{loops} T(k,4) S(y) T(c,64) U(w,14) U(k,2) V(k,16)")
        base, more = (predict(scheme, MACHINE, lambda kernel: 0.9, costs=chosen) for chosen in (COSTS, costs))
        assert base.compute + base.overhead > max(base.movement)
        x = base.movement[2] * base.traffic[2].of("x") / base.traffic[2].total
        whole[loops], found[loops] = x, more.seconds - base.seconds
    in_time, too_early, never = found
    assert found[in_time] == pytest.approx(0)
    # Half an image is prefetched before anyone reads it, and leaves L2 by the outputs that are stored meanwhile.
    assert found[too_early] == pytest.approx(whole[too_early])
    assert found[never] == pytest.approx(whole[never]) and whole[never] > 1.5 * whole[too_early]


def test_stores_to_memory_are_not_waited_for():
    problem = conv2d(n=8, c=64, h=56, w=56, k=256, r=1, s=1)
    scheme = parse(problem, "T(n,8) T(h,56) T(w,4) T(k,8) S(y) T(c,64) U(w,14) U(k,2) V(k,16)")
    found = predict(scheme, MACHINE, lambda kernel: 0.9)
    assert found.traffic[2].of("y") > 0.8 * found.traffic[2].total
    w = found.movement[2] * found.traffic[2].of("w") / found.traffic[2].total
    assert found.seconds == pytest.approx(shown(found) + (COSTS.not_prefetched - COSTS.exposed) * w)


@pytest.mark.parametrize("size, waits", [(400, False), (600, True)])
def test_outputs_that_are_streamed_leave_the_last_cache_to_x(size, waits):
    problem = conv2d(c=16, h=size, w=size, k=64, r=1, s=1)  # 10 and 23 MB of x, 41 and 92 MB of outputs
    scheme = parse(problem, f"T(k,2) T(h,{size}) T(w,{size // 10}) S(y) T(c,16) U(w,10) U(k,2) V(k,16)")
    costs = replace(COSTS, from_memory=COSTS.from_memory + 1)
    far = replace(MACHINE, memory_bandwidth=60e9, stream_bandwidth=60e9)
    base, more = (predict(scheme, far, lambda kernel: 0.9, costs=chosen) for chosen in (COSTS, costs))
    assert base.traffic[1].of("y") == 0 and base.compute + base.overhead > max(base.movement)
    assert (more.seconds > base.seconds) is waits


SWEPT = {
    "T(h,28) T(w,14) T(c,6)": 0,
    "T(h,28) T(c,6) T(w,14)": 1,
    "T(w,14) T(h,28) T(c,6)": 1,  # columns: the pixels beside those of a tile come later
    "T(w,2) T(h,28) T(w,7) T(c,6)": 1,
    "T(c,6) T(w,14) T(h,28)": 2,
    "T(c,3) T(h,28) T(w,14) T(c,2)": 2,
    "T(c,3)@core T(h,28) T(w,14) T(c,2)": 2,  # each core reads a part of a pixel, too
    "T(h,14)@core T(h,2) T(w,14) T(c,6)": 0,
    "T(w,14)@core T(h,28) T(c,6)": 0,
}


@pytest.mark.parametrize("loops", SWEPT)
@pytest.mark.parametrize("score, slowest", [(0.9, "L2"), (0.02, "compute")])
def test_pixels_that_are_swept_in_parts_are_waited_for_from_beyond_l2(loops, score, slowest):
    """A depthwise convolution whose x, 4.8 MB, no L2 holds. Arithmetic does not hide the wait."""
    problem = conv2d(c=96, k=96, groups=96, h=112, w=112, r=3, s=3, stride=2, padding=1)
    scheme = parse(problem, f"{loops} S(y) U(r,3) U(s,3) U(h,2) U(w,4) V(c,16)")
    costs = replace(COSTS, sweep=0.0)
    whole, parts = (predict(scheme, MACHINE, lambda kernel: score, costs=chosen) for chosen in (costs, COSTS))
    assert whole.bottleneck == slowest and parts.movement == whole.movement
    assert parts.seconds == pytest.approx(whole.seconds + COSTS.sweep * SWEPT[loops] * max(whole.movement[1:]))


def test_what_rules_is_not_waited_for_besides():
    """All that moves and multiplies, end to end, is the longest that a scheme may take."""
    problem = conv2d(c=4096, h=1, w=14, k=16384, r=1, s=1)  # 268 MB of weights, read once
    found = predict(parse(problem, "T(k,512) S(y) T(c,4096) U(w,14) U(k,2) V(k,16)"), MACHINE, lambda kernel: 0.9)
    assert found.movement[2] == max(found.compute + found.overhead, *found.movement)
    assert found.seconds <= found.compute + found.overhead + sum(found.movement)


def test_outputs_past_the_caches_are_not_waited_for():
    problem = conv2d(c=16, h=600, w=600, k=64, r=1, s=1)  # 92 MB of outputs
    scheme = parse(problem, "T(h,600) T(w,60) T(k,2) S(y) T(c,16) U(w,10) U(k,2) V(k,16)")
    costs = replace(COSTS, not_prefetched=COSTS.not_prefetched + 1)
    far = replace(MACHINE, caches=(L1, L2, replace(L3, bandwidth=60e9)))
    base, more = (predict(scheme, far, lambda kernel: 0.9, costs=chosen) for chosen in (COSTS, costs))
    assert base.traffic[2].of("y") > 0 == base.traffic[1].of("y")
    late = sum(
        seconds * (moved.of("w") + moved.of("x") * ("x" not in prefetched(plan_prefetches(scheme)))) / moved.total
        for moved, seconds in zip(base.traffic[1:], base.movement[1:])
        if moved.total and seconds < max(base.compute + base.overhead, *base.movement)
    )
    assert more.seconds - base.seconds == pytest.approx(late)
