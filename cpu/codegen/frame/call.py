"""The C function of a whole call: it checks the CPU, finds memory and threads, and runs the kernel with them.

void SYMBOL(X, W, Y)                          what a program calls
void SYMBOL_run(X, W, Y, scratch, thread, threads)      what each thread does of it, for callers that have both
void SYMBOL_pack(W, packed), SYMBOL_pack_run(W, packed, thread, threads)        the same of packing weights

Where one thread packs all weights, SYMBOL_pack_run has no `thread` and `threads`, and SYMBOL_pack starts no team.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cpu.codegen.frame.frames import TEMPLATES
from cpu.runtime.team import TEAM
from microkernels.tile.isa_row import Isa
from tiling.loops.c_text import number
from tiling.loops.index import Index, constant

OR_OUTSIDE = ", or 1 where an index that it read from an array lies outside another array; that element counts as 0"
OUT_OF_BOUNDS = "; 2 where an extent is out of its bounds, and then it does nothing"
_THREAD, _THREADS = "omp_get_thread_num()", "omp_get_num_threads()"
SCRATCH, TEAM_PARAMETERS = "char *restrict scratch", ("long thread", "long threads")


def meanwhile(scratch: bool, threads: int) -> list[str]:
    """The parameters that SYMBOL_run has after the parameters of a call."""
    return [*[SCRATCH] * scratch, *TEAM_PARAMETERS * (threads > 1)]


@dataclass(frozen=True)
class CallSignature:
    """What a call takes.

    parameters: the C text of the arrays and numbers of a call. scratch: bytes of memory that it needs while it runs.
    threads: the most threads that share it. team: how many threads this call starts.
    """

    symbol: str
    parameters: Sequence[str]
    scratch: Index
    threads: int
    team: Index | None = None

    @property
    def needs_memory(self) -> bool:
        """Whether it needs scratch memory."""
        return self.scratch != constant(0)

    @property
    def has_team(self) -> bool:
        """Whether several threads share it."""
        return self.threads > 1

    @property
    def run_parameters(self) -> list[str]:
        """The parameters of SYMBOL_run."""
        return [*self.parameters, *meanwhile(self.needs_memory, self.threads)]

    @property
    def arguments(self) -> list[str]:
        """The arguments that SYMBOL passes to SYMBOL_run."""
        own = {"thread": _THREAD, "threads": _THREADS}
        names = [parameter.split()[-1].lstrip("*") for parameter in self.run_parameters]
        return [*names[: len(self.parameters)], *(own.get(name, name) for name in names[len(self.parameters) :])]


@dataclass(frozen=True)
class Packing:
    """What packing a product's weights takes. weights: their C type. threads: the most threads that share it."""

    weights: str
    threads: int

    @property
    def parameters(self) -> list[str]:
        """The parameters of SYMBOL_pack."""
        return [f"const {self.weights} *restrict W", f"{self.weights} *restrict packed"]

    @property
    def run_parameters(self) -> list[str]:
        """The parameters of SYMBOL_pack_run."""
        return [*self.parameters, *meanwhile(False, self.threads)]


@dataclass(frozen=True)
class Gives:
    """What a program's function returns, and how it is called by a list of its arguments.

    reports: it returns 1 for an index outside an array. numbers: (name, largest value) of its extents. places: the C
    text of each argument.
    """

    reports: bool
    numbers: Sequence[tuple[str, int]]
    places: Sequence[str]


def call_text(call: CallSignature, isa: Isa, gives: Gives | None = None, packing: Packing | None = None) -> str:
    """The text that follows the kernel's own functions. gives: what the function of a program returns. packing: that of
    a product's weights.
    """
    text: str = TEMPLATES.get_template("call.c.j2").render(
        symbol=call.symbol,
        about_call=_about_call(call, isa),
        head=_head(call, isa),
        about=_about(gives) if gives else [],
        signature=f"{'int' if gives else 'void'} {call.symbol}({', '.join(call.parameters) or 'void'})",
        body=[
            *_supported(call, isa),
            *(_bounds(gives) if gives else []),
            *_memory(call),
            *_run(call, gives is not None),
        ],
        behind=[*(_by_list(call, gives) if gives else []), *(_pack(call, isa, packing) if packing else [])],
    )
    return text


