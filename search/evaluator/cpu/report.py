"""What a report says about a kernel for this CPU."""

from __future__ import annotations

from collections.abc import Sequence

from cpu.codegen.emit import emit
from cpu.runtime.machine.host import host
from cpu.runtime.plural import plural
from cpu.runtime.version import VERSION
from microkernels.tile.isa import isa_named, lacking
from search.evaluator.interface.protocol import Details
from search.space.candidates import Knowledge, predicted
from search.space.explain import RUNNERS_UP, explain
from search.space.winograd import WinogradCandidate, explain_winograd
from search.tuner.measured import AnyScheme
from search.tuner.target import Target
from tiling.durations import microseconds
from tiling.machine import Machine
from tiling.rewrite.winograd.algorithm import Winograd


def details(scheme: AnyScheme, target: Target, machine: Machine) -> Details:
    """The details that only a report for the CPU has."""
    isa, problem = isa_named(target.isa), scheme.problem
    microkernels = tuple(str(m) for m in emit(scheme, isa, target.threads).microkernels)
    # Where sums are exact, only what follows them rounds.
    bound = "its bound" if isinstance(scheme, Winograd) or problem.sums_are_exact else "K·eps"
    of_f32 = "" if problem.dtype == "f32" else " of f32"
    return Details(
        fields={},
        lines=(("composed of", ", ".join(microkernels)),),
        microkernels=microkernels,
        bound=bound + (" as the epilogue carries it on" if problem.epilogue else ""),
        checked_on="",
        each="a call",
        conditions=f"{plural(target.threads, 'threads')}, {target.cache} caches",
        speed=lambda reached, percent, peak: (
            f"{reached:.1f} GFLOP/s = {percent:.1f} % of the FMA peak{of_f32} {peak:.1f} GFLOP/s measured beside it"
        ),
        busy="other programs kept this machine busy, so measure again when it is idle",
        place=("machine", f"{target.machine}, {target.isa}"),
        cores=min(target.threads, machine.cores),
        version=VERSION,
        lacking=lacking(isa, host().flags),
    )


def explained(scheme: AnyScheme, others: Sequence[AnyScheme], known: Knowledge) -> str:
    """The choice beside the runners-up of its algorithm, and the predicted time of the other algorithm's best."""
    chosen, *rest = predicted([scheme, *others[: 2 * RUNNERS_UP]], known)
    transformed = [other for other in rest if isinstance(other, WinogradCandidate)]
    direct = [other for other in rest if not isinstance(other, WinogradCandidate)]
    if isinstance(chosen, WinogradCandidate):
        table = explain_winograd(chosen, transformed[:RUNNERS_UP])
    else:
        table = explain(chosen, direct[:RUNNERS_UP], known.machine)
    foreign = direct if isinstance(chosen, WinogradCandidate) else transformed
    if not foreign:
        return table
    best = foreign[0]
    return f"{table}\nThe other algorithm's best, {best.scheme}, is predicted {microseconds(best.prediction.seconds)}."
