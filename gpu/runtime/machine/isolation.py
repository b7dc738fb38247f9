"""What a worker (`cpu.runtime.processes.worker`) needs that uses CUDA: no limit on addresses, an end after a fault."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# CUDA reserves addresses for all memory of the GPU and of the host when it starts. It would not start with any limit
# below the largest address there is.
ADDRESSES = 1 << 47


@contextmanager
def ending_on_a_fault() -> Iterator[None]:
    """Ends this process where CUDA reports an error, and prints the error last.

    After a kernel's fault every later call in the process fails with the same error. Any call after the launch may
    report it, so this waits for the device, even after another exception. A launch raises the driver's error; events,
    copies and waiting raise the runtime's error. Neither class is derived from the other.
    """
    import cupy

    try:
        try:
            yield
        finally:
            cupy.cuda.Device().synchronize()
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
