"""The ranking on this machine: its CPU, workers and clock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress

import filelock

from cpu.cluster.pool import ClusterPool
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.processes.pool import Outcomes, Pool, Task
from cpu.runtime.processes.worker import CandidateError, is_worth_another_try
from microkernels.ranking.rank import MeasureAll, Progress, ensure_ranked, rank
from microkernels.scores.catalog import Catalog
from microkernels.scores.database import data_folder
from microkernels.tile.isa import best_isa, isa_named
from microkernels.tile.isa_row import Isa
from microkernels.tile.microkernel import OPERATORS, RANKED_AS, Microkernel, parse
from tiling.machine import Timing

MEASURE_SECONDS = 0.1  # of samples for each kernel: with the peak beside each, 1000 kernels take some minutes
TIMEOUT_SECONDS = 60.0  # a kernel takes under a second with its compilation; on a busy machine several times that


class UsageError(ValueError):
    """A command that cannot be carried out on this machine. The message says why."""


def usable_isa(name: str | None, op: str = "conv2d") -> Isa:
    """The instruction set called `name`, by default the widest that this CPU has.

    Raises UsageError where this CPU does not run it, or where its tiles of `op` have no ranking of their own.
    """
    if name is None:
        return best_isa(host().flags)
    try:
        isa = isa_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if isa.ranked != name and not isa.matrix:
        raise UsageError(
            f"{name} runs the tiles of {isa.ranked} with another instruction: its ranking is {isa.ranked}'s"
        )
    if isa.matrix and OPERATORS[op].lanewise:
        raise UsageError(f"{name} computes {op} by vectors: its ranking is {isa.ranked}'s")
    missing = [flag for flag in isa.cpu_flags if flag not in host().flags]
    if missing:
        raise UsageError(f"this CPU does not run {name}: it lacks {', '.join(missing)}")
    return isa


@contextmanager
def measure_in_workers(jobs: int, l1_bytes: int) -> Iterator[MeasureAll]:
    """The `measure_all` of `rank` that measures kernels in `jobs` isolated processes at once. They serve all calls."""
    with closing(Pool(jobs)) as pool:
        yield measure_by(pool.run, l1_bytes)


def measure_by(run: Callable[[Iterable[Task]], Outcomes], l1_bytes: int) -> MeasureAll:
    """The `measure_all` of `rank` whose tasks `run` runs.

    Iterating raises WorkerError where the machine is at fault and not the kernel; then there is nothing to record.
    """

    def measure_all(
        kernels: tuple[Microkernel, ...],
    ) -> Generator[tuple[Microkernel, Timing | str], None, None]:
        arguments = {"l1_bytes": l1_bytes, "seconds": MEASURE_SECONDS}
        tasks = (
            Task("cpu.kernel.measure:microkernel", TIMEOUT_SECONDS, {"name": k.name, **arguments}) for k in kernels
        )
        with closing(run(tasks)) as results:
            for task, result in results:
                if isinstance(result, CandidateError):
                    yield parse(task.arguments["name"]), result.reason
                else:
                    yield parse(task.arguments["name"]), Timing.of(result)

    return measure_all


def default_jobs() -> int:
    """One process for each physical core, since hyperthreads share the FMA pipes and the L1 that are measured."""
    return max(1, host().cores // host().caches[0].shared_by)


def measuring_lock() -> filelock.BaseFileLock:
    """The lock that a ranking or a benchmark of a user holds while it measures. It ends with its process."""
    return filelock.FileLock(data_folder() / "measuring.lock")


@contextmanager
def measuring_alone(announce: Callable[[str], None]) -> Iterator[None]:
    """Lets one ranking or benchmark of a user run at a time, since two would disturb each other.

    A second ranking tells `announce` and waits. In a folder that cannot be written there is no lock, and the ranking
    itself raises the error.
    """
    lock = measuring_lock()
    with suppress(OSError):
        data_folder().mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            announce("another ranking or benchmark is measuring on this machine: this one begins when that has ended")
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def rank_machine(
    kernels: Iterable[Microkernel],
    *,
    resume: bool = False,
    jobs: int | None = None,
    cluster: str = "",
    announce: Callable[[str], None] = lambda _: None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """`rank` on this machine, once no other ranking runs; `announce` is told of the wait.

    cluster: the address of a `dask.distributed` scheduler whose workers measure. Raises ToolchainError without a
    compiler, StoreError, WorkerError.
    """
    find_compiler()  # checked here once: a missing compiler is no kernel's fault
    l1_bytes = host().caches[0].bytes
    again = is_worth_another_try
    with measuring_alone(announce), _measuring(jobs, l1_bytes, cluster) as measure_all:
        return rank(kernels, measure_all, fingerprint(host()), l1_bytes, resume=resume, again=again, progress=progress)


def _measuring(jobs: int | None, l1_bytes: int, cluster: str) -> AbstractContextManager[MeasureAll]:
    """The `measure_all` of `rank`: in processes of this machine, or on the workers of a cluster."""
    if cluster:
        return nullcontext(measure_by(_on_cluster(cluster), l1_bytes))
    return measure_in_workers(jobs or default_jobs(), l1_bytes)


def _on_cluster(address: str) -> Callable[[Iterable[Task]], Outcomes]:
    def run(tasks: Iterable[Task]) -> Outcomes:
        with closing(ClusterPool(address)) as pool:
            yield from pool.run(tasks)

    return run


def machine_catalog(
    isa: Isa,
    op: str = "conv2d",
    *,
    announce: Callable[[str], None],
    jobs: int | None = None,
    cluster: str = "",
    progress: Callable[[Progress], None] = lambda _: None,
    own: bool = False,
) -> Catalog:
    """This machine's catalog for `op`. It runs the quick ranking first if that is missing, and tells `announce` so.

    cluster: as in `rank_machine`. own: measures even where a ranking of this kind of machine comes with the package.
    Raises RankingError where no kernel can be measured, ToolchainError without a compiler, StoreError, WorkerError.
    """
    find_compiler()
    l1_bytes = host().caches[0].bytes
    with _measuring(jobs, l1_bytes, cluster) as measure_all:
        return ensure_ranked(
            isa,
            RANKED_AS[op],
            measure_all,
            fingerprint(host()),
            l1_bytes,
            announce=announce,
            progress=progress,
            alone=lambda: measuring_alone(announce),
            own=own,
        )
