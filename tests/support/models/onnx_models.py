"""Small ONNX models of whole numbers: f32 computes them exactly, whatever the order of sums."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference

OPSET = 17


def whole(seed, *shape, most=2):
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(np.float32)


def model(nodes, inputs, outputs, constants=None, opset=OPSET):
    """inputs: shapes by name; a text in a shape is an open dim. outputs: names."""
    graph = helper.make_graph(
        nodes,
        "made_up",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(numbers, name) for name, numbers in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def residual_network():
    """A stem, a block with a batch norm and a residual, a depthwise layer, pooling, a classifier."""
    ones = np.ones(16, np.float32)
    constants = {
        "stem": whole(1, 16, 3, 3, 3),
        "bias": whole(2, 16),
        "gamma": ones,
        "beta": whole(3, 16),
        "mean": whole(4, 16),
        "variance": ones - np.float32(2**-10),
        "block": whole(5, 16, 16, 3, 3),
        "depthwise": whole(6, 16, 1, 3, 3),
        "classes": whole(7, 16, 10),
        "shift": whole(8, 10),
    }
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "stem", "bias"], ["a"], "first", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["a"], ["b"], "second"),
        node("Conv", ["b", "block"], ["c"], "third", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "gamma", "beta", "mean", "variance"], ["d"], "norm", epsilon=2.0**-10),
        node("Add", ["d", "b"], ["e"], "residual"),
        node("Relu", ["e"], ["f"], "fourth"),
        node("Conv", ["f", "depthwise"], ["g"], "fifth", pads=[1, 1, 1, 1], group=16),
        node("MaxPool", ["g"], ["h"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["h"], ["i"], "average"),
        node("Flatten", ["i"], ["j"], "flat"),
        node("Gemm", ["j", "classes", "shift"], ["y"], "last"),
    ]
    made = model(nodes, {"x": ["batch", 3, 16, 16]}, ["y"], constants)
    return shape_inference.infer_shapes(made)


def attention_network():
    """Convolutions whose outputs are joined, attention over what they give, and a loop of a known number of turns."""
    node = helper.make_node
    constants = {
        "wide": whole(1, 16, 8, 3, 3),
        "narrow": whole(2, 8, 8, 1, 1),
        "after": whole(3, 32, 24, 3, 3, most=1),
        "tokens": np.array([1, 32, 36], np.int64),
        **{name: whole(place, 32, 32, most=1) / np.float32(32) for place, name in enumerate("qkv", 4)},
        "scale": np.array(2.0**-6, np.float32),
        "turns": np.array(3, np.int64),
        "on": np.array(True),
        "again": whole(7, 32, 32, most=1) / np.float32(64),
    }
    turn = helper.make_graph(
        [
            node("MatMul", ["s", "again"], ["p"], "product"),
            node("Add", ["p", "o"], ["q2"], "add"),
            node("Relu", ["q2"], ["s2"], "state"),
            node("Identity", ["go"], ["on2"], "on"),
        ],
        "turn",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [1, 36, 32]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("on2", "s2")],
    )
    nodes = [
        node("Conv", ["x", "wide"], ["a"], "wide", pads=[1, 1, 1, 1]),
        node("Conv", ["x", "narrow"], ["b"], "narrow"),
        node("Concat", ["a", "b"], ["c"], "join", axis=1),
        node("Relu", ["c"], ["d"], "relu"),
        node("Conv", ["d", "after"], ["e"], "after", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Reshape", ["e", "tokens"], ["f"], "flat"),
        node("Transpose", ["f"], ["t"], "transposed", perm=[0, 2, 1]),
        *(node("MatMul", ["t", name], [name.upper()], name) for name in "qkv"),
        node("Transpose", ["K"], ["KT"], "keys", perm=[0, 2, 1]),
        node("MatMul", ["Q", "KT"], ["scores"], "scores"),
        node("Mul", ["scores", "scale"], ["scaled"], "scaled"),
        node("Softmax", ["scaled"], ["weights"], "softmax", axis=-1),
        node("MatMul", ["weights", "V"], ["o"], "mixed"),
        node("Loop", ["turns", "on", "o"], ["y"], "again", body=turn),
        node("ReduceMean", ["y"], ["z"], "mean", axes=[1], keepdims=0),
    ]
    return model(nodes, {"x": [1, 8, 12, 12]}, ["y", "z"], constants)
