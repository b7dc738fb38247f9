"""What becomes part of a product: activations that several nodes spell out, and their numbers."""

from math import pi, sqrt

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from graph.library.build import fused
from graph.onnx.read import read
from graph.passes.idioms import shortened
from tests.support.models.onnx_models import model, whole
from tiling.epilogue import parse
from tiling.operators import matmul
from tiling.value import Applied, Constant, EpilogueArray, Sum

node = helper.make_node


def scalar(number):
    return np.array(number, np.float32)


def activated(nodes, constants):
    """x @ w + b, and then what `nodes` make of p."""
    constants = {"w": whole(1, 5, 8), "b": whole(2, 8), **constants}
    return model([node("Gemm", ["x", "w", "b"], ["p"], "first"), *nodes], {"x": [3, 5]}, ["y"], constants)


SILU = activated([node("Sigmoid", ["p"], ["s"], "sigmoid"), node("Mul", ["s", "p"], ["y"], "last")], {})
GELU = activated(
    [
        node("Div", ["p", "root"], ["a"], "divided"),
        node("Erf", ["a"], ["e"], "erf"),
        node("Add", ["e", "one"], ["f"], "added"),
        node("Mul", ["p", "f"], ["g"], "times"),
        node("Mul", ["g", "half"], ["y"], "last"),
    ],
    {"root": scalar(sqrt(2)), "one": scalar(1), "half": scalar(0.5)},
)
GELU_TANH = activated(
    [
        node("Pow", ["p", "three"], ["c"], "cube"),
        node("Mul", ["c", "small"], ["d"], "scaled"),
        node("Add", ["p", "d"], ["e"], "added"),
        node("Mul", ["e", "root"], ["f"], "rooted"),
        node("Tanh", ["f"], ["t"], "tanh"),
        node("Add", ["t", "one"], ["u"], "plus"),
        node("Mul", ["p", "half"], ["h"], "halved"),
        node("Mul", ["h", "u"], ["y"], "last"),
    ],
    {
        "three": scalar(3),
        "small": scalar(0.044715),
        "root": scalar(sqrt(2 / pi)),
        "one": scalar(1),
        "half": scalar(0.5),
    },
)


@pytest.mark.parametrize(
    ("given", "epilogue"),
    [(SILU, "silu(y+e0[n])"), (GELU, "gelu(y+e0[n])"), (GELU_TANH, "gelu_tanh(y+e0[n])")],
    ids=["silu", "gelu", "gelu_tanh"],
)
def test_an_activation_of_several_nodes_is_one_function_of_the_product(given, epilogue):
    (step,) = fused(read(given)).steps
    found = step.work.epilogue
    (array,) = found.arrays
    assert str(found).replace(array.name, "e0") == epilogue
    x = np.random.default_rng(3).normal(0, 1, (3, 5)).astype(np.float32)
    (wanted,) = ReferenceEvaluator(given).run(None, {"x": x})
    (y,) = compile_model(given)(x)
    assert np.allclose(y, wanted, rtol=1e-5, atol=1e-6)


def test_other_numbers_are_another_function():
    almost = activated(
        [node("Sigmoid", ["p"], ["s"], "sigmoid"), node("Mul", ["s", "two"], ["y"], "last")], {"two": scalar(2)}
    )
    (step,) = fused(read(almost)).steps
    assert "silu" not in str(step.work.epilogue) and "sigmoid" in str(step.work.epilogue)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("sigmoid(y)*y", "silu(y)"),
        ("relu(sigmoid(y + b)*(y + b))", "relu(silu(y+b[n]))"),
        ("y*sigmoid(b)", "y*sigmoid(b[n])"),
        ("sigmoid(y + b)*y", "sigmoid(y+b[n])*y"),
        ("0.5*y*(1+tanh(0.797884561*(y+0.044715*y*y*y)))", "gelu_tanh(y)"),
        ("0.5*y*(1+tanh(0.797884561*(y+0.044717*y*y*y)))", "0.5*y*(1+tanh(0.797884561*(y+0.044717*y*y*y)))"),
    ],
)
def test_idioms_are_found_wherever_they_stand(text, short):
    assert str(shortened(parse(matmul(m=3, n=4, k=5), text).value)) == short


def test_factors_stand_in_any_order():
    b = EpilogueArray("b", ("n",))
    erf = Applied("erf", (Applied("div", (b, Constant(sqrt(2)))),))
    assert shortened(
        Applied("mul", (Applied("mul", (Applied("add", (erf, Constant(1.0))), Constant(0.5))), b))
    ) == Applied("gelu", (b,))
    assert shortened(Applied("mul", (Applied("add", (erf, Constant(1.0))), Sum()))) != Applied("gelu", (b,))


def test_a_scalar_that_is_known_is_a_number_of_the_text():
    given = model([node("Mul", ["x", "c"], ["y"], "scaled")], {"x": [4, 4]}, ["y"], {"c": scalar(-2.5)})
    (step,) = read(given).steps
    assert step.inputs == ("x",) and "-2.5" in str(step.work.program)
    x = whole(4, 4, 4)
    assert compile_model(given)(x)[0].tolist() == (x * -2.5).tolist()


def test_constants_that_the_reference_cannot_compute_are_computed_by_the_program():
    data, index = whole(5, 1, 6), np.array([[4, 0, 5]], np.int64)
    nodes = [node("GatherElements", ["data", "index"], ["g"], "gather", axis=1), node("Add", ["x", "g"], ["y"], "last")]
    given = model(nodes, {"x": [1, 3]}, ["y"], {"data": data, "index": index})
    x = whole(6, 1, 3)
    assert compile_model(given)(x)[0].tolist() == (x + np.take_along_axis(data, index, 1)).tolist()


def test_the_first_column_of_an_array_is_no_array_of_an_epilogue():
    """It begins where the array begins, and its elements are further apart than those of a bias."""
    nodes = [
        node("MatMul", ["x", "w"], ["p"], "product"),
        node("Abs", ["p"], ["q"], "size"),  # two steps read the product: these become one, and so does the column
        node("Mul", ["p", "q"], ["r"], "times"),
        node("Gather", ["z", "first"], ["s"], "column", axis=1),
        node("Add", ["r", "s"], ["y"], "sum"),
    ]
    given = model(nodes, {"x": [3, 5], "z": [4, 8]}, ["y"], {"w": whole(1, 5, 4), "first": np.array(0)})
    feeds = {"x": whole(2, 3, 5), "z": whole(3, 4, 8)}
    (y,), (wanted,) = compile_model(given)(feeds), ReferenceEvaluator(given).run(None, feeds)
    assert y.tolist() == wanted.tolist()
