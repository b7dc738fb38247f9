"""PyTorch on the CPU, set up so that its oneDNN computes in float32 on the given threads."""

from __future__ import annotations

# Between two calls of a turn lie microseconds, between the turns of two peers a pause of milliseconds. At libgomp's own
# default (300,000 rounds, several ms) the last peer's threads still spin into the pause; with OMP_WAIT_POLICY=passive every
# call wakes its threads through the kernel, which costs a small layer more than its work. 30,000 rounds, about half a
# millisecond, outlast the gap between calls and end well within the pause.
GOMP_SPINS = "30000"


def environment(threads: int) -> dict[str, str]:
    """For the process: threads, how long idle ones spin, and no arithmetic below float32 behind our back."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "GOMP_SPINCOUNT": GOMP_SPINS,
        "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
    }


def version() -> str:
    """PyTorch's version and that of the oneDNN built into it."""
    import torch

    onednn = next((line.split()[2] for line in torch.__config__.show().splitlines() if "MKL-DNN v" in line), "unknown")
    return f"oneDNN {onednn.removeprefix('v')} (PyTorch {torch.__version__})"


def settle(threads: int) -> None:
    """Puts the process into the state that every timed call needs. The precisions are PyTorch's global switches."""
    import torch

    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")


class Calls:
    """Runs one PyTorch operator again and again; keeps the last output only."""

    def __init__(self, operator, threads: int):
        import torch

        self._torch, self._operator, self._threads = torch, operator, threads
        self.output = None

    def run(self) -> None:
        """One call. The last output is given back first, so that the allocator hands out the same memory again."""
        if self._torch.get_num_threads() != self._threads:
            self._torch.set_num_threads(self._threads)
        self.output = None
        with self._torch.inference_mode():
            self.output = self._operator()
