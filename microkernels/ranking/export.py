"""This machine's rankings as the file of its kind, which may come with the package."""

from __future__ import annotations

from collections.abc import Iterator

from cpu.runtime.machine.host import fingerprint, host
from microkernels.ranking.offline import UsageError, usable_isa
from microkernels.scores.kinds import DIGITS, Kind, Ranking, kind_of
from microkernels.scores.records import last_measured, load
from microkernels.tile.benchmark import EMITTER_VERSION
from microkernels.tile.forms import Isa
from microkernels.tile.isa import EVERY_ISA
from microkernels.tile.microkernel import RANKED_AS
from microkernels.tile.space import quick


def kind_of_machine(cpu: str, remark: str) -> Kind:
    """The kind of this machine with each quick ranking that it has whole. cpu: what people call it.

    Only the tiles of the quick ranking are taken. Raises UsageError where no ranking is whole, StoreError.
    """
    here = fingerprint(host())
    found = []
    for isa, op in rankable():
        wanted = quick(isa, op)
        catalog = load(here, isa.name, op)
        outcomes = {entry.kernel for entry in catalog.entries} | {failure.kernel for failure in catalog.failures}
        scores = {e.kernel.name: round(e.score, DIGITS) for e in catalog.entries if e.kernel in set(wanted)}
        if scores and outcomes.issuperset(wanted):
            day = last_measured(here, isa.name, op).partition("T")[0]
            found.append(Ranking(isa.name, op, EMITTER_VERSION, day, here, remark, scores))
    if not found:
        raise UsageError("no ranking of this machine is whole yet: make one with python -m microkernels rank --quick")
    return Kind(kind_of(here), cpu, tuple(found))


def rankable() -> Iterator[tuple[Isa, str]]:
    """The instruction sets of this CPU, each with the operators whose tiles have a ranking of their own on it."""
    for isa in EVERY_ISA:
        for op in dict.fromkeys(RANKED_AS.values()):
            try:
                yield usable_isa(isa, op), op
            except UsageError:
                continue
