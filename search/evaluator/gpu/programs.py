"""Kernels of programs for a GPU: on its twin, a CPU emulation, for small shapes, untimed; and as CUDA text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cpu.kernel.arguments import like
from cpu.kernel.export import folder_of, placed
from cpu.kernel.given import inputs_of_call, runtime_extents
from cpu.kernel.program import checked_array, outputs_of, outside_of
from cpu.runtime.numbers import ELEMENTS
from gpu.codegen.loops.emit import emit_program
from gpu.codegen.loops.launches import ProgramText
from gpu.codegen.loops.names import with_cuda_names
from gpu.passes.order import PROGRAM, program_forms
from gpu.runtime.compiler.compile import HOPPER
from gpu.runtime.export_program import program_files
from gpu.twin.program import ProgramTwin
from tiling.loops.listing import listing
from tiling.loops.passes import names
from tiling.program.infer import Sized

__all__ = ["GPU_PASS_NAMES", "GpuProgramKernel", "TwinProgramKernel", "gpu_loops_after"]

GPU_PASS_NAMES = names(PROGRAM)


class GpuProgramKernel:
    """What kernels of programs for a GPU share, wherever they are computed."""

    def __init__(self, program: Sized):
        self.program = program
        self.inputs = program.inputs
        self.outputs = outputs_of(program)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.program.program}>"

    def __reduce__(self) -> tuple[type[GpuProgramKernel], tuple[Sized]]:
        """Pickles the program. Unpickling compiles and loads what a kernel loads at all."""
        return type(self), (self.program,)

    @cached_property
    def emitted(self) -> ProgramText:
        """The text and its launches."""
        return emit_program(self.program)

    @property
    def source(self) -> str:
        """The CUDA text of the kernels."""
        return self.emitted.text

    def save(self, folder: str | Path, architecture: str = HOPPER) -> tuple[Path, ...]:
        """Writes the CUDA file, and where NVRTC is installed machine code, a header and a C file that launches it.

        Returns their paths. Raises ExportError, and CompileError for an architecture that NVRTC does not know.
        """
        files = program_files(self.emitted, str(self.program.program), architecture)
        return placed(folder_of(folder), files)

    def _sized(self, shapes: Iterable[tuple[int, ...]], outputs: bool = False) -> tuple[Sized, list[int]]:
        """The program of a call, and its runtime extents. shapes: those of the inputs; with `outputs` of these too."""
        if not self.program.runtime:
            return self.program, []
        values = runtime_extents(self.program, (*self.inputs, *self.outputs * outputs), tuple(shapes))
        return self.program.at(values), list(values.values())


class TwinProgramKernel(GpuProgramKernel):
    """`kernel(x, …)` gives the output of a program, or a dict of several, on the twin.

    Arrays are NumPy's, or tensors of another library; the outputs are of the library of the first.
    """

    def __call__(self, /, *arrays: object, seed: int = 0, **named: object) -> Any:
        """The output, or a dict of the outputs by name where there are several.

        arrays, named: the inputs in the order in which the program first reads them, or by name: C-contiguous, of the
        program's shapes and dtypes; bf16 are uint16 (the bits). The order of threads follows from `seed`. Raises
        ArgumentError, TwinError for a kernel that does something wrong, ToolchainError without a C compiler.
        """
        given = inputs_of_call(self.inputs, arrays, named)
        program, extents = self._sized(np.asarray(x).shape for x in given)
        read = [checked_array(x, array) for x, array in zip(given, program.inputs)]
        outputs = outputs_of(program)
        written = [np.zeros(array.shape, ELEMENTS[array.dtype].numpy) for array in outputs]
        after, outside = ProgramTwin(self.emitted).run([*read, *written], extents, seed)
        if outside:
            raise outside_of(self.program)
        library = given[0] if given else None
        found = {array.name: like(library, y, ELEMENTS[array.dtype]) for array, y in zip(outputs, after[len(read) :])}
        return found if len(found) > 1 else next(iter(found.values()))


def gpu_loops_after(program: Sized) -> list[tuple[str, str]]:
    """The loops after each pass, as text."""
    return [(name, listing(kernel)) for name, kernel in program_forms(with_cuda_names(program))]
