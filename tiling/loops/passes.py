"""What a pass is, and how a kernel goes through a list of them.

    forms(kernel, passes, facts) -> (name, kernel), …          as it was lowered, then after each pass

A pass changes how loops compute and never what. The lists are in `cpu.passes.order` and `gpu.passes.order`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tiling.loops.kernel import Kernel

LOWER = "lower"  # the name of the first form, which no pass has changed
Facts = TypeVar("Facts")  # what the passes of a list need to know beside the loops
Forms = Iterator[tuple[str, Kernel]]


@dataclass(frozen=True)
class Pass(Generic[Facts]):
    """A pass by its name, and whether a kernel needs it."""

    name: str
    run: Callable[[Kernel, Facts], Kernel]
    applies: Callable[[Facts], bool] = lambda facts: True


def forms(kernel: Kernel, passes: Iterable[Pass[Facts]], facts: Facts) -> Forms:
    """The kernel as it is, then after each pass that it needs."""
    yield LOWER, kernel
    for each in passes:
        if each.applies(facts):
            kernel = each.run(kernel, facts)
            yield each.name, kernel


def names(passes: Iterable[Pass[Facts]]) -> tuple[str, ...]:
    """The names of all forms."""
    return (LOWER, *(each.name for each in passes))
