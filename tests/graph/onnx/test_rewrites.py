"""Operators that are computed by others: the same numbers, and a product's kernel."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from graph.library.build import fused
from graph.model.language import ModelError
from graph.onnx.read import read
from tests.support.models.onnx_models import model, whole
from tests.support.sampled import examples
from tiling.problem import Problem


def transposed(bias=True, size=2, stride=2, channels=3, outputs=5, **attributes):
    """A transposed convolution of 4 x 6 pixels."""
    constants = {"w": whole(1, channels, outputs, size, size, most=3)}
    constants |= {"b": whole(2, outputs)} if bias else {}
    node = helper.make_node("ConvTranspose", ["x", *constants], ["y"], "n", strides=[stride] * 2, **attributes)
    return model([node], {"x": [2, channels, 4, 6]}, ["y"], constants)


def kinds_of(proto):
    """The attributes of a transposed convolution, its taps, and whether it has a bias."""
    (node,) = proto.graph.node
    return {*(each.name for each in node.attribute), proto.graph.initializer[0].dims[-1], node.input[-1]}


def products(proto):
    return [step.work for step in fused(read(proto)).steps if isinstance(step.work, Problem)]


@pytest.mark.exhaustive(proto=kinds_of)
@pytest.mark.parametrize(
    "proto",
    [
        transposed(),
        transposed(bias=False),
        transposed(size=3, stride=3, outputs=4),
        transposed(auto_pad="SAME_UPPER"),
        transposed(channels=1, outputs=1),
    ],
)
def test_windows_that_do_not_meet_are_a_product(proto):
    assert len(products(proto)) == 1
    check(proto)


@pytest.mark.exhaustive(proto=kinds_of)
@pytest.mark.parametrize(
    "proto, count",
    [
        (transposed(size=4, pads=[1, 1, 1, 1]), 1),
        (transposed(size=4, pads=[0, 1, 2, 1], bias=False), 1),
        (transposed(size=3), 4),  # phases of 2 x 2, 2 x 1, 1 x 2 and 1 x 1 taps
        (transposed(size=3, pads=[1, 1, 1, 1], output_padding=[1, 1]), 4),
        (transposed(pads=[1, 0, 0, 1]), 1),
        (transposed(output_padding=[1, 1]), 1),
        (transposed(output_shape=[8, 12]), 1),
        (transposed(output_shape=[9, 13]), 1),  # points that no window reaches
        (transposed(size=3, stride=1, dilations=[2, 1], pads=[1, 1, 1, 1]), 1),
        (transposed(size=1, stride=1), 1),
    ],
)
def test_windows_that_meet_are_a_product_for_each_kind_of_phase(proto, count):
    assert len(products(proto)) == count
    check(proto)


@pytest.mark.slow
@pytest.mark.parametrize(
    "proto",
    [
        transposed(stride=3),  # gaps between them
        transposed(dilations=[2, 2]),
        transposed(size=3, pads=[2, 2, 2, 2]),  # a phase that the first point of x does not reach
        transposed(size=4, pads=[0, 0, 5, 5]),
        transposed(size=6, stride=5),  # 25 kinds of phases
    ],
)
def test_other_windows_are_a_program(proto):
    assert not products(proto)
    check(proto)


@pytest.mark.slow
@examples(25, deadline=None)
@given(st.data())
def test_any_transposed_convolution_is_what_the_standard_defines(data):
    axes = data.draw(st.integers(1, 2))

    def each(low, high):
        return data.draw(st.tuples(*[st.integers(low, high)] * axes))

    points, taps, strides, dilations, before, after = (
        each(1, 4), each(1, 5), each(1, 3), each(1, 2), each(0, 2), each(0, 2)
    )  # fmt: skip
    extra = tuple(data.draw(st.integers(0, stride - 1)) for stride in strides)
    group, mine, outputs = (data.draw(st.integers(1, high)) for high in (2, 3, 3))
    full = [s * (e - 1) + d * (t - 1) + 1 + o for e, t, s, d, o in zip(points, taps, strides, dilations, extra)]
    assume(all(length > low + high for length, low, high in zip(full, before, after)))
    w, b, x = whole(1, group * mine, outputs, *taps), whole(2, group * outputs), whole(3, 2, group * mine, *points)
    node = helper.make_node(
        "ConvTranspose",
        ["x", "w", "b"],
        ["y"],
        "n",
        strides=strides,
        dilations=dilations,
        pads=(*before, *after),
        output_padding=extra,
        group=group,
    )
    proto = model([node], {"x": x.shape}, ["y"], {"w": w, "b": b})
    wanted = np.zeros((2, group * outputs, *full), np.float32)
    for point, tap in product(np.ndindex(*points), np.ndindex(*taps)):
        at = tuple(s * i + d * t for s, i, d, t in zip(strides, point, dilations, tap))
        for one in range(group):
            sums = (
                x[(slice(None), slice(one * mine, (one + 1) * mine), *point)]
                @ w[(slice(one * mine, (one + 1) * mine), slice(None), *tap)]
            )
            wanted[(slice(None), slice(one * outputs, (one + 1) * outputs), *at)] += sums
    inside = tuple(slice(low, length - high) for low, high, length in zip(before, after, full))
    wanted = (wanted + b.reshape(-1, *[1] * axes))[(slice(None), slice(None), *inside)]
    (y,) = compile_model(proto)(x)
    assert y.shape == wanted.shape and np.array_equal(y, wanted)


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_a_kernel_shape_of_other_weights_is_refused(op):
    node = helper.make_node(op, ["x", "w"], ["y"], "n", kernel_shape=[2, 2])
    with pytest.raises(ModelError, match=r"kernel_shape=\[2, 2\], and the weights have 3 x 3 taps"):
        read(model([node], {"x": [2, 3, 4, 6]}, ["y"], {"w": whole(1, 3, 3, 3, 3)}))


def test_a_bias_of_another_length_is_refused_by_the_nodes_name():
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], "n", strides=[2, 2])
    with pytest.raises(ModelError, match=r"node n \(ConvTranspose\)"):
        read(model([node], {"x": [2, 3, 4, 6]}, ["y"], {"w": whole(1, 3, 5, 2, 2), "b": whole(2, 4)}))


def test_weights_without_elements_are_no_product():
    assert read(transposed(outputs=0, bias=False)).arrays["y"].shape == (2, 0, 8, 12)


def check(proto):
    x = whole(7, *[dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim], most=3)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    (y,) = compile_model(proto)(x)
    assert y.shape == wanted.shape and np.array_equal(y, wanted)
