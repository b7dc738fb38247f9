"""A compiled kernel as a Python function of arrays on the GPU.

It takes CuPy arrays or DLPack tensors without a copy, and runs on the current stream. To import this module needs
neither a GPU nor CuPy; a kernel is loaded onto a device when it is built.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gpu.codegen.aligned import copied_bytes, slices
from gpu.codegen.emit import copier, emit
from gpu.codegen.program import Program, Source
from gpu.model.devices import DEVICES, Device
from gpu.model.predict import Prediction
from gpu.runtime.compile import Cubin, compile_cubin, spilled
from gpu.runtime.driver import DriverError, allocating_in_a_capture, encoded, no_gpu
from tiling.arguments import ArgumentError
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor

ALIGNMENT = 16  # bytes, as the widest copy needs
# The errors of cuModuleLoadData for machine code that the driver does not know: CUDA_ERROR_INVALID_IMAGE,
# _NO_BINARY_FOR_GPU and _UNSUPPORTED_PTX_VERSION in cuda.h.
_UNKNOWN_CODE = (200, 209, 222)
_LEGACY_STREAMS = (0, 1)  # no graph can be captured on these, and to ask whether one is captured may be an error
CUPY_DTYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f32": "float32"}


class DeviceError(RuntimeError):
    """There is no device that can run the kernel, or the kernel needs more than the device has."""


@dataclass(frozen=True)
class Loaded:
    """A program on a device, ready to be launched on CuPy arrays."""

    program: Program
    cubin: Cubin
    device: int
    blocks: int
    function: Any
    module: Any  # keeps the code loaded
    copier: Loaded | None = None  # copies the arrays that the program reads a copy of
    # Memory for copies, semaphores and partial sums, for each stream of a launch: a stream's kernels run one after
    # another.
    workspaces: dict = field(default_factory=dict, compare=False, repr=False)
    # The same for each launch that was captured for a graph, which one executable graph uses at a time.
    captured: list = field(default_factory=list, compare=False, repr=False)
    # Held from the launch that copies inputs to the launch that reads the copies: threads may share a stream.
    one_launch: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def launch(self, *arrays) -> None:
        """Launches once on CuPy's current stream, and returns before the kernel has ended.

        Raises DeviceError where the driver rejects a tensor map, or there is no memory for copies and sums.
        """
        import cupy

        parameters = list(arrays)
        with cupy.cuda.Device(self.device), self.one_launch if self.copier else nullcontext():
            room, *sums = self._workspace(cupy)
            if self.copier:
                copies = self.program.copied
                self.copier.launch(*(arrays[copy.array] for copy in copies), room)
                for copy, place in zip(copies, slices(copies)):
                    parameters[copy.array] = room[place]
            for tensor in self.program.maps:
                try:
                    parameters[tensor.array] = _map(tensor, parameters[tensor.array].data.ptr)
                except DriverError as error:
                    raise DeviceError(str(error)) from error
            parameters += sums
            self.function((self.blocks,), (self.program.threads,), tuple(parameters), self.program.shared_bytes)

    def _workspace(self, cupy) -> tuple:
        stream = cupy.cuda.get_current_stream().ptr
        if stream not in _LEGACY_STREAMS and cupy.cuda.runtime.streamIsCapturing(stream):
            return self._for_a_graph(cupy)
        if not self._needs_memory:
            return (None,)
        # The per-thread default streams of all threads have the same pointer.
        key = (stream, threading.get_ident() if stream == cupy.cuda.Stream.ptds.ptr else 0)
        found = self.workspaces.get(key)
        if found is None:
            made = self._memory(cupy)
            found = self.workspaces.setdefault(key, made)
        return found

    def _for_a_graph(self, cupy) -> tuple:
        """Memory for one launch in a graph that is being captured. The graph sets the semaphores to 0 each time it
        runs.

        CUDA does not tell when a graph is gone, so this memory and the code stay as long as the process. The memory
        comes from the driver, since a kernel that was launched before may still write to memory of a pool.
        """
        _IN_GRAPHS[id(self)] = self
        if not self._needs_memory:
            return (None,)
        try:
            with allocating_in_a_capture(), cupy.cuda.using_allocator(None):
                made = self._memory(cupy)
        except DriverError as error:
            raise DeviceError(str(error)) from error
        self.captured.append(made)
        return made

    @property
    def _needs_memory(self) -> bool:
        return self.copier is not None or self.program.shares_sums

    def _memory(self, cupy) -> tuple:
        """Memory for copies, then for semaphores and partial sums where there is split-K."""
        program = self.program
        copied, sums = copied_bytes(program.copied), program.partial_sums
        try:
            room = cupy.empty(copied, "uint8")
            shared = (cupy.zeros(program.semaphores, "uint32"), cupy.empty(sums, "float32")) if sums else ()
        except (cupy.cuda.memory.OutOfMemoryError, cupy.cuda.runtime.CUDARuntimeError) as error:
            # Without CuPy's pool, as in a capture, the runtime's own error says so.
            if getattr(error, "status", _OUT_OF_MEMORY) != _OUT_OF_MEMORY:
                raise
            needed = copied + 4 * sums
            raise DeviceError(
                f"the kernel needs {needed} bytes of the GPU's memory beside its arrays: {error}"
            ) from error
        return (room, *shared)


_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation

# Programs that graphs may still run.
_IN_GRAPHS: dict[int, Loaded] = {}

# A tensor map of the same memory is always the same, and the driver takes as long as several launches to make one.
_map = lru_cache(maxsize=1024)(encoded)


@dataclass(frozen=True)
class Kernel:
    """`kernel(a, b)` gives c, or `kernel(x, w)` gives y, on the device on which the kernel was loaded.

    `timing` is what a search measured by events on the device; None where nothing was measured.
    """

    source: Source
    loaded: Loaded
    timing: Timing | None = None

    def __reduce__(self):
        """Pickles a kernel as its scheme. The process that unpickles it compiles it, or finds it compiled."""
        return _loaded_again, (self.scheme, self.timing)

    @property
    def problem(self) -> Problem:
        return self.source.scheme.problem

    @property
    def scheme(self) -> Scheme:
        return self.source.scheme

    def __call__(self, first, second, *arrays, out=None):
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
        return out if out is not None else _like(first, output)

    def _array(self, given, tensor: Tensor, dtype: str):
        """`given` as a CuPy array that shares its memory."""
        import cupy

        array = given
        if not isinstance(given, cupy.ndarray):
            if not hasattr(given, "__dlpack__"):
                raise ArgumentError(
                    f"{tensor.called} is a {type(given).__name__}: give a CuPy array or a DLPack tensor on the GPU"
                )
            try:
                array = cupy.from_dlpack(given)
            except (BufferError, RuntimeError, TypeError, ValueError, NotImplementedError) as error:
                raise ArgumentError(f"{tensor.called} cannot be used on the GPU without a copy: {error}") from error
        check_array(tensor, dtype, array.shape, str(array.dtype), array.flags.c_contiguous, array.data.ptr)
        device = self.loaded.device
        if array.device.id != device:
            raise ArgumentError(
                f"{tensor.called} is on GPU {array.device.id}, this kernel on GPU {device}: move it there"
            )
        return array


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


def load(scheme: Scheme) -> Kernel:
    """Compiles a scheme for this process's current GPU and loads it there.

    Raises DeviceError where no GPU can run it, CompileError without NVRTC, SchemeError for a scheme that is not a GPU
    pipeline.
    """
    source = emit(scheme)
    return Kernel(source, load_program(source))


def _loaded_again(scheme: Scheme, timing: Timing | None) -> Kernel:
    return replace(load(scheme), timing=timing)


def load_program(program: Program) -> Loaded:
    """Compiles a program for this process's current GPU and loads it there. Raises DeviceError, CompileError."""
    cupy, number, device = _current()
    if program.shared_bytes > device.shared_of_block:
        raise DeviceError(
            f"the kernel needs {program.shared_bytes} bytes of shared memory for a block, {device.name} has "
            f"{device.shared_of_block}: use fewer stages or smaller tiles"
        )
    cubin = compile_cubin(program, device.architecture)
    module, driver = cupy.cuda.function.Module(), cupy.cuda.driver
    try:
        module.load(cubin.code)
    except driver.CUDADriverError as error:
        why = (
            "its driver may be older than this CUDA, so update the driver or install an older nvidia-cuda-nvrtc"
            if error.status in _UNKNOWN_CODE
            else "if an earlier kernel of this process failed, only a new process can use the GPU"
        )
        raise DeviceError(f"{device.name} does not load what {cubin.compiler} compiled ({error}): {why}") from error
    function = module.get_function(program.symbol)
    driver.funcSetAttribute(function.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, program.shared_bytes)
    blocks = program.blocks_on(device.multiprocessors)
    before = load_program(copier(program)) if program.copied else None
    return Loaded(program, cubin, number, blocks, function, module, before)


