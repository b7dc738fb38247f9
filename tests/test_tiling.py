"""The language: problems and their text forms, schemes, loop nests, footprints, task maps; against brute force."""

from itertools import product
from math import prod
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiling.compose import Composition, compositions, divisors
from tiling.footprint import axis_points, footprint, inside_rows, unclipped
from tiling.machine import Timing
from tiling.nest import Loop, Register, lower, starts
from tiling.notation import parse
from tiling.operators import conv2d, matmul
from tiling.problem import ProblemError, Window
from tiling.scheme import Lambda, Rest, Scheme, SchemeError, Stage, Tile, Unroll, Vector
from tiling.shapes import canonical, parse_shape
from tiling.show import show
from tiling.taskmap import TaskMap, repeat, spatial

# ---- problems


def test_output_extents_follow_padding_stride_and_dilation():
    p = conv2d(n=2, c=3, h=11, w=9, k=5, r=3, s=2, stride=(2, 3), padding=((1, 2), (0, 1)), dilation=(2, 1))
    assert p.extents == {"n": 2, "k": 5, "c": 3, "h": (11 + 3 - 5) // 2 + 1, "w": (9 + 1 - 2) // 3 + 1, "r": 3, "s": 2}
    assert [str(index) for index in p.broadcast.indices] == ["n", "2*h + 2*r - 1", "3*w + s", "c"]
    assert (p.broadcast.shape, p.vector.shape, p.output.shape) == ((2, 11, 9, 3), (5, 3, 3, 2), (2, 5, 3, 5))
    assert p.flops == 2 * prod(p.extents.values()) and p.reduction_length == 3 * 3 * 2
    assert p.row_dims == ("n", "h", "w") and p.broadcast.stride("h") == 2 * 9 * 3 and p.broadcast.stride("k") == 0


def test_matmul_is_the_same_kind_of_problem():
    p = matmul(m=4, n=6, k=8)
    assert (p.broadcast.shape, p.vector.shape, p.output.shape) == ((4, 8), (8, 6), (4, 6))
    assert p.row_dims == ("m",) and p.vector_dim == "n" and p.reductions == ("k",) and p.windows == ()
    assert p.vector.stride("k") == 6 and p.tensor("b") is p.vector


@pytest.mark.parametrize(
    "change, named",
    [
        ({"c": 0}, "c=0"),
        ({"h": 2.0}, "h=2.0"),
        ({"k": True}, "k=True"),
        ({"stride": 0}, "stride=0"),
        ({"stride": (1, 2, 3)}, "stride=(1, 2, 3)"),
        ({"dilation": -1}, "dilation=-1"),
        ({"padding": -1}, "padding=-1"),
        ({"padding": ((1, 2, 3), 0)}, "padding=((1, 2, 3), 0)"),
        ({"groups": 2}, "groups=2 do not divide c=3: all groups have equally many"),
        ({"groups": 3}, "groups=3 do not divide k=4"),
        ({"groups": 1.0}, "groups=1.0 must be a whole number"),
        ({"padding": "full"}, "padding='full' must be p, (ph, pw), ((top, bottom), (left, right)), \"same\" or"),
        ({"padding": ("same", "full")}, "padding=('same', 'full')"),
        ({"padding": ("same", -1)}, "must be at least 0"),
        ({"padding": {"h": 1}}, "padding={'h': 1}"),
        ({"h": None}, "h is missing: give h and r, or neither"),
        ({"r": None}, "r is missing: give h and r, or neither"),
        ({"r": 8}, "reaches over 8 points along h"),
        ({"s": 4, "dilation": (1, 3)}, "reaches over 10 points along w"),
        ({"dtype": "f64"}, "'f64'"),
    ],
)
def test_a_problem_that_cannot_be_computed_is_refused(change, named):
    with pytest.raises(ProblemError) as raised:
        conv2d(**{**dict(c=3, h=7, w=7, k=4, r=3, s=3), **change})
    assert named in str(raised.value)


def test_a_group_is_a_dim_that_everything_moves_with():
    p = conv2d(c=12, h=9, w=9, k=20, r=3, s=3, groups=4, padding=1)
    assert p.extents == {"n": 1, "g": 4, "k": 5, "c": 3, "h": 9, "w": 9, "r": 3, "s": 3}
    assert (p.broadcast.shape, p.vector.shape, p.output.shape) == ((1, 9, 9, 12), (20, 3, 3, 3), (1, 9, 9, 20))
    assert [p.broadcast.stride("g"), p.vector.stride("g"), p.output.stride("g")] == [3, 5 * 27, 5]
    assert p.row_dims == ("n", "h", "w") and p.looped_dims == ("g",) and p.vector_dim == "k"
    assert [(window.dim, window.tap) for window in p.windows] == [("h", "r"), ("w", "s")]  # no padding of channels
    assert p.flops == 2 * 9 * 9 * 20 * 27 and p.reduction_length == 27
    assert conv2d(c=12, h=9, w=9, k=20, r=3, s=3, groups=1).looped_dims == ()


def test_a_channel_by_itself_is_a_lane():
    p = conv2d(n=2, c=20, k=20, groups=20, h=9, w=9, r=3, s=5, padding=1, stride=2)
    assert p.op == "depthwise2d" and p.extents == {"n": 2, "c": 20, "h": 5, "w": 4, "r": 3, "s": 5}
    assert (p.vector_dim, p.reductions, p.row_dims, p.looped_dims) == ("c", ("r", "s"), ("n", "h", "w"), ())
    assert (p.broadcast.shape, p.vector.shape, p.output.shape) == ((2, 9, 9, 20), (20, 1, 3, 5), (2, 5, 4, 20))
    assert p.lanewise and [(window.dim, window.tap) for window in p.windows] == [("h", "r"), ("w", "s")]
    assert parse_shape(canonical(p)) == p
    for other in (conv2d(c=20, k=40, groups=20, h=9, w=9, r=3, s=3), conv2d(c=1, k=1, groups=1, h=9, w=9, r=3, s=3)):
        assert other.op == "conv2d" and not other.lanewise and parse_shape(canonical(other)) == other


def test_padding_by_name():
    sizes = dict(c=3, h=11, w=8, k=4, r=3, s=4)
    assert conv2d(**sizes, padding="valid") == conv2d(**sizes)
    assert conv2d(**sizes, padding="same") == conv2d(**sizes, padding=(1, (1, 2)))
    assert conv2d(**sizes, padding="same", dilation=2).output.shape == (1, 11, 8, 4)
    assert conv2d(**sizes, padding="same", stride=(2, 3)).output.shape == (1, 6, 3, 4)
    assert conv2d(**sizes, padding=("same", (0, 1))) == conv2d(**sizes, padding=(1, (0, 1)))
    assert conv2d(**sizes | dict(r=1, s=1), stride=2, padding="same") == conv2d(**sizes | dict(r=1, s=1), stride=2)


def test_one_dimension_is_a_convolution_of_one_row():
    line = conv2d(c=3, w=12, k=4, s=5, stride=2, padding=(1, 2), dilation=2)
    assert line == conv2d(c=3, h=1, w=12, k=4, r=1, s=5, stride=(1, 2), padding=(0, (1, 2)), dilation=(1, 2))
    assert conv2d(c=3, w=12, k=4, s=5, padding=2).output.shape == (1, 1, 12, 4)
    assert conv2d(c=3, w=12, k=4, s=5, padding="same").output.shape == (1, 1, 12, 4)


def test_extents_may_be_numpy_integers():
    sizes = dict(n=2, c=3, h=11, w=9, k=5, r=3, s=2)
    plain = conv2d(**sizes, stride=2, padding=((1, 2), (0, 1)), dilation=(2, 1))
    options = dict(stride=np.int8(2), padding=((np.int64(1), 2), (0, np.uint8(1))), dilation=(np.int32(2), 1))
    given_numpy = conv2d(**{name: np.int64(size) for name, size in sizes.items()}, **options)
    assert given_numpy == plain and canonical(given_numpy) == canonical(plain)
    assert {type(extent) for extent in given_numpy.extents.values()} == {int}
    assert matmul(m=np.int16(4), n=np.int64(6), k=np.uint32(8)) == matmul(m=4, n=6, k=8)


def test_a_problem_too_large_for_any_use_is_refused():
    assert matmul(m=1 << 24, n=1, k=1 << 9).extents["m"] == 1 << 24
    for refused, named in [
        (lambda: matmul(m=(1 << 24) + 1, n=1, k=1), "m=16777217 is larger than 16777216"),
        (lambda: conv2d(c=1, h=(1 << 24) + 1, w=1, k=1, r=1, s=1), "h=16777217 is larger than"),
        (lambda: matmul(m=1 << 24, n=1, k=(1 << 9) + 1), "a of 16777216 x 513 has more than 8589934592 elements"),
        (lambda: conv2d(c=1, h=1 << 12, w=1 << 12, k=513, r=1, s=1), "y of 1 x 4096 x 4096 x 513 has more than"),
        (lambda: conv2d(n=1 << 24, c=513, h=1, w=1, k=1, r=1, s=1), "x of 16777216 x 1 x 1 x 513 has more than"),
    ]:
        with pytest.raises(ProblemError) as raised:
            refused()
        assert named in str(raised.value)


WINDOWS = st.builds(
    Window,
    st.just("h"),
    st.just("r"),
    stride=st.integers(1, 5),
    dilation=st.integers(1, 4),
    before=st.integers(0, 9),
    extent=st.integers(1, 12),
)


def inside(window, position, tap):
    return 0 <= position * window.stride + tap * window.dilation - window.before < window.extent


def test_taps_on_padding_are_not_inside():
    # 7 x 7 with 3 x 3 taps: along each axis 19 of 21 pairs of row and tap are on the image.
    small = conv2d(c=1, h=7, w=7, k=1, r=3, s=3, padding=1)
    assert small.inside_fraction == pytest.approx((19 / 21) ** 2)
    assert conv2d(c=1, h=7, w=7, k=1, r=1, s=1).inside_fraction == matmul(m=2, n=3, k=4).inside_fraction == 1



@given(WINDOWS, st.integers(0, 15), st.integers(1, 15), st.integers(1, 7))
def test_rows_inside_are_exactly_those_on_the_tensor(window, first, count, taps):
    clip = inside_rows(window, first, count, taps)
    for tap, (low, high) in enumerate(clip):
        assert 0 <= low <= high <= count
        assert list(range(low, high)) == [row for row in range(count) if inside(window, first + row, tap)]
    everything = all(inside(window, first + row, tap) for row in range(count) for tap in range(taps))
    assert (clip == unclipped(count, taps)) == everything


# ---- schemes

CONV = conv2d(c=8, h=10, w=10, k=32, r=3, s=3, padding=1)
GOOD = "T(h,10) T(w,5) S(y) T(c,8) T(r,3) T(s,3) U(w,2) U(k,2) V(k,16)"


@pytest.mark.parametrize(
    "text, named",
    [
        ("", "empty"),
        (GOOD.replace("T(h,10)", "T(h,9)"), "T(h,9): cover 9 points of dim h, which has 10"),
        (GOOD.replace("U(k,2)", "U(k,3)"), "U(k,3) V(k,16): cover 3 vectors of dim k, which has 2"),
        (GOOD.replace("T(r,3)", ""), "no specifier on r"),
        (GOOD.replace("T(h,10)", "R(h) T(h,3)"), "R(h) T(h,3): 3 points do not divide the 10"),
        (GOOD.replace("T(h,10)", "R(h) R(h)"), "R(h): at most one R"),
        (GOOD.replace("T(h,10)", "T(h,5) R(h)"), "R(h): R is the outer loop of its dim, but stands inside T(h,5)"),
        (GOOD.replace("T(h,10)", "T(h,0)"), "T(h,0): a tile loop has at least 1"),
        (GOOD.replace("T(h,10)", "T(z,10)"), "T(z,10): conv2d has no dim 'z'"),
        (GOOD.replace("T(h,10)", "T(h,10)@thread"), "T(h,10)@thread: unknown worker 'thread'"),
        (GOOD.replace("T(c,8)", "T(c,8)@core"), "T(c,8)@core: c is summed over"),
        (GOOD.replace("T(w,5)", "T(w,5)@core"), "T(w,5)@core: core loops stand outermost"),
        (GOOD.replace("U(w,2)", "U(w,0)"), "U(w,0): the unroll factor"),
        ("U(n,1) " + GOOD, "U(n,1): an unrolled loop may not hold T(h,10)"),
        (GOOD.replace("S(y)", "U(n,1) S(y)"), "U(n,1): an unrolled loop may not hold S(y)"),
        (GOOD.replace("U(k,2) V(k,16)", "V(k,16) U(k,2)"), "V(k,16): V and M stand innermost"),
        (GOOD + " V(k,16)", "V(k,16): V and M stand innermost"),
        (GOOD.replace("V(k,16)", "V(w,16)"), "V(w,16): conv2d is vectorised over k"),
        (GOOD.replace("V(k,16)", "V(k,0)"), "V(k,0): a vector has at least 1 lane"),
        (GOOD.replace("S(y)", "S(q)"), "S(q): conv2d has no tensor 'q'"),
        (GOOD.replace("S(y)", "S(x, 0)"), "S(x, 0): the depth"),
        (GOOD.replace("S(y)", "S(y) S(y)"), "S(y): y is staged twice"),
        ("S(y) " + GOOD.replace("S(y)", ""), "S(y): T(h,10) loops over an output dim inside it"),
        (GOOD.replace("T(h,10)", "L(h, 1x4 + 1x6)"), "L(h, 1x4 + 1x6): needs exactly one U(h,λ) inside, found 0"),
        (GOOD.replace("U(w,2)", "U(w,λ)"), "U(w,λ): has no L(w, …) outside it"),
        (GOOD.replace("T(h,10)", "L(h, 0x4 + 1x10)"), "L(h, 0x4 + 1x10): counts and sizes"),
        (GOOD.replace("T(h,10)", "L(h, 1x2) L(h, 1x5)"), "L(h, 1x2): dim h is composed twice"),
        (GOOD.replace("T(h,10)", "L(h, 1x10)").replace("U(w,2)", "U(h,λ) U(h,λ)"), "U(h,λ) inside, found 2"),
        (GOOD.replace("T(h,10)", "T(h,ten)"), "'ten' is not a whole number"),
        (GOOD.replace("T(h,10)", "T(h)"), "T(h): expected T(dim,iterations)"),
        (GOOD.replace("T(h,10)", "Q(h,10)"), "unknown specifier 'Q'"),
        (GOOD.replace("T(h,10)", "L(h, 10)"), "'10' is not COUNTxSIZE"),
        (GOOD.replace("U(w,2)", "U(w,2)@core"), "U(w,2)@core: only a tile loop"),
        (GOOD.replace("S(y)", "S(y,1,1)"), "S(y,1,1): expected S(tensor)"),
        (GOOD + " and more", "cannot read 'and more'"),
        (GOOD.replace("V(k,16)", "M(../x)"), "M(../x): a matrix instruction"),
    ],
)
def test_a_scheme_that_breaks_a_rule_is_refused_by_name(text, named):
    with pytest.raises(SchemeError) as raised:
        parse(CONV, text)
    assert named in str(raised.value)


def test_a_composed_scheme_knows_its_tiles():
    yolo5 = parse(
        parse_shape("yolo9000:Y5"),
        "T(n,1) T(h,4) T(w,136) T(k,2) L(h, 1x8 + 2x13) S(y) T(c,128) T(r,1) T(s,1) U(h,λ) U(k,2) V(k,16)",
    )
    assert yolo5.branches == {"h": ((1, 8), (2, 13))} and yolo5.lanes == 16 and yolo5.units["k"] == 4
    assert [(tile["h"], tile["k"]) for tile in yolo5.tiles] == [(8, 2), (13, 2)]


@pytest.mark.parametrize(
    "problem, text",
    [
        (
            parse_shape("yolo9000:Y5"),
            "T(h,4) T(w,136) T(k,2) L(h, 1x8 + 2x13) S(y) T(c,128) U(h,λ) U(k,2) V(k,16)",
        ),
        (
            parse_shape("yolo9000:Y12"),
            "L(h, 2x11 + 1x12) T(k,16) T(w,34) S(y) T(c,256) T(r,3) T(s,3) U(h,λ) U(k,2) V(k,16)",
        ),
        (
            matmul(m=4096, n=4096, k=4096),
            "T(m,32)@block T(n,16)@block S(c) T(k,64) S(a, 4) S(b, 4) T(m,2)@warpgroup U(k,4) M(m64n256k16)",
        ),
    ],
)
def test_the_examples_of_the_design_are_schemes(problem, text):
    scheme = parse(problem, text)
    assert scheme.text == text and parse(problem, scheme.text.replace(" ", "")) == scheme


def test_a_matrix_instruction_covers_points_of_every_dim_it_names():
    problem = matmul(m=256, n=512, k=64)
    nest = lower(parse(problem, "T(m,2)@block T(n,2) S(c) T(m,2)@warpgroup T(k,2) U(k,2) M(m64n256k16)"))
    register, base, path = list(visits(nest, dict.fromkeys(problem.extents, 0)))[-1]
    assert register.extents == {"m": 64, "n": 256, "k": 32} and base == {"m": 192, "n": 256, "k": 32}
    assert [loop.step for loop in path] == [128, 256, 64, 32]
    with pytest.raises(SchemeError, match="cover 128 points of dim m, which has 256"):
        parse(problem, "T(m,2)@block T(n,2) S(c) T(k,4) M(m64n256k16)")
    with pytest.raises(SchemeError, match="loops over an output dim inside it"):
        parse(problem, "T(m,2)@block T(n,2) S(c) T(m,2) T(k,4) M(m64n256k16)")


def test_white_space_is_free_and_lambda_has_an_ascii_form():
    loose = GOOD.replace("T(h,10)", " L ( h ,1x4+1x6 )").replace("U(w,2)", "U(w,2)U(h,lambda)")
    assert parse(CONV, loose).text == "L(h, 1x4 + 1x6) T(w,5) S(y) T(c,8) T(r,3) T(s,3) U(w,2) U(h,λ) U(k,2) V(k,16)"


@st.composite
def problems(draw):
    if draw(st.booleans()):
        return matmul(m=draw(st.integers(1, 12)), n=draw(st.integers(1, 20)), k=draw(st.integers(1, 12)))
    small = st.integers(1, 3)
    r, s = draw(small), draw(small)
    return conv2d(
        n=draw(st.integers(1, 2)),
        c=draw(st.integers(1, 4)),
        h=draw(st.integers(r, 8)),
        w=draw(st.integers(s, 8)),
        k=draw(st.integers(1, 12)),
        r=r,
        s=s,
        stride=(draw(small), draw(small)),
        padding=tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in "hw"),
    )


