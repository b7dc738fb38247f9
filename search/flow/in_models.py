"""Measurements of kernels inside whole models: weights are cold, and inputs lie where the step before left them.

The fastest kernel by itself may not be the fastest in a model. So these records have keys of their own.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.scores.database import ignore
from search.evaluator.cpu.backend import CpuBackend
from search.evaluator.interface.errors import is_worth_another_try
from search.tuner import store
from search.tuner.measured import AnyScheme
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError

_CONDITIONS = "in a model"


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
