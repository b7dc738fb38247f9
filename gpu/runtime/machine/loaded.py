"""A program on a device: compiled, loaded, and launched on CuPy arrays, with the memory that a launch needs besides."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gpu.codegen.copies.aligned import copied_bytes, slices
from gpu.codegen.loops.copier import copier
from gpu.codegen.program import CudaProgram
from gpu.model.devices import Device
from gpu.runtime.compiler.compile import Cubin, compile_cubin
from gpu.runtime.machine.device import DeviceError, current
from gpu.runtime.machine.driver import DriverError, allocating_in_a_capture, encoded

# The errors of cuModuleLoadData for machine code that the driver does not know: CUDA_ERROR_INVALID_IMAGE,
# _NO_BINARY_FOR_GPU and _UNSUPPORTED_PTX_VERSION in cuda.h.
_UNKNOWN_CODE = (200, 209, 222)
_LEGACY_STREAMS = (0, 1)  # no graph can be captured on these, and to ask whether one is captured may be an error


@dataclass(frozen=True)
class Loaded:
    """A program on a device, ready to be launched on CuPy arrays."""

    program: CudaProgram
    cubin: Cubin
    device: int
    blocks: int
    function: Any
    module: Any  # keeps the code loaded
    copier: Loaded | None = None  # copies the arrays that the program reads a copy of
    # Memory for copies, semaphores and partial sums, for each stream of a launch: a stream's kernels run one after
    # another.
    workspaces: dict[tuple[int, int], tuple[Any, ...]] = field(default_factory=dict, compare=False, repr=False)
    # The same for each launch that was captured for a graph, which one executable graph uses at a time.
    captured: list[tuple[Any, ...]] = field(default_factory=list, compare=False, repr=False)
    # Held from the launch that copies inputs to the launch that reads the copies: threads may share a stream.
    one_launch: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def launch(self, *arrays: Any) -> None:
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

    def _workspace(self, cupy: Any) -> tuple[Any, ...]:
        if is_captured(cupy):
            return self._for_a_graph(cupy)
        if not self._needs_memory:
            return (None,)
        stream = cupy.cuda.get_current_stream().ptr
        # The per-thread default streams of all threads have the same pointer.
        key = (stream, threading.get_ident() if stream == cupy.cuda.Stream.ptds.ptr else 0)
        found = self.workspaces.get(key)
        if found is None:
            made = self._memory(cupy)
            found = self.workspaces.setdefault(key, made)
        return found

    def _for_a_graph(self, cupy: Any) -> tuple[Any, ...]:
        """Memory for one launch in a graph that is being captured. The graph sets the semaphores to 0 each time it
        runs.
        """
        keep_for_a_graph(self)
        if not self._needs_memory:
            return (None,)
        with allocating_for_a_graph():
            made = self._memory(cupy)
        self.captured.append(made)
        return made

    @property
    def _needs_memory(self) -> bool:
        return self.copier is not None or self.program.shares_sums

    def _memory(self, cupy: Any) -> tuple[Any, ...]:
        """Memory for copies, then for semaphores and partial sums where there is split-K."""
        program = self.program
        copied, sums = copied_bytes(program.copied), program.partial_sums
        with needing(copied + 4 * sums):
            room = cupy.empty(copied, "uint8")
            shared = (cupy.zeros(program.semaphores, "uint32"), cupy.empty(sums, "float32")) if sums else ()
        return (room, *shared)


_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation
# Programs that graphs may still run.
_IN_GRAPHS: dict[int, Any] = {}
# A tensor map of the same memory is always the same, and the driver takes as long as several launches to make one.
_map = lru_cache(maxsize=1024)(encoded)


def is_captured(cupy: Any) -> bool:
    """Whether what is launched now is captured for a CUDA graph and does not run."""
    stream = cupy.cuda.get_current_stream().ptr
    return stream not in _LEGACY_STREAMS and bool(cupy.cuda.runtime.streamIsCapturing(stream))


def keep_for_a_graph(loaded: Any) -> None:
    """Keeps code, and the memory that it was captured with, as long as the process: CUDA does not tell when a graph is
    gone.
    """
    _IN_GRAPHS[id(loaded)] = loaded


@contextmanager
def allocating_for_a_graph() -> Iterator[None]:
    """Lets memory be allocated for a launch that is captured. Raises DeviceError.

    It comes from the driver, since a kernel that was launched before may still write to memory of a pool.
    """
    import cupy

    try:
        with allocating_in_a_capture(), cupy.cuda.using_allocator(None):
            yield
    except DriverError as error:
        raise DeviceError(str(error)) from error


@contextmanager
def needing(count: int) -> Iterator[None]:
    """Raises DeviceError where the memory does not suffice for so many bytes, which a launch needs."""
    import cupy

    try:
        yield
    except (cupy.cuda.memory.OutOfMemoryError, cupy.cuda.runtime.CUDARuntimeError) as error:
        # Without CuPy's pool, as in a capture, the runtime's own error says so.
        if getattr(error, "status", _OUT_OF_MEMORY) != _OUT_OF_MEMORY:
            raise
        raise DeviceError(f"the kernel needs {count} bytes of the GPU's memory beside its arrays: {error}") from error


def loaded_module(cupy: Any, device: Device, code: bytes, compiler: str) -> Any:
    """Machine code as a module on the current device. Raises DeviceError."""
    module = cupy.cuda.function.Module()
    try:
        module.load(code)
    except cupy.cuda.driver.CUDADriverError as error:
        why = (
            "its driver may be older than this CUDA, so update the driver or install an older nvidia-cuda-nvrtc"
            if error.status in _UNKNOWN_CODE
            else "if an earlier kernel of this process failed, only a new process can use the GPU"
        )
        raise DeviceError(f"{device.name} does not load what {compiler} compiled ({error}): {why}") from error
    return module


def function_of(cupy: Any, module: Any, symbol: str, shared_bytes: int) -> Any:
    """A function of a module, whose blocks may have so much dynamic shared memory. It keeps the module loaded."""
    function, driver = module.get_function(symbol), cupy.cuda.driver
    driver.funcSetAttribute(function.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
    return function


def load_program(program: CudaProgram) -> Loaded:
    """Compiles a program for this process's current GPU and loads it there. Raises DeviceError, CompileError."""
    cupy, number, device = current()
    if program.shared_bytes > device.shared_of_block:
        raise DeviceError(
            f"the kernel needs {program.shared_bytes} bytes of shared memory for a block, {device.name} has "
            f"{device.shared_of_block}: use fewer stages or smaller tiles"
        )
    cubin = compile_cubin(program, device.architecture)
    module = loaded_module(cupy, device, cubin.code, cubin.compiler)
    function = function_of(cupy, module, program.symbol, program.shared_bytes)
    blocks = program.blocks_on(device.multiprocessors)
    before = load_program(copier(program)) if program.copied else None
    return Loaded(program, cubin, number, blocks, function, module, before)
