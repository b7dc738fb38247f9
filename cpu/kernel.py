"""An emitted kernel made callable: compiled once, loaded through cffi, its arguments checked before C sees them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import prod
from pathlib import Path

import cffi
import numpy as np

from cpu.check import single_pass
from cpu.dlpack import bits_of
from cpu.emit import Source, emit
from cpu.epilogue import may_be_output
from cpu.host import supports, tiles_given, tiles_refused
from cpu.library import load, load_bytes
from cpu.numbers import ELEMENTS, Element, elements_of, stored
from cpu.timer import peak_gflops, time_calls
from cpu.toolchain import ToolchainError, find_compiler
from microkernels.isa import Isa, isa_named
from tiling.machine import Timing
from tiling.problem import Problem, Tensor
from tiling.scheme import Scheme
from tiling.shapes import canonical

_FFI = cffi.FFI()
_BYTES = _FFI.typeof("char[]")
_ALIGNMENT = 64  # a cache line, and the widest vector: streaming stores need it
# A peak measured for less than this is at the mercy of one interrupt.
_PEAK_SECONDS = 0.004
_STEADY = 0.97
# A sample is about as long as this or one call: shorter than a scheduler's slice, so that an interruption spoils few of
# them and the median none.
_SAMPLE_SECONDS = 0.001
_LEAST_SAMPLES, _MOST_SAMPLES = 5, 100


class ArgumentError(ValueError):
    """An array that the kernel cannot take: which one, what it is, and what is wanted."""


class CpuError(RuntimeError):
    """This CPU lacks an instruction set that a kernel was compiled for."""


@dataclass(frozen=True, eq=False)
class Packed:
    """Weights in the order one scheme reads them; made by `Kernel.pack`, passed where the weights would be."""

    data: np.ndarray
    scheme: Scheme


class Kernel:
    """A compiled scheme. `kernel(x, w)` gives y; see `__call__`, `pack`, and `cpu.export`."""

    def __init__(self, scheme: Scheme, source: Source, saved: bytes | None = None):
        """Loads the shared object `saved`, its bytes; else what the compile cache has, compiled now if it never was.

        Raises CpuError; OSError for one that cannot be loaded, and what `cpu.cache.load` raises.
        """
        self.problem: Problem = scheme.problem
        self.asked: Problem = scheme.problem.asked  # whose arrays are passed
        self.scheme = scheme
        self.emitted = source
        self.saved = saved
        self._timing: Timing | None = None
        self._elements = tuple(ELEMENTS[name] for name in elements_of(self.problem))
        ffi = cffi.FFI()
        # Pointers to whatever the problem's dtypes are: `_checked` sees to that.
        parameters = (
            "const void *X",
            "const void *W",
            "void *Y",
            *["const void *"] * len(self.problem.epilogue_arrays),
        )
        ffi.cdef(
            f"void {source.symbol}({', '.join(parameters)});"
            f"void {source.symbol}_pack(const void *W, void *packed);"
            f"int {source.symbol}_supported(void);"
        )
        self._ffi = ffi
        # OpenMP's threads go on running its code: unloading it with the last kernel that uses it would crash them.
        how = os.RTLD_NOW | (os.RTLD_NODELETE if source.openmp else 0)

        def opened(path: str):
            return ffi.dlopen(path, how)

        if saved is not None:
            self._loaded = load_bytes(saved, opened)
        else:
            self._loaded = load(source.text, source.compiler_flags, opened, source.openmp)
        # The kernel's own word, since /proc/cpuinfo may speak of another CPU: an emulator shows its host's.
        if not getattr(self._loaded, source.symbol + "_supported")():
            isa = isa_named(source.isa)
            if isa.matrix and supports(isa.cpu_flags) and not tiles_given():
                raise CpuError(f"{tiles_refused(isa.name)}, which {source.symbol} was compiled for")
            raise CpuError(
                f"this CPU does not run {source.isa}, which {source.symbol} was compiled for: generate the kernel on "
                "this machine"
            )
        self._run = getattr(self._loaded, source.symbol)
        self._pack = getattr(self._loaded, source.symbol + "_pack")

    def __repr__(self) -> str:
        return f"<Kernel of {self.problem.op} {canonical(self.problem)}: {self.scheme}>"

    @property
    def source(self) -> str:
        """The emitted C text."""
        return self.emitted.text

    @property
    def threads(self) -> int:
        return self.emitted.threads

    @property
    def timing(self) -> Timing:
        """Seconds a call, kernel alone, warm caches, timed in C with the FMA peak beside.

        What the search measured; else measured now, on random data, and kept.
        """
        if self._timing is None:
            rng = np.random.default_rng(0)
            arrays = [array.elements for array in self.problem.epilogue_arrays]
            sizes = (self.problem.tensors[0].elements, self.emitted.packed, *arrays)
            x, packed, *more = stored(self.problem, [rng.random(elements, np.float32) for elements in sizes])
            self._timing = self.measure(x, packed, self.empty(), 0.1, more)
        return self._timing

    @timing.setter
    def timing(self, timing: Timing) -> None:
        self._timing = timing

    def measure(self, x: np.ndarray, packed: np.ndarray, y: np.ndarray, seconds: float, arrays=()) -> Timing:
        """Warm samples of the kernel alone, about `seconds` together, between two measurements of the peak.

        arrays: the epilogue's, in the order of the problem's `epilogue_arrays`.
        """
        flags, lanes = self.emitted.compiler_flags, self.scheme.lanes
        before = peak_gflops(flags, lanes, _PEAK_SECONDS)
        call = time_calls(self.address, x, packed, y, *arrays, seconds=0, samples=1)[0]
        count = round(seconds / max(call, _SAMPLE_SECONDS))
        count = max(_LEAST_SAMPLES, min(_MOST_SAMPLES, count))
        samples = time_calls(self.address, x, packed, y, *arrays, seconds=seconds, samples=count, warmup=0)
        after = peak_gflops(flags, lanes, _PEAK_SECONDS)
        # Other programs only ever lower a peak. Two that differ by more than a clock drifts meanwhile: look again.
        if min(before, after) < _STEADY * max(before, after):
            after = max(after, peak_gflops(flags, lanes, 4 * _PEAK_SECONDS))
        return Timing(samples, max(before, after))

    @property
    def address(self) -> int:
        """The address of the C function, for timing without a Python call around it."""
        return int(self._ffi.cast("uintptr_t", self._run))

    @property
    def pack_address(self) -> int:
        """The address of the C function that packs the weights."""
        return int(self._ffi.cast("uintptr_t", self._pack))

    def pack(self, w) -> Packed:
        """The weights, (K,C/groups,R,S) (b of a product: (K,N)) of the problem's dtype, packed once for many calls."""
        raw = _checked(w, self.asked.vector, self._elements[1])
        packed = aligned_empty((self.emitted.packed,), self._elements[1].numpy)
        self._pack(_pointer(raw), _pointer(packed))
        return Packed(packed, self.scheme)

    def __call__(self, /, x, w, *arrays, out: np.ndarray | None = None, **named) -> np.ndarray:
        """y = x * w. x is (N,H,W,C) float32, w (K,C/groups,R,S) float32 or what `pack` gave; y is (N,OH,OW,K) float32;
        in layout nchw x is (N,C,H,W) and y (N,K,OH,OW).

        Of a bf16 problem x and w are uint16, the bits, or ml_dtypes.bfloat16, or DLPack tensors of bfloat16; y is
        uint16, or as x is. Of an int8 problem x is uint8, w int8. y is of the problem's `output_dtype`.
        The arrays of the problem's epilogue follow, in the order of their first use or by name: k(x, w, b, z) or
        k(x, w, z=z, b=b). One of the output's shape may be `out` itself, so that y is added to it in place.
        Raw weights are packed on every call. Arrays may be anything with NumPy's array interface or DLPack on the
        CPU, C-contiguous; none is copied on the way to C. With `out` the result is written there and returned. Safe to
        call from several threads at once; the GIL is released meanwhile. Raises ArgumentError.
        """
        given, x = x, _checked(x, self.asked.broadcast, self._elements[0])
        if isinstance(w, Packed):
            # The scheme's text alone would not do: it may be the same for two problems, its problem is part of it.
            if w.scheme is not self.scheme and w.scheme != self.scheme:
                theirs, ours = (f"{canonical(s.problem)} by {s}" for s in (w.scheme, self.scheme))
                raise ArgumentError(
                    f"these packed weights belong to another kernel, of {theirs}, and this one is of {ours}: call this "
                    f"one's pack(w)"
                )
        else:
            w = self.pack(w)
        if arrays or named or self.problem.epilogue:
            arrays = self._epilogue_arrays(arrays, named)
        if out is None:
            y = self.empty()
        else:
            y = _checked_output(out, self.asked.output, self._elements[2])
            if not y.flags.writeable:
                raise ArgumentError("out is read-only: pass an array that can be written")
        at_x, at_w, at_y = _pointer(x), _pointer(w.data), _pointer(y)
        if out is not None and (_overlap(at_y, at_x) or _overlap(at_y, at_w)):
            raise ArgumentError("out overlaps an input: pass memory of its own")
        if arrays:
            arrays = [self._beside(at_y, *each) for each in zip(arrays, self.asked.epilogue_arrays)]
        self._run(at_x, at_w, at_y, *arrays)
        if out is not None:
            return out
        bfloat16 = self._elements[2].named
        if bfloat16 and isinstance(given, np.ndarray) and given.dtype.name == bfloat16:
            return y.view(given.dtype)  # as x is
        return y

    def empty(self) -> np.ndarray:
        """An uninitialised output."""
        return aligned_empty(self.asked.output.shape, self._elements[2].numpy)

    def _epilogue_arrays(self, given: tuple, named: dict) -> list[np.ndarray]:
        """The epilogue's arrays in order, checked."""
        tensors = self.asked.epilogue_arrays
        if len(given) > len(tensors):
            follow = "1 array follows" if len(given) == 1 else f"{len(given)} arrays follow"
            takes = f"epilogue takes {' and '.join(tensor.name for tensor in tensors) or 'no array'}"
            raise ArgumentError(f"{follow} x and w, but this kernel's {takes}; the output goes into out=…")
        found = dict(zip((tensor.name for tensor in tensors), given))
        for name, array in named.items():
            if name in found:
                raise ArgumentError(f"{name} is given twice")
            found[name] = array
        # A misspelt name is unknown and its array missing: what was written is what to mend.
        unknown = found.keys() - {tensor.name for tensor in tensors}
        if unknown:
            arrays = " ".join(tensor.name for tensor in tensors) or "none"
            raise ArgumentError(f"this kernel has no argument {min(unknown)!r}; the arrays of its epilogue: {arrays}")
        missing = [tensor.name for tensor in tensors if tensor.name not in found]
        if missing:
            needs = f"needs {' and '.join(missing)}: pass {missing[0]}=…"
            raise ArgumentError(f"the epilogue {self.problem.epilogue} {needs}")
        return [_checked(found[tensor.name], tensor, ELEMENTS["f32"]) for tensor in tensors]

    def _beside(self, at_y, array: np.ndarray, tensor: Tensor):
        """A pointer to an array of the epilogue as the kernel may read it while it writes y."""
        at = _pointer(array)
        if not _overlap(at_y, at):
            return at
        if not may_be_output(self.asked, tensor) or at != at_y:
            raise ArgumentError(
                f"out overlaps {tensor.name}: pass memory of its own, or for a residual the very same array"
            )
        # Sums that wait in y for a later pass would overwrite what the last one reads.
        return at if single_pass(self.scheme) else _pointer(array.copy())

    def save(self, folder) -> tuple[Path, ...]:
        """Writes the kernel as C that needs no Python: .c, .h, .so and a small program that calls it; their paths."""
        from cpu.export import save

        return save(self, Path(folder))


