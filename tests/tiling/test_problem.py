"""Problems: extents, groups, padding, windows, and what cannot be computed."""

from dataclasses import fields, replace
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiling.arrays.access import access_of
from tiling.epilogue import fused
from tiling.operators import conv2d, in_layout, in_order, in_wider, matmul, of_one_image
from tiling.problem import ProblemError
from tiling.rewrite.grouped import beside_each_other, grouped2d
from tiling.tensor import Window
from tiling.text.shapes import canonical, parse_shape, problem_of


def test_output_extents_follow_padding_stride_and_dilation():
    p = conv2d(n=2, c=3, h=11, w=9, k=5, r=3, s=2, stride=(2, 3), padding=((1, 2), (0, 1)), dilation=(2, 1))
    assert p.extents == {"n": 2, "k": 5, "c": 3, "h": (11 + 3 - 5) // 2 + 1, "w": (9 + 1 - 2) // 3 + 1, "r": 3, "s": 2}
    assert [str(index) for index in p.broadcast.indices] == ["n", "2*h + 2*r - 1", "3*w + s", "c"]
    assert (p.broadcast.shape, p.vector.shape, p.output.shape) == ((2, 11, 9, 3), (5, 3, 3, 2), (2, 5, 3, 5))
    assert p.flops == 2 * prod(p.extents.values()) and p.reduction_length == 3 * 3 * 2
    assert p.row_dims == ("n", "h", "w") and p.broadcast.stride("h") == 2 * 9 * 3 and p.broadcast.stride("k") == 0


def test_a_layout_is_the_order_of_axes():
    sizes = dict(n=2, c=6, h=11, w=9, k=4, r=3, s=2, groups=2, padding=1)
    last, first = conv2d(**sizes), conv2d(**sizes, layout="nchw")
    assert (first.broadcast.shape, first.vector.shape, first.output.shape) == (
        (2, 6, 11, 9),
        (4, 3, 3, 2),
        (2, 4, 11, 10),
    )
    assert [str(index) for index in first.output.indices] == ["n", "2*g + k", "h", "w"]
    assert (last.layout, first.layout) == ("nhwc", "nchw") and in_layout(first, "nhwc") == last
    assert (
        access_of(first).transposed_output
        and not access_of(last).transposed_output
        and not access_of(conv2d(**sizes | dict(h=1, w=2, padding=(1, 0)), layout="nchw")).transposed_output
    )
    assert first.windows == last.windows and first.output_axes == ("n", "k", "h", "w")


def test_images_may_be_the_first_channels_of_wider_ones():
    sizes = dict(n=2, c=6, h=11, w=9, k=4, r=3, s=2, padding=1)
    plain, p = conv2d(**sizes), in_wider(conv2d(**sizes), c_of=10, k_of=7)
    assert (p.broadcast.shape, p.output.shape, p.written) == ((2, 11, 9, 10), (2, 11, 10, 7), (2, 11, 10, 4))
    assert p.output.stride("w") == 7 and p.broadcast.stride("h") == 9 * 10 and p.extents == plain.extents
    assert p.windows == plain.windows and p.padded_dims == plain.padded_dims and plain.written == plain.output.shape
    added = fused(p, "relu(y + b[k] + z)")
    assert [array.shape for array in added.epilogue_arrays] == [(4,), (2, 11, 10, 4)]
    grouped = in_wider(conv2d(**sizes | dict(groups=2)), k_of=9)
    for problem in (p, added, grouped, in_wider(plain, k_of=4), in_wider(conv2d(**sizes | dict(k=6, groups=6)), 8, 8)):
        assert parse_shape(canonical(problem)) == problem
    assert canonical(in_wider(plain, c_of=6)) == canonical(plain) and "c_of=10,k_of=7" in canonical(p)


@pytest.mark.parametrize("change, width", [({}, 3), ({"layout": "nchw"}, 8), ({"dtype": "bf16"}, 8)])
def test_what_does_not_lie_in_wider_images_is_refused(change, width):
    with pytest.raises(ProblemError, match=f"k_of={width}"):
        in_wider(conv2d(c=6, h=11, w=9, k=4, r=3, s=2, **change), k_of=width)


def test_matmul_is_the_same_kind_of_problem():
    p = matmul(m=4, n=6, k=8)
    assert (p.broadcast.shape, p.vector.shape, p.output.shape) == ((4, 8), (8, 6), (4, 6))
    assert p.row_dims == ("m",) and p.vector_dim == "n" and p.reductions == ("k",) and p.windows == ()
    assert p.vector.stride("k") == 6 and p.tensor("b") is p.vector


def test_the_kinds_of_dims_follow_from_the_roles():
    p = matmul(m=4, n=6, k=8, batch=3)
    assert (p.row_dims, p.looped_dims, p.vector_dim) == (("m",), ("l",), "n")
    a, b, c = p.tensors
    exchanged = replace(p, tensors=(replace(a, role="vector"), replace(b, role="broadcast"), c))
    assert (exchanged.row_dims, exchanged.looped_dims, exchanged.vector_dim) == (("n",), ("l",), "m")
    assert "vector_dim" not in {field.name for field in fields(p)}  # so nobody can say otherwise


def test_a_product_may_have_its_axes_in_any_order():
    plain = matmul(m=5, n=6, k=8, batch=3)
    p = in_order(plain, {"a": "ml7k", "b": "nlk", "c": "mln9"})
    assert (p.broadcast.shape, p.vector.shape, p.output.shape) == ((5, 7, 8), (6, 3, 8), (5, 3, 9))
    assert p.broadcast.stride("m") == 56 and p.output.stride("l") == 9 and p.written == (5, 3, 6)
    assert p.row_dims == plain.row_dims and p.looped_dims == ("l",)
    assert "order_a=ml7k,order_b=nlk,order_c=mln9" in canonical(p)
    assert problem_of("matmul", canonical(p)) == p
    assert in_order(plain, {"a": "lkm", "b": "lkn"}) == matmul(m=5, n=6, k=8, batch=3, transpose_a=True)
    for wrong in ({"a": "mk"}, {"a": "mlkk"}, {"b": "l2kn"}, {"d": "lmn"}, {"c": "lmn "}, {"a": ""}):
        with pytest.raises(ProblemError, match=next(iter(wrong))):
            in_order(plain, wrong)


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
        ({"layout": "nchv"}, "layout='nchv' must be 'nhwc' or 'nchw'"),
        ({"layout": None}, "layout=None must be"),
    ],
)
def test_a_problem_that_cannot_be_computed_is_refused(change, named):
    with pytest.raises(ProblemError) as raised:
        conv2d(**{**dict(c=3, h=7, w=7, k=4, r=3, s=3), **change})
    assert named in str(raised.value)


