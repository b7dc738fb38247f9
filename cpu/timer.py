"""Timing inside C, from Python: kernels, peak FMA rate, bandwidths.

Every measurement runs on the calling thread, with the GIL released while C runs.
``flags`` are compiler flags of one ISA (``("-mavx2", "-mfma")``) that this CPU must
support: running others is an illegal instruction. ``lanes`` is the number of f32 in
its vector. Each function raises ToolchainError or CacheError if ``timer.c`` cannot
be compiled.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import cffi
import numpy as np

from cpu.library import load

_LANES = (4, 8, 16)
_MOST_MORE = 4  # arrays of a kernel beside x, w and y: what timer.c has a case for

_ffi = cffi.FFI()
_ffi.cdef(
    """
    typedef void (*tw_kernel)(void);
    double tw_peak(double seconds);
    int tw_time(tw_kernel kernel, void *const *arrays, int count, int warmup,
                int samples, double min_sample_seconds, double *seconds);
    double tw_read_bandwidth(const void *buffer, size_t bytes, double seconds);
    double tw_write_bandwidth(void *buffer, size_t bytes, double seconds);
    double tw_stream_bandwidth(void *buffer, size_t bytes, double seconds);
    """
)


def peak_gflops(flags: tuple[str, ...], lanes: int, seconds: float = 0.01) -> float:
    """Measured f32 GFLOP/s of one thread (an FMA is two operations).

    Without FMA in ``flags`` it is the rate of a multiply and an add.
    """
    return _library(flags, lanes).tw_peak(seconds)


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

    ``kernel`` is the address of a C function of as many pointers: an int, or a cffi
    function pointer of any FFI. At most four ``more``. Arrays are C-contiguous, of any dtype; the kernel
    writes to ``y``. ``seconds`` is shared among the samples, each of which repeats
    the call to fill its share and calls at least once: a kernel slower than that
    takes longer. Raises ValueError for an array that is not contiguous, a ``y``
    that is read-only, too many arrays, or no samples.
    """
    if samples < 1 or warmup < 0:
        raise ValueError(f"samples={samples} must be at least 1 and warmup={warmup} at least 0")
    if len(more) > _MOST_MORE:
        raise ValueError(f"{len(more)} arrays beside x, w and y are more than {_MOST_MORE}")
    times = _ffi.new("double[]", samples)
    pointers = [_pointer(x, "x"), _pointer(w, "w"), _pointer(y, "y", writable=True)]
    pointers += [_pointer(array, "an array beside x, w and y") for array in more]
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


def read_bandwidth(buffer: np.ndarray, flags: tuple[str, ...], lanes: int, seconds: float = 0.02) -> float:
    """Bytes/s that one core reads ``buffer`` with, in order, again and again.

    ``buffer`` is C-contiguous, of any dtype. A read-only page that was never
    written maps to one page of zeros: fill the buffer first. 0.0 for a buffer
    smaller than eight vectors.
    """
    pointer = _pointer(buffer, "buffer")
    return _library(flags, lanes).tw_read_bandwidth(pointer, buffer.nbytes, seconds)


def write_bandwidth(buffer: np.ndarray, flags: tuple[str, ...], lanes: int, seconds: float = 0.02) -> float:
    """Bytes/s that one core stores with plain vector stores; overwrites ``buffer``."""
    pointer = _pointer(buffer, "buffer", writable=True)
    return _library(flags, lanes).tw_write_bandwidth(pointer, buffer.nbytes, seconds)


def stream_bandwidth(buffer: np.ndarray, flags: tuple[str, ...], lanes: int, seconds: float = 0.02) -> float:
    """As ``write_bandwidth``, with streaming stores where the ISA has them."""
    pointer = _pointer(buffer, "buffer", writable=True)
    return _library(flags, lanes).tw_stream_bandwidth(pointer, buffer.nbytes, seconds)


@functools.cache
def _library(flags: tuple[str, ...], lanes: int) -> Any:
    if lanes not in _LANES:
        raise ValueError(f"lanes={lanes} must be one of {', '.join(map(str, _LANES))}")
    source = Path(__file__).with_name("timer.c").read_text(encoding="utf-8")
    return load(source, (*flags, f"-DTW_LANES={lanes}"), _ffi.dlopen)


def _pointer(array: np.ndarray, name: str, writable: bool = False) -> Any:
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous: pass numpy.ascontiguousarray({name})")
    if writable and not array.flags.writeable:
        raise ValueError(f"{name} is read-only but is written to: pass a copy")
    return _ffi.from_buffer(array, require_writable=writable)
