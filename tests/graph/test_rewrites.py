"""Operators that are computed by others: the same numbers, and a product's kernel."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from graph.build import fused
from graph.onnx.read import read
from tests.support.onnx_models import model, whole
from tiling.problem import Problem


def transposed(bias=True, size=2, stride=2, channels=3, outputs=5, **attributes):
    """A transposed convolution of 4 x 6 pixels."""
    constants = {"w": whole(1, channels, outputs, size, size, most=3)}
    constants |= {"b": whole(2, outputs)} if bias else {}
    node = helper.make_node("ConvTranspose", ["x", *constants], ["y"], "n", strides=[stride] * 2, **attributes)
    return model([node], {"x": [2, channels, 4, 6]}, ["y"], constants)


def products(given):
    return [step.work for step in fused(read(given)).steps if isinstance(step.work, Problem)]


@pytest.mark.parametrize(
    "given",
    [
        transposed(),
        transposed(bias=False),
        transposed(size=3, stride=3, outputs=4),
        transposed(auto_pad="SAME_UPPER"),
        transposed(channels=1, outputs=1),
    ],
)
def test_windows_that_do_not_meet_are_a_product(given):
    assert len(products(given)) == 1
    check(given)


@pytest.mark.parametrize(
    "given",
    [
        transposed(size=3),  # they meet
        transposed(stride=3),  # gaps between them
        transposed(pads=[1, 0, 0, 1]),
        transposed(output_padding=[1, 1]),
        transposed(dilations=[2, 2]),
        transposed(output_shape=[8, 12]),
        transposed(size=1, stride=1),
    ],
)
def test_other_windows_are_a_program(given):
    assert not products(given)
    check(given)


def check(given):
    x = whole(7, *[dim.dim_value for dim in given.graph.input[0].type.tensor_type.shape.dim], most=3)
    (wanted,) = ReferenceEvaluator(given).run(None, {"x": x})
    (y,) = compile_model(given)(x)
    assert y.shape == wanted.shape and np.array_equal(y, wanted)
