"""This CPU as a target: the instruction set that it runs, as wanted or the best, and what it refuses."""

from __future__ import annotations

from operator import index

from cpu.runtime.machine.host import fingerprint, host, tiles_given, tiles_refused
from cpu.runtime.plural import plural
from microkernels.tile.isa import ISAS_OF, best_isa, isa_named
from microkernels.tile.isa_row import Isa
from search.tuner.target import ALGORITHMS, CACHES, Target, Wanted
from tilewright_entry import warn
from tiling.problem import ProblemError

MOST_THREADS = 1024  # a larger number is a typing error, and OpenMP may end the process over it


def cpu_target(wanted: Wanted, written: bool = False) -> Target:
    """This CPU as a target. Raises ProblemError. written: as for `search.evaluator.target_of`."""
    isa, threads, dtype = wanted.isa, wanted.threads, wanted.dtype
    if wanted.cache not in CACHES:
        raise ProblemError(f"cache={wanted.cache!r} must be one of {', '.join(CACHES)}")
    if wanted.algorithm not in ALGORITHMS:
        raise ProblemError(f"algorithm={wanted.algorithm!r} must be one of {', '.join(ALGORITHMS)}")
    try:
        threads = 0 if isinstance(threads, bool) else index(threads)
    except TypeError:
        threads = 0
    if not 1 <= threads <= MOST_THREADS:
        raise ProblemError(f"threads must be a whole number from 1 to {MOST_THREADS}")
    if isa is not None and not isinstance(isa, str):
        raise ProblemError(f"isa={isa!r} must be the name of an instruction set")
    try:
        chosen = best_isa(host().flags, dtype) if isa is None else isa_named(isa)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    if isa is None and chosen.matrix and not tiles_given():
        chosen = isa_named(chosen.vectors)
    if chosen.dtype != dtype:
        raise ProblemError(f"{chosen.name} computes in {chosen.dtype}, not {dtype}: use {' or '.join(ISAS_OF[dtype])}")
    absent = _absent(chosen)
    if absent and not written:
        raise ProblemError(absent)
    if threads > (cores := host().cores) and not written:
        warn(f"{threads} threads on {plural(cores, 'cores')} wait for one another: expect a slow kernel")
    return Target(
        "cpu",
        fingerprint(host()),
        chosen.name,
        dtype,
        threads,
        wanted.algorithm,
        absent=absent,
        cache=wanted.cache,
        cluster=wanted.cluster,
    )


def _absent(isa: Isa) -> str:
    """Why no kernel of an instruction set can run here; empty where it can."""
    missing = [flag for flag in isa.cpu_flags if flag not in host().flags]
    if missing:
        return f"this CPU does not run {isa.name}: it lacks {', '.join(missing)}"
    return f"{tiles_refused(isa.name)}: use {isa.vectors}" if isa.matrix and not tiles_given() else ""
