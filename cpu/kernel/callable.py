"""Makes an emitted kernel callable: compiles it once, loads it through cffi, and checks the arguments of each call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from cpu.codegen.arrays import elements_of, stored
from cpu.codegen.emit import Source, emit
from cpu.kernel.arguments import (
    Pointer,
    adopted,
    aligned,
    aligned_empty,
    as_channels_last,
    checked,
    like,
    overlap,
    pointer,
)
from cpu.kernel.export import save
from cpu.kernel.given import epilogue_arrays_of_call
from cpu.kernel.opened import check_openmp, opened
from cpu.runtime.compiler.toolchain import ToolchainError
from cpu.runtime.machine.samples import SAMPLE_SECONDS, quietly, timed, timed_cold
from cpu.runtime.machine.timer import time_calls, time_cold_calls
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa_row import Isa
from tiling.arguments import ArgumentError
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor
from tiling.text.shapes import canonical


@dataclass(frozen=True, eq=False)
class Packed:
    """Weights in the order in which one scheme reads them. `CpuKernel.pack` makes them; a call takes them as w."""

    data: np.ndarray
    scheme: Scheme | Winograd

    def __reduce__(self) -> tuple[Callable[..., Packed], tuple[object, ...]]:
        # NumPy's own pickle would not align the array to a cache line in the other process.
        return _packed_again, (self.data, self.scheme)


class CpuKernel:
    """A compiled scheme. `kernel(x, w)` gives y; see `__call__`, `pack`, and `cpu.kernel.export`."""

    def __init__(self, scheme: Scheme | Winograd, source: Source, saved: bytes | None = None, cold: bool = False):
        """Loads the kernel from the bytes of a shared object, `saved`. Without them, from the compile cache, which
        compiles it if it has to.

        cold: `timing` is of calls that find all arrays in memory and in no cache. Raises CpuError, OSError if
        `saved` cannot be loaded, and what `cpu.runtime.compiler.library.load` raises.
        """
        self.problem: Problem = scheme.problem
        self.original: Problem = scheme.problem.original  # whose arrays are passed
        self.scheme = scheme
        self._channels_last = self.original.layout == "nhwc"
        self.emitted = source
        self.saved, self.cold = saved, cold
        self._timing: Timing | None = None
        self._rooms: list[np.ndarray] = []  # at most one: `_room`
        self._elements = tuple(ELEMENTS[name] for name in elements_of(self.problem))
        # Pointers have no type here: `checked` makes sure that the arrays have the problem's dtypes.
        arrays = ", const void *" * len(self.problem.epilogue_arrays)
        self._ffi, self._loaded = opened(
            source,
            f"void {source.symbol}(const void *X, const void *W, void *Y{arrays});"
            f"void {source.symbol}_pack(const void *W, void *packed);",
            saved,
        )
        self._run = getattr(self._loaded, source.symbol)
        self._pack = getattr(self._loaded, source.symbol + "_pack")

    def __repr__(self) -> str:
        return f"<Kernel of {self.problem.op} {canonical(self.problem)}: {self.scheme}>"

    def __reduce__(self) -> tuple[Callable[..., CpuKernel], tuple[object, ...]]:
        """Pickles the scheme and the C text, and the library of a saved kernel.

        Unpickling loads the kernel, compiles it if the cache lacks it, and raises what loading raises.
        """
        return _loaded_again, (self.scheme, self.emitted, self.saved, self.cold, self._timing)

    @property
    def source(self) -> str:
        """The emitted C text."""
        return self.emitted.text

    @property
    def threads(self) -> int:
        return self.emitted.threads

    @property
    def timing(self) -> Timing:
        """Seconds per call of the kernel alone, timed in C with warm caches unless it is `cold`, and the FMA peak.

        This is what the search measured. If it measured nothing, the kernel is measured now, on random data, and the
        result is kept. Where other programs took the cores meanwhile, `disturbed` says so, and the next call measures
        again. The timer needs a C compiler: raises ToolchainError without one.
        """
        if self._timing is None:
            rng = np.random.default_rng(0)
            arrays = [array.elements for array in self.problem.epilogue_arrays]
            sizes = (self.problem.tensors[0].elements, self.emitted.packed, *arrays)
            x, packed, *more = stored(self.problem, [rng.random(elements, np.float32) for elements in sizes])
            try:
                found = quietly(lambda: self.measure(x, packed, self.empty(), 0.1, more, self.cold), self.threads)
            except ToolchainError as error:
                raise ToolchainError(f"the kernel runs, but timing it needs a C compiler: {error}") from error
            if found.disturbed:
                return found
            self._timing = found
        return self._timing

    @timing.setter
    def timing(self, timing: Timing) -> None:
        self._timing = timing

    def measure(
        self,
        x: np.ndarray,
        packed: np.ndarray,
        y: np.ndarray,
        seconds: float,
        arrays: Sequence[np.ndarray] = (),
        cold: bool = False,
        sample: float = SAMPLE_SECONDS,
    ) -> Timing:
        """Times the kernel alone between two measurements of the peak, with warm caches, or `cold`.

        seconds: the time of all samples together. sample: the least time of a sample with warm caches. arrays: the
        epilogue's arrays, in the order of the problem's `epilogue_arrays`. cold: every call finds all arrays in memory
        and in no cache. Raises MachineError where the CPU cannot empty its caches.
        """
        flags, lanes, all_arrays = self.emitted.compiler_flags, self.scheme.lanes, (x, packed, y, *arrays)
        if cold:
            return timed_cold(lambda **how: time_cold_calls(self.address, *all_arrays, **how), flags, lanes, seconds)
        return timed(lambda **how: time_calls(self.address, *all_arrays, **how), flags, lanes, seconds, sample)

    @property
    def address(self) -> int:
        """The address of the C function, for timing without a Python call around it."""
        return int(self._ffi.cast("uintptr_t", self._run))

    @property
    def pack_address(self) -> int:
        """The address of the C function that packs the weights."""
        return int(self._ffi.cast("uintptr_t", self._pack))

    def pack(self, w: object) -> Packed:
        """Packs the weights once for many calls. w: (K,C/groups,R,S), or b (K,N) of a product, of the problem's dtype.

        w may have any strides, such as those of PyTorch's channels-last weights. Raises ArgumentError.
        """
        packed = self._packed_empty()
        self._pack_into(packed, w)
        return Packed(packed, self.scheme)

    def _packed_empty(self) -> np.ndarray:
        return aligned_empty((self.emitted.packed,), self._elements[1].numpy)

    def _pack_into(self, packed: np.ndarray, w: object) -> None:
        raw = checked(w, self.original.vector, self._elements[1], strided=True)
        self._pack(pointer(raw), pointer(packed))

    def _room(self) -> np.ndarray:
        """Memory for the packed weights of one call: that of an earlier call, unless another thread has it."""
        # Fresh memory may be faulted in page by page: 2 to 9 % of a product of 512 x 768 x 768.
        try:
            return self._rooms.pop()
        except IndexError:
            return self._packed_empty()

    @overload
    def __call__(
        self, /, x: np.ndarray, w: object, *arrays: object, out: np.ndarray | None = None, **named: object
    ) -> np.ndarray: ...

    @overload  # an array of the library that x or out belongs to
    def __call__(self, /, x: object, w: object, *arrays: object, out: object | None = None, **named: object) -> Any: ...

    def __call__(self, /, x: object, w: object, *arrays: object, out: object | None = None, **named: object) -> Any:
        """y = x * w. Raises ArgumentError.

        x: (N,H,W,C), or (N,C,H,W) in layout nchw. w: (K,C/groups,R,S), or what `pack` gave; raw weights are packed on
        every call, into memory that the kernel keeps. y: (N,OH,OW,K), or (N,K,OH,OW) in layout nchw. Volumes have D, Q
        and OD besides: x (N,D,H,W,C), w (K,C,Q,R,S), y (N,OD,OH,OW,K).
        arrays, named: the epilogue's arrays, in the order of their first use or by name: k(x, w, b, z) or
        k(x, w, z=z, b=b). One of the output's shape may be `out` itself: then y is added to it in place.
        out: y is written there and returned.

        An f32 problem takes float32. A bf16 problem takes uint16 (the bits), ml_dtypes.bfloat16, or DLPack tensors of
        bfloat16; y is the same kind as x. An int8 problem takes uint8 for x and int8 for w. The dtype of y is the
        problem's `output_dtype`.
        Arrays are C-contiguous, on the CPU, and have NumPy's array interface or DLPack; none is copied on the way to C.
        For a DLPack tensor y is a tensor of the same library, such as PyTorch. PyTorch's channels-last tensors, with
        axes (N,C,H,W), count as (N,H,W,C); then y has PyTorch's axes too.
        Several threads may call a kernel at once; the GIL is released meanwhile.
        """
        seen = adopted(x, self.original.broadcast.called, self._elements[0])
        lying = self._with_our_axes(seen, self.original.broadcast)
        read = checked(lying, self.original.broadcast, self._elements[0])
        if isinstance(w, Packed):
            # Two problems may share a scheme's text, so the schemes are compared, which includes their problems.
            if w.scheme is not self.scheme and w.scheme != self.scheme:
                theirs, ours = (f"{canonical(s.problem)} by {s}" for s in (w.scheme, self.scheme))
                raise ArgumentError(
                    f"these packed weights belong to another kernel, of {theirs}, and this one is of {ours}: call this "
                    f"one's pack(w)"
                )
            packed = w.data
        else:
            packed = self._room()
            self._pack_into(packed, w)
        beside: Sequence[np.ndarray] = ()
        if arrays or named or self.problem.epilogue:
            beside = self._epilogue_arrays(arrays, named)
        y = self.empty() if out is None else self._output(out)
        at_x, at_w, at_y = pointer(read), pointer(packed), pointer(y)
        if out is not None and (overlap(at_y, at_x) or overlap(at_y, at_w)):
            raise ArgumentError("out overlaps an input: pass memory of its own")
        at_arrays: Sequence[Pointer] = ()
        if beside:
            at_arrays = [self._beside(at_y, *each) for each in zip(beside, self.original.epilogue_arrays)]
        self._run(at_x, at_w, at_y, *at_arrays)
        if not isinstance(w, Packed):
            self._rooms = [packed]
        if out is not None:
            return out
        if lying is not seen:
            y = np.moveaxis(y, -1, 1)
        return like(x, y, self._elements[2])

    def empty(self) -> np.ndarray:
        """An uninitialised output."""
        return aligned_empty(self.original.output.shape, self._elements[2].numpy)

    def _epilogue_arrays(self, given: tuple[object, ...], named: Mapping[str, object]) -> list[np.ndarray]:
        """The epilogue's arrays, checked and in order."""
        f32 = ELEMENTS["f32"]
        found = epilogue_arrays_of_call(self.original, given, named)
        seen = [(tensor, adopted(array, tensor.called, f32)) for tensor, array in found]
        return [checked(self._with_our_axes(array, tensor), tensor, f32) for tensor, array in seen]

    def _with_our_axes(self, array: np.ndarray, tensor: Tensor) -> np.ndarray:
        """PyTorch's channels-last image with the axes of this kernel's tensor. Any other array is returned as it is."""
        return as_channels_last(array, tensor) if self._channels_last else array

    def _output(self, out: object) -> np.ndarray:
        """The caller's output, checked. The messages never advise to convert it: y would end in the copy."""
        tensor, element = self.original.output, self._elements[2]
        try:
            y = checked(self._with_our_axes(adopted(out, "out", element), tensor), tensor, element, "out")
        except ArgumentError as error:
            found = str(error).partition(":")[0]
            raise ArgumentError(f"{found}: pass numpy.empty({tensor.shape}, numpy.{element.numpy})") from None
        if not y.flags.writeable:
            raise ArgumentError("out is read-only: pass an array that can be written")
        return y

    def _beside(self, at_y: Pointer, array: np.ndarray, tensor: Tensor) -> Pointer:
        """A pointer to an array of the epilogue that the kernel may read while it writes y."""
        at = pointer(array)
        if not overlap(at_y, at):
            return at
        if not self.original.may_be_output(tensor) or at != at_y:
            raise ArgumentError(
                f"out overlaps {tensor.name}: pass memory of its own, or for a residual the very same array"
            )
        # With several passes, partial sums wait in y and would overwrite what the last pass reads.
        return at if self.scheme.single_pass else pointer(array.copy())

    def save(self, folder: str | os.PathLike[str], name: str | None = None) -> tuple[Path, ...]:
        """Writes the kernel as C that needs no Python: .c, .h, .so and a small program that calls it.

        name: the name of the C function. By default it has a long name that states the whole problem. Returns the paths
        of the files.
        """
        return save(self, folder, name)