def _about_call(call: CallSignature, isa: Isa) -> str:
    """The comment that says what a call does beside SYMBOL_run."""
    steps = [*["checks the CPU"] * bool(isa.cpu_flags), *["allocates scratch memory"] * call.needs_memory]
    steps += ["starts a team of threads"] * call.has_team
    if not steps:
        return f"A whole call, the same as {call.symbol}_run."
    does = " and ".join([", ".join(steps[:-1]), steps[-1]]) if len(steps) > 1 else steps[0]
    return f"A whole call: it {does}.\n * A caller that has done so calls {call.symbol}_run."


def _head(call: CallSignature, isa: Isa) -> list[str]:
    """The lines before the function: includes, and what its team of threads needs."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>"] if isa.cpu_flags or call.needs_memory else []
    return lines + ([f"enum {{ THREADS = {call.threads} }};", TEAM] if call.has_team else [])


def _supported(call: CallSignature, isa: Isa) -> list[str]:
    """The lines that end the program on a CPU that lacks the instructions."""
    if not isa.cpu_flags:
        return []
    return [
        f"if (!{call.symbol}_supported()) {{",
        f'    fputs("{call.symbol}: this CPU lacks {" or ".join(isa.cpu_flags)}\\n", stderr);',
        "    abort();",
        "}",
    ]


def _memory(call: CallSignature) -> list[str]:
    """The lines that allocate scratch memory, or end the program where there is none."""
    if not call.needs_memory:
        return []
    return [
        f"char *const scratch = aligned_alloc(64, {number(call.scratch)});",
        "if (!scratch) {",
        f'    fputs("{call.symbol}: no memory for what it computes in between\\n", stderr);',
        "    abort();",
        "}",
    ]


def _run(call: CallSignature, returns: bool) -> list[str]:
    """The lines that call SYMBOL_run, in a team where there is one, and then free the memory."""
    runs = f"{'outside |= ' * returns}{call.symbol}_run({', '.join(call.arguments)});"
    return [
        *["int outside = 0;"] * returns,
        *(_in_team(call, runs, " reduction(| : outside)" * returns) if call.has_team else [runs]),
        *["free(scratch);"] * call.needs_memory,
        *["return outside;"] * returns,
    ]


def _in_team(call: CallSignature, runs: str, clauses: str = "") -> list[str]:
    """The lines of a call that a team makes."""
    threads = "THREADS" if call.team is None or call.team.is_constant else number(call.team)
    return [
        "const int dynamic = omp_get_dynamic();",
        "omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */",
        f"#pragma omp parallel num_threads({threads}){clauses}",
        runs,
        "omp_set_dynamic(dynamic);",
    ]


def _pack(call: CallSignature, isa: Isa, packing: Packing) -> list[str]:
    """The function that packs the weights of a product."""
    shared = packing.threads > 1
    runs = f"{call.symbol}_pack_run({', '.join(['W', 'packed', *[_THREAD, _THREADS] * shared])});"
    return [
        "",
        "/* Packs the weights, once for many calls. */",
        f"{isa.any_cpu}void {call.symbol}_pack({', '.join(packing.parameters)})",
        "{",
        *(f"    {line}" for line in (_in_team(call, runs) if shared else [runs])),
        "}",
    ]


def _about(gives: Gives) -> list[str]:
    return [f"/* Returns 0{OR_OUTSIDE * gives.reports}{OUT_OF_BOUNDS * bool(gives.numbers)}. */"]


def _bounds(gives: Gives) -> list[str]:
    """The lines that return 2 where extents are out of bounds."""
    if not gives.numbers:
        return []
    wrong = " || ".join(f"{name} < 1 || {name} > {most}" for name, most in gives.numbers)
    return [f"if ({wrong})", "    return 2;"]


def _by_list(call: CallSignature, gives: Gives) -> list[str]:
    """The same function for a list of the arrays."""
    extents = ", and then of the places of the extents" * bool(gives.numbers)
    return [
        "",
        f"/* The same for a list of the arrays, in the order above{extents}. */",
        f"int {call.symbol}_at(void *const *arrays)",
        "{",
        f"    return {call.symbol}({', '.join(gives.places)});",
        "}",
    ]
