"""Reads bfloat16 tensors of other libraries, through DLPack, as NumPy arrays of their bits. NumPy lacks the dtype.

Source: dlpack.h of DLPack 1.0, struct DLTensor. A capsule called "dltensor" frees the tensor when Python deletes it.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, Protocol, TypeGuard

import numpy as np

_CPU, _BFLOAT = 1, 4  # kDLCPU, kDLBfloat


class Exporter(Protocol):
    """A tensor of any library that shares its memory through DLPack."""

    # The result is a capsule. Python has a name for that type from 3.13 on.
    def __dlpack__(self, /, *, stream: None = None) -> Any: ...


def exports(array: object) -> TypeGuard[Exporter]:
    """Whether DLPack can share the memory of `array`."""
    return hasattr(array, "__dlpack__")


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER.restype, _POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def bits_of(tensor: Exporter) -> np.ndarray:
    """A bfloat16 tensor as uint16, without a copy. A tensor of another dtype as NumPy's array. Raises BufferError."""
    capsule = tensor.__dlpack__()
    found = _Tensor.from_address(_POINTER(capsule, b"dltensor"))
    if (found.code, found.bits, found.lanes) != (_BFLOAT, 16, 1):
        return np.from_dlpack(tensor)
    if found.device_type != _CPU:
        raise BufferError("it is not in the CPU's memory")
    shape = tuple(found.shape[axis] for axis in range(found.ndim))
    strides = tuple(2 * found.strides[axis] for axis in range(found.ndim)) if found.strides else None
    if not prod(shape):
        return np.empty(shape, np.uint16)
    reach = 2 + sum((size - 1) * step for size, step in zip(shape, strides)) if strides else 2 * prod(shape)
    memory = (ctypes.c_char * reach).from_address(found.data + found.byte_offset)
    memory.capsule = capsule  # keeps the tensor alive as long as an array uses its memory
    bits: np.ndarray = np.ndarray(shape, np.uint16, memory, strides=strides)
    return bits
