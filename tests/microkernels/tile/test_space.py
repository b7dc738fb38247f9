"""Which register tiles there are, and the loop each is timed in."""

from dataclasses import replace

import pytest

from microkernels.tile.benchmark import ALL_OF_L1, LONGEST_TRIP, MOST_TAPS, X_OF_L1, benchmark_scheme
from microkernels.tile.isa import AVX2, AVX512F, ISAS
from microkernels.tile.microkernel import OPERATORS, Microkernel, parse
from microkernels.tile.space import INDEPENDENT_FMAS, most_rows, quick, space
from tests.support.microkernels.cases import L1, SPACES, TILE
from tiling.arrays.footprint import footprint
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.text import notation
from tiling.text.shapes import parse_matmul_shape, parse_shape


@pytest.mark.parametrize("isa, op", SPACES)
def test_every_tile_has_a_name_that_parses_back_and_fits_the_registers(isa, op):
    kernels = space(isa, op)
    assert len(set(kernels)) == len(kernels) > 0
    for kernel in kernels:
        assert parse(kernel.name) == kernel
        assert kernel.registers <= isa.registers
        assert kernel.isa == isa.name and kernel.op == op


@pytest.mark.parametrize("isa", ISAS.values())
def test_plain_rows_are_complete_up_to_the_budget(isa):
    kernels = set(space(isa, "conv2d", (1,)))
    for vectors in range(1, isa.registers):
        for w in range(1, isa.registers):
            tile = Microkernel("conv2d", isa.name, (("w", w),) if w > 1 else (), vectors)
            assert (tile in kernels) == (tile.registers <= isa.registers)
            assert (w <= most_rows(isa, vectors)) == (tile.registers <= isa.registers)


def test_strides_differ_in_nothing_but_the_stride():
    one, two = space(AVX512F, strides=(1,)), space(AVX512F, strides=(2,))
    assert space(AVX512F) == one + two
    assert tuple(replace(kernel, stride=2) for kernel in one) == two


def test_the_space_can_be_ranked_in_minutes_and_the_quick_part_in_two():
    assert 600 <= len(space(AVX512F, strides=(1,))) <= 1200
    for isa, op in SPACES:
        assert 0 < len(quick(isa, op)) <= 120
        assert set(quick(isa, op)) <= set(space(isa, op, (1,)))


def test_the_tiles_that_won_for_ttile_are_in_the_space():
    kernels = set(space(AVX512F, strides=(1,)))
    for vectors, unrolled, rows in (
        (1, (("r", 3),), range(9, 15)),
        (2, (), range(8, 16)),
        (2, (("r", 3),), range(9, 13)),
        (3, (), range(5, 10)),
        (4, (("s", 3),), range(4, 8)),
    ):
        for w in rows:
            assert Microkernel("conv2d", "avx512f", (("w", w),), vectors, unrolled) in kernels


@pytest.mark.parametrize("isa", ISAS.values())
def test_depthwise_tiles_hold_the_weights_of_a_step(isa):
    kernels = space(isa, "depthwise2d", (1,))
    for kernel in kernels:
        if kernel.unrolled:
            assert kernel.accumulators + kernel.steps * kernel.vectors + 1 < isa.registers
    assert Microkernel("depthwise2d", isa.name, (("w", 4),), 1, (("r", 3), ("s", 3))) in kernels


@pytest.mark.parametrize("isa", ISAS.values())
def test_grouped_tiles_hold_the_weights_of_one_exchange(isa):
    kernels = space(isa, "grouped2d", (1,))
    for kernel in kernels:
        assert kernel.group_size < isa.lanes and isa.lanes % kernel.group_size == 0
        assert kernel.accumulators + kernel.steps // kernel.group_size * kernel.vectors + 2 < isa.registers
    assert Microkernel("grouped2d", isa.name, (("w", 3),), 2, (("s", 3), ("c", 2))) in kernels


@pytest.mark.parametrize(
    "name", ["f32_grouped2d_ukernel_4wx16k_s1__avx512f", "f32_grouped2d_ukernel_4wx4kx8c_s1__portable"]
)
def test_a_grouped_tile_without_its_group_is_none(name):
    with pytest.raises(ValueError, match="channels do not fill"):
        parse(name)


def test_an_unknown_operator_is_refused():
    with pytest.raises(ValueError, match="unknown operator 'fft'"):
        space(AVX2, "fft")


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa, op", SPACES)
@pytest.mark.parametrize("l1_bytes", [L1, 48 << 10])
def test_every_tile_has_a_benchmark_whose_x_stays_in_l1(isa, op, l1_bytes):
    for kernel in space(isa, op):
        scheme = benchmark_scheme(kernel, l1_bytes)
        problem = scheme.problem
        assert notation.parse(problem, scheme.text) == scheme
        (tile,) = scheme.tiles
        assert tile.pop(problem.vector_dim) == kernel.vectors
        assert {dim: n for dim, n in tile.items() if n > 1} == dict(kernel.rows + kernel.unrolled)
        kept, share = (problem.tensors, ALL_OF_L1) if kernel.lanewise else ((problem.broadcast,), X_OF_L1)
        assert sum(footprint(problem, tensor, problem.extents) for tensor in kept) <= share * l1_bytes


