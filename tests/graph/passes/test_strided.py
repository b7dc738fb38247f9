"""Products read and write arrays where they lie: nothing is split, transposed or scaled first, and all is exact."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from graph.library.build import fused
from graph.onnx.read import read
from tests.support.models.onnx_models import model, whole
from tiling.problem import Problem

node = helper.make_node
TOKENS, HEADS, SIZE = 10, 3, 16
WIDTH = HEADS * SIZE


def attention(joined, scale):
    """Attention without softmax. joined: queries, keys and values are one product, which is split."""
    constants = {
        "heads": np.array([1, TOKENS, HEADS, SIZE]),
        "rows": np.array([1, TOKENS, WIDTH]),
        "out": whole(9, WIDTH, WIDTH),
    }
    if joined:
        constants |= {"w": whole(1, WIDTH, 3 * WIDTH), "sizes": np.array([WIDTH] * 3)}
        nodes = [node("MatMul", ["x", "w"], ["qkv"], "qkv")]
        nodes.append(node("Split", ["qkv", "sizes"], ["q", "k", "v"], "split", axis=2))
    else:
        constants |= {f"w{name}": whole(n, WIDTH, WIDTH) for n, name in enumerate("qkv")}
        nodes = [node("MatMul", ["x", f"w{name}"], [name], name) for name in "qkv"]
    for name, perm in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
        nodes.append(node("Reshape", [name, "heads"], [f"{name}4"], f"{name}4"))
        nodes.append(node("Transpose", [f"{name}4"], [f"{name}t"], f"{name}t", perm=perm))
    if scale != 1:
        constants["scale"] = np.array(scale, np.float32)
        nodes += [node("Mul", [f"{name}t", "scale"], [f"{name}s"], f"{name}s") for name in "qk"]
    q, k = ("qs", "ks") if scale != 1 else ("qt", "kt")
    nodes += [
        node("MatMul", [q, k], ["s"], "s"),
        node("Relu", ["s"], ["p"], "p"),
        node("MatMul", ["p", "vt"], ["c"], "c"),
        node("Transpose", ["c"], ["ct"], "ct", perm=(0, 2, 1, 3)),
        node("Reshape", ["ct", "rows"], ["c3"], "c3"),
        node("MatMul", ["c3", "out"], ["y"], "y"),
    ]
    return model(nodes, {"x": [1, TOKENS, WIDTH]}, ["y"], constants)


@pytest.mark.parametrize("scale", [1, 0.5])
@pytest.mark.parametrize("joined", [True, False])
def test_attention_moves_only_its_keys(joined, scale):
    steps = fused(read(attention(joined, scale))).steps
    products = [step.work for step in steps if isinstance(step.work, Problem)]
    assert len(products) == (4 if joined else 6)
    # The keys are transposed: a product that packs them along the other axis would be slower.
    assert len(steps) - len(products) == 1
    scores = next(work for work in products if "batch" in str(work))
    assert ("*" in str(scores)) == (scale != 1)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("scale", [1, 0.5])
@pytest.mark.parametrize("joined", [True, False])
def test_attention_is_exact(joined, scale, threads):
    given, x = attention(joined, scale), whole(7, 1, TOKENS, WIDTH, most=1)
    (wanted,) = ReferenceEvaluator(given).run(None, {"x": x})
    compiled = compile_model(given, threads=threads)
    for _ in range(2):
        (y,) = compiled(x)
        assert y.tolist() == wanted.tolist()


def check_exact(given, *inputs):
    names = [value.name for value in given.graph.input]
    (wanted,) = ReferenceEvaluator(given).run(None, dict(zip(names, inputs)))
    (y,) = compile_model(given)(*inputs)
    assert y.tolist() == wanted.tolist()


def test_two_axes_that_go_along_one_row_stay_inside_it():
    """16 columns of each of two rows lie in one row of x each, but what is between them ends it."""
    constants = {
        **{name: np.array(value) for name, value in (("0", [0]), ("96", [96]), ("72", [72]), ("104", [104]))},
        **{"last": np.array([1]), "first": np.array([0]), "all": np.array([288]), "rows": np.array([2, 16])},
        "w": whole(3, 16, 5),
    }
    nodes = [
        node("Slice", ["x", "0", "96", "last"], ["left"], "left"),
        node("Reshape", ["left", "all"], ["line"], "line"),
        node("Slice", ["line", "72", "104", "first"], ["part"], "part"),
        node("Reshape", ["part", "rows"], ["a"], "a"),
        node("MatMul", ["a", "w"], ["y"], "y"),
    ]
    check_exact(model(nodes, {"x": [3, 128]}, ["y"], constants), whole(1, 3, 128))


def test_products_of_what_is_repeated_or_reversed_are_exact():
    constants = {
        "half": np.array(0.5, np.float32),
        "four": np.array([4, 6, 8]),
        **{name: np.array(value) for name, value in (("end", [-1]), ("begin", [-100]), ("axis", [1]), ("back", [-1]))},
    }
    scaled = node("Mul", ["x", "half"], ["h"], "h")
    product = node("MatMul", ["a", "b"], ["y"], "y")
    repeated = node("Expand", ["h", "four"], ["a"], "a")
    given = model([scaled, repeated, product], {"x": [6, 8], "b": [4, 8, 5]}, ["y"], constants)
    check_exact(given, whole(1, 6, 8), whole(2, 4, 8, 5))
    reversed_ = node("Slice", ["h", "end", "begin", "axis", "back"], ["a"], "a")
    given = model([scaled, reversed_, product], {"x": [6, 8], "b": [8, 5]}, ["y"], constants)
    check_exact(given, whole(1, 6, 8), whole(2, 8, 5))
