"""Times kernels, the peak FMA rate and bandwidths inside C, on the calling thread, without the GIL.

flags: compiler flags of one ISA, such as ``("-mavx2", "-mfma")``. This CPU must support it, or an illegal instruction
ends the process. lanes: the number of f32 in a vector of that ISA. Each function raises ToolchainError or CacheError
if ``timer.c`` cannot be compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np

from cpu.runtime.compiler.library import load
from cpu.runtime.machine.host import MachineError

_LANES = (4, 8, 16)
_MOST_MORE = 4  # arrays of a kernel beside x, w and y: timer.c has a case for each number up to this

_ffi = cffi.FFI()
_ffi.cdef(
    """
    typedef void (*tw_kernel)(void);
    double tw_peak(double seconds);
    int tw_time(tw_kernel kernel, void *const *arrays, int count, int warmup,
                int samples, double min_sample_seconds, double *seconds);
    int tw_time_cold(tw_kernel kernel, void *const *arrays, const size_t *bytes, int count,
                     int samples, double most, double *seconds);
    double tw_read_bandwidth(const void *buffer, size_t bytes, double seconds);
    double tw_write_bandwidth(void *buffer, size_t bytes, double seconds);
    double tw_stream_bandwidth(void *buffer, size_t bytes, double seconds);
    """
)


def peak_gflops(flags: tuple[str, ...], lanes: int, seconds: float = 0.01) -> float:
    """Measured f32 GFLOP/s of one thread. An FMA is two operations.

    If ``flags`` have no FMA, this is the rate of multiplications and additions.
    """
    return float(_library(flags, lanes).tw_peak(seconds))


def time_calls(
    kernel: Any,
    x: np.ndarray,
    w: np.ndarray,
    y: np.ndarray,
    *more: np.ndarray,
    seconds: float = 0.02,
    samples: int = 5,
    warmup: int = 1,
) -> tuple[float, ...]:
    """Seconds per call of ``kernel(x, w, y, *more)``, one number per sample.

    kernel: the address of a C function that takes one pointer per array: an int, or a cffi function pointer.
    more: at most four arrays. All arrays are C-contiguous, of any dtype; the kernel writes to ``y``.
    seconds: the time of all samples together. Each sample repeats the call until its share is over, and calls at least
    once, so a slow kernel takes longer.
    Raises ValueError if an array is not contiguous, ``y`` is read-only, or there are too many arrays or no samples.
    """
    if samples < 1 or warmup < 0:
        raise ValueError(f"samples={samples} must be at least 1 and warmup={warmup} at least 0")
    times = _ffi.new("double[]", samples)
    pointers = _pointers(x, w, y, more)
    _library((), 4).tw_time(
        _ffi.cast("tw_kernel", _ffi.cast("uintptr_t", kernel)),
        _ffi.new("void *[]", [_ffi.cast("void *", pointer) for pointer in pointers]),
        len(pointers),
        warmup,
        samples,
        seconds / samples,
        times,
    )
    return tuple(times)


def time_cold_calls(
    kernel: Any, x: np.ndarray, w: np.ndarray, y: np.ndarray, *more: np.ndarray, seconds: float = 0.02, most: int = 100
) -> tuple[float, ...]:
    """Seconds of single calls, each with all arrays in memory and in no cache: at most `most`, at least one.

    seconds: the time of all calls together, without emptying the caches. The other arguments are those of `time_calls`.
    Raises ValueError as it does, and MachineError where the CPU has no instruction that empties caches.
    """
    if most < 1:
        raise ValueError(f"most={most} must be at least 1")
    times = _ffi.new("double[]", most)
    arrays, pointers = (x, w, y, *more), _pointers(x, w, y, more)
    count = _library((), 4).tw_time_cold(
        _ffi.cast("tw_kernel", _ffi.cast("uintptr_t", kernel)),
        _ffi.new("void *[]", [_ffi.cast("void *", pointer) for pointer in pointers]),
        _ffi.new("size_t[]", [array.nbytes for array in arrays]),
        len(pointers),
        most,
        seconds,
        times,
    )
    if not count:
        raise MachineError("this CPU has no instruction that empties its caches: times are taken with warm caches only")
    return tuple(times[0:count])


def read_bandwidth(buffer: np.ndarray, flags: tuple[str, ...], lanes: int, seconds: float = 0.02) -> float:
    """Bytes/s at which one core reads ``buffer``, in order, again and again. 0.0 if it is smaller than eight vectors.

    buffer: C-contiguous, of any dtype. Fill it first: pages that were never written all map to one page of zeros.
    """
    pointer = _pointer(buffer, "buffer")
    return float(_library(flags, lanes).tw_read_bandwidth(pointer, buffer.nbytes, seconds))


def write_bandwidth(buffer: np.ndarray, flags: tuple[str, ...], lanes: int, seconds: float = 0.02) -> float:
    """Bytes/s at which one core writes plain vector stores. Overwrites ``buffer``."""
    pointer = _pointer(buffer, "buffer", writable=True)
    return float(_library(flags, lanes).tw_write_bandwidth(pointer, buffer.nbytes, seconds))


def stream_bandwidth(buffer: np.ndarray, flags: tuple[str, ...], lanes: int, seconds: float = 0.02) -> float:
    """As ``write_bandwidth``, with streaming stores if the ISA has them."""
    pointer = _pointer(buffer, "buffer", writable=True)
    return float(_library(flags, lanes).tw_stream_bandwidth(pointer, buffer.nbytes, seconds))


@functools.cache
def _library(flags: tuple[str, ...], lanes: int) -> Any:
    if lanes not in _LANES:
        raise ValueError(f"lanes={lanes} must be one of {', '.join(map(str, _LANES))}")
    source = Path(__file__).with_name("timer.c").read_text(encoding="utf-8")
    return load(source, (*flags, f"-DTW_LANES={lanes}"), _ffi.dlopen)


def _pointers(x: np.ndarray, w: np.ndarray, y: np.ndarray, more: Sequence[np.ndarray]) -> list[Any]:
    if len(more) > _MOST_MORE:
        raise ValueError(f"{len(more)} arrays beside x, w and y are more than {_MOST_MORE}")
    found = [_pointer(x, "x"), _pointer(w, "w"), _pointer(y, "y", writable=True)]
    return found + [_pointer(array, "an array beside x, w and y") for array in more]


def _pointer(array: np.ndarray, name: str, writable: bool = False) -> Any:
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous: pass numpy.ascontiguousarray({name})")
    if writable and not array.flags.writeable:
        raise ValueError(f"{name} is read-only but is written to: pass a copy")
    return _ffi.from_buffer(array, require_writable=writable)
