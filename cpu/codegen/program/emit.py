"""The C file of a program's kernel.

    emit(program, isa, threads) -> ProgramSource

The template only lays out names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cpu.codegen.emit import TEMPLATES, VERSION
from cpu.codegen.program.functions import Definitions
from cpu.codegen.program.names import with_c_names
from cpu.codegen.program.print import FIRST, ProgramPrinter, is_masked
from cpu.passes.program.order import stages
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.forms import Isa
from microkernels.tile.isa import isa_named
from microkernels.tile.lanes import lanes_definition
from tiling.loops.index import Index
from tiling.loops.language import Alloc, Buffer, Define, For, Invoke, Kernel, Let, Mask
from tiling.loops.listing import listing
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk
from tiling.program.infer import Sized

# Arithmetic of whole numbers wraps around, as in NumPy. Without if-conversion: of a loop that tests each element before
# it reads it gcc 12 makes a masked load, and of that a blend that reads them all, beyond the end of an array too.
FLAGS = ("-fwrapv", "-fno-tree-loop-if-convert", "-Wno-psabi")


@dataclass(frozen=True)
class ProgramSource:
    """An emitted kernel: C text that defines

        int SYMBOL(const T *input, …, T *output, …, long i_extent, …)
        int SYMBOL_at(void *const *arrays)               the same for a list of the arrays, and of places of numbers
        int SYMBOL_supported(void)

    It gives 0, or 1 where an index that it read lies outside an array, or 2 where a runtime extent is out of bounds.
    parameters: the C text of each array, inputs first. numbers: the name and the bound of each runtime extent.
    """

    symbol: str
    text: str
    isa: str
    threads: int
    parameters: tuple[str, ...]
    numbers: tuple[tuple[str, int], ...] = ()

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        return (*isa_named(self.isa).compiler_flags, *FLAGS)

    @property
    def openmp(self) -> bool:
        return self.threads > 1


def emit(program: Sized, isa: Isa, threads: int = 1) -> ProgramSource:
    """The C source of a program on `isa`, for at most so many OpenMP threads: few points get fewer."""
    forms = dict(stages(with_c_names(program), isa, threads))
    plain, last = next(iter(forms.values())), list(forms.values())[-1]
    workers = _workers(last)
    symbol = symbol_of(program, isa, workers)
    taken = _masked_lanes(last)
    masks = {n: f"{FIRST}_{n}" for n in sorted(lanes.offset for lanes in taken if lanes.is_constant)}
    definitions = Definitions(isa)
    types = {buffer.name: ELEMENTS[buffer.dtype].c for buffer in _arrays(last)}
    printer = ProgramPrinter(last, types, isa.vector_type, masks, workers, definitions=definitions)
    body = printer.lines(last.body, {name: name for name in printer.buffers})
    parameters = tuple(f"{printer.pointer(b.name).replace('*', '*restrict ')}{b.name}" for b in last.arrays)
    numbers = tuple(last.numbers)
    reports = any(invoke.instruction.name == "outside" for invoke in _invokes(last))
    text = TEMPLATES.get_template("program.c.j2").render(
        program=str(program.program).split("; "),
        version=VERSION,
        isa=isa,
        arrays=[f"{b.name}: {b.dtype}[{', '.join(map(str, b.sizes))}]" for b in last.arrays],
        numbers=numbers,
        loops=_loops_of(plain),
        uses=definitions.shared,
        definitions=definitions.lines,
        masks=list(_mask_definitions(taken, isa, masks)),
        strides=printer.strides(),
        local_strides=printer.local_strides(),
        threads=workers,
        reports=reports,
        allocates=any(isinstance(s, Alloc) and s.buffer.memory in ("own", "global") for s in walk(last.body)),
        symbol=symbol,
        parameters=parameters,
        body=body,
    )
    return ProgramSource(symbol, text, isa.name, workers, parameters, numbers)


def symbol_of(program: Sized, isa: Isa, threads: int) -> str:
    """The C name of a program's kernel: the arrays that it gives, and a hash of all that it is made for."""
    what = f"{program.program} {program.dims} {program.inputs} {program.outputs} {program.runtime} {isa.name} {threads}"
    outputs = "_".join(program.outputs)[:40]
    return f"program_{outputs}_{hashlib.sha256(what.encode()).hexdigest()[:12]}"


def _workers(kernel: Kernel) -> int:
    """The most workers that a loop of a kernel has."""
    known = {s.name: s.index for s in walk(kernel.body) if isinstance(s, Define)}
    cores = (s.stop.replaced(known) for s in walk(kernel.body) if isinstance(s, For) and s.kind == "core")
    return max((stop.within(kernel.ranges)[1] for stop in cores), default=1)


def _loops_of(plain: Kernel) -> list[str]:
    """The loops that say what is computed, without the list of arrays before them."""
    lines = listing(plain).splitlines()
    return lines[lines.index("") + 1 :]


def _arrays(kernel: Kernel) -> Iterator[Buffer]:
    yield from kernel.arrays
    yield from (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc))


def _invokes(kernel: Kernel) -> Iterator[Invoke]:
    for statement in walk(kernel.body):
        for operand in operands_of(statement):
            yield from (part for part in parts_of(operand) if isinstance(part, Invoke))


def _mask_definitions(taken: set[Index], isa: Isa, masks: Mapping[int, str]) -> Iterator[list[str]]:
    """The lines that define each mask: of a number of lanes, and of as many as a call has."""
    for lanes, name in masks.items():
        yield lanes_definition(isa, name, lanes, "a last vector").splitlines()
    if not all(lanes.is_constant for lanes in taken):
        yield [f"#define {FIRST}(lanes) {isa.first_lanes.format(lanes='lanes')} /* lanes used of a last vector */"]


def _masked_lanes(kernel: Kernel) -> set[Index]:
    """The numbers of lanes of vectors of floats that loads and stores take by a mask."""
    dtypes = {buffer.name: buffer.dtype for buffer in _arrays(kernel)}
    dtypes |= {s.name: s.dtype for s in walk(kernel.body) if isinstance(s, Let)}
    masked = (invoke for invoke in _invokes(kernel) if is_masked(invoke, dtypes))
    return {given.lanes for invoke in masked for _, given in invoke.operands if isinstance(given, Mask)}
