"""Runs the CUDA text of a program on a CPU, launch after launch. `twin_elements.h` says what the twin checks."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from cpu.runtime.numbers import ELEMENTS
from gpu.codegen.loops.functions import STORED
from gpu.codegen.loops.launches import Launch, ProgramText
from gpu.twin.launch import TwinError, TwinReport, aligned
from gpu.twin.layer import RUNNING, declared, load_behind, text_of


@dataclass(frozen=True)
class ProgramTwin:
    """A program compiled for the CPU. Raises ToolchainError and CacheError as `cpu.runtime.compiler.cache` does."""

    program: ProgramText

    def __reduce__(self) -> tuple[type[ProgramTwin], tuple[ProgramText]]:
        return ProgramTwin, (self.program,)  # what is loaded stays in its process

    def run(
        self, arrays: Sequence[np.ndarray], numbers: Sequence[int] = (), seed: int = 0
    ) -> tuple[list[np.ndarray], bool]:
        """The arrays after all launches, and whether an index that was read lies outside of an array.

        arrays: from the caller, inputs first, in the dtypes in which they are stored. numbers: the runtime extents. The
        order of threads and blocks follows from `seed`. Raises TwinError with what is wrong.
        """
        known = dict(zip((name for name, _ in self.program.numbers), numbers, strict=True))
        placed = [aligned(array) for array in arrays]
        for buffer in self.program.between:
            room = np.full(prod(buffer.shape) * ELEMENTS[buffer.dtype].numpy.itemsize, 0xFF, np.uint8)
            placed.append(aligned(room))
        outside = np.zeros(1, np.int32)
        pointers = (ctypes.c_void_p * len(placed))(*(array.ctypes.data for array in placed))
        sizes = (ctypes.c_long * len(placed))(*self._sizes(placed, known))
        given = (ctypes.c_longlong * (len(numbers) + 1))(*numbers)
        grids = (ctypes.c_long * len(self.program.launches))(*(each.grid.at(known) for each in self.program.launches))
        report = TwinReport()
        place = ctypes.c_void_p(outside.ctypes.data)
        entry = self._entry
        with RUNNING:
            failed = entry(pointers, sizes, given, grids, place, ctypes.c_uint64(seed), ctypes.byref(report))
        if failed:
            raise TwinError(report.message.decode())
        return placed[: len(arrays)], bool(outside[0])

    def _sizes(self, placed: list[np.ndarray], known: Mapping[str, int]) -> list[int]:
        """The bytes of each array that a call uses."""
        buffers = (*self.program.arrays, *self.program.between)
        counts = [prod(size.at(known) for size in buffer.sizes) for buffer in buffers]
        return [count * ELEMENTS[buffer.dtype].numpy.itemsize for count, buffer in zip(counts, buffers)]

    @cached_property
    def _entry(self) -> Any:
        layer = declared(text_of(("twin.h", "twin_elements.h"))) + text_of(("values.cuh",), "device") + "\n"
        return load_behind(layer, program_text(self.program)).tilewright_twin_program


def program_text(program: ProgramText) -> str:
    """The C text behind the twin's device layer that runs all launches: the kernels' text, and an entry."""
    bodies = "\n".join(_launch_text(program, launch, number) for number, launch in enumerate(program.launches))
    runs = "\n".join(_run_text(program, launch, number) for number, launch in enumerate(program.launches))
    return f"""{program.text}
static char **tilewright_arrays;
static const long long *tilewright_numbers;
static int *tilewright_outside;

{bodies}

int tilewright_twin_program(char **arrays, const long *bytes, const long long *numbers, const long *grids, int *outside,
                            uint64_t seed, struct twin_report *report)
{{
    tilewright_arrays = arrays;
    tilewright_numbers = numbers;
    tilewright_outside = outside;
    memset(report, 0, sizeof *report);
{runs}
    return 0;
}}
"""


def _launch_text(program: ProgramText, launch: Launch, number: int) -> str:
    """A function without parameters that a fibre runs."""
    buffers = (*program.arrays, *program.between)
    places = {buffer.name: place for place, buffer in enumerate(buffers)}
    dtypes = {buffer.name: buffer.dtype for buffer in buffers}
    given = [f"({STORED[dtypes[name]]} *)tilewright_arrays[{places[name]}]" for name in launch.arrays]
    given += [f"tilewright_numbers[{n}]" for n in range(len(program.numbers))]
    given += ["tilewright_outside"] * launch.reports
    return f"static void tilewright_launch_{number}(void) {{ {launch.symbol}({', '.join(given)}); }}"


def _run_text(program: ProgramText, launch: Launch, number: int) -> str:
    """The launch, with the role of each array in it."""
    buffers = (*program.arrays, *program.between)
    roles = ", ".join(_role(program, launch, buffer.name) for buffer in buffers)
    return f"""    static const enum twin_role roles_{number}[] = {{{roles}}};
    if (twin_launch(tilewright_launch_{number}, (unsigned)grids[{number}], 1, {launch.threads}, {launch.shared_bytes},
                    arrays, bytes, roles_{number}, {len(buffers)}, seed + {number}, report))
        return 1;"""


def _role(program: ProgramText, launch: Launch, name: str) -> str:
    if name not in launch.written:
        return "TWIN_INPUT"
    return "TWIN_ROOM" if name in program.rows else "TWIN_OUTPUT"
