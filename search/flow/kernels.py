"""The kernel for a problem and a target: by an earlier choice or by a new search, built and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.evaluator import errors_of
from search.evaluator.interface.protocol import TargetError
from search.flow.find import DEFAULT_BUDGET, MARKED, UNSETTLED, find
from search.tuner.target import Target
from tilewright_entry import warn
from tiling.problem import Problem, ProblemError
from tiling.scheme.specifiers import SchemeError

if TYPE_CHECKING:
    from search.evaluator.kernels import CpuKernel, GpuKernel, TwinKernel


def kernel_for(
    problem: Problem,
    target: Target,
    tune: str = "model",
    budget: float = DEFAULT_BUDGET,
) -> CpuKernel | GpuKernel | TwinKernel:
    """The kernel for any problem in the dtypes of a target, by an earlier choice or by a new search."""
    # The model's choice is taken unchecked. A measured choice passes the same last check as on the command line.
    found = find(problem, target, tune=tune, budget=budget, recall=True, verify=tune == "measure")
    if found.timing and found.timing.disturbed:
        warn(f"{problem}: {found.timing.disturbed}: {MARKED if tune == 'measure' else UNSETTLED}")
    if found.recalled:
        try:
            with errors_of(target.name):
                return found.build()
        except (SchemeError, TargetError):  # the kept choice compiles, but does not load here any more
            found = find(problem, target, tune=tune, budget=budget, verify=tune == "measure")
    if found.interrupted:
        raise KeyboardInterrupt  # the measurements are in the store, where the next call goes on
    kernel = found.build()
    found.keep(tune)  # only now, since a scheme that does not compile is no choice
    return kernel


def check_tuning(tune: object, budget: object) -> None:
    """Raises ProblemError where the arguments `tune` and `budget` of a `generate_…` say nothing."""
    if tune not in ("model", "measure"):
        raise ProblemError(f'tune={tune!r} must be "model" or "measure"')
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not 0 < budget < 1e6:
        raise ProblemError(f"budget={budget!r} must be a number of seconds above 0")
    if tune == "model" and budget != DEFAULT_BUDGET:
        raise ProblemError(f"budget={budget!r} means nothing to tune='model': leave it out, or give tune='measure' too")
