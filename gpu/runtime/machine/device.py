"""The GPU that this process would use, as CuPy and the driver describe it. To import this module needs neither."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpu.model.devices import DEVICES, Device
from gpu.runtime.machine.driver import no_gpu


class DeviceError(RuntimeError):
    """There is no device that can run the kernel, or the kernel needs more than the device has."""


def current_device() -> Device:
    """The GPU that this process would use: rates of its kind, and its own multiprocessors and shared memory.

    Raises DeviceError where there is none.
    """
    return current()[2]


def driver_version() -> str:
    """The newest version of CUDA that the driver knows, such as 13.0. Raises DeviceError."""
    found = current()[0].cuda.runtime.driverGetVersion()
    return f"{found // 1000}.{found % 1000 // 10}"


def bus_address() -> str:
    """The GPU's address on the bus, by which the driver's tools name it. Raises DeviceError."""
    return str(current()[0].cuda.Device().pci_bus_id)


def current() -> tuple[Any, int, Device]:
    """CuPy, the number of the GPU that this process uses, and what it is. Raises DeviceError."""
    try:
        import cupy
    except ImportError as error:
        absent = no_gpu()  # without a device CuPy would not help
        lacking = f"{absent}; where there is one, CuPy runs" if absent else "CuPy is not installed, which runs"
        raise DeviceError(f"{lacking} CUDA kernels: pip install 'tilewright[gpu]'") from error
    if not cupy.cuda.is_available():
        raise DeviceError("there is no CUDA device here: a kernel can be compiled and explained, but not run")
    number = cupy.cuda.Device().id
    found = cupy.cuda.runtime.getDeviceProperties(number)
    capability = 10 * found["major"] + found["minor"]
    return cupy, number, described(found["name"].decode(), capability, found)


def is_a(name: str, device: Device) -> bool:
    """Whether a GPU that the driver calls `name` is of that kind: an NVIDIA A100-SXM4-80GB is an A100, an A1000 not."""
    return re.search(rf"\b{device.name}\b", name) is not None


def described(name: str, capability: int, properties: Mapping[str, Any]) -> Device:
    """A device by the driver's properties. Rates, which the driver does not tell, are the nearest known kind's."""
    known = [d for d in DEVICES.values() if is_a(name, d)] or [
        d for d in sorted(DEVICES.values(), key=_capability) if _capability(d) <= capability
    ]
    if not known:
        raise DeviceError(f"{name} has compute capability {capability / 10}: kernels need 8.0 or newer")
    return replace(
        known[-1],
        name=name,
        architecture=f"sm_{capability}a" if capability == 90 else f"sm_{capability}",
        multiprocessors=properties["multiProcessorCount"],
        shared_of_block=properties["sharedMemPerBlockOptin"],
        shared_of_multiprocessor=properties["sharedMemPerMultiprocessor"],
        l2_bytes=properties["l2CacheSize"],
        wgmma_flops=known[-1].wgmma_flops if capability == 90 else 0,
    )


def _capability(device: Device) -> int:
    return int(device.architecture.removeprefix("sm_").removesuffix("a"))
