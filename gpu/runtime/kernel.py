"""A compiled kernel as a Python function of arrays on the GPU.

It takes CuPy arrays or DLPack tensors without a copy, and runs on the current stream. To import this module needs
neither a GPU nor CuPy; a kernel is loaded onto a device when it is built.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.program import CudaSource
from gpu.model.devices import Device
from gpu.model.predict import GpuPrediction
from gpu.runtime.compiler.compile import Cubin, compile_cubin, spilled
from gpu.runtime.machine.device import DeviceError
from gpu.runtime.machine.loaded import Loaded, load_program
from tiling.arguments import ArgumentError
from tiling.dtypes.formats import FORMATS
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor

ALIGNMENT = 16  # bytes, as the widest copy needs
CUPY_DTYPES = {name: each.elsewhere for name, each in FORMATS.items()}


@dataclass(frozen=True)
class GpuKernel:
    """`kernel(a, b)` gives c, or `kernel(x, w)` gives y, on the device on which the kernel was loaded.

    `timing` is what a search measured by events on the device; None where nothing was measured.
    """

    source: CudaSource
    loaded: Loaded
    timing: Timing | None = None

    def __reduce__(self) -> tuple[Callable[..., GpuKernel], tuple[object, ...]]:
        """Pickles a kernel as its scheme. The process that unpickles it compiles it, or finds it compiled."""
        return _loaded_again, (self.scheme, self.timing)

    @property
    def problem(self) -> Problem:
        return self.source.scheme.problem

    @property
    def scheme(self) -> Scheme:
        return self.source.scheme

    def __call__(self, first: Any, second: Any, *arrays: Any, out: Any = None) -> Any:
        """Computes c or y, and returns before the kernel has ended. Later work on the same stream sees the result.

        The arrays are the problem's, contiguous, on the kernel's device. The result is `out`, or a new array of the
        same kind as `first`: a CuPy array, or a tensor of the library of `first`. A call may be captured for a CUDA
        graph; the memory that it uses beside the arrays then stays as long as the process. Raises ArgumentError.
        """
        import cupy

        problem = self.problem
        if len(arrays) != len(problem.epilogue_arrays):
            names = ", ".join(t.name for t in problem.epilogue_arrays) or "none"
            raise ArgumentError(f"this kernel's epilogue reads {names}: {len(arrays)} arrays were given for it")
        inputs = [
            self._array(first, problem.broadcast, problem.dtype),
            self._array(second, problem.vector, problem.dtype),
        ]
        inputs += [self._array(a, t, problem.output_dtype) for a, t in zip(arrays, problem.epilogue_arrays)]
        if out is None:
            with cupy.cuda.Device(self.loaded.device):
                output = cupy.empty(self.problem.output.shape, array_dtype(self.problem.output_dtype))
        else:
            output = self._array(out, self.problem.output, self.problem.output_dtype)
        self.loaded.launch(*inputs, output)
        return out if out is not None else like(first, output)

    def _array(self, given: Any, tensor: Tensor, dtype: str) -> Any:
        """`given` as a CuPy array that shares its memory."""
        array = adopted(given, tensor.called)
        check_adopted(array, tensor, dtype, self.loaded.device)
        return array


def adopted(given: Any, name: str) -> Any:
    """A CuPy array, or a tensor of another library on the GPU, as a CuPy array of the same memory. Raises
    ArgumentError.
    """
    import cupy

    if isinstance(given, cupy.ndarray):
        return given
    if not hasattr(given, "__dlpack__"):
        raise ArgumentError(f"{name} is a {type(given).__name__}: give a CuPy array or a DLPack tensor on the GPU")
    try:
        return cupy.from_dlpack(given)
    except (BufferError, RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise ArgumentError(f"{name} cannot be used on the GPU without a copy: {error}") from error


def check_adopted(array: Any, tensor: Tensor, dtype: str, device: int) -> None:
    """Raises ArgumentError where a CuPy array is not what a kernel on a device reads."""
    check_array(tensor, dtype, array.shape, str(array.dtype), array.flags.c_contiguous, array.data.ptr)
    if array.device.id != device:
        raise ArgumentError(f"{tensor.called} is on GPU {array.device.id}, this kernel on GPU {device}: move it there")


def check_array(tensor: Tensor, dtype: str, shape: tuple[int, ...], found: str, contiguous: bool, pointer: int) -> None:
    """Raises ArgumentError where an array is not what the kernel reads: dtype, shape, layout, alignment."""
    name, wanted = tensor.called, CUPY_DTYPES[dtype]
    if found != wanted:
        raise ArgumentError(f"{name} is {found}, but this kernel takes {wanted}: convert it first")
    if tuple(shape) != tensor.shape:
        raise ArgumentError(f"{name} has shape {tuple(shape)}, but this kernel takes {tensor.shape}")
    if not contiguous:
        raise ArgumentError(f"{name} is not contiguous (row-major): make it so first, as cupy.ascontiguousarray does")
    if pointer % ALIGNMENT:
        raise ArgumentError(f"{name} does not begin at a multiple of {ALIGNMENT} bytes: copy it to an array of its own")


def load(scheme: Scheme) -> GpuKernel:
    """Compiles a scheme for this process's current GPU and loads it there.

    Raises DeviceError where no GPU can run it, CompileError without NVRTC, SchemeError for a scheme that is no kernel
    of a GPU.
    """
    source = emit_scheme(scheme)
    return GpuKernel(source, load_program(source))


def _loaded_again(scheme: Scheme, timing: Timing | None) -> GpuKernel:
    return replace(load(scheme), timing=timing)


def choose(ranked: Iterable[GpuPrediction], problem: Problem, device: Device) -> tuple[CudaSource, Cubin]:
    """The first scheme in the order of `gpu.model.predict.rank` that ptxas compiles without spills. Needs no GPU.

    The program that copies its inputs must have no spills either. Raises CompileError without NVRTC, DeviceError where
    no schedule fits.
    """
    for prediction in ranked:
        source = emit_scheme(prediction.scheme)
        if not spilled(source, device.architecture):
            return source, compile_cubin(source, device.architecture)
    raise DeviceError(f"no schedule of {problem} fits {device.name}")


def array_dtype(dtype: str) -> Any:
    """The CuPy dtype of ours. Where NumPy lacks it, ml_dtypes has it, and CuPy accepts that."""
    if not FORMATS[dtype].named:
        return CUPY_DTYPES[dtype]
    try:
        import ml_dtypes
    except ImportError as error:
        raise ArgumentError(f"arrays of {dtype} need the package ml_dtypes: pip install 'tilewright[gpu]'") from error
    return getattr(ml_dtypes, FORMATS[dtype].named)


def like(given: object, array: Any) -> Any:
    """`array` as the type of `given`: a CuPy array, or through DLPack a tensor of the library of `given`."""
    library = sys.modules[type(given).__module__.partition(".")[0]]
    return library.from_dlpack(array) if type(given) is not type(array) and hasattr(library, "from_dlpack") else array
