"""How each kind of target is used. Only the modules of this folder import the back ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from search.evaluator.protocol import Backend, TargetError
from search.tuner.target import Target


def target_of(
    name: str,
    dtype: str,
    *,
    isa: str | None = None,
    threads: int = 1,
    algorithm: str = "direct",
    device: str | None = None,
    cache: str = "warm",
    cluster: str = "",
) -> Target:
    """A target of this machine. Raises ProblemError.

    isa: by default the widest instruction set of the dtype that this CPU runs. device: by default the GPU that is here.
    cache: of a CPU, "warm" or "cold". cluster: of workers that try candidates (`search.tuner.target.Target`).
    """
    if name == "cpu":
        from search.evaluator.cpu import cpu_target

        return cpu_target(isa, threads, dtype, algorithm, cache, cluster)
    from search.evaluator.gpu import gpu_target

    return gpu_target(name, dtype, device)


def written_target_of(
    name: str,
    dtype: str,
    *,
    isa: str | None = None,
    threads: int = 1,
    algorithm: str = "direct",
    device: str | None = None,
    cache: str = "warm",
    cluster: str = "",
) -> Target:
    """As `target_of`, for kernels that are only written: also of instruction sets that this CPU does not run."""
    if name == "cpu":
        from search.evaluator.cpu import written_target

        return written_target(isa, threads, dtype, algorithm, cache, cluster)
    return target_of(name, dtype, device=device)


def backend_of(target: Target) -> Backend:
    """The back end of a target, imported when needed: a search for the CPU does not load a GPU's libraries."""
    if target.name == "cpu":
        from search.evaluator.cpu import CpuBackend

        return CpuBackend(target)
    if target.name == "cuda":
        from search.evaluator.cuda import CudaBackend

        return CudaBackend(target)
    from search.evaluator.twin import TwinBackend

    return TwinBackend(target)


@contextmanager
def errors_of(target: str) -> Iterator[None]:
    """Turns the errors of a GPU's back end into a TargetError with the same words."""
    if target == "cpu":
        yield
        return
    from search.evaluator.cuda import ERRORS

    try:
        yield
    except ERRORS as error:
        raise TargetError(str(error)) from error
