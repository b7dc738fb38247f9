"""The time of oneDNN's kernels alone, from its verbose mode, which writes a line per primitive."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable

_COMPUTING = {"convolution", "inner_product", "matmul"}


def kernel_seconds(run: Callable[[], object], count: int) -> list[float]:
    """Seconds of each convolution or matrix product that oneDNN ran in `count` calls of `run`, through PyTorch.

    oneDNN writes to the process's standard output, which meanwhile goes to a temporary file; nobody else should write.
    """
    import torch

    with tempfile.TemporaryFile() as told:
        sys.stdout.flush()
        _flush_c()
        kept = os.dup(1)
        os.dup2(told.fileno(), 1)
        try:
            with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
                for _ in range(count):
                    run()
        finally:
            _flush_c()
            os.dup2(kept, 1)
            os.close(kept)
        told.seek(0)
        return parse(told.read().decode(errors="replace"))


def parse(text: str) -> list[float]:
    """Seconds of the computing primitives in oneDNN's verbose lines; reorders and other lines are left out.

    A line reads `onednn_verbose,v1,primitive,exec,cpu,convolution,…,0.87`, the last field in milliseconds.
    """
    fields = (line.split(",") for line in text.splitlines() if line.startswith("onednn_verbose,"))
    return [float(field[-1]) / 1e3 for field in fields if "exec" in field[:5] and _COMPUTING & set(field[:7])]


def _flush_c() -> None:
    """What C has printed but not written belongs to where standard output points now."""
    ctypes.CDLL(None).fflush(None)
