"""Predicted seconds."""

from dataclasses import replace

import pytest

from microkernels.tile.estimate import estimate
from microkernels.tile.microkernel import microkernel_of
from microkernels.tile.microkernel import parse as kernel_named
from microkernels.tile.transpose import transposition
from search.cost.copies import after_copy
from search.cost.costs import COSTS
from search.cost.predict import overlapped, predict, seconds_of
from search.space.explain import reason
from search.space.space import Candidate
from tests.support.search.model_cases import DEPTHWISE, L1, L2, L3, MACHINE, layer
from tiling.operators import conv2d, in_layout, matmul
from tiling.rewrite.copies.plan import ALIGNED, SIDES, plan_copy
from tiling.rewrite.dot_groups import in_dot_groups, matrix_dot_group, scheme_in_dot_groups
from tiling.text.notation import parse


def test_microkernel_of_a_tile():
    problem = layer("R1")
    scheme = parse(problem, "T(h,112) T(w,8) T(k,2) S(y) T(r,7) U(c,3) U(s,7) U(w,14) U(k,2) V(k,16)")
    kernel = microkernel_of(problem, scheme.tiles[0], "avx512f")
    assert kernel == kernel_named("f32_conv2d_ukernel_14wx32kx3cx7s_s2__avx512f")


def test_parts_of_a_prediction():
    problem = layer("R3")
    scheme = parse(problem, "T(h,56) T(w,4) T(k,2) S(y) T(c,64) U(w,14) U(k,2) V(k,16)")
    found = predict(scheme, MACHINE, lambda kernel: 0.5)
    assert found.compute == pytest.approx(problem.flops / (0.5 * MACHINE.peak))
    assert found.seconds >= max(found.compute + found.overhead, *found.movement)
    assert found.seconds <= found.compute + found.overhead + sum(found.movement)
    assert sum(part.visits for part in found.parts) == 56 * 4 * 2
    assert found.bottleneck == "compute"


