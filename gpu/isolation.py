"""What a worker process (`cpu.worker`) that uses CUDA needs: addresses without limit, and an end where CUDA cannot go
on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# CUDA reserves addresses for all memory of the GPU and of the host at once, whatever is used of them: no limit below
# the largest address there is would let it start.
ADDRESSES = 1 << 47


@contextmanager
def ending_on_a_fault() -> Iterator[None]:
    """Ends this process where the driver reports an error, its words the last thing that is printed.

    After a kernel did what it must not, every later call in the process fails with the same error. It may be reported
    by any call after the launch, so the device is waited for.
    """
    import cupy

    try:
        yield
        cupy.cuda.Device().synchronize()
    except cupy.cuda.driver.CUDADriverError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
