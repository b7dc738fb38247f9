"""ONNX Runtime's CPU provider, with input and output bound to memory that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bench.peers.interface.convolution import as_problem_has_it, channels_first, convolution
from bench.peers.interface.peer import Peer, Prepared
from cpu.kernel.arguments import aligned_empty
from tiling.problem import Problem

# Conv's attributes in the form used here have not changed since; every ONNX Runtime of the last years reads both.
_OPSET = 17
_IR_VERSION = 8


class OnnxRuntime(Peer):
    """A model of one node. Weights are constants, so they are packed when the session is made.

    The CPU provider takes float32 convolutions in NCHW only. It reorders to blocks of channels and back within each
    call. Threads spin while a session runs, which small layers need; `force_spinning_stop` ends that with the call, so
    that the next contender has the cores. On x86 the provider does not fall back to bfloat16. The output goes straight
    to the bound array.
    """

    name = "ort"
    title = "ONNX Runtime, bound input and output"
    packages: ClassVar[Mapping[str, str]] = {"onnxruntime": "onnxruntime", "onnx": "onnx"}
    layouts = ("nhwc", "nchw")

    def version(self) -> str:
        import onnxruntime

        return f"ONNX Runtime {onnxruntime.__version__}"

    def environment(self, threads: int) -> dict[str, str]:
        return {}  # threads and spinning are options of the session

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int) -> Prepared:
        import onnxruntime

        matrix = problem.op == "matmul"
        given = x if matrix else channels_first(problem, x)
        shape = problem.output.shape if matrix else _output_shape(problem)
        y = aligned_empty(shape)
        model = _model(_matmul_node() if matrix else _conv_node(problem), given.shape, w, shape)
        session = onnxruntime.InferenceSession(model, session_options(threads), providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        bound = onnxruntime.OrtValue.ortvalue_from_numpy(given), onnxruntime.OrtValue.ortvalue_from_numpy(y)
        binding.bind_ortvalue_input("x", bound[0])
        binding.bind_ortvalue_output("y", bound[1])
        return Prepared(
            run=lambda: session.run_with_iobinding(binding),
            result=lambda: bound[1].numpy() if matrix else as_problem_has_it(problem, bound[1].numpy()),
            layout="row-major, b pre-packed" if matrix else "NCHW in and out, weights pre-packed",
        )


def _output_shape(problem: Problem) -> tuple[int, ...]:
    conv = convolution(problem)
    return conv.n, conv.k, conv.out_h, conv.out_w


def session_options(threads: int):
    """Options of a session on so many threads, with every rewriting of the graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.log_severity_level = 3
    return options


def _conv_node(problem: Problem):
    from onnx import helper

    conv = convolution(problem)
    return helper.make_node(
        "Conv", ["x", "w"], ["y"], strides=conv.stride, dilations=conv.dilation, group=conv.groups,
        kernel_shape=(conv.r, conv.s), pads=(*conv.before, *conv.after),
    )  # fmt: skip


def _matmul_node():
    from onnx import helper

    return helper.make_node("MatMul", ["x", "w"], ["y"])


def _model(node, given: tuple[int, ...], w: np.ndarray, shape: tuple[int, ...]) -> bytes:
    """A serialized ONNX model: x of shape `given`, the constant w, y of `shape`."""
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(w, "w")],
    )
    opset = helper.make_operatorsetid("", _OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION).SerializeToString()
