"""PyTorch on the CPU, set up so that its oneDNN computes in float32 on the given threads."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def environment(threads: int) -> dict[str, str]:
    """The environment of the process: its threads, and no arithmetic below float32."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
    }


def version() -> str:
    """PyTorch's version and that of the oneDNN built into it."""
    import torch

    found = re.search(r"(?:MKL-DNN|oneDNN) v([0-9.]+)", torch.__config__.show())
    return f"oneDNN {found[1] if found else 'unknown'} (PyTorch {torch.__version__})"


def settle(threads: int) -> None:
    """Puts the process into the state that every timed call needs. The precisions are PyTorch's global switches."""
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)  # once, as a user does, and not in every call
    torch.set_float32_matmul_precision("highest")


class Calls:
    """Runs one PyTorch operator again and again; keeps the last output only."""

    def __init__(self, operator: Callable[[], Any]):
        self._operator = operator
        self.output: Any = None

    def run(self) -> None:
        """One call. The last output is freed first, so that the allocator hands out the same memory again."""
        self.output = None
        self.output = self._operator()