@pytest.mark.parametrize("which", ["transpose_a", "transpose_b"])
def test_whether_a_product_is_transposed_is_true_or_false(which):
    for value in ("no", "True", 2, None, []):
        with pytest.raises(ProblemError, match=f"matmul: {which}=.* must be True or False"):
            matmul(m=4, n=6, k=8, **{which: value})
    for value in (True, 1, np.True_, np.int64(1)):
        assert matmul(m=4, n=6, k=8, **{which: value}) == matmul(m=4, n=6, k=8, **{which: True})


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
    assert access_of(p).lanewise and [(window.dim, window.tap) for window in p.windows] == [("h", "r"), ("w", "s")]
    assert parse_shape(canonical(p)) == p
    first = in_layout(p, "nchw")
    assert first.broadcast.shape == (2, 20, 9, 9) and parse_shape(canonical(first)) == first
    access = access_of(first)
    assert access.transposed_output and access.transposes_x and not access_of(p).transposes_x
    assert access.as_read.broadcast == p.broadcast and access.as_read.output == first.output
    assert access_of(p).as_read == p and access_of(access.as_read).as_read == access.as_read
    for other in (conv2d(c=20, k=40, groups=20, h=9, w=9, r=3, s=3), conv2d(c=1, k=1, groups=1, h=9, w=9, r=3, s=3)):
        assert other.op == "conv2d" and not access_of(other).lanewise and parse_shape(canonical(other)) == other


