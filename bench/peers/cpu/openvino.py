"""OpenVINO's CPU plugin, with tensors in the problem's layout that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bench.peers.interface.convolution import convolution
from bench.peers.interface.peer import Peer, Prepared
from bench.peers.interface.pointwise import Pointwise, pointwise
from cpu.kernel.arguments import aligned_empty
from tiling.problem import Problem


class OpenVino(Peer):
    """A model of one operation, compiled for the CPU in float32 (by default it takes bfloat16 where the CPU has it).

    OpenVINO's operations are NCHW. For a problem with channels last, `PrePostProcessor` says that tensors are NHWC, and
    the plugin then computes in NHWC and reorders nothing. `infer` copies nothing where both tensors of a request are
    set. TBB's threads go to sleep soon after a call. Whoever starts the process may pin them.
    """

    name = "openvino"
    title = "OpenVINO, the problem's layout in and out, float32"
    packages: ClassVar[Mapping[str, str]] = {"openvino": "openvino"}
    layouts = ("nhwc", "nchw")
    activations = ("", "relu", "relu6", "sigmoid", "tanh", "silu", "hardswish", "gelu", "gelu_tanh")

    def version(self) -> str:
        import openvino

        return f"OpenVINO {openvino.__version__.partition('-')[0]}"

    def environment(self, threads: int) -> dict[str, str]:
        return {"OPENVINO_LOG_LEVEL": "0"}  # threads are an option of the compiled model

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int, *arrays: np.ndarray) -> Prepared:
        import openvino

        matrix = problem.is_product
        found = pointwise(problem)
        assert found is not None  # `unsupported_epilogue`
        bias, residual = found.of(arrays)
        model = (_matmul if matrix else _conv2d)(problem, w, found, bias)
        request = openvino.Core().compile_model(model, "CPU", cpu_options(threads)).create_infer_request()
        y = aligned_empty(problem.output.shape)
        inputs = (x,) if residual is None else (x, residual)
        for place, array in enumerate(inputs):
            request.set_input_tensor(place, openvino.Tensor(array, shared_memory=True))
        request.set_output_tensor(openvino.Tensor(y, shared_memory=True))
        layout = "row-major, b pre-packed" if matrix else f"{problem.layout.upper()}, weights pre-packed"

        # The request reads these arrays: the result's function keeps them, and the request, as long as it is used.
        def result(kept: object = (inputs, w, arrays, request)) -> np.ndarray:
            return y

        return Prepared(request.infer, result, layout)


def cpu_options(threads: int) -> dict[str, object]:
    """The options of a compiled model: f32, so many threads that nothing pins."""
    return {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "EXECUTION_MODE_HINT": "ACCURACY",
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,
    }


def _followed(y: Any, epilogue: Pointwise, bias: np.ndarray | None) -> tuple[Any, list[Any]]:
    """What an epilogue makes of y, and the residual's parameter, if any. The plugin fuses all of it."""
    from openvino import opset13

    if bias is not None:
        y = opset13.add(y, opset13.constant(bias))
    inputs = []
    if epilogue.residual is not None:
        inputs.append(opset13.parameter(y.output(0).get_shape(), np.float32))
        y = opset13.add(y, inputs[0])
    activations = {
        "": lambda: y,
        "relu": lambda: opset13.relu(y),
        "relu6": lambda: opset13.clamp(y, 0.0, 6.0),
        "sigmoid": lambda: opset13.sigmoid(y),
        "tanh": lambda: opset13.tanh(y),
        "silu": lambda: opset13.swish(y),
        "hardswish": lambda: opset13.hswish(y),
        "gelu": lambda: opset13.gelu(y, "erf"),
        "gelu_tanh": lambda: opset13.gelu(y, "tanh"),
    }
    return activations[epilogue.activation](), inputs


def _conv2d(problem: Problem, w: np.ndarray, epilogue: Pointwise, bias: np.ndarray | None) -> Any:
    import openvino
    from openvino import opset13
    from openvino.preprocess import PrePostProcessor

    conv = convolution(problem)
    x = opset13.parameter([conv.n, conv.c, conv.h, conv.w], np.float32)
    options = (list(conv.stride), list(conv.before), list(conv.after), list(conv.dilation))
    if conv.groups == 1:
        y = opset13.convolution(x, opset13.constant(w), *options)
    else:
        grouped = w.reshape(conv.groups, conv.k // conv.groups, *w.shape[1:])
        y = opset13.group_convolution(x, opset13.constant(grouped), *options)
    y, others = _followed(y, epilogue, None if bias is None else bias.reshape(1, -1, 1, 1))
    # Tensors in NHWC take 206 instead of 122 GFLOP/s on 1x1 64 to 64 at 56², 223 instead of 169 on 3x3.
    tensors = PrePostProcessor(openvino.Model([y], [x, *others]))
    for side in (*(tensors.input(place) for place in range(1 + len(others))), tensors.output()):
        side.tensor().set_layout(openvino.Layout(problem.layout.upper()))
        side.model().set_layout(openvino.Layout("NCHW"))
    return tensors.build()


def _matmul(problem: Problem, b: np.ndarray, epilogue: Pointwise, bias: np.ndarray | None) -> Any:
    import openvino
    from openvino import opset13

    a = opset13.parameter(list(problem.broadcast.shape), np.float32)
    y, others = _followed(opset13.matmul(a, opset13.constant(b), False, False), epilogue, bias)
    return openvino.Model([y], [a, *others])
