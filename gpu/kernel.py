"""A compiled kernel as a Python function of arrays on the GPU: cupy arrays or any DLPack tensor, no copy, current
stream.

Importing this module needs no GPU and no CuPy; a kernel is loaded onto a device when it is built.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gpu.aligned import copied_bytes, slices
from gpu.compile import Cubin, compile_cubin, spilled
from gpu.devices import DEVICES, Device
from gpu.driver import DriverError, encoded, no_gpu
from gpu.emit import copier, emit
from gpu.predict import Prediction
from gpu.program import Program, Source
from tiling.machine import Timing
from tiling.problem import Problem, Tensor
from tiling.scheme import Scheme

ALIGNMENT = 16  # bytes: what the widest copy needs
CUPY_DTYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f32": "float32"}


class DeviceError(RuntimeError):
    """There is no device that can run the kernel, or the kernel needs more than it has."""


class ArgumentError(ValueError):
    """An array that the kernel cannot take: which one, what is wrong with it, what to do."""


@dataclass(frozen=True)
class Loaded:
    """A program on a device, ready to be launched on CuPy arrays."""

    program: Program
    cubin: Cubin
    device: int
    blocks: int
    function: Any
    module: Any  # keeps the code loaded
    copier: Loaded | None = None  # makes the copies of arrays that the program wants copied
    # Copies, tickets and partial sums of every stream that it was launched on: a stream's kernels run one by one.
    workspaces: dict = field(default_factory=dict, compare=False, repr=False)

    def launch(self, *arrays) -> None:
        """One launch on CuPy's current stream; it returns before the kernel has ended.

        Raises DeviceError where the driver refuses a tensor map.
        """
        import cupy

        parameters = list(arrays)
        with cupy.cuda.Device(self.device):
            room, *sums = self._workspace(cupy) if self.copier or self.program.shares_sums else (None,)
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
        # One pointer stands for the default streams of all threads.
        key = (stream, threading.get_ident() if stream == cupy.cuda.Stream.ptds.ptr else 0)
        found = self.workspaces.get(key)
        if found is None:
            made = self._memory(cupy)
            found = self.workspaces.setdefault(key, made)
        return found

    def _memory(self, cupy) -> tuple:
        """Room for copies, then tickets and partial sums where blocks share sums."""
        program = self.program
        copied, sums = copied_bytes(program.copied), program.partial_sums
        try:
            room = cupy.empty(copied, "uint8")
            shared = (cupy.zeros(program.tickets, "uint32"), cupy.empty(sums, "float32")) if sums else ()
        except cupy.cuda.memory.OutOfMemoryError as error:
            needed = copied + 4 * sums
            raise DeviceError(
                f"the kernel needs {needed} bytes of the GPU's memory beside its arrays: {error}"
            ) from error
        return (room, *shared)


# A map is the same whenever it is of the same memory, and takes the driver as long to make as several launches.
_map = lru_cache(maxsize=1024)(encoded)


@dataclass(frozen=True)
class Kernel:
    """`kernel(a, b)` gives c, or `kernel(x, w)` gives y, on the device that the kernel was loaded on.

    `timing` is what a search measured, by events on the device; None where it measured nothing.
    """

    source: Source
    loaded: Loaded
    timing: Timing | None = None

    @property
    def problem(self) -> Problem:
        return self.source.scheme.problem

    @property
    def scheme(self) -> Scheme:
        return self.source.scheme

    def __call__(self, first, second, *arrays, out=None):
        """c or y. It returns before the kernel has ended; what follows on the same stream sees the result. A CUDA graph
        may be captured on a stream that the kernel ran on before.

        The arrays are the problem's, contiguous, on the kernel's device. The result is `out`, or a new array of the
        kind of `first`: a CuPy array, or a tensor of the library that `first` is of. Raises ArgumentError.
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

    Raises DeviceError without a GPU that can run it, CompileError without NVRTC, SchemeError for a scheme that is no
    pipeline.
    """
    source = emit(scheme)
    return Kernel(source, load_program(source))


def load_program(program: Program) -> Loaded:
    """Compiles a program for this process's current GPU and loads it there. Raises DeviceError, CompileError."""
    cupy, number, device = _current()
    if program.shared_bytes > device.shared_of_block:
        raise DeviceError(
            f"the kernel needs {program.shared_bytes} bytes of shared memory for a block, {device.name} has "
            f"{device.shared_of_block}: use fewer slots or smaller tiles"
        )
    cubin = compile_cubin(program, device.architecture)
    module, driver = cupy.cuda.function.Module(), cupy.cuda.driver
    try:
        module.load(cubin.code)
    except driver.CUDADriverError as error:
        raise DeviceError(
            f"{device.name} does not load what {cubin.compiler} compiled ({error}): its driver may be older than this "
            "CUDA, so update the driver or install an older nvidia-cuda-nvrtc"
        ) from error
    function = module.get_function(program.symbol)
    driver.funcSetAttribute(function.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, program.shared_bytes)
    blocks = program.blocks_on(device.multiprocessors)
    before = load_program(copier(program)) if program.copied else None
    return Loaded(program, cubin, number, blocks, function, module, before)


