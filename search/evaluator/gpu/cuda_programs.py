"""Kernels of programs on this process's GPU, and how a worker process checks and times one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # CuPy has no types; what workers are given and give is JSON

import numpy as np

from cpu.kernel.given import inputs_of_call, outputs_of_call
from cpu.kernel.program import outputs_of, outside_of
from cpu.kernel.random_inputs import random_inputs
from cpu.runtime.processes.worker import Worker
from gpu.runtime.arrays import brought_bits, placed_bits, poisoned_array
from gpu.runtime.kernel import adopted, array_dtype, check_adopted, like
from gpu.runtime.machine.device import current_device
from gpu.runtime.machine.isolation import ADDRESSES, ending_on_a_fault
from gpu.runtime.machine.loaded_program import load_launches
from gpu.runtime.machine.timer import event_seconds, memory_bandwidth, timed
from search.evaluator.gpu.cuda import READY_SECONDS
from search.evaluator.gpu.programs import GpuProgramKernel
from search.evaluator.interface.definition import definition_error
from tiling.arguments import ArgumentError
from tiling.machine import Timing
from tiling.program.infer import Array, Sized, sized
from tiling.program.read import read
from tiling.tensor import Tensor


class CudaProgramKernel(GpuProgramKernel):
    """`kernel(x, …)` gives the output of a program, or a dict of several, on this process's GPU."""

    def __init__(self, program: Sized):
        """Compiles the launches and loads them. Raises DeviceError without a GPU, CompileError without NVRTC."""
        super().__init__(program)
        self.loaded = load_launches(self.emitted)

    def save(self, folder: str | Path, architecture: str = "") -> tuple[Path, ...]:
        """As for the twin, by default for the GPU that is here."""
        return super().save(folder, architecture or current_device().architecture)

    def __call__(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """The output, or a dict of the outputs by name where there are several.

        arrays, named: the inputs in the order in which the program first reads them, or by name: CuPy arrays or DLPack
        tensors on the kernel's device, contiguous, of the program's shapes and dtypes. None is copied. out: an array
        for the output, or a dict of arrays by name, which no input shares memory with. It is returned. Else outputs are
        of the library of the first input.

        The launches run on CuPy's current stream, and the call returns before they have ended; later work on the same
        stream sees the result. Where an index is read from an array, the call waits for the launches, since only they
        know whether it lies inside the other array. Any other call may be captured for a CUDA graph; the memory that it
        uses beside the arrays then stays as long as the process. Raises ArgumentError, DeviceError.
        """
        import cupy

        given = inputs_of_call(self.inputs, arrays, named)
        read = [adopted(x, array.name) for x, array in zip(given, self.inputs)]
        written = None if out is None else [adopted(y, "out") for y in outputs_of_call(self.outputs, out)]
        program, extents = self._sized((x.shape for x in (*read, *(written or ()))), out is not None)
        wanted = outputs_of(program)
        for x, array in zip(read, program.inputs):
            self._check(x, array, array.name)
        for number, (y, array) in enumerate(zip(written or (), wanted)):
            self._check(y, array, "out")
            if any(_overlap(y, other) for other in (*read, *(written or ())[:number])):
                raise ArgumentError("out overlaps another array: pass memory of its own")
        if written is None:
            with cupy.cuda.Device(self.loaded.device):
                written = [cupy.empty(array.shape, array_dtype(array.dtype)) for array in wanted]
        outside = self.loaded.launch([*read, *written], extents)
        if outside is not None and cupy.asnumpy(outside)[0]:
            raise outside_of(self.program)
        if out is not None:
            return out
        found = {array.name: like(given[0], y) if given else y for array, y in zip(wanted, written)}
        return found if len(found) > 1 else next(iter(found.values()))

    def _check(self, array: Any, wanted: Array, name: str) -> None:
        check_adopted(array, Tensor(name, "", (), wanted.shape), wanted.dtype, self.loaded.device)


def _overlap(a: Any, b: Any) -> bool:
    """Whether two contiguous arrays on a device share memory."""
    shared: bool = a.data.ptr < b.data.ptr + b.nbytes and b.data.ptr < a.data.ptr + a.nbytes
    return shared


@dataclass(frozen=True)
class FromHost:
    """A kernel on the device as a function of NumPy's arrays, as `definition_error` calls it. bf16 are their bits."""

    kernel: CudaProgramKernel

    @property
    def program(self) -> Sized:
        return self.kernel.program

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.kernel.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.kernel.outputs

    def __call__(self, /, *arrays: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs by name, of the largest runtime extents. What no launch writes has all bits set."""
        given = [placed_bits(x, array.dtype) for x, array in zip(arrays, self.inputs)]
        out = {array.name: poisoned_array(array.shape, array.dtype) for array in self.outputs}
        self.kernel(*given, out=out)
        return {array.name: brought_bits(out[array.name], array.dtype) for array in self.outputs}


@dataclass(frozen=True)
class ProgramVerdict:
    """What a worker found out. error: as `definition_error` gives. moved: bytes of the arrays of a call. bandwidth:
    bytes/s that a copy within the GPU's memory reads and writes.
    """

    error: dict[str, float] | str
    timing: Timing
    moved: int
    bandwidth: float

    @property
    def rate(self) -> float:
        """Bytes/s of the arrays of a call."""
        return self.moved / self.timing.seconds


def verdict_on(
    text: str, sizes: Mapping[str, int | str], dtype: str, outputs: Sequence[str], seed: int, seconds: float
) -> ProgramVerdict:
    """Checks and times the kernel of a program in a process of its own. The arguments are those of `checked_and_timed`.

    Raises CandidateError for a kernel that faults or hangs, WorkerError where the process cannot work.
    """
    job = {"text": text, "sizes": dict(sizes), "dtype": dtype, "outputs": list(outputs)}
    with closing(Worker(memory_bytes=ADDRESSES, packages=("search",))) as worker:
        function = "search.evaluator.gpu.cuda_programs:checked_and_timed"
        found = worker.call(function, timeout=READY_SECONDS, **job, seed=seed, seconds=seconds)
    return ProgramVerdict(found["error"], Timing.of(found), found["moved"], found["bandwidth"])


def checked_and_timed(
    *, text: str, sizes: dict[str, int | str], dtype: str, outputs: list[str], seed: int, seconds: float
) -> dict[str, Any]:
    """What a worker runs: the fields of `ProgramVerdict`, with those of its timing. seconds: the time of all samples.

    text, sizes, dtype, outputs: the arguments of `tiling.program.infer.sized`. Runtime extents have their largest
    values.
    """
    program = sized(read(text), sizes, dtype=dtype, outputs=tuple(outputs))
    with ending_on_a_fault():
        kernel = CudaProgramKernel(program)
        error = definition_error(FromHost(kernel), seed)
        given = [placed_bits(x, a.dtype) for x, a in zip(random_inputs(program, seed), kernel.inputs)]
        arrays = [*given, *(poisoned_array(array.shape, array.dtype) for array in kernel.outputs)]
        extents = [program.extents[dim] for dim in program.runtime]
        samples = timed(lambda count: event_seconds(lambda: kernel.loaded.launch(arrays, extents), count), seconds)
        device = current_device()
        return {
            "error": error,
            "samples": list(samples),
            "peak_gflops": device.peak_flops("f32") / 1e9,
            "moved": sum(array.nbytes for array in arrays),
            "bandwidth": memory_bandwidth(device.l2_bytes),
        }
