"""What PyTorch's conv2d and conv1d take, against PyTorch itself, which shares nothing with us: exact on
small integers.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.reference.oracle import reference
from cpu.runtime.compiler.toolchain import find_compiler
from search import generate_conv
from tests.support.kernels.pytorch_cases import (
    CASES,
    CONVOLUTIONS,
    PRODUCTS,
    RECORDED,
    arrays,
    digest,
    recorded,
    whole_numbers,
)
from tests.support.sampled import examples
from tiling.operators import LAYOUTS, conv2d

torch = pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")


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


def options_of(case):
    return {name: case[name] for name in ("stride", "padding", "dilation", "groups", "layout") if name in case}


# The epilogues of tests.support.kernels.pytorch_cases, in PyTorch's words.
EPILOGUES = {
    "relu(y + b)": lambda y, b: torch.relu(y + b),
    "relu(y + b + z)": lambda y, b, z: torch.relu(y + b + z),
    "relu6(y*s[k] - b)": lambda y, s, b: torch.nn.functional.relu6(y * s - b),
    "clamp(z - y, -9, 20)": lambda y, z: torch.clamp(z - y, -9, 20),
}


def fused_by_pytorch(case, y, *beside):
    tensors = (torch.from_numpy(array.astype(np.float64)) for array in (y, *beside))
    return EPILOGUES[case["epilogue"]](*tensors).numpy() if "epilogue" in case else y


def product_by_pytorch(a, b, transpose_a=False, transpose_b=False):
    a, b = (torch.from_numpy(array.astype(np.float64)) for array in (a, b))
    return torch.matmul(a.mT if transpose_a else a, b.mT if transpose_b else b).numpy()


@pytest.mark.slow
def test_what_is_recorded_is_pytorchs(update_golden):
    found = {}
    for name, case in CONVOLUTIONS.items():
        x, w, *beside = arrays(case)
        y = by_pytorch(x, w, one_dimensional="h" not in case, **options_of(case))
        found[name] = digest(fused_by_pytorch(case, y, *beside))
    for name, case in PRODUCTS.items():
        a, b, *beside = arrays(case)
        y = product_by_pytorch(a, b, *(case.get(name, False) for name in ("transpose_a", "transpose_b")))
        found[name] = digest(fused_by_pytorch(case, y, *beside))
    if update_golden:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert recorded() == found


@pytest.mark.slow
def test_an_epilogue_in_the_layout_of_pytorch():
    case = CASES["asymmetric padding"] | {"layout": "nchw"}
    x, w = arrays(case)
    y = by_pytorch(x, w, **options_of(case))
    b, z = whole_numbers(y.shape[1:2], seed=3), whole_numbers(y.shape, seed=4)
    kernel = generate_conv(**case, epilogue="relu(y + b) - z", threads=2 if find_compiler().openmp else 1)
    assert np.array_equal(kernel(x, w, b, z), np.maximum(y + b[:, None, None], 0) - z)


@st.composite
def cases(draw):
    """Any convolution that both take."""
    groups, c, k = draw(st.sampled_from((1, 1, 2, 3, 5))), draw(st.integers(1, 20)), draw(st.integers(1, 40))
    if draw(st.integers(0, 5)) == 0:
        c = k = draw(st.sampled_from((2, 4, 8)))
    if draw(st.integers(0, 3)) == 0:
        groups, c, k = k, 1, draw(st.integers(1, 2))  # depthwise, or with a channel multiplier
    taps, dilation, stride = (draw(st.tuples(st.integers(1, high), st.integers(1, high))) for high in (5, 3, 3))
    sides = draw(st.tuples(*[st.tuples(st.integers(0, 4), st.integers(0, 4))] * 2))
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
        layout=draw(st.sampled_from(LAYOUTS)),
    )


@pytest.mark.slow
@examples(200)
@given(cases())
def test_the_oracle_agrees_with_pytorch(case):
    x, w = arrays(case)
    assert np.array_equal(reference(conv2d(**case), x, w), by_pytorch(x, w, **options_of(case)))


@pytest.mark.slow
@settings(max_examples=15)
@given(cases())
def test_any_convolution(case):
    x, w = arrays(case)
    assert np.array_equal(generate_conv(**case, isa="portable")(x, w), by_pytorch(x, w, **options_of(case)))
