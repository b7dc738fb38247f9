"""Loop nests, and what their tiles touch."""

from operator import le

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sampled import examples
from tests.support.search.strategies import schemes
from tiling.arrays.footprint import axis_points, footprint
from tiling.loops.lowering.nest import Loop, RegisterTile, nest_of, starts
from tiling.loops.lowering.show import show
from tiling.machine import Timing
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse


def test_a_matrix_instruction_covers_points_of_every_dim_it_names():
    problem = matmul(m=256, n=512, k=64)
    nest = nest_of(parse(problem, "T(m,2)@block T(n,2) S(c) T(m,2)@warpgroup T(k,2) U(k,2) M(m64n256k16)"))
    register, base, path = list(visits(nest, dict.fromkeys(problem.extents, 0)))[-1]
    assert register.extents == {"m": 64, "n": 256, "k": 32} and base == {"m": 192, "n": 256, "k": 32}
    assert [loop.step for loop in path] == [128, 256, 64, 32]
    with pytest.raises(SchemeError, match="cover 128 points of dim m, which has 256"):
        parse(problem, "T(m,2)@block T(n,2) S(c) T(k,4) M(m64n256k16)")
    with pytest.raises(SchemeError, match="loops over an output dim inside it"):
        parse(problem, "T(m,2)@block T(n,2) S(c) T(m,2) T(k,4) M(m64n256k16)")


def visits(nodes, base, path=()):
    """Every register tile a nest visits: (its node, its first point, the loops around it)."""
    for node in nodes:
        if isinstance(node, RegisterTile):
            yield node, base, path
        elif isinstance(node, Loop):
            for i in range(node.trips):
                inner = {**base, node.dim: base[node.dim] + node.start + i * node.step}
                yield from visits(node.body, inner, (*path, node))
        else:
            yield from visits(node.body, base, path)


@pytest.mark.slow
@examples(200)
@given(schemes())
def test_a_nest_covers_every_point_exactly_once(scheme):
    extents = scheme.problem.extents
    vector_dim = scheme.problem.vector_dim
    covered = {**extents, vector_dim: scheme.units[vector_dim] * scheme.lanes}
    assert covered[vector_dim] - extents[vector_dim] < scheme.lanes
    count = np.zeros(tuple(covered.values()), dtype=np.int32)
    seen = {}
    found = list(visits(nest_of(scheme), dict.fromkeys(extents, 0)))
    tiles = {}  # the points of each register tile; by identity, as are loops: a hash goes through all inside them
    for register, base, path in found:
        points = tiles.get(id(register))
        if points is None:
            points = tiles[id(register)] = register.extents
        begins = [base[d] for d in extents]
        ends = [begin + points[d] for begin, d in zip(begins, extents)]
        assert min(begins) >= 0 and all(map(le, ends, covered.values()))
        count[tuple(map(slice, begins, ends))] += 1
        seen.setdefault(tuple(map(id, path)), (path, set()))[1].add(tuple(begins))
    assert (count == 1).all()
    for path, positions in seen.values():
        for dim, found_along in zip(extents, zip(*positions)):
            assert starts(path, dim) == tuple(sorted(set(found_along)))
    assert {register.points for register, _, _ in found} == {
        tuple((d, n * (scheme.lanes if d == vector_dim else 1)) for d, n in tile.items()) for tile in scheme.tiles
    }


def test_a_scheme_is_shown_loop_by_loop():
    scheme = parse(matmul(m=12, n=20, k=5), "T(n,1)@core L(m, 1x5 + 1x7) S(c) R(k) U(m,λ) U(n,2) V(n,16)")
    assert show(scheme).splitlines() == [
        "for n in 1 step of 32:  on cores",
        "  for m in 1 step of 5:",
        "    with the tile of c in registers:",
        "      for k in 5 steps of 1:",
        "        register tile 5m × 32n",
        "  for m in 1 step of 7 from 5:",
        "    with the tile of c in registers:",
        "      for k in 5 steps of 1:",
        "        register tile 7m × 32n",
    ]


# ---- footprints


def test_footprints_of_the_papers_example():
    problem = conv2d(n=1, k=32, c=64, h=8, w=68, r=1, s=1)
    extents = dict.fromkeys(problem.extents, 1)
    floats = []
    for step in ({"k": 16}, {"k": 32}, {"h": 8}, {"c": 2}, {"w": 68}):
        extents.update(step)
        floats.append(sum(footprint(problem, tensor, extents) for tensor in problem.tensors) // 4)
    assert floats == [48, 80, 416, 448, 26176]


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_axis_points_never_undercounts_and_is_exact_without_dilation(stride, dilation, rows, taps, before):
    window = dict(stride=(stride, 1), padding=((before, 0), 0), dilation=(dilation, 1))
    problem = conv2d(c=1, h=40, w=1, k=1, r=4, s=1, **window)
    index = problem.broadcast.indices[1]
    touched = {index.at({"h": h, "r": r}) for h in range(5, 5 + rows) for r in range(taps)}
    counted = axis_points(problem.broadcast, 1, {**problem.extents, "h": rows, "r": taps})
    assert counted >= len(touched)
    if dilation == 1:
        assert counted == len(touched)


def test_a_tile_as_wide_as_the_tensor_is_one_run():
    problem = conv2d(c=3, h=4, w=5, k=7, r=1, s=1)
    assert footprint(problem, problem.broadcast, {**problem.extents, "h": 2}) == 128  # 2·5·3 floats = 120 bytes
    assert footprint(problem, problem.broadcast, {**problem.extents, "h": 2, "c": 1}) == 2 * 5 * 64
    assert footprint(problem, problem.vector, {**problem.extents, "k": 6, "c": 3}) == 128  # packed: 18 floats


def test_a_timing_knows_its_spread_and_fraction_of_peak():
    timing = Timing((4.0, 1.0, 2.0, 3.0, 2.0), peak_gflops=10)
    assert timing.seconds == 2 and timing.spread == 0.5
    assert timing.fraction_of_peak(20 * 10**9, threads=2) == 0.5
