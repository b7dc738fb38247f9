"""A stand-in for CuPy on a machine with an H200: NumPy arrays for those of the device, and launches run the CPU twin.

A test puts the folder of this package in front of sys.path, where worker processes find it too.
"""

import ctypes
from types import SimpleNamespace

import numpy as np

from cupy import cuda

__all__ = ["asarray", "asnumpy", "copyto", "cuda", "empty", "ndarray", "zeros"]


class _Memory:
    def __init__(self, pointer):
        self.ptr = pointer

    def memset_async(self, value, size):
        cuda.context.check()
        ctypes.memset(self.ptr, value, size)


class ndarray(np.ndarray):
    """A NumPy array with the attributes of a CuPy array that a kernel looks at."""

    data = property(lambda self: _Memory(self.ctypes.data))
    device = property(lambda self: SimpleNamespace(id=0))


def empty(shape, dtype="float32"):
    count = int(np.prod(shape))
    room = np.zeros(count * np.dtype(dtype).itemsize + 256, np.uint8)
    start = -room.ctypes.data % 256
    return room[start : start + count * np.dtype(dtype).itemsize].view(dtype).reshape(shape).view(ndarray)


def asarray(array):
    cuda.context.check()
    placed = empty(array.shape, array.dtype)
    placed[...] = array
    return placed


def zeros(shape, dtype="float32"):
    cuda.context.check()
    return empty(shape, dtype)


def copyto(target, source):
    cuda.context.check()
    target[...] = source


def asnumpy(array):
    cuda.context.check()
    return np.asarray(array)
