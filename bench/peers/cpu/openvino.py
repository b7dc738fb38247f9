"""OpenVINO's CPU plugin, with tensors in the problem's layout that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bench.peers.interface.convolution import Convolution, convolution
from bench.peers.interface.peer import Peer, Prepared
from cpu.kernel.arguments import aligned_empty
from tiling.problem import Problem


class OpenVino(Peer):
    """A model of one operation, compiled for the CPU in float32 (by default it takes bfloat16 where the CPU has it).

    OpenVINO's operations are NCHW. For a problem with channels last, `PrePostProcessor` says that tensors are NHWC, and
    the plugin then computes in NHWC and reorders nothing: 206 instead of 122 GFLOP/s on 1x1 64 to 64 at 56², 223
    instead of 169 on 3x3. `infer` copies nothing where both tensors of a request are set. TBB's threads go to sleep
    soon after a call. Whoever starts the process may pin them.
    """

    name = "openvino"
    title = "OpenVINO, the problem's layout in and out, float32"
    packages: ClassVar[Mapping[str, str]] = {"openvino": "openvino"}
    layouts = ("nhwc", "nchw")

    def version(self) -> str:
        import openvino

        return f"OpenVINO {openvino.__version__.partition('-')[0]}"

    def environment(self, threads: int) -> dict[str, str]:
        return {"OPENVINO_LOG_LEVEL": "0"}  # threads are an option of the compiled model

    def prepare(self, problem: Problem, x: np.ndarray, w: np.ndarray, threads: int) -> Prepared:
        import openvino

        matrix = problem.op == "matmul"
        model = _matmul(x.shape, w) if matrix else _conv2d(convolution(problem), w, problem.layout)
        request = openvino.Core().compile_model(model, "CPU", cpu_options(threads)).create_infer_request()
        y = aligned_empty(problem.output.shape)
        request.set_input_tensor(openvino.Tensor(x, shared_memory=True))
        request.set_output_tensor(openvino.Tensor(y, shared_memory=True))
        layout = "row-major, b pre-packed" if matrix else f"{problem.layout.upper()}, weights pre-packed"
        # The request reads x and w: the result's function keeps them, and the request, as long as it is used.
        return Prepared(request.infer, lambda kept=(x, w, request): y, layout)


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


def _conv2d(conv: Convolution, w: np.ndarray, layout: str):
    import openvino
    from openvino import opset13
    from openvino.preprocess import PrePostProcessor

    x = opset13.parameter([conv.n, conv.c, conv.h, conv.w], np.float32)
    options = (list(conv.stride), list(conv.before), list(conv.after), list(conv.dilation))
    if conv.groups == 1:
        y = opset13.convolution(x, opset13.constant(w), *options)
    else:
        grouped = w.reshape(conv.groups, conv.k // conv.groups, *w.shape[1:])
        y = opset13.group_convolution(x, opset13.constant(grouped), *options)
    tensors = PrePostProcessor(openvino.Model([y], [x]))
    for side in (tensors.input(), tensors.output()):
        side.tensor().set_layout(openvino.Layout(layout.upper()))
        side.model().set_layout(openvino.Layout("NCHW"))
    return tensors.build()


def _matmul(shape: tuple[int, ...], b: np.ndarray):
    import openvino
    from openvino import opset13

    a = opset13.parameter(list(shape), np.float32)
    return openvino.Model([opset13.matmul(a, opset13.constant(b), False, False)], [a])
