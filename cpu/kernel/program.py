"""Makes the emitted kernel of a program callable: compiles and loads it, and checks the arrays of each call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from cpu.codegen.program.emit import ProgramSource, emit
from cpu.kernel.arguments import adopted, aligned, aligned_empty, checked, like, overlap, pointer
from cpu.kernel.entry import NOT_AS_IT_SHOULD_BE, Enter, entry
from cpu.kernel.export_program import save_program
from cpu.kernel.given import inputs_of_call, outputs_of_call, runtime_extents
from cpu.kernel.opened import check_openmp, opened
from cpu.kernel.random_inputs import random_inputs
from cpu.runtime.machine.samples import quietly, timed
from cpu.runtime.machine.timer import time_calls
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import Isa
from tiling.arguments import ArgumentError
from tiling.machine import Timing
from tiling.program.infer import Array, Sized
from tiling.tensor import Tensor

MOST_SHAPES = 64  # shapes of calls that are remembered


@dataclass(frozen=True)
class _Arrays:
    """The arrays that a call needs. numbers: its runtime extents, in the order of the kernel's arguments."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    numbers: tuple[int, ...]

    @cached_property
    def read(self) -> list[tuple[np.dtype, tuple[int, ...]]]:
        """The dtype and shape of each input. They are kept, since every call compares them."""
        return [(ELEMENTS[array.dtype].numpy, array.shape) for array in self.inputs]

    @cached_property
    def written(self) -> list[tuple[np.dtype, tuple[int, ...]]]:
        """The dtype and shape of each output, kept for the same reason."""
        return [(ELEMENTS[array.dtype].numpy, array.shape) for array in self.outputs]

    def empty(self) -> list[np.ndarray]:
        """Uninitialised outputs."""
        return [aligned_empty(array.shape, ELEMENTS[array.dtype].numpy) for array in self.outputs]


