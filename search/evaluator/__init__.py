"""How each kind of target is used. Only the rooms of this folder import the back ends.

Read in this order: `interface/` · `cpu/` · `gpu/` · `kernels`, the callable kernels of all back ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from search.evaluator.interface.protocol import Backend, TargetError
from search.tuner.target import Target, Wanted


def target_of(name: str, wanted: Wanted, written: bool = False) -> Target:
    """A target of this machine. Raises ProblemError.

    written: for kernels that are only written, the target may have an instruction set that this CPU does not run; its
    `absent` then says why.
    """
    if name == "cpu":
        from search.evaluator.cpu.target import cpu_target

        return cpu_target(wanted, written)
    from search.evaluator.gpu.backend import gpu_target

    return gpu_target(name, wanted.dtype, wanted.device)


def backend_of(target: Target) -> Backend:
    """The back end of a target, imported when needed: a search for the CPU does not load a GPU's libraries."""
    if target.name == "cpu":
        from search.evaluator.cpu.backend import CpuBackend

        return CpuBackend(target)
    if target.name == "cuda":
        from search.evaluator.gpu.cuda import CudaBackend

        return CudaBackend(target)
    from search.evaluator.gpu.twin import TwinBackend

    return TwinBackend(target)


@contextmanager
def errors_of(target: str) -> Iterator[None]:
    """Turns the errors of a GPU's back end into a TargetError with the same words."""
    if target == "cpu":
        yield
        return
    from search.evaluator.gpu.cuda import ERRORS

    try:
        yield
    except ERRORS as error:
        raise TargetError(str(error)) from error