def _packed_again(data: np.ndarray, scheme: Scheme | Winograd) -> Packed:
    return Packed(aligned(data), scheme)


def _loaded_again(
    scheme: Scheme | Winograd, source: Source, saved: bytes | None, cold: bool, timing: Timing | None
) -> CpuKernel:
    kernel = CpuKernel(scheme, source, saved, cold)
    kernel._timing = timing
    return kernel


def build(scheme: Scheme | Winograd, isa: Isa, threads: int = 1, stream: bool = False, cold: bool = False) -> CpuKernel:
    """Emits a scheme, compiles it unless the cache has it, and loads it.

    stream: as in `cpu.codegen.emit.emit`. cold: as in `CpuKernel`. Raises SchemeError, ToolchainError, CacheError or
    CpuError.
    """
    return CpuKernel(scheme, emitted(scheme, isa, threads, stream), cold=cold)


def emitted(
    scheme: Scheme | Winograd,
    isa: Isa,
    threads: int = 1,
    stream: bool = False,
    write: Callable[[Scheme | Winograd, Isa, int, bool], Source] | None = None,
) -> Source:
    """As `cpu.codegen.emit.emit`, where the compiler can make kernels of so many threads. Raises ToolchainError.

    write: a function to use in place of `emit`, such as one that remembers its results.
    """
    source = (write or emit)(scheme, isa, threads, stream)
    if source.openmp:
        check_openmp(threads)
    return source
