"""The arrays of a call: takes them from any library without a copy, checks them, and gives y back in that library.

The images of a convolution may also come as PyTorch's channels-last tensors. Their axes are (N,C,H,W), but their memory
is that of an (N,H,W,C) array.
"""

from __future__ import annotations

import sys
from math import prod
from typing import Any

import cffi
import numpy as np

from cpu.kernel.dlpack import bits_of, exports
from cpu.runtime.numbers import Element, masked
from tiling.arguments import ArgumentError
from tiling.tensor import Tensor

_FFI = cffi.FFI()
_BYTES = _FFI.typeof("char[]")
Pointer = Any  # cffi has no types of its own
_F32 = np.dtype(np.float32)
_ALIGNMENT = 64  # a cache line, and the widest vector: streaming stores need it


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype = _F32) -> np.ndarray:
    """An uninitialised array that starts on a cache line."""
    raw = np.empty(prod(shape) * dtype.itemsize + _ALIGNMENT, np.uint8)
    address = int(_FFI.cast("uintptr_t", pointer(raw)))
    empty: np.ndarray = np.ndarray(shape, dtype, raw, -address % _ALIGNMENT)
    return empty


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy of the array that starts on a cache line."""
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


# Every call runs the next two functions, which matters for a small layer. With cffi they take a fifth of the time of
# NumPy's `ctypes.data` and `may_share_memory`.
def pointer(array: np.ndarray) -> Pointer:
    """A C-contiguous array as a cffi `char[]`, which keeps the array alive."""
    return _FFI.from_buffer(_BYTES, array)


def overlap(a: Pointer, b: Pointer) -> bool:
    """Whether two results of `pointer` share memory."""
    shared: bool = a < b + len(b) and b < a + len(a)
    return shared


def adopted(array: object, name: str, element: Element) -> np.ndarray:
    """A view of an array of any library, through DLPack or NumPy's array interface. Never a copy."""
    if type(array) is np.ndarray:
        return array
    if wrong := masked(array, name):
        raise ArgumentError(wrong)
    if isinstance(array, np.ndarray):
        return array
    try:
        if exports(array):
            return bits_of(array) if element.named else np.from_dlpack(array)
        if hasattr(array, "__array_interface__"):
            return np.asarray(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name} cannot be read in place ({error}): pass a {element.named or element.numpy} array on the CPU"
        ) from error
    raise ArgumentError(
        f"{name} is {type(array).__name__}, not an array: pass a {element.named or element.numpy} array on the CPU"
    )


def checked(
    given: object, tensor: Tensor, element: Element, name: str | None = None, strided: bool = False
) -> np.ndarray:
    """The array as NumPy's, if it is C-contiguous and has the tensor's shape and the element's dtype.

    strided: the array may have any strides; one that is not contiguous is copied. Otherwise nothing is copied.
    Raises ArgumentError.
    """
    name = name or tensor.called
    array = adopted(given, name, element)
    # Comparing two dtype objects is fast, and it tells the other byte order apart.
    if array.dtype != element.numpy:
        if array.dtype.name != element.named:
            takes = f"{element.named}, or its bits as {element.numpy}" if element.named else element.numpy
            raise ArgumentError(f"{name} is {array.dtype}, but this kernel takes {takes}: convert it first")
        array = array.view(element.numpy)
    if array.shape != tensor.shape:
        raise ArgumentError(
            f"{name} has shape {array.shape}, but this kernel was made for {tensor.shape}{_meant(array, tensor)}"
        )
    if not array.flags.c_contiguous:
        if strided:
            return np.ascontiguousarray(array)
        raise ArgumentError(f"{name} is not C-contiguous: pass numpy.ascontiguousarray({name}), or {name}.contiguous()")
    return array


def _meant(array: np.ndarray, tensor: Tensor) -> str:
    """What to do about an image with its channels first, as PyTorch has them; "" for any other array."""
    if array.ndim < 4 or tensor.role != "broadcast" or with_channels_last(array).shape != tensor.shape:
        return ""
    return ': pass it as a channels-last tensor, or make the kernel with layout="nchw"'


def with_channels_last(array: np.ndarray) -> np.ndarray:
    """The array with its second axis last: (N,C,H,W) as (N,H,W,C)."""
    return np.moveaxis(array, 1, -1)


def as_channels_last(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """An (N,C,H,W) array whose memory lies channels last, as an (N,H,W,C) array of the tensor's shape. Any other array
    is returned as it is.
    """
    if array.ndim < 4 or (array.shape == tensor.shape and array.flags.c_contiguous):
        return array
    swapped = with_channels_last(array)
    return swapped if swapped.shape == tensor.shape and swapped.flags.c_contiguous else array


def like(given: object, y: np.ndarray, element: Element) -> Any:
    """y as an array of the library that made `given`, through DLPack. For a library without tensors, y itself."""
    if isinstance(given, np.ndarray):
        return y.view(given.dtype) if element.named and given.dtype.name == element.named else y
    library = sys.modules.get(type(given).__module__.partition(".")[0])
    from_dlpack = getattr(library, "from_dlpack", None)
    if from_dlpack is None or not exports(given):
        return y
    tensor = from_dlpack(y)
    return tensor.view(getattr(library, element.named)) if element.named else tensor
