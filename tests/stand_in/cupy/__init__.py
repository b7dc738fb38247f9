"""A stand-in for CuPy on a machine with an H200: NumPy arrays for those of the device, and launches run the CPU twin.

A test puts the folder of this package in front of sys.path, where worker processes find it too.
"""

from types import SimpleNamespace

import numpy as np

from cupy import cuda

__all__ = ["asarray", "asnumpy", "copyto", "cuda", "empty", "empty_like", "ndarray", "ones", "zeros"]


class ndarray(np.ndarray):  # noqa: N801, CuPy's name
    """A NumPy array with the attributes of a CuPy array that a kernel looks at."""

    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data))
    device = property(lambda self: SimpleNamespace(id=0))


def empty(shape, dtype="float32"):
    count = int(np.prod(shape))
    room = np.zeros(count * np.dtype(dtype).itemsize + 256, np.uint8)
    start = -room.ctypes.data % 256
    return room[start : start + count * np.dtype(dtype).itemsize].view(dtype).reshape(shape).view(ndarray)


def asarray(array):
    placed = empty(array.shape, array.dtype)
    placed[...] = array
    return placed


def zeros(shape, dtype="float32"):
    return empty(shape, dtype)


def ones(shape, dtype="float32"):
    return asarray(np.ones(shape, dtype))


def empty_like(array):
    return empty(array.shape, array.dtype)


def copyto(target, source):
    target[...] = source


def asnumpy(array):
    return np.asarray(array)