def choose(ranked: Iterable[Prediction], problem: Problem, device: Device) -> tuple[Source, Cubin]:
    """The first scheme in the order of `gpu.model.predict.rank` that ptxas compiles without spills. Needs no GPU.

    The program that copies its inputs must have no spills either. Raises CompileError without NVRTC, DeviceError where
    no schedule fits.
    """
    for prediction in ranked:
        source = emit(prediction.scheme)
        if not spilled(source, device.architecture):
            return source, compile_cubin(source, device.architecture)
    raise DeviceError(f"no schedule of {problem} fits {device.name}")


def current_device() -> Device:
    """The GPU that this process would use: rates of its kind, and its own multiprocessors and shared memory.

    Raises DeviceError where there is none.
    """
    return _current()[2]


def driver_version() -> str:
    """The newest version of CUDA that the driver knows, such as 13.0. Raises DeviceError."""
    found = _current()[0].cuda.runtime.driverGetVersion()
    return f"{found // 1000}.{found % 1000 // 10}"


def bus_address() -> str:
    """The GPU's address on the bus, by which the driver's tools name it. Raises DeviceError."""
    return _current()[0].cuda.Device().pci_bus_id


def _current():
    try:
        import cupy
    except ImportError as error:
        absent = no_gpu()  # without a device CuPy would not help
        lacking = f"{absent}; where there is one, CuPy runs" if absent else "CuPy is not installed, which runs"
        raise DeviceError(f"{lacking} CUDA kernels: pip install 'tilewright[gpu]'") from error
    if not cupy.cuda.is_available():
        raise DeviceError("there is no CUDA device here: a kernel can be compiled and explained, but not run")
    number = cupy.cuda.Device().id
    found = cupy.cuda.runtime.getDeviceProperties(number)
    capability = 10 * found["major"] + found["minor"]
    return cupy, number, described(found["name"].decode(), capability, found)


