"""`graph.check`: what is compared with onnx's reference, and what is told where it differs."""

import warnings

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from graph import compile_model
from graph.calls.compiled import CompiledModel
from graph.calls.random_inputs import random_inputs
from graph.check import reference_error, reference_work
from graph.compile import CHECKED
from graph.plan import Plan

node, value = helper.make_node, helper.make_tensor_value_info


def made(nodes, inputs, outputs, constants=(), opset=19):
    """A model. inputs, outputs: (name, dtype, shape). constants: (name, array)."""
    sides = [[value(*each) for each in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *sides, [numpy_helper.from_array(array, name) for name, array in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def error_of(proto):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return reference_error(proto, {}, compile_model(proto))


def test_infinities_and_nans_at_the_same_places_are_no_difference():
    nodes = [node("Sub", ["x", "x"], ["n"]), node("Div", ["x", "n"], ["y"]), node("Sqrt", ["x"], ["z"])]
    proto = made(nodes, [("x", T.FLOAT, (8,))], [("y", T.FLOAT, (8,)), ("z", T.FLOAT, (8,))])
    assert error_of(proto) == 0.0


def test_a_wrong_product_of_bytes_is_noticed(monkeypatch):
    weights = np.full((8, 4), 3, np.int8)
    inputs = [("x", T.UINT8, (5, 8))]
    proto = made([node("MatMulInteger", ["x", "w"], ["s"])], inputs, [("s", T.INT32, (5, 4))], [("w", weights)])
    assert error_of(proto) == 0.0
    right = CompiledModel.__call__
    monkeypatch.setattr(CompiledModel, "__call__", lambda self, *x, **y: [each * 2 for each in right(self, *x, **y)])
    assert str(error_of(proto)).startswith(
        "s differs from that of onnx's reference: 20 of 20 whole numbers, by at most "
    )


@pytest.mark.parametrize(("dtype", "opset"), [(T.FLOAT8E4M3FN, 19), (T.FLOAT8E5M2, 19), (T.INT4, 21), (T.BFLOAT16, 19)])
def test_narrow_outputs_are_compared(dtype, opset):
    proto = made([node("Cast", ["x"], ["y"], to=dtype)], [("x", T.FLOAT, (40,))], [("y", dtype, (40,))], opset=opset)
    assert error_of(proto) == 0.0


@pytest.mark.parametrize(("dtype", "opset"), [(T.FLOAT8E4M3FN, 19), (T.FLOAT8E5M2, 19), (T.INT4, 21)])
def test_narrow_inputs_are_compared(dtype, opset):
    proto = made([node("Cast", ["x"], ["y"], to=T.FLOAT)], [("x", dtype, (40,))], [("y", T.FLOAT, (40,))], opset=opset)
    assert error_of(proto) == 0.0


def test_sequences_of_one_element_are_not_compared():
    proto = made([node("SequenceConstruct", ["x"], ["s"])], [("x", T.FLOAT, (2, 3))], [])
    proto.graph.output.append(helper.make_tensor_sequence_value_info("s", T.FLOAT, (2, 3)))
    assert error_of(proto) == "not made: sequences and optionals are not compared"


@pytest.mark.slow
def test_whole_numbers_are_zeros_where_ones_would_index_outside():
    nodes = [node("Gather", ["e", "i"], ["y"], axis=0), node("Not", ["b"], ["z"])]
    outputs = [("y", T.FLOAT, (30, 2)), ("z", T.BOOL, (30,))]

    def drawn(rows):
        inputs = [("e", T.FLOAT, (rows, 2)), ("i", T.INT64, (30,)), ("b", T.BOOL, (30,))]
        proto = made(nodes, inputs, outputs)
        assert error_of(proto) == 0.0
        model = compile_model(proto)
        return {array.name: x for array, x in zip(model.inputs, random_inputs(model, 0))}

    found = drawn(2)
    assert {*found["i"].tolist()} == {0, 1} and {*found["b"].tolist()} == {False, True} and found["e"].min() < 0
    assert drawn(1)["i"].tolist() == [0] * 30


def test_bytes_are_drawn_of_their_whole_range():
    proto = made([node("Abs", ["x"], ["y"])], [("x", T.INT8, (4000,))], [("y", T.INT8, (4000,))])
    (x,) = random_inputs(compile_model(proto), 0)
    assert (x.min(), x.max(), x.dtype) == (-128, 127, np.int8)


def test_a_flag_alone_is_false():
    """It may be the condition of a loop, which would never end."""
    nodes = [node("Not", ["b"], ["y"]), node("Neg", ["i"], ["z"])]
    inputs = [("b", T.BOOL, ()), ("i", T.INT64, (1, 1))]
    model = compile_model(made(nodes, inputs, [("y", T.BOOL, ()), ("z", T.INT64, (1, 1))]))
    assert not any(x.any() for seed in range(8) for x in random_inputs(model, seed))


def repeated(count):
    """A loop of small products. count: how many iterations it has, None where an input says it."""
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("MatMul", ["s", "w"], ["t"])],
        "body",
        [value("i", T.INT64, ()), value("c", T.BOOL, ()), value("s", T.FLOAT, (1, 8))],
        [value("d", T.BOOL, ()), value("t", T.FLOAT, (1, 8))],
    )
    constants = [("k", np.array(True)), ("w", np.eye(8, dtype=np.float32))]
    inputs = [("x", T.FLOAT, (1, 8))]
    if count is None:
        inputs.append(("n", T.INT64, ()))
    else:
        constants.append(("n", np.array(count)))
    return made([node("Loop", ["n", "k", "x"], ["y"], body=body)], inputs, [("y", T.FLOAT, (1, 8))], constants)


def test_iterations_count_in_what_the_reference_takes():
    few, many, unknown = (reference_work(Plan(repeated(count)).graph({}).steps) for count in (100, 60_000, None))
    assert few < CHECKED < many < unknown == float("inf")


def test_the_statements_of_a_group_count_by_themselves():
    """A softmax is one program of more dims than any of its statements goes over."""
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("ReduceMean", ["r"], ["m"], axes=[2]),
        node("Sub", ["r", "m"], ["d"]),
        node("Softmax", ["d"], ["y"], axis=-1),
    ]
    proto = made(nodes, [("x", T.FLOAT, (4, 64, 64))], [("y", T.FLOAT, (4, 64, 64))], opset=17)
    steps = Plan(proto).graph({}).steps
    assert max(len(step.work.program.statements) for step in steps) > 3 and reference_work(steps) < CHECKED


def test_pools_count_in_what_the_reference_takes():
    def pool(size):
        nodes = [node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3])]
        return made(nodes, [("x", T.FLOAT, (1, 16, size, size))], [("y", T.FLOAT, (1, 16, size - 2, size - 2))])

    small, large = (reference_work(Plan(pool(size)).graph({}).steps) for size in (16, 224))
    assert small < CHECKED < large
