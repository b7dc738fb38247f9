"""The C function that makes a call by itself: it finds memory and threads, and runs the kernel with them.

void SYMBOL(X, W, Y)                          what a program calls
void SYMBOL_run(X, W, Y, scratch, thread, threads)      what each thread does of it, for callers that have both
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cpu.codegen.frame.frames import TEMPLATES
from cpu.runtime.team import TEAM
from microkernels.tile.isa import Isa
from tiling.loops.c_text import number
from tiling.loops.index import Index, constant

SCRATCH, TEAM_PARAMETERS = "char *restrict scratch", ("long thread", "long threads")


def meanwhile(scratch: bool, threads: int) -> list[str]:
    """The parameters that SYMBOL_run has behind those of a call."""
    return [*[SCRATCH] * scratch, *TEAM_PARAMETERS * (threads > 1)]


@dataclass(frozen=True)
class Call:
    """What a call takes.

    parameters: the C text of the arrays and numbers of a call. scratch: bytes of memory that it needs meanwhile.
    threads: the most that share it; `team`: how many of them this call wakes.
    """

    symbol: str
    parameters: Sequence[str]
    scratch: Index
    threads: int
    team: Index | None = None

    @property
    def run_parameters(self) -> list[str]:
        """The parameters of SYMBOL_run."""
        return [*self.parameters, *meanwhile(self.scratch != constant(0), self.threads)]

    @property
    def arguments(self) -> list[str]:
        """What a call by itself hands over to SYMBOL_run."""
        own = {"thread": "omp_get_thread_num()", "threads": "omp_get_num_threads()"}
        names = [parameter.split()[-1].lstrip("*") for parameter in self.run_parameters]
        return [*names[: len(self.parameters)], *(own.get(name, name) for name in names[len(self.parameters) :])]


def call_text(call: Call, isa: Isa, template: str, facts: Mapping[str, Any]) -> str:
    """The text that stands behind a kernel's own. template: that of the function. facts: what it needs beside."""
    text: str = TEMPLATES.get_template(template).render(
        symbol=call.symbol,
        parameters=call.parameters,
        arguments=call.arguments,
        scratch="" if call.scratch == constant(0) else number(call.scratch),
        threads=call.threads,
        num_threads="THREADS" if call.team is None or call.team.is_constant else number(call.team),
        team=TEAM,
        isa=isa,
        **facts,
    )
    return text
