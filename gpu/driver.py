"""What the driver is asked through its C interface: tensor maps, for which CuPy has no call, and whether there is a
device, also where there is no CuPy.
"""

from __future__ import annotations

import ctypes

import numpy as np

from gpu.tensor_map import TensorMap

# Values of CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion in cuda.h; all other options are 0. Of
# type 11, TFLOAT32, a copy rounds f32 to tf32 on its way to shared memory. Source: CUTLASS, "TMA converts f32 input to
# tf32" in sm90_mma_tma_gmma_ss_warpspecialized.hpp.
_TYPES = {"f16": 6, "bf16": 9, "tf32": 11, "f32": 7}
_SWIZZLE_128 = 3
_PROMOTE_TO_128 = 2
_BYTES, _ALIGNMENT = 128, 64
_DRIVER = "libcuda.so.1"


class DriverError(RuntimeError):
    """The CUDA driver is missing or refuses a tensor map."""


def no_gpu() -> str | None:
    """Why no CUDA device can be used here, one sentence; None if one can. Asks the driver and touches no GPU.

    A process that has asked cannot hand CUDA to a fork of itself; one that it starts afresh, as a worker, may use it.
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
    """The map of an array at `pointer` on the current device, as one element of 128 bytes: what a kernel takes by
    value.

    Raises DriverError.
    """
    room = np.zeros(_BYTES + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    place = room[start : start + _BYTES]
    call, arguments = _call(tensor)
    front = (ctypes.c_void_p(place.ctypes.data), _TYPES[tensor.dtype], len(tensor.dims), ctypes.c_void_p(pointer))
    result = getattr(_driver(), call)(*front, *arguments, 0, _SWIZZLE_128, _PROMOTE_TO_128, 0)
    if result:
        raise DriverError(f"the CUDA driver refuses the tensor map of {tensor.name} (error {result} of {call})")
    return place.view(f"V{_BYTES}")


def _call(tensor: TensorMap) -> tuple[str, tuple]:
    """The driver's function, and its arguments between the array and the options."""
    shape = (_array(ctypes.c_uint64, tensor.dims), _array(ctypes.c_uint64, tensor.strides))
    if tensor.pixels is None:
        ones = _array(ctypes.c_uint32, (1,) * len(tensor.dims))
        return "cuTensorMapEncodeTiled", (*shape, _array(ctypes.c_uint32, tensor.box), ones)
    pixels = tensor.pixels
    corners = (_array(ctypes.c_int, pixels.lower), _array(ctypes.c_int, pixels.upper))
    steps = _array(ctypes.c_uint32, (1, *pixels.steps, 1))
    return "cuTensorMapEncodeIm2col", (*shape, *corners, tensor.box[0], pixels.count, steps)


def _array(kind, numbers: tuple[int, ...]):
    return (kind * len(numbers))(*numbers)


def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(_DRIVER)
    except OSError as error:
        raise DriverError(f"the CUDA driver cannot be loaded: {error}") from error
