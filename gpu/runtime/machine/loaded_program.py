"""A program of several launches on a device: compiled, loaded, and launched on CuPy arrays, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from gpu.codegen.loops.launches import ProgramText
from gpu.runtime.compiler.compile import compiler_name
from gpu.runtime.compiler.program import CompiledProgram, compile_program
from gpu.runtime.machine.device import DeviceError, current
from gpu.runtime.machine.loaded import (
    allocating_for_a_graph,
    function_of,
    is_captured,
    keep_for_a_graph,
    loaded_module,
    needing,
)
from tiling.dtypes.formats import FORMATS


@dataclass(frozen=True)
class LoadedProgram:
    """A program on a device, ready to be launched on CuPy arrays. functions: those of its launches, in their order."""

    program: ProgramText
    compiled: CompiledProgram
    device: int
    functions: tuple[Any, ...]
    # The room of each call that was captured for a graph, which one executable graph uses at a time.
    captured: list[dict[str, Any]] = field(default_factory=list, compare=False, repr=False)

    def launch(self, arrays: Sequence[Any], numbers: Sequence[int] = ()) -> Any:
        """Launches all on CuPy's current stream, and returns before they have ended.

        arrays: from the caller, inputs first. numbers: the runtime extents. The result is an array of one word, None
        where no launch reports. Once they have ended, it is 1 if an index that was read lies outside of an array.

        What launches leave for later ones is memory of CuPy's pool. The pool gives it away only to later work of the
        same stream, so calls on other streams and of other threads may run at the same time. A call that is captured
        for a graph has memory of its own, as long as the process. Raises DeviceError where memory does not suffice, and
        where a call is captured that reports: nothing would read the word.
        """
        import cupy

        program = self.program
        known = dict(zip((name for name, _ in program.numbers), numbers, strict=True))
        given = dict(zip((buffer.name for buffer in program.arrays), arrays, strict=True))
        extents = tuple(map(np.int64, numbers))  # the functions take them as long long
        reports = any(each.reports for each in program.launches)
        with cupy.cuda.Device(self.device):
            given |= self._captured_room(reports) if is_captured(cupy) else self._room()
            outside = cupy.zeros(1, "int32") if reports else None
            for each, function in zip(program.launches, self.functions):
                arguments = (*(given[name] for name in each.arrays), *extents, *(outside,) * each.reports)
                function((each.grid.at(known),), (each.threads,), arguments, each.shared_bytes)
        return outside

    def _room(self) -> dict[str, Any]:
        """The arrays between launches by name."""
        import cupy

        between = self.program.between
        with needing(sum(prod(b.shape) * FORMATS[b.dtype].bytes for b in between)):
            return {b.name: cupy.empty(prod(b.shape), FORMATS[b.dtype].numpy) for b in between}

    def _captured_room(self, reports: bool) -> dict[str, Any]:
        """The same for a call that is captured for a graph."""
        if reports:
            raise DeviceError(
                "a call that reads an index from an array waits for the device to say whether it lies inside: it "
                "cannot be captured for a CUDA graph"
            )
        keep_for_a_graph(self)
        if not self.program.between:
            return {}
        with allocating_for_a_graph():
            room = self._room()
        self.captured.append(room)
        return room


def load_launches(program: ProgramText) -> LoadedProgram:
    """Compiles a program for this process's current GPU and loads it there. Raises DeviceError, CompileError."""
    cupy, number, device = current()
    most = max(each.shared_bytes for each in program.launches)
    if most > device.shared_of_block:
        raise DeviceError(
            f"the kernel needs {most} bytes of shared memory for a block, {device.name} has {device.shared_of_block}"
        )
    compiled = compile_program(program, device.architecture)
    module = loaded_module(cupy, device, compiled.code, compiler_name())
    functions = (function_of(cupy, module, each.symbol, each.shared_bytes) for each in program.launches)
    return LoadedProgram(program, compiled, number, tuple(functions))
