"""The fast path into a kernel, in C: `entry.c` checks the arrays of a call and runs it.

The checks are most of the time of a small kernel's call (decision 052).
A call whose arrays do not pass goes on in Python, which finds out what is wrong with them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.library import load
from cpu.runtime.compiler.toolchain import ToolchainError

MOST_ARRAYS = 16  # of a call: `entry.c` has room for so many
NOT_AS_IT_SHOULD_BE = -1

Enter = Callable[[tuple[object, ...], object], int]


class _Place(ctypes.Structure):
    _fields_ = (("format", ctypes.c_char_p), ("axes", ctypes.c_long), ("shape", ctypes.POINTER(ctypes.c_ssize_t)))


class _Entry(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        ("type", ctypes.c_void_p),
        ("inputs", ctypes.c_long),
        ("places", ctypes.POINTER(_Place)),
    )


def entry(run: int, arrays: Sequence[tuple[np.dtype, tuple[int, ...]]]) -> Enter | None:
    """A function of a tuple of inputs and the output, which calls C and returns what it returned.

    It returns NOT_AS_IT_SHOULD_BE, and calls nothing, where an array is not NumPy's own, C-contiguous and of its dtype
    and shape, or where the output is read-only or overlaps an input. None where there are too many arrays, or where
    no compiler is found.
    run: the address of `int run(void *const *arrays)`. arrays: the arrays that it takes; it writes the last one.
    """
    if len(arrays) > MOST_ARRAYS:
        return None
    enter = _library()
    if enter is None:
        return None
    places = (_Place * len(arrays))(*(_place(*array) for array in arrays))
    kernel = _Entry(run, id(np.ndarray), len(arrays) - 1, places)
    return partial(enter, ctypes.byref(kernel))


def _place(dtype: np.dtype, shape: tuple[int, ...]) -> _Place:
    spelled = memoryview(np.empty(0, dtype).data).format.encode()
    return _Place(spelled, len(shape), (ctypes.c_ssize_t * len(shape))(*shape))


@cache
def _library() -> Callable[..., int] | None:
    """The library with `tw_enter`, to be called with the GIL; None where it cannot be compiled. Tried once."""
    source = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
    try:
        enter = load(source, (), ctypes.PyDLL).tw_enter
    except (ToolchainError, CacheError):
        return None
    enter.argtypes, enter.restype = (ctypes.POINTER(_Entry), ctypes.py_object, ctypes.py_object), ctypes.c_int
    found: Callable[..., int] = enter
    return found