def test_few_channels_of_several_groups_are_lanes_of_one_vector():
    groups = fused(conv2d(n=2, c=20, k=20, groups=5, h=9, w=9, r=3, s=5, padding=1, stride=2), "relu(y + b)")
    p = beside_each_other(groups, 16)
    assert p.op == "grouped2d" and p.extents == {"n": 2, "k": 20, "c": 4, "h": 5, "w": 4, "r": 3, "s": 5}
    assert (p.vector_dim, p.reductions, p.row_dims, p.looped_dims) == ("k", ("c", "r", "s"), ("n", "h", "w"), ())
    assert [t.shape for t in p.tensors] == [t.shape for t in groups.tensors] and p.epilogue_arrays[0].shape == (20,)
    assert (
        access_of(p).lanewise
        and access_of(p).exchange_dim == "c"
        and p.broadcast.stride("c") == 0
        and p.windows == groups.windows
    )
    assert (p.flops, p.reduction_length) == (groups.flops, groups.reduction_length)
    assert problem_of("grouped2d", canonical(p)) == p and canonical(p) == canonical(groups)
    assert access_of(groups).exchange_dim is None


def test_groups_stand_side_by_side_only_where_that_fills_lanes():
    def per_group(c, k, lanes, **options):
        problem = conv2d(c=6 * c, k=6 * k, groups=6, h=5, w=5, r=3, s=3, **options)
        return beside_each_other(problem, lanes).op

    assert [per_group(c, c, 16) for c in (2, 4, 8)] == ["grouped2d"] * 3
    assert per_group(1, 1, 16) == "depthwise2d"
    assert {per_group(c, k, 16) for c, k in ((16, 16), (3, 3), (4, 8), (8, 4), (1, 2), (2, 1))} == {"conv2d"}
    assert [per_group(c, c, 4) for c in (2, 4, 8)] == ["grouped2d", "conv2d", "conv2d"]
    assert [per_group(4, 4, 16, dtype=dtype) for dtype in ("bf16", "int8")] == ["grouped2d"] * 2
    assert per_group(4, 4, 16, layout="nchw") == "conv2d"
    dense = conv2d(c=4, k=4, h=5, w=5, r=3, s=3)
    assert beside_each_other(dense, 16) == dense
    with pytest.raises(ProblemError, match="whose groups have 2, 4, 8 … channels in and as many out"):
        grouped2d(dense)


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
    for tap in range(taps):
        low, high = window.rows_inside(first, count, tap)
        assert 0 <= low <= high <= count
        assert list(range(low, high)) == [row for row in range(count) if inside(window, first + row, tap)]


@pytest.mark.parametrize("layout", ("nhwc", "nchw"))
def test_a_convolution_of_one_of_its_images_is_that_of_one_image(layout):
    sizes = {"c": 4, "h": 9, "w": 7, "k": 8, "r": 3, "s": 3, "padding": 1, "stride": 2, "groups": 2}
    several, one = (fused(in_layout(conv2d(n=n, **sizes), layout), "relu(y + z + b[k])") for n in (5, 1))
    assert of_one_image(several) == one
    assert of_one_image(one) is None


def test_of_wider_arrays_one_image_is_as_wide():
    sizes = {"c": 4, "h": 9, "w": 7, "k": 8, "r": 1, "s": 1}
    several, one = (in_wider(conv2d(n=n, **sizes), c_of=6, k_of=16) for n in (5, 1))
    assert of_one_image(several) == one


def test_a_product_has_no_images():
    assert of_one_image(matmul(m=5, n=6, k=7)) is None
