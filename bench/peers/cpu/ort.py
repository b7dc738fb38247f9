"""ONNX Runtime's CPU provider, with input and output bound to memory that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bench.peers.interface.convolution import as_problem_has_it, channels_first, convolution
from bench.peers.interface.peer import Peer, Prepared
from bench.peers.interface.pointwise import Pointwise, pointwise
from cpu.kernel.arguments import aligned_empty
from tiling.problem import Problem

# Conv's attributes in the form used here have not changed since; every ONNX Runtime of the last years reads both.
_OPSET = 17
_IR_VERSION = 8


class OnnxRuntime(Peer):
    """A model of one node and the nodes of an epilogue, which the session fuses. Weights are constants, so they are
    packed when the session is made.

    The CPU provider takes float32 convolutions in NCHW only. It reorders to blocks of channels and back within each
    call. Threads spin while a session runs, which small layers need; `force_spinning_stop` ends that with the call, so
    that the next contender has the cores. On x86 the provider does not fall back to bfloat16. The output goes straight
    to the bound array.
    """

    name = "ort"
    title = "ONNX Runtime, bound input and output"
    packages: ClassVar[Mapping[str, str]] = {"onnxruntime": "onnxruntime", "onnx": "onnx"}
    layouts = ("nhwc", "nchw")
    activations = ("", "relu", "relu6", "sigmoid", "tanh", "silu", "hardswish")

    def version(self) -> str:
        import onnxruntime

        return f"ONNX Runtime {onnxruntime.__version__}"

    def environment(self, threads: int) -> dict[str, str]:
        return {}  # threads and spinning are options of the session

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        import onnxruntime

        matrix = problem.is_product
        given = x if matrix else channels_first(problem, x)
        shape = problem.output.shape if matrix else _output_shape(problem)
        y = aligned_empty(shape)
        found = pointwise(problem)
        assert found is not None  # `unsupported_epilogue`
        bias, residual = found.of(arrays)
        weights = {"w": w} if bias is None else {"w": w, "b": bias}
        inputs = {"x": given}
        if residual is not None:
            inputs["z"] = residual if matrix else channels_first(problem, residual)
        model = _model(_nodes(problem, found), inputs, weights, shape)
        session = onnxruntime.InferenceSession(model, session_options(threads), providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        bound = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
        output = onnxruntime.OrtValue.ortvalue_from_numpy(y)
        for name, value in bound.items():
            binding.bind_ortvalue_input(name, value)
        binding.bind_ortvalue_output("y", output)

        def run(kept: object = bound) -> None:
            session.run_with_iobinding(binding)

        return Prepared(
            run=run,
            result=lambda: output.numpy() if matrix else as_problem_has_it(problem, output.numpy()),
            layout="row-major, b pre-packed" if matrix else "NCHW in and out, weights pre-packed",
        )


def _output_shape(problem: Problem) -> tuple[int, ...]:
    conv = convolution(problem)
    return conv.n, conv.k, conv.out_h, conv.out_w


def session_options(threads: int) -> Any:
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


def _nodes(problem: Problem, epilogue: Pointwise) -> list[Any]:
    """The nodes of a layer: those that the rewriting of the session fuses."""
    from onnx import helper

    def after(name: str, *others: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(name, [at[-1], *others], [f"y{len(at)}"], **attributes))
        at.append(f"y{len(at)}")

    at = ["y0"]
    biased = epilogue.bias is not None
    if problem.is_product:
        nodes = [helper.make_node("Gemm" if biased else "MatMul", ["x", "w", *["b"] * biased], at[:])]
    else:
        nodes = [_conv_node(problem, biased, at[0])]
    if epilogue.residual is not None:
        after("Add", "z")
    if epilogue.activation == "relu6":
        after("Clip", "low", "high")
    elif epilogue.activation == "silu":
        before = at[-1]
        after("Sigmoid")
        after("Mul", before)
    elif epilogue.activation:
        after({"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "hardswish": "HardSwish"}[epilogue.activation])
    nodes[-1].output[0] = "y"
    return nodes


def _conv_node(problem: Problem, biased: bool, output: str) -> Any:
    from onnx import helper

    conv = convolution(problem)
    return helper.make_node(
        "Conv", ["x", "w", *["b"] * biased], [output], strides=conv.stride, dilations=conv.dilation, group=conv.groups,
        kernel_shape=(conv.r, conv.s), pads=(*conv.before, *conv.after),
    )  # fmt: skip


def _model(
    nodes: list[Any], inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray], shape: tuple[int, ...]
) -> bytes:
    """A serialized ONNX model: inputs like these, constant weights, y of `shape`."""
    from onnx import TensorProto, helper, numpy_helper

    constants = weights | {"low": np.float32(0), "high": np.float32(6)}
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    opset = helper.make_operatorsetid("", _OPSET)
    return bytes(helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION).SerializeToString())
