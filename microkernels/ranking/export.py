"""This machine's rankings as the file of its kind, which may come with the package."""

from __future__ import annotations

from collections.abc import Iterator

from cpu.runtime.machine.host import fingerprint, host
from microkernels.ranking.offline import UsageError, usable_isa
from microkernels.scores.kinds import DIGITS, Kind, Ranking, kind_of
from microkernels.scores.records import last_measured, load
from microkernels.tile.benchmark import EMITTER_VERSION
from microkernels.tile.isa import EVERY_ISA
from microkernels.tile.isa_row import Isa
from microkernels.tile.microkernel import RANKED_AS
from microkernels.tile.space import quick


def kind_of_machine(cpu: str, remark: str) -> tuple[Kind, tuple[str, ...]]:
    """The kind of this machine with each quick ranking that it has whole, and a sentence on each that is only begun.

    Only the tiles of the quick ranking are taken. cpu: what people call it. Raises UsageError where no ranking is
    whole, StoreError.
    """
    here = fingerprint(host())
    found, unfinished = [], []
    for isa, op in rankable():
        wanted = frozenset(quick(isa, op))
        catalog = load(here, isa.name, op)
        scores = {e.kernel.name: round(e.score, DIGITS) for e in catalog.entries if e.kernel in wanted}
        measured = len(scores) + len(wanted.intersection(failure.kernel for failure in catalog.failures))
        if scores and measured == len(wanted):
            day = last_measured(here, isa.name, op).partition("T")[0]
            found.append(Ranking(isa.name, op, EMITTER_VERSION, day, here, remark, scores))
        elif 0 < measured < len(wanted):
            unfinished.append(
                f"{op} on {isa.name} is left out, as {measured} of {len(wanted)} are measured: finish it with "
                f"python -m microkernels rank --quick --resume --isa {isa.name} --op {op}"
            )
    if not found:
        begun = "; ".join(unfinished) or "make one with python -m microkernels rank --quick"
        raise UsageError(f"no ranking of this machine is whole yet: {begun}")
    return Kind(kind_of(here), cpu, tuple(found)), tuple(unfinished)


def rankable() -> Iterator[tuple[Isa, str]]:
    """The instruction sets of this CPU, each with the operators whose tiles have a ranking of their own on it."""
    for isa in EVERY_ISA:
        for op in dict.fromkeys(RANKED_AS.values()):
            try:
                yield usable_isa(isa, op), op
            except UsageError:
                continue
