"""The ranking: every microkernel is measured once per machine and scored against the FMA peak measured beside it.

The caller passes `measure_all`, which emits, compiles and times microkernels. So nothing here starts a compiler or
reads a clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass

from microkernels.ranking.contenders import MOST, best, undecided
from microkernels.scores.catalog import Catalog, Entry, Failure
from microkernels.scores.records import load, measured, record, settle, start_over
from microkernels.scores.shipped import known
from microkernels.scores.told import tell_once
from microkernels.tile.benchmark import benchmark_scheme, vector_flops
from microkernels.tile.estimate import estimate
from microkernels.tile.isa_row import Isa
from microkernels.tile.microkernel import Microkernel
from microkernels.tile.space import quick
from tiling.machine import Timing

# Measures kernels in any order. It yields each kernel with its timing, or with the reason why it failed as a sentence.
# Closing it ends the measurements that still run.
MeasureAll = Callable[[tuple[Microkernel, ...]], Generator[tuple[Microkernel, "Timing | str"], None, None]]


# Other programs can only slow a kernel down: on a busy 2-core machine one measurement in five showed half its speed. So
# a kernel that stays below DOUBTFUL of what its shape allows is measured again, up to REPETITIONS repetitions, and the
# best one counts. That happens after each BATCH: some 100 kernels later the disturbance has passed, and a ranking that
# is cut short has had most of its repetitions.
REPETITIONS = 3
# `estimate` does not know that weights stream. Of 111 undisturbed tiles 14 stay below 0.75 of what their shape allows
# on Sapphire Rapids, and 75 below 0.9; in the ranking of Zen 5 these are 5 and 13.
DOUBTFUL = 0.9
BATCH = 128
# A score beyond the peak by more than the clock's jitter: then the measurement of the peak was disturbed.
IMPOSSIBLE = 1.015


class RankingError(RuntimeError):
    """No microkernel can be measured on this machine. The message has the most frequent reason."""


@dataclass(frozen=True)
class Progress:
    """How far a ranking has come: kernels to measure, those done, those that failed, and the best so far."""

    total: int
    done: int = 0
    failed: int = 0
    best: Entry | None = None

    def after(self, outcome: Entry | Failure, again: bool = False) -> Progress:
        """The progress with one more outcome. With `again` it replaces an earlier outcome of the same kernel."""
        failed, best = self.failed, self.best
        if isinstance(outcome, Failure):
            failed += 1
        elif not _is_impossible(outcome) and (best is None or outcome.score > best.score):
            best = outcome
        return Progress(self.total, self.done + (not again), failed, best)


def rank(
    kernels: Iterable[Microkernel],
    measure_all: MeasureAll,
    fingerprint: str,
    l1_bytes: int,
    *,
    resume: bool = False,
    again: Callable[[str], bool] = lambda reason: False,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Measures `kernels` on the machine `fingerprint`, records each outcome at once, and returns the final progress.

    resume: leave out kernels that the current ranking is done with. Failed ones are left out too, unless again(reason)
        says that the machine may have been at fault. Without it all kernels are measured anew, and earlier scores hold
        until then. A ranking that was cut short resumes with the kernels that have no outcome or a doubtful one.
    l1_bytes: the L1 data cache that `measure_all` sizes the benchmark for.
    progress: is called at the start, and after the first measurement of each kernel.

    A kernel that is slower than expected is measured up to REPETITIONS times, and the best score counts. At the end the
    best are measured again until neighbours are told apart (`microkernels.ranking.contenders`); the best visit counts.
    A failure counts only where there is no score. Raises StoreError, and the errors of `measure_all`.
    """
    todo = tuple(kernels)
    if resume:
        done = measured(fingerprint, again)
        todo = tuple(kernel for kernel in todo if kernel.name not in done)
    else:
        start_over(fingerprint, todo)
    state = Progress(len(todo))
    visits: dict[Microkernel, list[Entry]] = {}
    progress(state)
    for first in range(0, len(todo), BATCH):
        outcomes: dict[Microkernel, Entry | Failure] = {}
        doubtful = batch = todo[first : first + BATCH]
        for _ in range(REPETITIONS):
            with closing(measure_all(doubtful)) as results:
                for kernel, result in results:
                    outcome = Failure(kernel, result) if isinstance(result, str) else _entry(kernel, result, l1_bytes)
                    earlier = outcomes.get(kernel)
                    if isinstance(earlier, Entry) and not _is_better(outcome, earlier):
                        continue
                    outcomes[kernel] = outcome
                    state = state.after(outcome, again=earlier is not None)
                    record(fingerprint, outcome, settled=_is_beyond_doubt(outcome))
                    if earlier is None:
                        progress(state)
            doubtful = tuple(k for k, outcome in outcomes.items() if _is_doubtful(outcome, state.best))
            if not doubtful:
                break
        settle(fingerprint, batch)
        visits |= {k: [o] for k, o in outcomes.items() if isinstance(o, Entry) and not _is_impossible(o)}
    _tell_apart(visits, measure_all, fingerprint, l1_bytes)
    return state


