"""The kernel of a program with an anchor: the anchor's own kernel, between the kernels of the statements before and
after.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cpu.kernel.arguments import aligned, aligned_empty, like, pointer
from cpu.kernel.callable import CpuKernel, Packed
from cpu.kernel.export_program import save_anchored
from cpu.kernel.given import inputs_of_call, outputs_of_call
from cpu.kernel.program import ProgramKernel, checked_array, outputs_of
from cpu.runtime.machine.samples import timed
from cpu.runtime.machine.timer import time_calls
from cpu.runtime.numbers import ELEMENTS
from tiling.arguments import ArgumentError
from tiling.machine import Timing
from tiling.program.anchors.anchor import Operand
from tiling.program.infer import Sized
from tiling.program.rewrite.anchored import Anchored


class AnchoredKernel(ProgramKernel):
    """A program in up to three kernels, called as a `ProgramKernel` is. `pack` packs its weights for many calls."""

    def __init__(
        self,
        program: Sized,
        found: Anchored,
        anchor: CpuKernel,
        before: ProgramKernel | None,
        after: ProgramKernel | None,
    ):
        self.program, self.found, self.anchor, self.before, self.after = program, found, anchor, before, after
        self.inputs = program.inputs
        self.outputs = outputs_of(program)
        self._timing: Timing | None = None

    def __reduce__(self) -> tuple[type[AnchoredKernel], tuple[object, ...]]:
        return AnchoredKernel, (self.program, self.found, self.anchor, self.before, self.after)

    @property
    def parts(self) -> tuple[ProgramKernel | CpuKernel, ...]:
        """The kernels in the order in which they run."""
        return tuple(part for part in (self.before, self.anchor, self.after) if part is not None)

    @property
    def scheme(self) -> str:
        """The scheme of the anchor."""
        return self.anchor.scheme.text

    @property
    def source(self) -> str:
        """The C texts of all parts."""
        return "\n".join(part.source for part in self.parts)

    @property
    def threads(self) -> int:
        return max(part.threads for part in self.parts)

    def pack(self, w: object) -> Packed:
        """Packs the anchor's weights once for many calls, which take them for the array. Raises ArgumentError."""
        weights = self.found.anchor.w
        given = next((array for array in self.inputs if array.name == weights.array), None)
        if given is None:
            raise ArgumentError(f"{weights.array}, which is packed, is no input but computed in each call")
        self._check_read_once()
        return self.anchor.pack(_laid_out(checked_array(w, given), weights))

    def _check_read_once(self) -> None:
        """Raises ArgumentError where another part of the program reads the weights unpacked."""
        weights = self.found.anchor.w.array
        reads = [access for s in self.found.program.program.statements for access in s.accesses]
        if sum(access.array == weights for access in reads) > 1:
            raise ArgumentError(f"{weights} is read elsewhere in the program too: pass the array itself")

    def __call__(self, /, *arrays: object, out: object = None, **named: object) -> Any:
        """As `ProgramKernel`. The anchor's weights are packed in each call, unless they are what `pack` gave."""
        given = inputs_of_call(self.inputs, arrays, named)
        values: dict[str, Any] = {}
        weights = self.found.anchor.w.array
        for array, each in zip(self.inputs, given):
            if isinstance(each, Packed) and array.name != weights:
                raise ArgumentError(f"{array.name} is packed, but the weights of this program are {weights}")
            if isinstance(each, Packed):
                self._check_read_once()
            values[array.name] = each if isinstance(each, Packed) else checked_array(each, array)
        wanted = self.empty() if out is None else outputs_of_call(self.outputs, out)
        written = [checked_array(y, a, "out") for y, a in zip(wanted, self.outputs)]
        if out is not None:
            plain = [pointer(value.data if isinstance(value, Packed) else value) for value in values.values()]
            self._apart(plain, list(map(pointer, written)), written)
        self._computed(values, dict(zip((array.name for array in self.outputs), written)))
        if out is not None:
            return out
        library = next((each for each in given if not isinstance(each, Packed)), None)
        found = {a.name: like(library, y, ELEMENTS[a.dtype]) for y, a in zip(written, self.outputs)}
        return found if len(found) > 1 else next(iter(found.values()))

    def _computed(self, values: dict[str, Any], outputs: dict[str, np.ndarray]) -> dict[str, Any]:
        """Every array that lies in memory, by name. values: the inputs. outputs: arrays to write to."""
        if self.before:
            values |= self._ran(self.before, values, outputs)
        stores, problem = self.found.stores, self.anchor.original
        y = outputs.get(stores.output)
        given = self.found.program.array(stores.output)
        y = aligned_empty(given.shape, ELEMENTS[given.dtype].numpy) if y is None else y
        x, w, more = self._operands(values)
        self.anchor(x, w, *more, out=y.reshape(problem.output.shape))
        values[stores.output] = y
        if self.after:
            values |= self._ran(self.after, values, outputs)
        return values

    def _operands(self, values: dict[str, Any]) -> tuple[np.ndarray, Any, list[np.ndarray]]:
        anchor, arrays = self.found.anchor, dict(self.found.stores.arrays)
        w = values[anchor.w.array]
        more = [values[arrays[tensor.name]].reshape(tensor.shape) for tensor in self.anchor.original.epilogue_arrays]
        return (
            _laid_out(values[anchor.x.array], anchor.x),
            w if isinstance(w, Packed) else _laid_out(w, anchor.w),
            more,
        )

    @staticmethod
    def _ran(part: ProgramKernel, values: dict[str, Any], outputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        results = {array.name: outputs.get(array.name) for array in part.outputs}
        found = {n: y if y is not None else e for (n, y), e in zip(results.items(), part.empty())}
        part(*(values[array.name] for array in part.inputs), out=found)
        return found

    def measure(self, inputs: Sequence[np.ndarray], seconds: float) -> Timing:
        """The times of all parts and of packing the weights, each warm, added up."""
        values = {array.name: aligned(value) for array, value in zip(self.inputs, inputs)}
        values = self._computed(values, {})
        share = seconds / (len(self.parts) + 1)
        timings = []
        for part in (self.before, self.after):
            if part is not None:
                timings.append(part.measure([values[array.name] for array in part.inputs], share))
        x, w, more = self._operands(values)
        packed = self.anchor.pack(w)
        raw, y = np.ascontiguousarray(w), self.anchor.empty()
        timings.append(self.anchor.measure(x, packed.data, y, share, more))
        timings.append(
            timed(
                lambda **how: time_calls(self.anchor.pack_address, raw, packed.data, y, **how),
                self.anchor.emitted.compiler_flags,
                self.anchor.scheme.lanes,
                share,
            )
        )
        samples = zip(*(sorted(timing.samples) for timing in timings))
        middle = tuple(map(sum, samples)) if len({len(t.samples) for t in timings}) == 1 else ()
        return Timing(middle or (sum(t.seconds for t in timings),), max(t.peak_gflops for t in timings))

    def save(self, folder: str | os.PathLike[str], name: str | None = None) -> tuple[Path, ...]:
        """Writes one C function, which packs the weights and runs all parts: .c, .h and .so, and a .c of each part.

        name: the name of the function. Returns the paths. Raises as `ProgramKernel.save`.
        """
        before, after = (part.emitted if part else None for part in (self.before, self.after))
        sources = before, self.anchor.emitted, after
        return save_anchored(self.program, self.found, sources, self.anchor.original, folder, name)


def _laid_out(array: np.ndarray, operand: Operand) -> np.ndarray:
    """A view of an array of the program with the axes and the shape that the problem has."""
    found: np.ndarray = array.reshape(operand.split).transpose(operand.order).reshape(operand.shape)
    return found
