"""The C file of a program's kernel.

    emit(program, isa, threads) -> ProgramSource

The template only lays out names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from cpu.codegen import vector_functions
from cpu.codegen.arrays import types_of
from cpu.codegen.frame.call import OR_OUTSIDE, CallSignature, Gives, call_text
from cpu.codegen.frame.frames import TEMPLATES
from cpu.codegen.frame.header import about_extents
from cpu.codegen.frame.remarks import about_scratch, about_team
from cpu.codegen.indices import words_of
from cpu.codegen.program.names import with_c_names
from cpu.codegen.program.needed import definitions_of
from cpu.codegen.program.print import FIRST, ProgramPrinter
from cpu.passes.forms import program_forms
from cpu.passes.order import VECTORS
from cpu.passes.program.lanes.instructions import OUTSIDE
from cpu.runtime.version import VERSION
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import Isa
from microkernels.tile.lanes import lanes_definition
from tiling.loops.c_text import number
from tiling.loops.index import Index, applied, constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Define, For, Invoke, Mask
from tiling.loops.listing import listing
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk
from tiling.program.infer import Sized

# Arithmetic of whole numbers wraps around, as in NumPy. Why gcc converts no loop: `GCC_ALONE` of the toolchain.
FLAGS = ("-fwrapv", "-fno-tree-loop-if-convert", "-Wno-psabi")

_STRIDES = "/* Elements between neighbours along each axis but the last. */"
_FUNCTIONS = "/* Functions of vectors of {} lanes. */"
_NOTE = """\

/* An index that was read from an array lies outside another array. */
static inline void note(int *outside) { *outside = 1; }"""


@dataclass(frozen=True)
class ProgramSource:
    """An emitted kernel: C text that defines

        int SYMBOL(const T *input, …, T *output, …, long i_extent, …)
        int SYMBOL_at(void *const *arrays)               the same for a list of the arrays, and of places of numbers
        int SYMBOL_supported(void)
        int SYMBOL_run(…)                                what a thread of a caller's own does of a call

    It returns 0; 1 where an index that it read lies outside an array; 2 where a runtime extent is out of bounds.
    inside: the text without the first two. parameters: the C text of each array, inputs first. scratch: the most bytes
    that SYMBOL_run needs. own: additional bytes for each thread after the first. numbers: the name and the bound of
    each runtime extent. reports: it reads indices, so that it may return 1.
    """

    symbol: str
    inside: str
    call: str
    isa: str
    threads: int
    parameters: tuple[str, ...]
    scratch: int
    numbers: tuple[tuple[str, int], ...] = ()
    own: int = 0
    reports: bool = False

    @property
    def text(self) -> str:
        """The whole file."""
        return self.inside + self.call

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        return (*isa_named(self.isa).compiler_flags, *FLAGS)

    @property
    def openmp(self) -> bool:
        return self.threads > 1


def emit(program: Sized, isa: Isa, threads: int = 1) -> ProgramSource:
    """The C source of a program on `isa`, for at most so many OpenMP threads: few points get fewer."""
    forms = dict(program_forms(with_c_names(program), isa, threads))
    plain, last = next(iter(forms.values())), list(forms.values())[-1]
    team = _team(forms[VECTORS])
    workers = team.within(last.ranges)[1]
    symbol = symbol_of(program, isa, workers)
    taken = _masked_lanes(last)
    masks = {n: f"{FIRST}_{n}" for n in sorted(lanes.offset for lanes in taken if lanes.is_constant)}
    definitions = definitions_of(last, isa)
    types = types_of(last)
    printer = ProgramPrinter(last, types, isa.vector_type, masks=masks)
    body = printer.lines(last.body, {name: name for name in printer.buffers})
    strides = printer.strides(body)
    called = definitions.shared | (words_of([*definitions.lines, *body]) & vector_functions.BASE)
    parameters = tuple(f"{types.pointers[b.name]}restrict {b.name}" for b in last.arrays)
    numbers = tuple(last.numbers)
    reports = any(invoke.instruction == OUTSIDE for invoke in _invokes(last))
    scratch = last.scratch.bytes(workers)
    call = CallSignature(symbol, (*parameters, *(f"long {name}" for name, _ in numbers)), scratch, workers, team)
    text = TEMPLATES.get_template("program.c.j2").render(
        program=str(program.program).split("; "),
        version=VERSION,
        isa=isa,
        arrays=[f"{b.name}: {b.dtype}[{', '.join(map(str, b.sizes))}]" for b in last.arrays],
        about_extents=about_extents("this", numbers),
        loops=_loops_of(plain),
        functions=_behind_a_blank(
            [_FUNCTIONS.format(isa.lanes), vector_functions.definitions(called, isa)] if called else []
        ),
        definitions=[*_behind_a_blank(definitions.lines), *[_NOTE] * reports],
        masks=[line for lines in _mask_definitions(taken, isa, masks) for line in lines],
        strides=_stride_lines(strides),
        symbol=symbol,
        about_run=[*about_team(workers), *about_scratch(scratch), f"/* Returns 0{OR_OUTSIDE * reports}. */"],
        run_parameters=", ".join(call.run_parameters) or "void",
        body=[
            *[f"const long {name} = {number(stride)};" for name, stride in strides if not stride.is_constant],
            *["int outside = 0;"] * reports,
            *body,
            f"return {'outside' if reports else '0'};",
        ],
    )
    places = [f"arrays[{at}]" for at in range(len(parameters))]
    places += [f"*(const long *)arrays[{at + len(parameters)}]" for at in range(len(numbers))]
    calling = call_text(call, isa, Gives(reports, numbers, places))
    most, own = (size.within(last.ranges)[1] for size in (scratch, last.scratch.own))
    return ProgramSource(symbol, text, calling, isa.name, workers, parameters, most, numbers, own, reports)


def _stride_lines(strides: Sequence[tuple[str, Index]]) -> list[str]:
    """The definitions of the strides that are always the same."""
    found = [f"static const long {name} = {number(stride)};" for name, stride in strides if stride.is_constant]
    return _behind_a_blank([_STRIDES, *found]) if found else []


def _behind_a_blank(lines: Sequence[str]) -> list[str]:
    return ["", *lines] if lines else []


def symbol_of(program: Sized, isa: Isa, threads: int) -> str:
    """The C name of a program's kernel: its output arrays, and a hash of everything that decides its text."""
    what = f"{program.program} {program.dims} {program.inputs} {program.outputs} {program.runtime} {isa.name} {threads}"
    dims = {statement.array: statement.dims for statement in program.program.statements}
    wider = (a for a in program.assigned if a.shape != tuple(program.extents[dim] for dim in dims[a.name]))
    what += "".join(f" {array}" for array in wider)
    outputs = "_".join(program.outputs)[:40]
    return f"program_{outputs}_{hashlib.sha256(what.encode()).hexdigest()[:12]}"


