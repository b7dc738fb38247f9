"""The offline stage wired to this machine: its CPU, workers and clock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing

from cpu.host import fingerprint, host
from cpu.toolchain import find_compiler
from cpu.worker import CandidateError, Task, is_worth_another_try, run_all
from microkernels.catalog import Catalog
from microkernels.isa import Isa, best_isa, isa_named
from microkernels.microkernel import RANKED_AS, Microkernel, parse
from microkernels.rank import MeasureAll, Progress, ensure_ranked, rank
from tiling.machine import Timing

MEASURE_SECONDS = 0.1  # of samples a kernel: with the peak beside each look, 1000 kernels stay within minutes
TIMEOUT_SECONDS = 60.0  # a kernel takes under a second, compiling included; a loaded machine several times that


class UsageError(ValueError):
    """A command that cannot be carried out on this machine, and why."""


def usable_isa(name: str | None, op: str = "conv2d") -> Isa:
    """The instruction set called `name`, by default the widest of this CPU's, whose tiles of `op` are ranked. Raises
    UsageError.
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
    if isa.matrix and op != "conv2d":
        raise UsageError(f"{name} computes {op} by vectors: its ranking is {isa.ranked}'s")
    missing = [flag for flag in isa.cpu_flags if flag not in host().flags]
    if missing:
        raise UsageError(f"this CPU does not run {name}: it lacks {', '.join(missing)}")
    return isa


def measure_in_workers(jobs: int, l1_bytes: int) -> MeasureAll:
    """Measures kernels on `jobs` isolated processes at once, as `rank` wants it.

    Iterating raises WorkerError where the machine is at fault and not the kernel: then there is nothing to record.
    """

    def measure_all(
        kernels: tuple[Microkernel, ...],
    ) -> Generator[tuple[Microkernel, Timing | str], None, None]:
        arguments = {"l1_bytes": l1_bytes, "seconds": MEASURE_SECONDS}
        tasks = (Task("cpu.measure:microkernel", TIMEOUT_SECONDS, {"name": k.name, **arguments}) for k in kernels)
        with closing(run_all(tasks, jobs)) as results:
            for task, result in results:
                if isinstance(result, CandidateError):
                    yield parse(task.arguments["name"]), result.reason
                else:
                    yield parse(task.arguments["name"]), Timing(tuple(result["samples"]), result["peak_gflops"])

    return measure_all


def default_jobs() -> int:
    """One a physical core: hyperthreads share the FMA pipes that are measured, and with them the L1."""
    return max(1, host().cores // host().caches[0].shared_by)


def rank_machine(
    kernels: Iterable[Microkernel],
    *,
    resume: bool = False,
    jobs: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """`rank` on this machine. Raises ToolchainError without a compiler, StoreError, WorkerError."""
    find_compiler()  # asked here once: its absence is no kernel's fault
    l1_bytes = host().caches[0].bytes
    measure_all = measure_in_workers(jobs or default_jobs(), l1_bytes)
    again = is_worth_another_try
    return rank(kernels, measure_all, fingerprint(host()), l1_bytes, resume=resume, again=again, progress=progress)


def machine_catalog(
    isa: Isa,
    op: str = "conv2d",
    *,
    announce: Callable[[str], None],
    jobs: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Catalog:
    """This machine's catalog for `op`, quickly ranked first if it never was, once `announce` was told in a sentence.

    Raises RankingError where no kernel can be measured, ToolchainError without a compiler, StoreError, WorkerError.
    """
    find_compiler()
    l1_bytes = host().caches[0].bytes
    measure_all = measure_in_workers(jobs or default_jobs(), l1_bytes)
    ranked = RANKED_AS[op]
    return ensure_ranked(isa, ranked, measure_all, fingerprint(host()), l1_bytes, announce=announce, progress=progress)
