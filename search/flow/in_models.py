"""Measurements of kernels inside whole models: weights are cold, and inputs lie where the step before left them.

The fastest kernel by itself may not be the fastest in a model. So these records have keys of their own. So have the
times of steps in either layout, and the layouts that were chosen by them.
"""

from __future__ import annotations

from dataclasses import replace

from cpu.runtime.compiler.toolchain import find_compiler
from microkernels.scores.database import ignore
from search.evaluator.cpu.backend import CpuBackend
from search.evaluator.interface.errors import is_worth_another_try
from search.tuner import store
from search.tuner.measured import AnyScheme
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError

_CONDITIONS = "in a model"
_STEP = "a step"  # its kernel is the one that the model has now, whichever scheme that is
_LAYOUTS = "layouts"


def known(backend: CpuBackend, problem: Problem) -> dict[str, Timing | str]:
    """The schemes that were tried in a model, with their times or the reasons why they failed. Raises StoreError.

    A failure that may be the machine's fault is not among them.
    """
    found = store.measured(_key(backend, problem))
    return {text: each for text, each in found.items() if isinstance(each, Timing) or not is_worth_another_try(each)}


def chosen(backend: CpuBackend, problem: Problem) -> AnyScheme | None:
    """The scheme that was chosen in a model, where one was. Raises StoreError."""
    found = store.choice(_key(backend, problem), backend.kind("measure", problem))
    if found is None:
        return None
    try:
        return backend.parsed(backend.problem(problem), found.scheme)
    except SchemeError as error:
        ignore([f"the choice in a model for {problem}: {error}"])
        return None


def record(backend: CpuBackend, problem: Problem, scheme: str, outcome: Timing | str) -> None:
    """Keeps a time in a model, or why there is none, at once. Raises StoreError."""
    store.record(_key(backend, problem), scheme, outcome)


def reject(backend: CpuBackend, problem: Problem, scheme: str, reason: str) -> None:
    """Keeps that a scheme computes wrong numbers, even if it was timed. Raises StoreError."""
    store.reject(_key(backend, problem), scheme, reason)


def choose(backend: CpuBackend, problem: Problem, scheme: str, timing: Timing | None) -> None:
    """Keeps the choice in a model. Raises StoreError."""
    store.choose(_key(backend, problem), backend.kind("measure", problem), scheme, timing)


def _key(backend: CpuBackend, problem: Problem) -> store.Key:
    return replace(backend.key(backend.problem(problem)), conditions=_CONDITIONS)


def steps(backend: CpuBackend) -> dict[tuple[str, str], Timing]:
    """What steps took in models, in the layout that they had there, by operator and text. Raises StoreError."""
    return store.timings(_step(backend, "", ""), "")


def record_step(backend: CpuBackend, op: str, text: str, timing: Timing) -> None:
    """Keeps what a step took, at once. Raises StoreError."""
    store.record(_step(backend, op, text), "", timing)


def layouts(backend: CpuBackend, model: str) -> str | None:
    """The layouts that were chosen for a model by the times of whole models. Raises StoreError."""
    found = store.choice(_step(backend, _LAYOUTS, model), _LAYOUTS)
    return found.scheme if found else None


def choose_layouts(backend: CpuBackend, model: str, layouts: str) -> None:
    """Keeps the layouts of a model. Raises StoreError."""
    store.choose(_step(backend, _LAYOUTS, model), _LAYOUTS, layouts, None)


def _step(backend: CpuBackend, op: str, text: str) -> store.Key:
    """The key of a step, with the algorithm, since kernels of others take other times."""
    target, compiler = backend.target, find_compiler()
    conditions = " ".join((_CONDITIONS, _STEP, target.algorithm))
    known = f"{compiler.kind} {compiler.version}"
    return store.Key(target.machine, target.isa, known, op, text, target.threads, conditions)
