"""A small model as an ONNX file, and an input for it: a convolution, its ReLU and a mean over each channel.

python examples/write_model.py [FILE.onnx]        then: python -m graph.compile model.onnx --emit folder --explain
"""

import sys
from pathlib import Path

import numpy as np

try:
    from onnx import TensorProto, helper, numpy_helper, save
except ModuleNotFoundError:
    sys.exit("this example needs onnx: pip install 'tilewright[models]'")

file = Path(sys.argv[1] if len(sys.argv) > 1 else "model.onnx")
input_file = file.with_name("x.npy")
weights = np.random.default_rng(0).standard_normal((16, 3, 3, 3), np.float32)
nodes = [
    helper.make_node("Conv", ["x", "w"], ["sums"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["sums"], ["positive"]),
    helper.make_node("GlobalAveragePool", ["positive"], ["y"]),
]
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 1, 1])
graph = helper.make_graph(nodes, "small", [x], [y], [numpy_helper.from_array(weights, "w")])
try:
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    np.save(input_file, np.random.default_rng(1).standard_normal((1, 3, 32, 32), np.float32))
except OSError as error:
    sys.exit(f"{error.filename} cannot be written: {error.strerror}")
print(f"wrote {file} and an input for it, {input_file}")