def choose(ranked: Sequence[Prediction], problem: Problem, device: Device) -> tuple[Source, Cubin]:
    """The first of the schemes that `gpu.predict.rank` gives which ptxas compiles without spills, what copies its
    inputs first included. Needs no GPU.

    Raises CompileError without NVRTC, DeviceError where no schedule fits.
    """
    for prediction in ranked:
        source = emit(prediction.scheme)
        if not spilled(source, device.architecture):
            return source, compile_cubin(source, device.architecture)
    raise DeviceError(f"no schedule of {problem} fits {device.name}")


def current_device() -> Device:
    """The GPU that this process would use: the data of its kind, its own number of multiprocessors and shared memory.

    Raises DeviceError where there is none.
    """
    return _current()[2]


def driver_version() -> str:
    """The newest CUDA that the driver knows, such as 13.0. Raises DeviceError."""
    found = _current()[0].cuda.runtime.driverGetVersion()
    return f"{found // 1000}.{found % 1000 // 10}"


def bus_address() -> str:
    """Where on the bus the GPU is, by which the driver's own tools know it. Raises DeviceError."""
    return _current()[0].cuda.Device().pci_bus_id


def _current():
    try:
        import cupy
    except ImportError as error:
        absent = no_gpu()  # CuPy alone would not help who has no device
        lacking = f"{absent}; where there is one, CuPy runs" if absent else "CuPy is not installed, which runs"
        raise DeviceError(f"{lacking} CUDA kernels: pip install 'tilewright[gpu]'") from error
    if not cupy.cuda.is_available():
        raise DeviceError("there is no CUDA device here: a kernel can be compiled and explained, but not run")
    number = cupy.cuda.Device().id
    found = cupy.cuda.runtime.getDeviceProperties(number)
    capability = 10 * found["major"] + found["minor"]
    return cupy, number, described(found["name"].decode(), capability, found)


def is_a(name: str, device: Device) -> bool:
    """Whether a GPU that the driver calls `name` is of that kind: an NVIDIA A100-SXM4-80GB is an A100, an A1000 is
    none.
    """
    return re.search(rf"\b{device.name}\b", name) is not None


def described(name: str, capability: int, properties: dict) -> Device:
    """A device from what the driver tells and, for rates that it does not tell, the nearest kind that is known."""
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
    """A CuPy dtype; bf16 is the one of ml_dtypes, which CuPy takes for its own."""
    if dtype != "bf16":
        return CUPY_DTYPES[dtype]
    try:
        import ml_dtypes
    except ImportError as error:
        raise ArgumentError("arrays of bf16 need the package ml_dtypes: pip install 'tilewright[gpu]'") from error
    return ml_dtypes.bfloat16


def _like(given, array):
    """`array` as what `given` is: a CuPy array, or through DLPack a tensor of the library that made `given`."""
    library = sys.modules[type(given).__module__.partition(".")[0]]
    return library.from_dlpack(array) if type(given) is not type(array) and hasattr(library, "from_dlpack") else array