@st.composite
def schemes(draw):
    """A random valid scheme: random factorisations and compositions of every dim, in a random legal order."""
    problem = draw(problems())
    lanes = draw(st.sampled_from((None, 1, 4, 8)))
    loops, unrolls = [], []
    for dim, extent in problem.dims:
        left = -(-extent // lanes) if lanes and dim == problem.vector_dim else extent
        if dim not in problem.reductions and draw(st.booleans()):
            part = draw(st.sampled_from(divisors(left)))
            chosen = draw(st.sampled_from(list(compositions(part, range(1, part + 1)))))
            loops.append(Lambda(dim, chosen.branches))
            unrolls.append(Unroll(dim, None))
            left //= part // chosen.repeat
        for _ in range(draw(st.integers(0, 2))):
            factor = draw(st.sampled_from(divisors(left)))
            left //= factor
            if draw(st.booleans()):
                unrolls.append(Unroll(dim, factor))
            else:
                loops.append(Tile(dim, factor))
        loops.append(draw(st.sampled_from((Rest(dim), Tile(dim, left)))))
    loops = draw(st.permutations(loops))
    for rest in [s for s in loops if isinstance(s, Rest)]:
        first = next(i for i, s in enumerate(loops) if s.dim == rest.dim)
        loops.remove(rest)
        loops.insert(first, rest)
    for i, loop in enumerate(loops):
        if not isinstance(loop, Tile) or loop.dim in problem.reductions:
            break
        loops[i] = Tile(loop.dim, loop.trips, "core")
        if draw(st.booleans()):
            break
    if draw(st.booleans()):
        last = max(i for i, s in enumerate(loops) if s.dim not in problem.reductions)
        loops.insert(draw(st.integers(last + 1, len(loops))), Stage(problem.output.name))
    if draw(st.booleans()):
        bound = sum(getattr(s, "worker", None) == "core" for s in loops)
        loops.insert(draw(st.integers(bound, len(loops))), Stage(problem.vector.name, draw(st.integers(1, 3))))
    vector = [Vector(problem.vector_dim, lanes)] if lanes else []
    return Scheme(problem, (*loops, *draw(st.permutations(unrolls)), *vector))


@settings(max_examples=300)
@given(schemes())
def test_the_text_of_a_scheme_parses_back_to_it(scheme):
    assert parse(scheme.problem, scheme.text) == scheme
    assert parse(scheme.problem, scheme.text.replace(" ", "").replace("λ", "lambda")) == scheme


# ---- composition


def test_compositions_of_20_by_7_and_3():
    assert list(compositions(20, (7, 3))) == [Composition(((2, 3), (2, 7)), 1), Composition(((1, 3), (1, 7)), 2)]


def test_a_size_that_divides_needs_no_partner():
    assert Composition(((1, 4),), 5) in list(compositions(20, (4, 7)))


@given(st.integers(1, 60), st.sets(st.integers(1, 15), min_size=1, max_size=4))
def test_compositions_are_exact_complete_and_distinct(extent, sizes):
    found = list(compositions(extent, sizes))
    assert len(set(found)) == len(found)
    assert all(c.extent == extent and set(c.sizes) <= sizes and min(n for n, _ in c.branches) > 0 for c in found)
    pairs = {(a, s, b, t, m) for m in divisors(extent) for s in sizes for t in sizes if s < t
             for a in range(1, extent // (m * s) + 1) for b in range(1, extent // (m * t) + 1)
             if (a * s + b * t) * m == extent}  # fmt: skip
    assert {(*c.branches[0], *c.branches[1], c.repeat) for c in found if len(c.branches) == 2} == pairs


@given(st.integers(1, 60), st.sets(st.integers(1, 15), min_size=1, max_size=4), st.integers(1, 3))
def test_a_limit_per_pair_keeps_those_that_use_the_large_size_most(extent, sizes, limit):
    every, kept = list(compositions(extent, sizes)), list(compositions(extent, sizes, per_pair=limit))
    groups = {}
    for found in every:
        groups.setdefault((found.sizes, found.repeat), []).append(found)
    for group in groups.values():
        most = sorted(group, key=lambda found: found.branches[-1][0], reverse=True)[:limit]
        assert [found for found in kept if (found.sizes, found.repeat) == (most[0].sizes, most[0].repeat)] == most
    assert set(kept) <= set(every)


def test_a_limit_per_pair_makes_a_long_prime_extent_quick():
    # Of these sizes 100003 has 366866 compositions, which take a third of a second.
    took = []
    for _ in range(3):
        start = perf_counter()
        kept = list(compositions(100003, range(1, 15), per_pair=2))
        took.append(perf_counter() - start)
    assert min(took) < 0.1
    assert all(found.extent == 100003 for found in kept) and len(kept) <= 1 + 2 * (14 * 13 // 2)


@given(st.integers(1, 3000))
def test_divisors_are_all_and_in_rising_order(number):
    assert divisors(number) == tuple(d for d in range(1, number + 1) if number % d == 0)


# ---- loop nests


def visits(nodes, base, path=()):
    """Every register tile a nest visits: (its node, its first point, the loops around it)."""
    for node in nodes:
        if isinstance(node, Register):
            yield node, base, path
        elif isinstance(node, Loop):
            for i in range(node.trips):
                inner = {**base, node.dim: base[node.dim] + node.start + i * node.step}
                yield from visits(node.body, inner, (*path, node))
        else:
            yield from visits(node.body, base, path)


@settings(max_examples=200)
@given(schemes())
def test_a_nest_covers_every_point_exactly_once(scheme):
    extents = scheme.problem.extents
    vector_dim = scheme.problem.vector_dim
    covered = {**extents, vector_dim: scheme.units[vector_dim] * scheme.lanes}
    assert covered[vector_dim] - extents[vector_dim] < scheme.lanes
    count = np.zeros(tuple(covered.values()), dtype=np.int32)
    seen = {}
    found = list(visits(lower(scheme), dict.fromkeys(extents, 0)))
    for register, base, path in found:
        assert all(0 <= base[d] and base[d] + register.extents[d] <= covered[d] for d in extents)
        count[tuple(slice(base[d], base[d] + register.extents[d]) for d in extents)] += 1
        for dim in extents:
            seen.setdefault((path, dim), set()).add(base[dim])
    assert (count == 1).all()
    assert all(starts(path, dim) == tuple(sorted(positions)) for (path, dim), positions in seen.items())
    assert {register.points for register, _, _ in found} == {
        tuple((d, n * (scheme.lanes if d == vector_dim else 1)) for d, n in tile.items()) for tile in scheme.tiles
    }


def test_a_scheme_is_shown_loop_by_loop():
    scheme = parse(matmul(m=12, n=20, k=5), "T(n,1)@core L(m, 1x5 + 1x7) S(c) R(k) U(m,λ) U(n,2) V(n,16)")
    assert show(scheme).splitlines() == [
        "for n in 1 steps of 32:  on cores",
        "  for m in 1 steps of 5:",
        "    with the tile of c in registers:",
        "      for k in 5 steps of 1:",
        "        register tile 5m × 32n",
        "  for m in 1 steps of 7 from 5:",
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


# ---- task maps


@st.composite
def task_maps(draw, kinds=("repeat", "spatial")):
    axes = draw(st.integers(1, 3))
    shapes = st.tuples(*[st.integers(1, 3)] * axes)
    return axes, draw(st.lists(st.tuples(st.sampled_from(kinds), shapes), min_size=1, max_size=3))


@given(task_maps())
def test_workers_multiply_and_every_task_is_done_once(drawn):
    _, atoms = drawn
    whole = TaskMap(tuple(atoms))
    assert whole.workers == prod(prod(shape) for kind, shape in atoms if kind == "spatial")
    done = [task for worker in range(whole.workers) for task in whole.tasks(worker)]
    assert sorted(done) == sorted(product(*map(range, whole.shape)))


@given(st.data())
def test_composition_nests_the_inner_map_in_the_outer(data):
    axes, outer = data.draw(task_maps())
    shapes = st.tuples(*[st.integers(1, 3)] * axes)
    inner = data.draw(st.lists(st.tuples(st.sampled_from(("repeat", "spatial")), shapes), min_size=1, max_size=2))
    f, g = TaskMap(tuple(outer)), TaskMap(tuple(inner))
    assert (f @ g).workers == f.workers * g.workers
    for worker in range((f @ g).workers):
        assert (f @ g).tasks(worker) == tuple(
            tuple(t * e + i for t, e, i in zip(task, g.shape, step))
            for task in f.tasks(worker // g.workers)
            for step in g.tasks(worker % g.workers)
        )


@given(task_maps(kinds=("spatial",)))
def test_the_c_text_of_an_index_is_the_index(drawn):
    axes, atoms = drawn
    whole = TaskMap(tuple(atoms))
    for worker in range(whole.workers):
        text = [whole.index(axis, "worker").replace("/", "//") for axis in range(axes)]
        assert (tuple(eval(t, {"worker": worker}) for t in text),) == whole.tasks(worker)


def test_task_maps_refuse_what_they_cannot_do():
    assert (repeat(2, 2) @ spatial(1, 2)).tasks(1) == ((0, 1), (0, 3), (1, 1), (1, 3))
    for bad in (lambda: TaskMap(()), lambda: TaskMap((("grid", (1,)),)), lambda: spatial(2) @ spatial(2, 2)):
        with pytest.raises(ValueError):
            bad()
    for bad in (lambda: spatial(0), lambda: spatial(2).tasks(2), lambda: repeat(2).index(0, "w")):
        with pytest.raises(ValueError):
            bad()