def _tell_apart(
    visits: dict[Microkernel, list[Entry]], measure_all: MeasureAll, fingerprint: str, l1_bytes: int
) -> None:
    """Visits the best kernels again, all in turns, until they are told apart, and records the best visit of each.

    Their first outcomes are recorded already, so a ranking that is cut short here is complete.
    """
    again: dict[Microkernel, None] = {}
    for _ in range(MOST - 1):
        doubtful = undecided(visits)
        if not doubtful:
            break
        with closing(measure_all(doubtful)) as results:
            for kernel, result in results:
                entry = None if isinstance(result, str) else _entry(kernel, result, l1_bytes)
                if entry is not None and not _is_impossible(entry):
                    visits[kernel].append(entry)
                again[kernel] = None
    for kernel in again:
        record(fingerprint, best(visits[kernel]), settled=True)


def ensure_ranked(
    isa: Isa,
    op: str,
    measure_all: MeasureAll,
    fingerprint: str,
    l1_bytes: int,
    *,
    announce: Callable[[str], None],
    progress: Callable[[Progress], None] = lambda _: None,
    alone: Callable[[], AbstractContextManager[object]] = nullcontext,
    own: bool = False,
) -> Catalog:
    """The machine's catalog. It first measures those kernels of the quick ranking that have no outcome.

    Where the machine has no outcome at all, the ranking of its kind that comes with the package stands in, unless
    `own`. `announce` is told of that once, and before anything is measured; `alone` is held meanwhile. Kernels that
    another process measured by then are not measured again. After a full ranking nothing is missing, also while another
    ranking is under way or was cut short. If all kernels failed so far, the machine was at fault, and they are measured
    again.

    Raises RankingError if none can be measured, StoreError, and the errors of `measure_all`.
    """
    catalog = load(fingerprint, isa.name, op) if own else known(fingerprint, isa.name, op)
    if catalog.origin:
        tell_once(
            f"{len(catalog.entries)} {op} microkernels of {isa.name} were ranked {catalog.origin}: their scores hold "
            "until `python -m microkernels rank` or a search with --forget measures this machine",
            announce,
        )
        return catalog
    missing = _missing(catalog, isa, op)
    if missing:
        with alone():
            catalog = load(fingerprint, isa.name, op)
            missing = _missing(catalog, isa, op)
            if missing:
                announce(
                    f"ranking {len(missing)} {op} microkernels of {isa.name} on this machine, once; takes under two "
                    f"minutes (`python -m microkernels rank` ranks all of them)"
                )
                rank(missing, measure_all, fingerprint, l1_bytes, progress=progress)
                catalog = load(fingerprint, isa.name, op)
    if not catalog.entries:
        reason, _ = Counter(failure.reason for failure in catalog.failures).most_common(1)[0]
        raise RankingError(f"none of the {len(missing)} {op} microkernels of {isa.name} could be measured: {reason}")
    return catalog


def _missing(catalog: Catalog, isa: Isa, op: str) -> tuple[Microkernel, ...]:
    """The kernels of the quick ranking that have no outcome; all of them where every kernel failed."""
    outcomes: tuple[Entry | Failure, ...] = (*catalog.entries, *catalog.failures) if catalog.entries else ()
    done = {outcome.kernel for outcome in outcomes}
    return tuple(kernel for kernel in quick(isa, op) if kernel not in done)


def _is_doubtful(outcome: Entry | Failure, best: Entry | None) -> bool:
    """Whether a kernel is so slow for its shape that another program may have run on the core."""
    if isinstance(outcome, Failure):
        return False
    return best is None or _is_impossible(outcome) or outcome.score < DOUBTFUL * best.score * estimate(outcome.kernel)


def _is_beyond_doubt(outcome: Entry | Failure) -> bool:
    """Whether an outcome needs no repetition, whatever the best score of its batch will be.

    A resumed ranking does not repeat such outcomes.
    """
    if isinstance(outcome, Failure):
        return True
    return not _is_impossible(outcome) and outcome.score >= DOUBTFUL * estimate(outcome.kernel)


def _is_better(outcome: Entry | Failure, earlier: Entry) -> bool:
    """Whether a repetition replaces an earlier outcome. A failure or an impossible score never does."""
    if isinstance(outcome, Failure):
        return False
    return not _is_impossible(outcome) and (_is_impossible(earlier) or outcome.score > earlier.score)


def _is_impossible(entry: Entry) -> bool:
    return entry.score > IMPOSSIBLE


def _entry(kernel: Microkernel, timing: Timing, l1_bytes: int) -> Entry:
    """The entry of a timing. Its score is that of the fastest sample, since disturbances only add time."""
    flops = vector_flops(benchmark_scheme(kernel, l1_bytes))
    return Entry(kernel, flops / min(timing.samples) / (timing.peak_gflops * 1e9), timing)
