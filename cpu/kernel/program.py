"""Makes the emitted kernel of a program callable: compiles and loads it, and checks the arrays of each call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import cffi
import numpy as np

from cpu.codegen.program.emit import ProgramSource, emit
from cpu.kernel.arguments import adopted, aligned_empty, checked, like, overlap, pointer
from cpu.kernel.callable import CpuError, check_openmp
from cpu.runtime.library import load
from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.timer import time_calls
from microkernels.tile.forms import Isa
from tiling.arguments import ArgumentError
from tiling.program.infer import Array, Sized
from tiling.tensor import Tensor


class ProgramKernel:
    """A compiled program. `kernel(x, …)` gives its output, or a tuple of them; see `__call__`."""

    def __init__(self, program: Sized, source: ProgramSource):
        """Loads the kernel from the compile cache, which compiles it if it has to.

        Raises CpuError, and what `cpu.runtime.library.load` raises.
        """
        self.program, self.emitted = program, source
        outputs = {array.name: array for array in program.assigned}
        self.inputs = program.inputs
        self.outputs = tuple(array for name, array in outputs.items() if name in program.outputs)
        ffi = cffi.FFI()
        parameters = ["const void *"] * len(self.inputs) + ["void *"] * len(self.outputs)
        ffi.cdef(f"int {source.symbol}({', '.join(parameters)}); int {source.symbol}_supported(void);")
        self._ffi = ffi
        # OpenMP's threads keep running code of the library: unloading it with the last kernel would crash them.
        how = os.RTLD_NOW | (os.RTLD_NODELETE if source.openmp else 0)

        def opened(path: str) -> Any:  # cffi has no types of its own
            return ffi.dlopen(path, how)

        self._loaded = load(source.text, source.compiler_flags, opened, source.openmp)
        if not getattr(self._loaded, source.symbol + "_supported")():
            raise CpuError(f"this CPU does not run {source.isa}, which {source.symbol} was compiled for")
        self._run = getattr(self._loaded, source.symbol)

    def __repr__(self) -> str:
        return f"<ProgramKernel of {self.program.program}>"

    def __reduce__(self) -> tuple[type[ProgramKernel], tuple[object, ...]]:
        """Pickles the program and the C text. Unpickling loads the kernel, or compiles it."""
        return ProgramKernel, (self.program, self.emitted)

    @property
    def source(self) -> str:
        """The emitted C text."""
        return self.emitted.text

    @property
    def threads(self) -> int:
        """The threads that it runs on; fewer than were asked for where there is little to do."""
        return self.emitted.threads

    @property
    def address(self) -> int:
        """The address of the C function, for timing without a Python call around it."""
        return int(self._ffi.cast("uintptr_t", self._run))

    def __call__(self, /, *arrays: object, out: object = None, **named: object) -> Any:
        """The outputs: an array, or a tuple of them in the order of the statements. Raises ArgumentError.

        arrays, named: the inputs, in the order in which the program first reads them or by name. They are C-contiguous,
        on the CPU, of the program's shapes and dtypes, and none is copied. bf16 are uint16 (the bits),
        ml_dtypes.bfloat16, or DLPack tensors; for tensors of another library the outputs are of that library too.
        out: an array for the output, or a tuple of them. It is returned.
        An index that is read from an array and lies outside another one is an ArgumentError too.
        """
        given = self._inputs(arrays, named)
        read = [_checked(value, array) for value, array in zip(given, self.inputs)]
        wanted = self._outputs(out)
        written = [_checked(value, array, "out") for value, array in zip(wanted, self.outputs)]
        at_inputs, at_outputs = [pointer(array) for array in read], [pointer(array) for array in written]
        if out is not None:
            self._apart(at_inputs, at_outputs, written)
        if self._run(*at_inputs, *at_outputs):
            raise ArgumentError(
                f"an index that the program reads from an array lies outside of the array that it is an index of: "
                f"{self.program.program}"
            )
        if out is not None:
            return out
        library = given[0] if given else None
        found = tuple(like(library, y, ELEMENTS[array.dtype]) for y, array in zip(written, self.outputs))
        return found if len(found) > 1 else found[0]

    def measure(self, inputs: list[np.ndarray], seconds: float, samples: int = 20) -> tuple[float, ...]:
        """Seconds of each of `samples` calls of the kernel alone, warm, into memory that is used again."""
        outputs = [aligned_empty(array.shape, ELEMENTS[array.dtype].numpy) for array in self.outputs]
        return time_calls(self.address, *inputs, *outputs, seconds=seconds, samples=samples)

    def _inputs(self, arrays: tuple[object, ...], named: Mapping[str, object]) -> list[object]:
        """The inputs in order."""
        names = [array.name for array in self.inputs]
        takes = f"the program takes {', '.join(names) or 'no arrays'}"
        if len(arrays) > len(names):
            raise ArgumentError(f"{len(arrays)} arrays are given, but {takes}; outputs go into out=…")
        found = dict(zip(names, arrays))
        for name, value in named.items():
            if name in found:
                raise ArgumentError(f"{name} is given twice")
            if name not in names:
                raise ArgumentError(f"there is no input {name}: {takes}")
            found[name] = value
        missing = [name for name in names if name not in found]
        if missing:
            raise ArgumentError(f"{missing[0]} is missing: {takes}")
        return [found[name] for name in names]

    def _outputs(self, out: object) -> list[object]:
        if out is None:
            return [aligned_empty(array.shape, ELEMENTS[array.dtype].numpy) for array in self.outputs]
        given = list(out) if isinstance(out, tuple) else [out]
        if len(given) != len(self.outputs):
            names = ", ".join(array.name for array in self.outputs)
            raise ArgumentError(f"out has {len(given)} arrays, but the program gives {names}")
        return given

    def _apart(self, inputs: list[Any], outputs: list[Any], written: list[np.ndarray]) -> None:
        if not all(array.flags.writeable for array in written):
            raise ArgumentError("out is read-only: pass an array that can be written")
        for number, at in enumerate(outputs):
            if any(overlap(at, other) for other in (*inputs, *outputs[:number])):
                raise ArgumentError("out overlaps another array: pass memory of its own")


def _checked(given: object, array: Array, name: str = "") -> np.ndarray:
    """An array of a call, in place, with the program's shape and dtype."""
    element = ELEMENTS[array.dtype]
    name = name or array.name
    return checked(adopted(given, name, element), Tensor(array.name, "", (), array.shape), element, name)


def build_program(program: Sized, isa: Isa, threads: int = 1) -> ProgramKernel:
    """Emits a program, compiles it unless the cache has it, and loads it.

    Raises ToolchainError, CacheError or CpuError.
    """
    source = emit(program, isa, threads)
    if source.openmp:
        check_openmp(threads)
    return ProgramKernel(program, source)
