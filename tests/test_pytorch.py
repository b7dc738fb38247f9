"""What PyTorch's conv2d and conv1d take, against PyTorch itself, which shares nothing with us: exact on small integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.oracle import reference
from cpu.toolchain import find_compiler
from microkernels.isa import ISAS
from search import generate_conv
from tiling.operators import LAYOUTS, conv2d

torch = pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")

ON_EVERY_ISA = [pytest.param(name, marks=pytest.mark.isa(name)) for name in ISAS]

# Arguments of generate_conv. The names say what each line is there for.
CASES = {
    "batch": dict(n=3, c=8, h=9, w=9, k=16, r=3, s=3, padding=1),
    "stride per axis": dict(c=5, h=11, w=13, k=19, r=3, s=2, stride=(3, 2)),
    "dilation per axis": dict(c=4, h=15, w=12, k=17, r=3, s=3, dilation=(4, 2), padding=(2, 1)),
    "stride longer than the kernel": dict(c=6, h=16, w=17, k=18, r=2, s=1, stride=(5, 3)),
    "everything at once": dict(n=2, c=7, h=13, w=12, k=23, r=4, s=3, stride=(2, 3), dilation=(1, 2), padding=(3, 2)),
    "asymmetric padding": dict(c=3, h=8, w=7, k=33, r=3, s=5, padding=((2, 0), (1, 4))),
    "same": dict(c=4, h=9, w=10, k=20, r=4, s=6, padding="same"),
    "same, dilated": dict(c=4, h=9, w=10, k=20, r=3, s=2, dilation=(2, 3), padding="same"),
    "valid": dict(c=4, h=9, w=10, k=20, r=3, s=2, padding="valid"),
    "primes": dict(c=13, h=11, w=7, k=97, r=3, s=3, padding=1),
    "large primes": dict(c=101, h=5, w=5, k=211, r=1, s=1),
    "one channel": dict(c=1, h=9, w=9, k=1, r=3, s=3, padding=1),
    "one output": dict(c=5, h=3, w=3, k=3, r=3, s=3),
    "kernel larger than the image": dict(c=3, h=2, w=3, k=9, r=7, s=5, padding=(3, 1)),
    "kernel as large as the padded image": dict(c=3, h=2, w=2, k=17, r=6, s=6, padding=2),
    "padding wider than kernel and image": dict(c=2, h=1, w=2, k=16, r=2, s=2, padding=4),
    "pointwise": dict(n=2, c=31, h=6, w=5, k=40, r=1, s=1),
    "pointwise, strided and padded": dict(c=12, h=9, w=8, k=24, r=1, s=1, stride=2, padding=1),
    "groups": dict(n=2, c=12, h=7, w=6, k=111, r=3, s=3, padding=1, groups=3),
    "groups of one channel each way but not depthwise": dict(c=6, h=8, w=8, k=18, r=3, s=3, padding=1, groups=6),
    "groups of a few channels": dict(c=64, h=5, w=7, k=32, r=3, s=3, stride=2, padding=1, groups=8),
    "groups, strided, dilated, asymmetric": dict(
        c=10, h=12, w=13, k=35, r=2, s=3, stride=(1, 2), dilation=2, padding=((1, 0), (2, 3)), groups=5
    ),
    "groups of whole vectors": dict(c=32, h=6, w=6, k=64, r=1, s=1, groups=2),
    "depthwise": dict(n=2, c=37, k=37, groups=37, h=9, w=8, r=3, s=3, padding=1),
    "depthwise, strided": dict(c=32, k=32, groups=32, h=13, w=14, r=5, s=5, stride=2, padding=2),
    "depthwise, dilated, asymmetric": dict(
        c=17, k=17, groups=17, h=9, w=12, r=3, s=2, dilation=(2, 4), stride=(1, 2), padding=((0, 3), (2, 1))
    ),
    "depthwise, two channels": dict(c=2, k=2, groups=2, h=7, w=30, r=7, s=7, padding="same"),
    "depthwise, pointwise": dict(c=19, k=19, groups=19, h=5, w=5, r=1, s=1),
    "depthwise with a channel multiplier": dict(c=11, k=33, groups=11, h=8, w=9, r=3, s=3, padding=1, stride=(2, 1)),
    "one row": dict(c=6, h=1, w=30, k=8, r=1, s=9, padding=(0, 4)),
    "one column": dict(c=6, h=30, w=1, k=8, r=9, s=1, padding=(4, 0)),
}
CHANNELS_FIRST = (
    *("everything at once", "asymmetric padding", "primes", "one channel", "one output", "pointwise", "one row", "one column"),
    *("kernel larger than the image", "groups", "depthwise with a channel multiplier"),
)
LINES = {
    "plain": dict(c=5, w=40, k=18, s=7),
    "batch, stride, dilation, padding": dict(n=3, c=5, w=41, k=18, s=3, stride=2, dilation=3, padding=4),
    "depthwise": dict(c=40, k=40, groups=40, w=50, s=9, padding=4),
    "same": dict(c=4, w=17, k=16, s=6, padding="same"),
}


def whole_numbers(shape, seed):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def by_pytorch(x, w, padding=0, one_dimensional=False, layout="nhwc", **options):
    """PyTorch's result for x (N,H,W,C) and w as PyTorch has it, as (N,OH,OW,K); float64, so no sum is rounded.

    With layout="nchw", which is PyTorch's own, x is (N,C,H,W) and so is the result.
    """
    x = torch.from_numpy(x.astype(np.float64))
    x = x if layout == "nchw" else x.permute(0, 3, 1, 2)
    w = torch.from_numpy(w.astype(np.float64))
    if isinstance(padding, tuple):
        (top, bottom), (left, right) = (side if isinstance(side, tuple) else (side, side) for side in padding)
        x, padding = torch.nn.functional.pad(x, (left, right, top, bottom)), 0
    if one_dimensional:
        y = torch.nn.functional.conv1d(x[:, :, 0], w[:, :, 0], padding=padding, **options)[:, :, None]
    else:
        y = torch.nn.functional.conv2d(x, w, padding=padding, **options)
    return (y if layout == "nchw" else y.permute(0, 2, 3, 1)).numpy()


def arrays(case):
    sizes = {"n": case.get("n", 1), "h": case.get("h", 1), "w": case["w"], "c": case["c"]}
    x = whole_numbers([sizes[axis] for axis in case.get("layout", "nhwc")], seed=1)
    channels = case["c"] // case.get("groups", 1)
    return x, whole_numbers((case["k"], channels, case.get("r", 1), case["s"]), seed=2)


def options_of(case):
    return {name: case[name] for name in ("stride", "padding", "dilation", "groups", "layout") if name in case}


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", CASES)
def test_convolutions(name, isa):
    case = CASES[name]
    x, w = arrays(case)
    assert np.array_equal(generate_conv(**case, isa=isa)(x, w), by_pytorch(x, w, **options_of(case)))


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", CHANNELS_FIRST)
def test_convolutions_in_the_layout_of_pytorch(name, isa):
    case = CASES[name] | {"layout": "nchw"}
    x, w = arrays(case)
    assert np.array_equal(generate_conv(**case, isa=isa)(x, w), by_pytorch(x, w, **options_of(case)))


def test_an_epilogue_in_the_layout_of_pytorch():
    case = CASES["asymmetric padding"] | {"layout": "nchw"}
    x, w = arrays(case)
    y = by_pytorch(x, w, **options_of(case))
    b, z = whole_numbers(y.shape[1:2], seed=3), whole_numbers(y.shape, seed=4)
    kernel = generate_conv(**case, epilogue="relu(y + b) - z", threads=2 if find_compiler().openmp else 1)
    assert np.array_equal(kernel(x, w, b, z), np.maximum(y + b[:, None, None], 0) - z)


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", LINES)
def test_one_dimensional_convolutions(name, isa):
    case = LINES[name]
    x, w = arrays(case)
    expected = by_pytorch(x, w, one_dimensional=True, **options_of(case))
    assert np.array_equal(generate_conv(**case, isa=isa)(x, w), expected)


@st.composite
def cases(draw):
    """Any convolution that both take."""
    groups, c, k = draw(st.sampled_from((1, 1, 2, 3, 5))), draw(st.integers(1, 20)), draw(st.integers(1, 40))
    if draw(st.integers(0, 3)) == 0:
        groups, c, k = k, 1, draw(st.integers(1, 2))  # depthwise, or with a channel multiplier
    taps, dilation, stride = (draw(st.tuples(st.integers(1, high), st.integers(1, high))) for high in (5, 3, 3))
    sides = draw(st.tuples(*[st.tuples(st.integers(0, 4), st.integers(0, 4))] * 2))
    layouts = ("nhwc",) if groups > 1 == c == k else LAYOUTS
    least = [max(1, (t - 1) * d + 1 - sum(side)) for t, d, side in zip(taps, dilation, sides)]
    return dict(
        n=draw(st.integers(1, 3)),
        c=c * groups,
        k=k * groups,
        groups=groups,
        h=draw(st.integers(least[0], least[0] + 9)),
        w=draw(st.integers(least[1], least[1] + 9)),
        r=taps[0],
        s=taps[1],
        stride=stride,
        dilation=dilation,
        padding=sides,
        layout=draw(st.sampled_from(layouts)),
    )


@settings(max_examples=200)
@given(cases())
def test_the_oracle_agrees_with_pytorch(case):
    x, w = arrays(case)
    assert np.array_equal(reference(conv2d(**case), x, w), by_pytorch(x, w, **options_of(case)))


@settings(max_examples=15)
@given(cases())
def test_any_convolution(case):
    x, w = arrays(case)
    assert np.array_equal(generate_conv(**case, isa="portable")(x, w), by_pytorch(x, w, **options_of(case)))
