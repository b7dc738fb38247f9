"""Problems that are large enough for every schedule, and their kernels through NVRTC."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

from cpu.runtime.machine.host import host
from gpu.model.devices import DEVICES
from gpu.model.space import candidates
from tests.support.gpu.compiling import fault
from tiling.operators import conv2d, matmul

# Large enough for every schedule, of an alignment that all pipelines take.
LARGE = {
    (operator, dtype): problem
    for dtype in ("f16", "bf16", "tf32")
    for operator, problem in {
        "matmul": matmul(m=4096, n=4096, k=4096, dtype=dtype, transpose_b=True),
        "conv2d": conv2d(n=16, c=64, h=56, w=56, k=512, r=3, s=3, padding=1, dtype=dtype, filters="krsc"),
    }.items()
}
OTHERS = [
    matmul(m=4096, n=4096, k=4096, dtype="bf16"),
    matmul(m=1001, n=999, k=2039, dtype="f16", transpose_a=True),
    matmul(m=512, n=512, k=512, dtype="tf32", transpose_b=True),
    conv2d(c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3, dtype="bf16", filters="krsc"),
]


@cache
def kernels_of(kind) -> dict:
    """By architecture and scheme, every candidate and a device: devices of one architecture share most.

    The scheme decides the text: to emit all 445 to compare their texts took 20 CPU s for each kind.
    """
    kernels = {}
    for device in DEVICES.values():
        for scheme in candidates(LARGE[kind], device):
            kernels[device.architecture, scheme.text] = scheme, device.name
    return kernels


def check_schedules(kernels) -> None:
    with ThreadPoolExecutor(host().cores) as pool:
        assert list(filter(None, pool.map(lambda kernel: fault(*kernel), kernels))) == []
