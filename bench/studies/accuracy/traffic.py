"""Bytes that a scheme moves into each cache: by the model, and by the addresses of its own kernel.

The emitted kernel uses an instruction set whose loads and stores report their addresses to simulated caches of this
machine's geometry (`trace.h`). Simulator and model share nothing but the scheme. Where the CPU's own counters can be
read (`bench.studies.accuracy.counters`), they replace the simulation for the caches that they count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import cffi
import numpy as np

from cpu.codegen.emit import emit
from cpu.kernel.arguments import aligned_empty
from cpu.runtime.compiler.library import load
from microkernels.tile.isa_row import Isa
from search.cost.cache_conflicts import geometries
from search.cost.volume import Volumes
from tiling.arrays.access import access_of
from tiling.machine import Machine
from tiling.scheme.scheme import Scheme

_DECLARATIONS = """
void trace_begin(int levels, const long *sets, const long *ways, const long *hashed, int line_bits, uint64_t *lines);
void trace_count(const uintptr_t *first, const uintptr_t *end);
long trace_filled(int level, int tensor);
void {symbol}(const float *X, const float *W, float *Y);
"""


@dataclass(frozen=True)
class Moved:
    """Bytes into one cache per warm call. observed: from the simulation, or `counted` by the CPU.

    The simulation counts the output both ways; counters see it only when it is read.
    """

    level: str
    predicted: int
    observed: int
    counted: bool
    compulsory: int

    @property
    def ratio(self) -> float:
        """Predicted over observed bytes.

        Less than a hundredth of the tensors' bytes takes no time, so smaller amounts count as a hundredth.
        """
        least = self.compulsory / 100
        return max(self.predicted, least) / max(self.observed, least)


def compare(
    scheme: Scheme, machine: Machine, isa: Isa, counted: Mapping[str, int] = MappingProxyType({})
) -> tuple[Moved, ...]:
    """Model and observation for each cache of `machine`, one core, plain stores; innermost first.

    counted: bytes of a warm call into the caches whose counters can be read. The simulated caches are ideal ones, all
    of whose ways hold data, so what is simulated is predicted for such caches too. The simulation visits every load and
    store of the kernel. Raises SchemeError, ToolchainError, CacheError.
    """
    # About 20 ns a load or store.
    problem = scheme.problem
    here, ideal = (Volumes(problem, machine, ideal=whole).traffic(scheme) for whole in (False, True))
    compulsory = sum(t.elements for t in problem.tensors) * access_of(problem).element_bytes
    return tuple(
        Moved(t.level, t.total, counted[t.level], True, compulsory)
        if t.level in counted
        else Moved(t.level, perfect.total, simulated, False, compulsory)
        for t, perfect, simulated in zip(here, ideal, simulate(scheme, machine, isa))
    )


def simulate(scheme: Scheme, machine: Machine, isa: Isa) -> tuple[int, ...]:
    """Bytes that the second of two calls brings into each cache, the output's counted twice."""
    source = emit(scheme, traced(isa))
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS.format(symbol=source.symbol))
    library = load(source.text, (), ffi.dlopen)
    problem = scheme.problem
    arrays = [
        aligned_empty((elements,)) for elements in (problem.tensors[0].elements, source.packed, problem.output.elements)
    ]
    caches = geometries(machine, threads=1, ideal=True)
    line = machine.caches[0].line
    lines = np.zeros(sum(int(c.sets * c.ways) for c in caches), np.uint64)
    library.trace_begin(
        len(caches),
        [c.sets for c in caches],
        [int(c.ways) for c in caches],
        [c.hashed for c in caches],
        line.bit_length() - 1,
        ffi.from_buffer("uint64_t[]", lines),
    )
    first = [array.ctypes.data for array in arrays]
    end = [array.ctypes.data + array.nbytes for array in arrays]
    kernel = getattr(library, source.symbol)
    for _ in range(2):
        library.trace_count(first, end)
        kernel(*(ffi.from_buffer("float[]", array) for array in arrays))
    return tuple(
        line * sum(library.trace_filled(level, tensor) * (2 if tensor == 2 else 1) for tensor in range(4))
        for level in range(len(caches))
    )


def traced(isa: Isa) -> Isa:
    """The instruction set with every load and store replaced by a report of its address, and no arithmetic."""
    prologue = Path(__file__).with_name("trace.h").read_text(encoding="utf-8")
    load, store = f"trace_load({{p}}, {isa.lanes})", f"trace_store({{p}}, {isa.lanes})"
    return replace(
        isa,
        cpu_flags=(),  # it computes nothing, so any CPU runs it
        vector_type="vec",
        prologue=prologue,
        lanes_definition="enum {{ {name} = {lanes} }};",
        zero="0",
        load=load,
        load_tail="trace_load({p}, {lanes})",
        store=store,
        store_tail="trace_store({p}, {lanes})",
        store_lanes="",
        stream=store,
        stream_fence="(void)0",
        broadcast="trace_load({p}, 1)",
        fma=replace(isa.fma, text="{acc}"),
        fma_in_place="",
        shuffle="{a}",
    )