@pytest.mark.parametrize("isa", [AVX2, AVX512F])
@pytest.mark.parametrize("l1_bytes", [L1, 48 << 10])
def test_the_weights_of_its_benchmark_stream_past_x(isa, l1_bytes):
    """All but two of 98 tiles stream. The x of those two leaves no room for the columns of more taps."""
    kept = []
    for kernel in quick(isa):
        problem = benchmark_scheme(kernel, l1_bytes).problem
        read = sum(footprint(problem, tensor, problem.extents) for tensor in (problem.broadcast, problem.vector))
        if kernel.accumulators >= INDEPENDENT_FMAS and read < 1.05 * l1_bytes:
            kept.append(kernel.name)
    assert len(kept) <= 2


def test_the_benchmark_in_its_text_form():
    tile = Microkernel("conv2d", "avx512f", (("h", 2), ("w", 7)), 2, (("s", 3),))
    # x of 248 c is 17 KiB, of 496 c 35 KiB; the weights are 93 KiB.
    assert str(benchmark_scheme(tile, 48 << 10)) == "S(y) T(c,248) U(h,2) U(w,7) U(s,3) U(k,2) V(k,16)"
    depthwise = Microkernel("depthwise2d", "avx512f", (("h", 2), ("w", 7)), 1, (("r", 3), ("s", 3)))
    scheme = benchmark_scheme(depthwise, 48 << 10)
    assert str(scheme) == "S(y) T(r,15) U(h,2) U(w,7) U(r,3) U(s,3) V(c,16)"
    assert scheme.problem.extents == {"n": 1, "c": 16, "h": 2, "w": 7, "r": 45, "s": 3}
    grouped = Microkernel("grouped2d", "avx512f", (("w", 8),), 2, (("s", 3), ("c", 4)))
    scheme = benchmark_scheme(grouped, 48 << 10)
    assert str(scheme) == "S(y) T(r,7) U(w,8) U(s,3) U(c,4) U(k,2) V(k,16)"
    assert scheme.problem.extents == {"n": 1, "k": 32, "c": 4, "h": 1, "w": 8, "r": 7, "s": 3}
    assert str(benchmark_scheme(TILE, 1 << 20)) == f"S(y) T(s,{MOST_TAPS}) T(c,{LONGEST_TRIP}) U(w,6) U(k,2) V(k,8)"


def test_the_stride_spreads_the_input():
    tile = Microkernel("conv2d", "avx2", (("h", 2), ("w", 3)), 1, (("r", 3),), stride=2)
    assert benchmark_scheme(tile, L1).problem.broadcast.shape[1:3] == (5, 5)


def test_a_cache_too_small_for_anything_still_gets_one_iteration():
    assert "T(c,1) " in str(benchmark_scheme(TILE, 64))


@pytest.mark.parametrize(
    "problem",
    [
        parse_shape("c=4,h=6,w=6,k=8,r=3,s=3"),
        parse_shape("c=4,d=5,h=6,w=6,k=8,q=2,r=3,s=3"),
        parse_shape("c=4,h=6,w=6,k=4,r=3,s=3,groups=4"),
        grouped2d(parse_shape("c=8,h=6,w=6,k=8,r=3,s=3,groups=2")),
        pointwise2d(parse_shape("c=4,h=6,w=8,k=8,r=1,s=1,layout=nchw")),
        parse_matmul_shape("m=4,n=8,k=6"),
    ],
    ids=lambda problem: problem.op,
)
def test_an_operator_has_all_dims_of_its_problem(problem):
    """What it lacks, a tile that unrolls it would not count."""
    operator = OPERATORS[problem.op]
    assert (set(operator.rows), set(operator.reductions)) == (set(problem.row_dims), set(problem.reductions))


def test_a_tile_of_volumes_is_measured_as_one_of_images():
    tile = Microkernel("conv3d", "avx2", (("n", 2), ("d", 3), ("h", 2)), 2, (("c", 4), ("q", 3)))
    assert str(tile) == "f32_conv3d_ukernel_2nx3dx2hx16kx4cx3q_s1__avx2" and parse(str(tile)) == tile
    assert tile.measured_as == Microkernel("conv2d", "avx2", (("n", 6), ("h", 2)), 2, (("c", 4), ("r", 3)))
