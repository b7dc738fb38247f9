"""Calls of the CUDA driver through its C interface: tensor maps, for which CuPy has no call, memory during a capture,
and whether there is a GPU, also where CuPy is not installed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpu.codegen.copies.tensor_map import MAP_TYPES, WRONG_BIT, WRONG_DRIVER, WRONG_WORD, TensorMap

# Values of CUtensorMapSwizzle and CUtensorMapL2promotion in cuda.h; all other options are 0.
_SWIZZLE_128 = 3
_PROMOTE_TO_128 = 2
_BYTES, _ALIGNMENT = 128, 64
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_DRIVER = "libcuda.so.1"


class DriverError(RuntimeError):
    """The CUDA driver is missing or refuses a tensor map."""


def no_gpu() -> str | None:
    """Why no CUDA device can be used here, as a sentence; None if one can. Asks the driver and touches no GPU.

    After this call, a fork of this process cannot use CUDA. A process that is started anew, such as a worker, can.
    """
    try:
        driver = ctypes.CDLL(_DRIVER)
    except OSError:
        return "there is no CUDA device here (no driver)"
    count = ctypes.c_int()
    error = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if error:
        return f"there is no CUDA device here (the driver says error {error})"
    return None if count.value else "there is no CUDA device here (the driver counts none)"


def encoded(tensor: TensorMap, pointer: int) -> np.ndarray:
    """The map of an array at `pointer` on the current device, as one element of 128 bytes, which a kernel takes by
    value.

    Raises DriverError.
    """
    room = np.zeros(_BYTES + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    place = room[start : start + _BYTES]
    call, arguments = _call(tensor)
    front = (ctypes.c_void_p(place.ctypes.data), MAP_TYPES[tensor.dtype][0], len(tensor.dims), ctypes.c_void_p(pointer))
    result = getattr(_driver(), call)(*front, *arguments, 0, _SWIZZLE_128, _PROMOTE_TO_128, 0)
    if result:
        raise DriverError(f"the CUDA driver refuses the tensor map of {tensor.name} (error {result} of {call})")
    if tensor.small and _version() <= WRONG_DRIVER:
        place.view(np.uint64)[WRONG_WORD] &= np.uint64(~(1 << WRONG_BIT) & (1 << 64) - 1)
    return place.view(f"V{_BYTES}")


@contextmanager
def allocating_in_a_capture() -> Iterator[None]:
    """Lets this thread allocate memory while a stream is captured for a graph. Raises DriverError.

    CuPy's captures allow that anyway. Others, such as PyTorch's, would end.
    """
    exchange, mode = _driver().cuThreadExchangeStreamCaptureMode, ctypes.c_int(_RELAXED)
    error = exchange(ctypes.byref(mode))  # the driver puts the mode before the call into `mode`
    if error:
        raise DriverError(f"the CUDA driver does not let memory be allocated during a capture (error {error})")
    try:
        yield
    finally:
        exchange(ctypes.byref(mode))


def _call(tensor: TensorMap) -> tuple[str, tuple[object, ...]]:
    """The name of the driver's function, and its arguments between the array and the options."""
    shape = (_array(ctypes.c_uint64, tensor.dims), _array(ctypes.c_uint64, tensor.strides))
    if tensor.pixels is None:
        ones = _array(ctypes.c_uint32, (1,) * len(tensor.dims))
        return "cuTensorMapEncodeTiled", (*shape, _array(ctypes.c_uint32, tensor.box), ones)
    pixels = tensor.pixels
    corners = (_array(ctypes.c_int, pixels.lower), _array(ctypes.c_int, pixels.upper))
    steps = _array(ctypes.c_uint32, (1, *pixels.steps, 1))
    return "cuTensorMapEncodeIm2col", (*shape, *corners, tensor.box[0], pixels.count, steps)


def _version() -> int:
    """The newest version of CUDA that the driver knows: 13010 is 13.1."""
    found = ctypes.c_int()
    _driver().cuDriverGetVersion(ctypes.byref(found))
    return found.value


def _array(kind: type[ctypes._SimpleCData[int]], numbers: tuple[int, ...]) -> ctypes.Array[Any]:
    return (kind * len(numbers))(*numbers)


def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(_DRIVER)
    except OSError as error:
        raise DriverError(f"the CUDA driver cannot be loaded: {error}") from error