class ProgramKernel:
    """A compiled program. `kernel(x, …)` gives its output, or a dict of them; see `__call__`."""

    def __init__(self, program: Sized, source: ProgramSource):
        """Loads the kernel from the compile cache, which compiles it if it has to.

        Raises CpuError, and what `cpu.runtime.compiler.library.load` raises.
        """
        self.program, self.emitted = program, source
        self.inputs = program.inputs
        self.outputs = outputs_of(program)
        self._known: dict[tuple[object, ...], _Arrays] = {}
        self._always = None if program.runtime else _Arrays(self.inputs, self.outputs, ())
        arrays = ["const void *"] * len(self.inputs) + ["void *"] * len(self.outputs)
        self._ffi, self._loaded = opened(
            source,
            f"int {source.symbol}({', '.join([*arrays, *['long'] * len(source.numbers)])});"
            f"int {source.symbol}_at(void *const *arrays);",
        )
        self._run = getattr(self._loaded, source.symbol)
        self._enter = self._entry()
        self._timing: Timing | None = None

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
    def timing(self) -> Timing:
        """Seconds per call of the kernel alone, with warm caches, timed in C, with the FMA peak beside.

        Runtime extents have their largest values. Measured once, on random data; where other programs took the cores
        meanwhile, `disturbed` says so, and the next call measures again. Raises ToolchainError without a compiler.
        """
        if self._timing is None:
            inputs = random_inputs(self.program, 0)
            found = quietly(lambda: self.measure(inputs, 0.1), self.threads)
            if found.disturbed:
                return found
            self._timing = found
        return self._timing

    def measure(self, inputs: Sequence[np.ndarray], seconds: float) -> Timing:
        """Times the kernel alone, warm, into memory that is used again, between two measurements of the peak.

        seconds: the time of all samples together.
        """
        here = self._arrays(inputs, None)
        arrays = [aligned(array) for array in inputs] + here.empty() + [np.array([n], "l") for n in here.numbers]
        places = np.array([array.ctypes.data for array in arrays], np.uintp)
        unused = np.empty(1, np.float32)  # the timer hands over three arrays
        return timed(
            lambda **how: time_calls(self._address, places, unused, unused, **how),
            self.emitted.compiler_flags,
            isa_named(self.emitted.isa).lanes,
            seconds,
        )

    def __call__(self, /, *arrays: object, out: object = None, **named: object) -> Any:
        """The output, or a dict of the outputs by name where there are several. Raises ArgumentError.

        arrays, named: the inputs, in the order in which the program first reads them, or by name. An input called `out`
        cannot be given by name. Inputs are C-contiguous, on the CPU, of the program's shapes and dtypes, and none is
        copied. bf16 are uint16 (the bits), ml_dtypes.bfloat16, or DLPack tensors; for tensors of another library the
        outputs are of that library too.
        out: an array for the output, or a dict of arrays by name. It is returned.
        An index that is read from an array and lies outside another one is an ArgumentError too. Runtime extents follow
        from the shapes.
        """
        if self._enter and self._always and not named and (out is not None or self._are_numpys(arrays)):
            y = self._always.empty()[0] if out is None else out
            ended = self._enter(arrays, y)
            if ended == 0:
                return y
            if ended != NOT_AS_IT_SHOULD_BE:
                raise outside_of(self.program)
        simple = not named and len(arrays) == len(self.inputs)
        given = arrays if simple else inputs_of_call(self.inputs, arrays, named)
        here = self._always or self._arrays(given, out)
        read = [x if _is(x, *is_) else checked_array(x, a) for x, is_, a in zip(given, here.read, here.inputs)]
        wanted = zip(here.empty() if out is None else outputs_of_call(self.outputs, out), here.written, here.outputs)
        written = [y if _is(y, *is_) else checked_array(y, a, "out") for y, is_, a in wanted]
        at_inputs, at_outputs = list(map(pointer, read)), list(map(pointer, written))
        if out is not None:
            self._apart(at_inputs, at_outputs, written)
        if self._run(*at_inputs, *at_outputs, *here.numbers):
            raise outside_of(self.program)
        if out is not None:
            return out
        library = given[0] if given else None
        found = {a.name: like(library, y, ELEMENTS[a.dtype]) for y, a in zip(written, self.outputs)}
        return found if len(found) > 1 else next(iter(found.values()))

    def pack(self, w: object) -> object:
        """Raises ArgumentError: this kernel has no product of its own, whose weights would be packed."""
        raise ArgumentError(
            "no array of this program is packed, since all its loops follow from rules: pass the array itself"
        )

    def empty(self) -> list[np.ndarray]:
        """Uninitialised outputs, with the largest runtime extents."""
        return _Arrays(self.inputs, self.outputs, ()).empty()

    @property
    def _address(self) -> int:
        """The address of the C function that takes a list of arrays."""
        return int(self._ffi.cast("uintptr_t", getattr(self._loaded, self.emitted.symbol + "_at")))

    def _entry(self) -> Enter | None:
        """The fast path of a call; None where arrays have runtime extents, or where there are several outputs."""
        here = self._always
        return entry(self._address, [*here.read, *here.written]) if here and len(here.written) == 1 else None

    def _are_numpys(self, arrays: tuple[object, ...]) -> bool:
        """Whether these are all inputs and are NumPy arrays, so that the output is a NumPy array too."""
        return len(arrays) == len(self.inputs) and all(type(array) is np.ndarray for array in arrays)

    def _arrays(self, given: Sequence[object], out: object) -> _Arrays:
        """The arrays of a call, by the shapes that it gives. Raises ArgumentError."""
        if self._always:
            return self._always
        handed = list(zip(self.inputs, given))
        if out is not None:
            handed += zip(self.outputs, outputs_of_call(self.outputs, out))
        shapes = tuple(adopted(x, array.name, ELEMENTS[array.dtype]).shape for array, x in handed)
        if shapes not in self._known:
            if len(self._known) == MOST_SHAPES:
                self._known.clear()
            arrays = [array for array, _ in handed]
            program = self.program.at(runtime_extents(self.program, arrays, shapes))
            numbers = tuple(program.extents[dim] for dim in self.program.runtime)
            self._known[shapes] = _Arrays(program.inputs, outputs_of(program), numbers)
        return self._known[shapes]

    def save(self, folder: str | os.PathLike[str], name: str | None = None) -> tuple[Path, ...]:
        """Writes the kernel as C that needs no Python: .c, .h and .so. Returns their paths.

        name: the name of the C function. Raises ExportError, and then also ToolchainError and CacheError.
        """
        return save_program(self.program, self.emitted, folder, name)

    def _apart(self, inputs: list[Any], outputs: list[Any], written: list[np.ndarray]) -> None:
        if not all(array.flags.writeable for array in written):
            raise ArgumentError("out is read-only: pass an array that can be written")
        for number, at in enumerate(outputs):
            if any(overlap(at, other) for other in (*inputs, *outputs[:number])):
                raise ArgumentError("out overlaps another array: pass memory of its own")


def outputs_of(program: Sized) -> tuple[Array, ...]:
    """The arrays that a kernel returns."""
    return tuple(array for array in program.assigned if array.name in program.outputs)


def outside_of(program: Sized) -> ArgumentError:
    """The error of a call whose arrays hold an index that lies outside."""
    return ArgumentError(
        f"an index that the program reads from an array lies outside of the array that it is an index of: "
        f"{program.program}"
    )


def _is(value: object, dtype: np.dtype, shape: tuple[int, ...]) -> TypeGuard[np.ndarray]:
    """Whether a value is an array that a kernel can take without conversion."""
    return type(value) is np.ndarray and value.dtype == dtype and value.shape == shape and value.flags.c_contiguous


def checked_array(given: object, array: Array, name: str = "") -> np.ndarray:
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