def _team(kernel: Kernel) -> Index:
    """The most workers that a loop of a kernel has."""
    known = {s.name: s.index for s in walk(kernel.body) if isinstance(s, Define)}
    cores = (s.stop.replaced(known) for s in walk(kernel.body) if isinstance(s, For) and s.kind == "core")
    return reduce(lambda one, other: applied("max", one, other), cores, constant(1))


def _loops_of(plain: Kernel) -> list[str]:
    """The loops that say what is computed, without the list of arrays before them."""
    lines = listing(plain).splitlines()
    return lines[lines.index("") + 1 :]


def _invokes(kernel: Kernel) -> Iterator[Invoke]:
    for statement in walk(kernel.body):
        for operand in operands_of(statement):
            yield from (part for part in parts_of(operand) if isinstance(part, Invoke))


def _mask_definitions(taken: set[Index], isa: Isa, masks: Mapping[int, str]) -> Iterator[list[str]]:
    """The lines that define each mask, for a fixed number of lanes or for as many as a call has."""
    for lanes, name in masks.items():
        yield lanes_definition(isa, name, lanes, "a last vector").splitlines()
    if not all(lanes.is_constant for lanes in taken):
        yield [f"#define {FIRST}(lanes) {isa.first_lanes.format(lanes='lanes')} /* lanes used of a last vector */"]


def _masked_lanes(kernel: Kernel) -> set[Index]:
    """The numbers of lanes of vectors of floats that loads and stores take by a mask."""
    given = (given for invoke in _invokes(kernel) for _, given in invoke.operands)
    return {each.lanes for each in given if isinstance(each, Mask)}
