"""Other libraries on whole models: each gives a call with memory that is used again, and the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.peers.cpu.openvino import cpu_options
from bench.peers.cpu.ort import session_options
from bench.peers.networks.architectures import ARCHITECTURES, module
from cpu.kernel.arguments import aligned_empty

Inputs = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Ready:
    """A call that computes the model. outputs: gives what the last call computed, in the model's order."""

    call: Callable[[], object]
    outputs: Callable[[], Sequence[np.ndarray]]


def _ort(name: str, path: str, inputs: Inputs, outputs: Inputs, threads: int) -> Ready:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, session_options(threads), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for array, x in inputs.items():
        binding.bind_ortvalue_input(array, onnxruntime.OrtValue.ortvalue_from_numpy(x))
    given = [onnxruntime.OrtValue.ortvalue_from_numpy(aligned_empty(y.shape, y.dtype)) for y in outputs.values()]
    for array, y in zip(outputs, given):
        binding.bind_ortvalue_output(array, y)
    return Ready(lambda: session.run_with_iobinding(binding), lambda: [y.numpy() for y in given])


def _openvino(name: str, path: str, inputs: Inputs, outputs: Inputs, threads: int) -> Ready:
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({array: list(x.shape) for array, x in inputs.items()})
    request = core.compile_model(model, "CPU", cpu_options(threads)).create_infer_request()
    given = [aligned_empty(y.shape, y.dtype) for y in outputs.values()]
    for place, x in enumerate(inputs.values()):
        request.set_input_tensor(place, openvino.Tensor(x, shared_memory=True))
    for place, y in enumerate(given):
        request.set_output_tensor(place, openvino.Tensor(y, shared_memory=True))
    return Ready(request.infer, lambda: given)


def _inductor(name: str, path: str, inputs: Inputs, outputs: Inputs, threads: int) -> Ready:
    import torch
    import torch._inductor.config as config

    if name not in ARCHITECTURES:
        raise NotImplementedError(f"{name} is a file: PyTorch needs one of {', '.join(ARCHITECTURES)}")
    torch.set_num_threads(threads)
    config.freezing = True
    compiled = torch.compile(module(name)[0])
    given = [torch.from_numpy(x) for x in inputs.values()]
    found: list[Any] = []

    def call() -> None:
        with torch.inference_mode():
            found[:] = [compiled(*given)]

    return Ready(call, lambda: [found[0].numpy()])


# PyTorch 2.14 dies of a segmentation fault when it calls what inductor compiled after OpenVINO 2026.4 was loaded.
_APART = ("openvino", "inductor")


def apart_reason(peers: Sequence[str]) -> str | None:
    """A sentence on why these peers cannot take turns in one process; None if they can."""
    if not set(_APART) <= set(peers):
        return None
    return f"{' and '.join(_APART)} crash in one process: time one, then the other"


# A row for each library: its module's name, and how it runs a model.
MODEL_PEERS: dict[str, tuple[str, Callable[[str, str, Inputs, Inputs, int], Ready]]] = {
    "ort": ("onnxruntime", _ort),
    "openvino": ("openvino", _openvino),
    "inductor": ("torch", _inductor),
}
