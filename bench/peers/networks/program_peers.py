"""Other libraries on a program: PyTorch operator by operator, its inductor, and libraries that run its exports."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.cpu.torch_cpu import Calls
from bench.peers.networks.torch_programs import Workload
from bench.peers.networks.whole_models import MODEL_PEERS, Ready

Arrays = Mapping[str, np.ndarray]


def _torch(work: Workload, inputs: Arrays, y: np.ndarray, threads: int) -> Ready:
    import torch

    tensors = [torch.from_numpy(array) for array in inputs.values()]
    return _called(lambda: work.peer(torch, *tensors))


def _inductor(work: Workload, inputs: Arrays, y: np.ndarray, threads: int) -> Ready:
    import torch

    tensors = [torch.from_numpy(array) for array in inputs.values()]
    compiled = torch.compile(lambda *given: work.peer(torch, *given))
    return _called(lambda: compiled(*tensors))


def _called(operator: Callable[[], Any]) -> Ready:
    calls = Calls(operator)
    return Ready(calls.run, lambda: [calls.output.numpy()])


def _by_export(peer: str) -> Callable[[Workload, Arrays, np.ndarray, int], Ready]:
    """Runs a program as PyTorch's exporter writes it."""

    def ready(work: Workload, inputs: Arrays, y: np.ndarray, threads: int) -> Ready:
        import torch

        class Program(torch.nn.Module):  # type: ignore[misc]
            def forward(self, *given: Any) -> Any:
                return work.peer(torch, *given)

        tensors = tuple(torch.from_numpy(array) for array in inputs.values())
        with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
            path = Path(folder) / "program.onnx"
            names: dict[str, Any] = {"input_names": list(inputs), "output_names": ["y"]}
            torch.onnx.export(Program().eval(), tensors, path, dynamo=True, verbose=False, **names)
            return MODEL_PEERS[peer][1](work.name, str(path), inputs, {"y": y}, threads)

    return ready


# A row for each library: what a reader calls it, its module's name, and how it runs a program.
PROGRAM_PEERS: dict[str, tuple[str, str, Callable[[Workload, Arrays, np.ndarray, int], Ready]]] = {
    "torch": ("PyTorch", "torch", _torch),
    "inductor": ("inductor", "torch", _inductor),
    "ort": ("ONNX Runtime", "onnxruntime", _by_export("ort")),
    "openvino": ("OpenVINO", "openvino", _by_export("openvino")),
}
