"""What several nodes compute alike is computed once, and nothing else is."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from graph.onnx.read import read
from graph.passes.repeated import without_repetitions
from tests.support.models.onnx_models import model, whole

node = helper.make_node
X = whole(0, 1, 8, 4, 4)
CONSTANTS = {"w": whole(1, 8, 8, 1, 1), "v": whole(2, 8, 8, 1, 1), "two": np.float32([2]), "2": np.float32([2])}
CONSTANTS |= {"three": np.float32([3]), "flat": np.array([8, 16]), "none": np.zeros(8, np.int64)}
CONSTANTS |= {"0": np.array([0]), "4": np.array([4]), "-1": np.array([-1])}


def both(first, second):
    """y is a - 2 b. The numbers that the two nodes give."""
    return [*first, *second, node("Add", ["b", "b"], ["t"]), node("Sub", ["a", "t"], ["y"])]


# name: the nodes, the outputs, and how many steps are left.
CASES = {
    "maps": (both([node("Relu", ["x"], ["a"])], [node("Relu", ["x"], ["b"])]), ["y"], 3),
    "products": (both([node("Conv", ["x", "w"], ["a"])], [node("Conv", ["x", "w"], ["b"])]), ["y"], 3),
    "other weights": (both([node("Conv", ["x", "w"], ["a"])], [node("Conv", ["x", "v"], ["b"])]), ["y"], 4),
    "equal numbers": (both([node("Mul", ["x", "two"], ["a"])], [node("Mul", ["x", "2"], ["b"])]), ["y"], 3),
    "other numbers": (both([node("Mul", ["x", "two"], ["a"])], [node("Mul", ["x", "three"], ["b"])]), ["y"], 4),
    "chains": (
        both(
            [node("Neg", ["x"], ["n"]), node("Relu", ["n"], ["a"])],
            [node("Neg", ["x"], ["m"]), node("Relu", ["m"], ["b"])],
        ),
        ["y"],
        4,
    ),
    "views": (
        [
            *(node("Reshape", ["x", "flat"], [name]) for name in "pq"),
            *(node("Softmax", [name], [f"{name}1"], axis=-1) for name in "pq"),
            node("Sub", ["p1", "q1"], ["y"]),
        ],
        ["y"],
        2,
    ),
    "names": (
        both(
            [node("Relu", ["x"], ["r"]), node("Identity", ["r"], ["a"])],
            [
                node("Slice", ["x", "0", "4", "-1"], ["s"]),
                node("Pad", ["s", "none"], ["p"]),
                node("Relu", ["p"], ["b"]),
            ],
        ),
        ["y"],
        3,
    ),
    "outputs": ([node("Relu", ["x"], ["a"]), node("Relu", ["x"], ["b"])], ["a", "b"], 1),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_alike_is_computed_once(name):
    nodes, outputs, left = CASES[name]
    read_ = {given for each in nodes for given in each.input}
    proto = model(nodes, {"x": X.shape}, outputs, {name: value for name, value in CONSTANTS.items() if name in read_})
    assert len(without_repetitions(read(proto)).steps) == left
    wanted = ReferenceEvaluator(proto).run(None, {"x": X})
    for y, expected in zip(compile_model(proto)(X), wanted, strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_what_a_loop_writes_anew_is_read_anew():
    """The same map of the state, before and behind the addition in the body, and behind the loop."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            node("Identity", ["go"], ["on"]),
            node("Neg", ["s"], ["n"]),
            node("Sub", ["s", "n"], ["t"]),
            node("Neg", ["s"], ["m"]),
        ],
        "body",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("s", TensorProto.FLOAT, [3])],
        [value("on", TensorProto.BOOL, []), value("t", TensorProto.FLOAT, [3]), value("m", TensorProto.FLOAT, [3])],
    )
    nodes = [node("Neg", ["x"], ["before"]), node("Loop", ["count", "yes", "x"], ["end", "all"], body=body)]
    nodes += [node("Neg", ["end"], ["after"]), node("Neg", ["end"], ["again"])]
    outputs = ["before", "all", "after", "again"]
    proto = model(nodes, {"x": [3]}, outputs, {"yes": np.array(True), "count": np.array(3)})
    x = np.float32([1, 2, -3])
    wanted = ReferenceEvaluator(proto).run(None, {"x": x})
    for y, expected in zip(compile_model(proto)(x), wanted, strict=True):
        assert y.tolist() == expected.tolist()