def build(scheme: Scheme, isa: Isa, threads: int = 1, stream: bool = False) -> Kernel:
    """Emits, compiles (or finds compiled) and loads a scheme. Raises SchemeError, ToolchainError, CacheError or
    CpuError.
    """
    source = emit(scheme, isa, threads, stream)
    if source.openmp and not find_compiler().openmp:
        raise ToolchainError(
            f"{find_compiler().path} has no OpenMP, so threads={threads} cannot be had: use gcc, install clang's "
            "OpenMP (Debian/Ubuntu: apt install libomp-dev), or ask for threads=1"
        )
    return Kernel(scheme, source)


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype = np.dtype(np.float32)) -> np.ndarray:
    """An uninitialised array that starts on a cache line."""
    raw = np.empty(prod(shape) * dtype.itemsize + _ALIGNMENT, np.uint8)
    address = int(_FFI.cast("uintptr_t", _pointer(raw)))
    return np.ndarray(shape, dtype, raw, -address % _ALIGNMENT)


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy of the array that starts on a cache line."""
    copy = aligned_empty(array.shape, array.dtype)
    copy[:] = array
    return copy


# Every small layer waits for these two on each call; through cffi they take a fifth of what NumPy's `ctypes.data` and
# `may_share_memory` do.
def _pointer(array: np.ndarray):
    """A C-contiguous array as C has it: a `char[]`, which keeps it alive."""
    return _FFI.from_buffer(_BYTES, array)


def _overlap(a, b) -> bool:
    """Whether two `char[]` share memory."""
    return a < b + len(b) and b < a + len(a)


def _checked(array, tensor: Tensor, element: Element, name: str | None = None) -> np.ndarray:
    name = name or tensor.called
    if not isinstance(array, np.ndarray):
        array = _adopt(array, name, element)
    if (
        array.dtype != element.numpy
    ):  # a dtype beside a dtype: NumPy compares the other byte order as different, and fast
        if array.dtype.name != element.named:
            takes = f"{element.named}, or its bits as {element.numpy}" if element.named else element.numpy
            raise ArgumentError(f"{name} is {array.dtype}, but this kernel takes {takes}: convert it first")
        if array.flags.c_contiguous:
            array = array.view(element.numpy)
    if array.shape != tensor.shape:
        raise ArgumentError(f"{name} has shape {array.shape}, but this kernel was made for {tensor.shape}")
    if not array.flags.c_contiguous:
        raise ArgumentError(f"{name} is not C-contiguous: pass numpy.ascontiguousarray({name})")
    return array


def _checked_output(out, tensor: Tensor, element: Element) -> np.ndarray:
    """As `_checked`; what is written to a converted copy would never reach the caller's array, so none is advised."""
    try:
        return _checked(out, tensor, element, "out")
    except ArgumentError as error:
        found = str(error).partition(":")[0]
        raise ArgumentError(f"{found}: pass numpy.empty({tensor.shape}, numpy.{element.numpy})") from None


def _adopt(array, name: str, element: Element) -> np.ndarray:
    """A view of a foreign array, through DLPack or NumPy's array interface; never a copy."""
    try:
        if hasattr(array, "__dlpack__"):
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
