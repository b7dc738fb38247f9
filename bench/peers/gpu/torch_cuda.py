"""PyTorch on an NVIDIA GPU: finds the GPU, sets the precision, and times kernels by events.

With `device="cpu"` the same calls of PyTorch run without a GPU and are exact on small integers. Only a device can show
that PyTorch obeys the switches of `settle`, which kernels its libraries choose, and every speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bench.peers.cpu.torch_cpu import Calls
from bench.peers.interface.peer import Peer, Prepared
from bench.peers.interface.versions import installed
from gpu.runtime.machine.driver import no_gpu
from tiling.dtypes.formats import FORMATS
from tiling.dtypes.products import OUTPUT_DTYPE
from tiling.problem import Problem

# Before each sample the GPU idles for this many of its clock ticks, some 0.2 ms: longer than Python needs to queue a
# call, so that the events stand right before and after the kernel and no launch is timed.
HEAD_START = 400_000


class CudaPeer(Peer):
    """A library on the GPU. device: "cpu" runs the same calls of PyTorch on the CPU, to try them without a GPU."""

    target = "cuda"
    packages: ClassVar[Mapping[str, str]] = {"torch": "torch"}
    operators: ClassVar[tuple[str, ...]]
    widens: ClassVar[bool] = False  # whether it can write f32 from f16 or bf16

    def __init__(self, device: str = "cuda"):
        self.device = device

    def missing(self) -> str | None:
        reasons = [super().missing()]
        if self.device == "cuda" and installed("torch").endswith("+cpu"):
            reasons.append("this PyTorch is built without CUDA: see https://pytorch.org/get-started")
        reasons.append(no_gpu() if self.device == "cuda" else None)
        return "; ".join(filter(None, reasons)) or None

    def environment(self, threads: int) -> dict[str, str]:
        return {}

    def unsupported_reason(self, problem: Problem) -> str | None:
        if problem.op not in self.operators:
            return f"{self.name} is compared on {' and '.join(self.operators)} only, not on {problem.op}"
        if reason := self.unsupported_epilogue(problem) or self.unsupported_layout(problem):
            return reason
        if not self.widens and problem.output_dtype != OUTPUT_DTYPE[problem.dtype]:
            return f"PyTorch's {self.name} writes {problem.dtype} from {problem.dtype}, not {problem.output_dtype}"
        return None


def version(library: str) -> str:
    """The versions of `library` and of PyTorch, whose CUDA includes it."""
    import torch

    return f"{library} (PyTorch {torch.__version__}, CUDA {torch.version.cuda or 'none'})"


def settle(dtype: str) -> None:
    """Sets PyTorch's global switches until the next problem: true f32, and f32 sums of f16 and bf16."""
    import torch

    torch.set_grad_enabled(False)
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    matmul.allow_tf32 = cudnn.allow_tf32 = dtype == "tf32"
    # By default cuBLAS may add the parts of a split sum in f16, which the kernels it is compared with do not.
    matmul.allow_fp16_reduced_precision_reduction = matmul.allow_bf16_reduced_precision_reduction = False
    cudnn.benchmark = True


def tensor(array: np.ndarray, dtype: str, device: str) -> Any:
    """float32 as a tensor on the device, rounded to the nearest value of a smaller dtype."""
    import torch

    return torch.from_numpy(array).to(device, getattr(torch, FORMATS[dtype].elsewhere))


def matrices(problem: Problem, a: np.ndarray, b: np.ndarray, device: str) -> tuple[Any, Any, Any]:
    """a (M,K), b (K,N) and c (M,N) on the device, with L before them in a batch; a transposed one is a view."""
    import torch

    left, right = tensor(a, problem.dtype, device), tensor(b, problem.dtype, device)
    c = torch.empty(problem.output.shape, dtype=getattr(torch, FORMATS[problem.output_dtype].elsewhere), device=device)
    columns_of_a, columns_of_b = str(problem.broadcast.indices[-1]), str(problem.vector.indices[-1])
    return left.mT if columns_of_a == "m" else left, right.mT if columns_of_b == "k" else right, c


def prepared(operator: Callable[[], object], layout: str, device: str, axes: tuple[int, ...] | None = None) -> Prepared:
    """An operator that was called once for its trials. axes: bring its output into the problem's order."""
    import torch

    calls, on_gpu = Calls(operator), device == "cuda"

    def run() -> None:
        calls.run()
        if on_gpu:
            torch.cuda.synchronize()

    def result() -> np.ndarray:
        y = calls.output.permute(axes) if axes else calls.output
        found: np.ndarray = y.float().cpu().numpy()
        return found

    run()
    return Prepared(run, result, layout, partial(event_seconds, calls.run) if on_gpu else None)


def event_seconds(call: Callable[[], object], count: int) -> list[float]:
    """`count` samples of the seconds that one call keeps the GPU busy, by events on its stream."""
    import torch

    samples = []
    for _ in range(count):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(HEAD_START)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(end) / 1e3)
    return samples