def is_a(name: str, device: Device) -> bool:
    """Whether a GPU that the driver calls `name` is of that kind: an NVIDIA A100-SXM4-80GB is an A100, an A1000 not."""
    return re.search(rf"\b{device.name}\b", name) is not None


def described(name: str, capability: int, properties: dict) -> Device:
    """A device by the driver's properties. Rates, which the driver does not tell, are the nearest known kind's."""
    known = [d for d in DEVICES.values() if is_a(name, d)] or [
        d for d in sorted(DEVICES.values(), key=_capability) if _capability(d) <= capability
    ]
    if not known:
        raise DeviceError(f"{name} has compute capability {capability / 10}: kernels need 8.0 or newer")
    return replace(
        known[-1],
        name=name,
        architecture=f"sm_{capability}a" if capability == 90 else f"sm_{capability}",
        multiprocessors=properties["multiProcessorCount"],
        shared_of_block=properties["sharedMemPerBlockOptin"],
        shared_of_multiprocessor=properties["sharedMemPerMultiprocessor"],
        l2_bytes=properties["l2CacheSize"],
        wgmma_flops=known[-1].wgmma_flops if capability == 90 else 0,
    )


def _capability(device: Device) -> int:
    return int(device.architecture.removeprefix("sm_").removesuffix("a"))


def array_dtype(dtype: str):
    """The CuPy dtype of ours; for bf16 that of ml_dtypes, which CuPy accepts."""
    if dtype != "bf16":
        return CUPY_DTYPES[dtype]
    try:
        import ml_dtypes
    except ImportError as error:
        raise ArgumentError("arrays of bf16 need the package ml_dtypes: pip install 'tilewright[gpu]'") from error
    return ml_dtypes.bfloat16


def _like(given, array):
    """`array` as the type of `given`: a CuPy array, or through DLPack a tensor of the library of `given`."""
    library = sys.modules[type(given).__module__.partition(".")[0]]
    return library.from_dlpack(array) if type(given) is not type(array) and hasattr(library, "from_dlpack") else array