def test_weights_from_l2_show_in_the_score_alone():
    """A tile is timed with weights from L2. So it takes as long where they come from there as where L1 keeps them.

    resnet18:R12 on a Zen 3 reaches 89 % of the peak with 64 channels at a time, whose weights pass L1, and 85 % with
    16, whose weights stay.
    """
    problem = layer("R12")
    text = "T(k,16) T(c,{}) T(h,7) S(y) T(r,3) T(s,3) T(c,{}) U(w,7) U(k,2) V(k,16)"
    stays, passes = (predict(parse(problem, text.format(512 // part, part)), MACHINE, estimate) for part in (16, 256))
    assert passes.traffic[0].of("w") > 5 * stays.traffic[0].of("w")
    others = [sum(found.movement) - found.traffic[0].of("w") / L2.bandwidth for found in (stays, passes)]
    for found, other in zip((stays, passes), others):
        assert found.seconds == pytest.approx(found.compute + found.overhead + COSTS.exposed * other)
    assert passes.seconds < stays.seconds


def test_short_vectors_of_weights_from_l2_cost_a_little():
    """Tiles of 4 x 3 sums take three of them for 12 FMAs, those of 6 x 2 two. Panels of 128 terms stay in L1."""
    machine = replace(MACHINE, isa="avx2", lanes=8, registers=16)
    texts = ["T(n,4) T(m,15) S(c) T(k,{}) U(m,4) U(n,3) V(n,8)", "T(n,6) T(m,10) S(c) T(k,{}) U(m,6) U(n,2) V(n,8)"]
    for k, (three, two) in ((128, (0, 0)), (1024, (4 * 15 * 3, 6 * 10 * 2))):
        problem = matmul(m=60, n=96, k=k)
        for text, vectors in zip(texts, (three, two)):
            free, priced = (
                predict(parse(problem, text.format(k)), machine, lambda kernel: 0.9, costs=costs).overhead
                for costs in (replace(COSTS, from_l2=0.0), COSTS)
            )
            cycles = (priced - free) * machine.peak / (COSTS.pipes * 8 * 2)
            assert cycles == pytest.approx(COSTS.from_l2 * vectors * k, abs=1e-6)
    long = parse(matmul(m=60, n=96, k=1024), "T(n,3) T(m,5) S(c) T(k,1024) U(m,12) U(n,2) V(n,16)")
    assert predict(long, MACHINE, estimate) == predict(long, MACHINE, estimate, costs=replace(COSTS, from_l2=9.0))


@pytest.mark.parametrize("movement", [[5.0, 1.0], [9.0, 1.0], [12.0, 1.0], [16.0, 30.0]])
def test_parts_that_overlap_take_at_least_the_longest_and_change_with_no_jump(movement):
    """The core takes 10 s, and 4 s of the first movement bring vectors."""
    found = overlapped(10.0, movement, 4.0, 0.1)
    assert max(10.0, *movement) <= found <= overlapped(10.0, movement, 0.0, 0.1)
    assert overlapped(10.0, [movement[0] + 1e-6, *movement[1:]], 4.0, 0.1) == pytest.approx(found, abs=2e-6)


def test_vectors_show_where_they_take_longer_than_the_arithmetic():
    for moving, hidden in ((9.0, 4.0), (10.0, 4.0), (12.0, 2.0), (14.0, 0.0), (20.0, 0.0)):
        longest, shorter = max(10.0, moving), min(10.0, moving)
        assert overlapped(10.0, [moving], 4.0, 0.1) == pytest.approx(longest + 0.1 * (shorter - hidden))


def test_a_copy_of_x_is_added_and_shared_by_threads():
    sizes = dict(c=64, h=56, w=56, k=64, groups=64, r=3, s=3, padding=1)
    text = "T(h,2)@core T(h,28) T(w,4) T(c,4) S(y) U(r,3) U(s,3) U(w,14) V(c,16)"
    last, first = (parse(conv2d(**sizes, layout=layout), text) for layout in ("nhwc", "nchw"))
    loops = predict(last, MACHINE, estimate)
    assert after_copy(loops, last, MACHINE) == loops
    copied = after_copy(loops, first, MACHINE)
    assert copied.copy > 0 and copied.seconds == loops.seconds + copied.copy
    assert after_copy(predict(last, MACHINE, estimate, threads=2), first, MACHINE).copy == copied.copy / 2
    alone = parse(first.problem, "T(h,56) T(w,4) T(c,4) S(y) U(r,3) U(s,3) U(w,14) V(c,16)")
    assert after_copy(predict(last, MACHINE, estimate, threads=2), alone, MACHINE).copy == copied.copy


def test_a_copy_to_a_cache_line_is_priced_beside_the_calls_that_need_none():
    problem = conv2d(c=64, h=28, w=28, k=64, r=3, s=3, dtype="bf16")
    text = "T(h,26) T(k,2) S(y) T(r,3) T(s,3) T(c,2) U(w,26) U(k,2) D(c,32) V(k,16)"
    amx = replace(MACHINE, isa="amxbf16")

    def after(**more):
        scheme = parse(replace(problem, **more), text)
        loops = predict(scheme_in_dot_groups(scheme), amx, estimate)
        return loops, after_copy(loops, scheme, amx), plan_copy(scheme)

    def told(found):
        return reason(Candidate(parse(problem, text), found), [], amx)

    loops, found, plan = after()
    assert (plan.kind, plan.read, plan.written) == (ALIGNED, 2 * 64 * 28 * 28, 2 * 64 * 28 * 28) and not plan.always
    assert found == replace(loops, unaligned=(plan.read + plan.written) / L2.bandwidth)
    time = f"{found.unaligned * 1e6:.1f} µs"
    assert f"; an x that does not begin with a cache line is copied first, which takes {time} more;" in told(found)
    assert "begin with a cache line" not in told(loops)
    padded = conv2d(c=64, h=26, w=26, k=64, r=3, s=3, padding=1, dtype="bf16")
    loops, found, plan = after(dims=padded.dims, tensors=padded.tensors)
    assert plan.kind == SIDES and plan.always and plan.written == 2 * 64 * 26 * 28
    assert found == replace(loops, seconds=loops.seconds + found.copy, copy=(plan.read + plan.written) / L2.bandwidth)


def test_a_faster_microkernel_a_second_core_and_fewer_passes_help():
    problem = layer("Y8")
    text = "T(h,68) T(k,8) L(w, 1x12 + 4x14) S(y) T(r,3) T(s,3) T(c,128) U(w,λ) U(k,2) V(k,16)"
    shared = text.replace("T(h,68)", "T(h,2)@core T(h,34)")
    cut = text.replace("T(h,68)", "T(c,8) T(h,68)").replace("T(c,128)", "T(c,16)")
    base = predict(parse(problem, text), MACHINE, estimate)
    assert predict(parse(problem, text), MACHINE, lambda kernel: estimate(kernel) / 2).seconds > 1.5 * base.seconds
    two = predict(parse(problem, shared), MACHINE, estimate, threads=2)
    assert 0.5 < two.seconds / base.seconds < 0.6
    assert two.imbalance == 1.0
    assert predict(parse(problem, cut), MACHINE, estimate).overhead > base.overhead


def test_sums_stay_in_registers_while_reductions_around_them_go_on():
    """A loop over channels directly around S(y) costs no loads and stores. One around other loops does. So do taps that
    may lie on padding, and tiles that prefetch.
    """

    def overhead(problem, text):
        return predict(parse(problem, text), MACHINE, estimate).overhead

    plain, padded = layer("R3"), layer("R2")
    whole = overhead(plain, "T(h,56) T(w,4) T(k,2) S(y) T(c,64) U(w,14) U(k,2) V(k,16)")
    assert overhead(plain, "T(h,56) T(w,4) T(k,2) T(c,8) S(y) T(c,8) U(w,14) U(k,2) V(k,16)") < 1.3 * whole
    assert overhead(plain, "T(h,56) T(w,4) T(c,8) T(k,2) S(y) T(c,8) U(w,14) U(k,2) V(k,16)") > 5 * whole
    whole = overhead(padded, "T(h,56) T(w,4) T(k,2) S(y) T(c,64) T(r,3) U(s,3) U(w,14) U(k,2) V(k,16)")
    parts = overhead(padded, "T(h,56) T(w,4) T(k,2) T(c,8) S(y) T(c,8) T(r,3) U(s,3) U(w,14) U(k,2) V(k,16)")
    assert parts > 2 * whole
    whole = overhead(layer("R11"), "T(k,32) T(h,7) S(y) T(c,256) U(w,7) V(k,16)")
    assert overhead(layer("R11"), "T(k,32) T(h,7) T(c,64) S(y) T(c,4) U(w,7) V(k,16)") > 5 * whole


def test_loops_around_tiles_that_read_x_by_vectors_cost_more():
    """A loop over s instead of three taps at once enters the innermost loop twice more for each step over r."""

    def entry(problem, around, tile):
        def cycles(taps):
            found = predict(parse(problem, f"T(h,56) T(w,4) {around} {taps} {tile}"), MACHINE, lambda kernel: 1.0)
            return found.overhead / found.parts[0].visits * MACHINE.peak / (COSTS.pipes * MACHINE.lanes * 2)

        return (cycles("T(r,3) T(s,3)") - cycles("T(r,3) U(s,3)")) / 2

    depthwise = entry(DEPTHWISE, "T(c,9) S(y)", "U(w,14) V(c,16)")
    assert depthwise == pytest.approx(COSTS.entry_by_vectors)
    dense = entry(layer("R2"), "T(k,2) S(y) T(c,64)", "U(w,14) U(k,2) V(k,16)")
    assert dense / 64 == pytest.approx(COSTS.entry) and COSTS.entry < COSTS.entry_by_vectors


def test_stores_that_transpose_cost_shuffles_and_a_store_for_each_point():
    """Vectors of 16 channels, one for each row, become 16 stores of as many pixels, some of them across two lines. Few
    rows cost more, as most lanes of a store are idle.
    """
    last = conv2d(c=64, h=56, w=56, k=64, r=1, s=1)

    def cycles(layout, rows, vectors):
        text = f"T(h,56) T(w,{56 // rows}) T(k,{4 // vectors}) S(y) T(c,64) U(w,{rows}) U(k,{vectors}) V(k,16)"
        found = predict(parse(in_layout(last, layout), text), MACHINE, estimate)
        return found.overhead / found.parts[0].visits * MACHINE.peak / (COSTS.pipes * MACHINE.lanes * 2)

    for rows, vectors in ((14, 2), (7, 4)):
        shuffles = len(transposition(16, rows).shuffles) * COSTS.shuffle
        stores = (16 * (1 + (rows - 1) / 16) - rows) * COSTS.store
        more = cycles("nchw", rows, vectors) - cycles("nhwc", rows, vectors)
        assert more == pytest.approx(vectors * (shuffles + stores)) and shuffles > 0
    assert cycles("nchw", 14, 2) < cycles("nchw", 7, 4)


def test_stores_across_two_lines_cost_as_two():
    """Rows of 24 floats begin in the middle of every other line, rows of 40 too, rows of an odd number
    almost anywhere.
    """

    def visit(k, dtype="f32"):
        problem = in_dot_groups(conv2d(c=64 if dtype == "f32" else 128, h=56, w=56, k=k, r=1, s=1, dtype=dtype))
        text = f"T(h,56) T(w,4) T(k,{-(-k // 16)}) S(y) T(c,64) U(w,14) V(k,16)"
        found = predict(parse(problem, text), MACHINE, estimate)
        return found.overhead / sum(part.visits for part in found.parts)

    aligned, halves, anywhere = visit(32), visit(40), visit(33)
    assert visit(48) == pytest.approx(aligned)
    assert visit(24) == pytest.approx(halves)
    assert anywhere - aligned == pytest.approx(15 / 8 * (halves - aligned))
    # A line holds twice as many bf16, so half as many of their stores lie across two.
    assert visit(16, "bf16") == pytest.approx(aligned)
    assert visit(24, "bf16") - aligned == pytest.approx((halves - aligned) / 2)


def test_a_large_output_is_streamed_where_transposed_tiles_are_whole_vectors_of_it():
    problem = conv2d(c=3, h=1024, w=1024, k=32, r=3, s=3, padding=1, layout="nchw")

    def predicted(rows):
        text = f"T(h,1024) T(w,{1024 // rows}) T(k,2) S(y) T(r,3) T(s,3) T(c,3) U(w,{rows}) V(k,16)"
        return predict(parse(problem, text), MACHINE, estimate)

    whole, half = predicted(16), predicted(8)
    last = whole.traffic[-1]
    assert last.written == last.of("y") < half.traffic[-1].of("y") == 2 * half.traffic[-1].written


def test_an_uneven_share_costs_what_its_busiest_core_does():
    problem = layer("Y18")
    text = "T(h,17)@core T(k,64) S(y) T(r,3) T(s,3) T(c,512) U(w,17) V(k,16)"
    assert predict(parse(problem, text), MACHINE, estimate, threads=2).imbalance == pytest.approx(18 / 17)


def test_between_matrix_instructions_more_of_what_moves_shows():
    problem = replace(layer("R2"), dtype="bf16")  # L2 holds all of it, so nobody waits for what is beyond
    dots = in_dot_groups(problem, matrix_dot_group(problem))
    amx = replace(MACHINE, isa="amxbf16", caches=(L1, replace(L2, bytes=8 << 20)))
    scheme = parse(dots, "T(k,2) T(w,2) T(h,56) S(y) T(r,3) T(s,3) T(c,2) U(w,28) U(k,2) V(k,16)")
    found, hidden = (
        predict(scheme, amx, lambda kernel: 0.4, costs=replace(COSTS, in_tiles=share)) for share in (COSTS.in_tiles, 0)
    )
    parts = (found.compute + found.overhead, *found.movement)
    assert found.movement[0] > 0.1 * found.compute
    assert found.seconds - hidden.seconds == pytest.approx(COSTS.in_tiles * (sum(parts) - max(parts)))
    assert COSTS.in_tiles > COSTS.exposed


def overhead_of(problem, text: str, machine, **costs) -> float:
    """Overhead of a scheme of the problem in dot groups, in cycles for each vector of sums."""
    dots = in_dot_groups(problem, matrix_dot_group(problem) if machine.isa.startswith("amx") else None)
    scheme = parse(dots, text)
    found = predict(scheme, machine, lambda kernel: 0.4, costs=replace(COSTS, **costs))
    sums = dots.output.elements / machine.lanes
    return found.overhead / sums / (COSTS.pipes * machine.lanes * 2 / machine.peak)


def test_single_vectors_of_sums_in_tile_registers_cost_more():
    """Lines of y far apart; measured, int8 yolo9000:Y4 in the same loops: 1.11 and 0.80 ms at 3.8 GHz."""
    problem, amx = replace(layer("Y4"), dtype="int8", output_dtype="s32"), replace(MACHINE, isa="amxint8")
    one = "T(k,8) T(h,136) T(w,4) S(y) T(r,3) T(s,3) R(c) U(w,34) V(k,16)"
    two = "T(k,4) T(h,136) T(w,4) S(y) T(r,3) T(s,3) R(c) U(w,34) U(k,2) V(k,16)"
    alone, together = (overhead_of(problem, text, amx) for text in (one, two))
    cycles = (1.11e-3 - 0.80e-3) * 3.8e9 / (136 * 136 * 128 / 16)
    assert alone > together + cycles / 2
    assert overhead_of(problem, two, amx, lone=0) == pytest.approx(together)


def test_vectors_that_fill_no_line_of_narrow_outputs_cost_more():
    """Four vectors of u8 are stored as one line; of three, each by itself."""
    problem = replace(conv2d(c=64, h=56, w=56, k=192, r=1, s=1), dtype="int8", output_dtype="u8")
    vnni = replace(MACHINE, isa="avx512vnni")
    three, four = "T(k,4) T(h,56) T(w,14) S(y) R(c) U(w,4) U(k,3)", "T(k,3) T(h,56) T(w,14) S(y) R(c) U(w,4) U(k,4)"
    narrow = [overhead_of(problem, f"{text} V(k,16)", vnni) for text in (three, four)]
    free = [overhead_of(problem, f"{text} V(k,16)", vnni, narrow=0) for text in (three, four)]
    assert narrow[0] > free[0] + 0.5 and narrow[1] == pytest.approx(free[1])


def test_lines_of_an_output_that_are_written_in_parts_are_read_first():
    """1000 floats of a pixel are no whole lines, 1008 are 63; tiles of 48 are whole lines of either."""
    machine = replace(MACHINE, caches=(L1, replace(L2, write_bandwidth=50e9), replace(L3, write_bandwidth=40e9)))

    def read(k: int) -> float:
        """Seconds in which L1 waits, beyond those of x, the weights and what is written."""
        problem = conv2d(c=64, h=14, w=14, k=k, r=1, s=1)
        found = predict(parse(problem, "T(k,21) T(h,14) S(y) T(c,64) U(w,14) U(k,3) V(k,16)"), machine, estimate)
        return found.movement[0] - seconds_of(found.traffic, machine)[0]

    assert read(1008) == 0 and read(1000) > 0


AMX = replace(MACHINE, isa="amxbf16")


def blocked_seconds(name: str, text: str, machine=AMX) -> float:
    """Predicted seconds of a layer in bf16 by matrix instructions, where all tiles are equally fast."""
    problem = replace(layer(name), dtype="bf16", output_dtype="bf16")
    scheme = parse(in_dot_groups(problem, matrix_dot_group(problem)), f"{text} V(k,16)")
    return predict(scheme, machine, lambda kernel: 0.35).seconds


def test_matrix_instructions_wait_for_lines_of_x_that_l1_does_not_keep():
    """Measured: 1.38 and 1.65 ms. All weights pass by a window of x in the first, and are read once each time."""
    body = "S(y) T(r,3) T(s,3) R(c) U(h,2) U(w,λ)"
    kept = blocked_seconds("Y8", f"T(h,34) L(w, 1x26 + 1x42) T(k,16) {body}")
    brought = blocked_seconds("Y8", f"T(k,8) T(h,34) L(w, 1x26 + 1x42) T(k,2) {body}")
    assert brought > 1.1 * kept


def test_tile_registers_that_change_their_shapes_often_cost_more():
    """Measured: 0.118 and 0.152 ms."""
    body = "S(y) T(r,3) T(s,3) R(c) U(w,λ) U(k,2)"
    seldom = blocked_seconds("R2", f"T(k,2) L(w, 1x26 + 1x30) T(h,56) {body}")
    often = blocked_seconds("R2", f"T(k,2) T(h,56) L(w, 1x26 + 1x30) {body}")
    assert often > 1.15 * seldom
    assert blocked_seconds("R2", f"T(k,2) T(h,56) L(w, 2x28) {body}") < 1.05 * seldom
