"""The offline stage: each microkernel measured once per machine, scored against the FMA peak measured beside it.

How a microkernel is emitted, compiled and timed in isolation is handed in as `measure_all`, so that nothing here
starts a compiler or reads a clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass

from microkernels.benchmark import benchmark_scheme, vector_flops
from microkernels.catalog import Catalog, Entry, Failure
from microkernels.estimate import estimate
from microkernels.isa import Isa
from microkernels.microkernel import Microkernel
from microkernels.records import load, measured, record, settle, start_over
from microkernels.space import quick
from tiling.machine import Timing

# Measures kernels in any order and yields each with its timing or, in one sentence, why it failed. Closing it ends
# whatever still runs.
MeasureAll = Callable[[tuple[Microkernel, ...]], Generator[tuple[Microkernel, "Timing | str"], None, None]]


# Other programs only ever slow a kernel down, and on a busy 2-core machine one measurement in five came out at half
# its speed. So what falls short of its shape is looked at again, compiled by then, and the best look counts. Some 100
# kernels later, for the disturbance to have passed; and not at the very end, so that a ranking cut short has it too.
# Weights stream, of which `estimate` knows nothing: of 111 undisturbed tiles on Sapphire Rapids 14 fall short of 0.75
# of their shape, and 75 of 0.9.
LOOKS = 3
DOUBTFUL = 0.75
BATCH = 128
# Faster than the peak, by more than clocks jitter: then it was the measurement of the peak that was disturbed.
IMPOSSIBLE = 1.015


class RankingError(RuntimeError):
    """No microkernel can be measured on this machine: says why the most of them failed."""


@dataclass(frozen=True)
class Progress:
    """How far a ranking has come: kernels measured of those to measure, failed ones, and the best of them so far."""

    total: int
    done: int = 0
    failed: int = 0
    best: Entry | None = None

    def after(self, outcome: Entry | Failure, again: bool = False) -> Progress:
        """The progress once `outcome` is in; `again` where it takes an earlier one's place."""
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
    """Measure `kernels` on the machine `fingerprint` and record each outcome at once; how it went.

    With `resume`, kernels that the current ranking is done with are left out, failed ones too unless again(reason):
    those for which the machine may have been at fault. Without it they are all
    measured anew; should that be cut short, a resumed ranking continues with what has no outcome yet or only a doubtful
    one, so that no kernel loses its further looks, and until then earlier scores hold. Kernels slower than they ought
    to be are measured up to LOOKS times and the best counts; a failure counts only where there is no score. `l1_bytes`
    is the L1 data cache that `measure_all` sizes the benchmark for; `progress` is called at the start and after each
    kernel's first look. Raises StoreError, and whatever `measure_all` does.
    """
    todo = tuple(kernels)
    if resume:
        done = measured(fingerprint, again)
        todo = tuple(kernel for kernel in todo if kernel.name not in done)
    else:
        start_over(fingerprint, todo)
    state = Progress(len(todo))
    progress(state)
    for first in range(0, len(todo), BATCH):
        outcomes: dict[Microkernel, Entry | Failure] = {}
        doubtful = batch = todo[first : first + BATCH]
        for _ in range(LOOKS):
            with closing(measure_all(doubtful)) as results:
                for kernel, result in results:
                    outcome = Failure(kernel, result) if isinstance(result, str) else _entry(kernel, result, l1_bytes)
                    earlier = outcomes.get(kernel)
                    if earlier and not _is_better(outcome, earlier):
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
    return state


def ensure_ranked(
    isa: Isa,
    op: str,
    measure_all: MeasureAll,
    fingerprint: str,
    l1_bytes: int,
    *,
    announce: Callable[[str], None],
    progress: Callable[[Progress], None] = lambda _: None,
) -> Catalog:
    """The machine's catalog, ranking first whatever part of the quick ranking has no outcome, once `announce` was told.

    After a full ranking nothing is missing and nothing runs, also while another one is under way or was cut short.
    Where all have failed so far the machine was at fault, not the kernels, and they are tried again. Raises
    RankingError if none can be measured, StoreError, and whatever `measure_all` does.
    """
    catalog = load(fingerprint, isa.name, op)
    done = {outcome.kernel for outcome in (*catalog.entries, *catalog.failures)} if catalog.entries else ()
    missing = tuple(kernel for kernel in quick(isa, op) if kernel not in done)
    if missing:
        announce(
            f"ranking {len(missing)} {op} microkernels of {isa.name} on this machine, once; takes under two minutes "
            f"(`python -m microkernels rank` ranks all of them)"
        )
        rank(missing, measure_all, fingerprint, l1_bytes, progress=progress)
        catalog = load(fingerprint, isa.name, op)
    if not catalog.entries:
        reason, _ = Counter(failure.reason for failure in catalog.failures).most_common(1)[0]
        raise RankingError(f"none of the {len(missing)} {op} microkernels of {isa.name} could be measured: {reason}")
    return catalog


def _is_doubtful(outcome: Entry | Failure, best: Entry | None) -> bool:
    """Whether a kernel is so far below what its shape allows that something else may have held the core meanwhile."""
    if isinstance(outcome, Failure):
        return False
    return best is None or _is_impossible(outcome) or outcome.score < DOUBTFUL * best.score * estimate(outcome.kernel)


def _is_beyond_doubt(outcome: Entry | Failure) -> bool:
    """Whether an outcome needs no further look whatever the best of its batch turns out to be: a resumed ranking
    repeats none of these."""
    if isinstance(outcome, Failure):
        return True
    return not _is_impossible(outcome) and outcome.score >= DOUBTFUL * estimate(outcome.kernel)


def _is_better(outcome: Entry | Failure, earlier: Entry) -> bool:
    """Whether a later look counts instead of an earlier one: neither a failure nor an impossible score ever does."""
    if isinstance(outcome, Failure):
        return False
    return not _is_impossible(outcome) and (_is_impossible(earlier) or outcome.score > earlier.score)


def _is_impossible(entry: Entry) -> bool:
    return entry.score > IMPOSSIBLE


def _entry(kernel: Microkernel, timing: Timing, l1_bytes: int) -> Entry:
    """The fastest sample makes the score, not the median: of a look, all else that adds time is a disturbance."""
    flops = vector_flops(benchmark_scheme(kernel, l1_bytes))
    return Entry(kernel, flops / min(timing.samples) / (timing.peak_gflops * 1e9), timing)
