"""The C text of each step's kernel: a product's by a search, a program's by rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from graph.model.language import Step
from search.evaluator import target_of
from search.evaluator.cpu import cpu_backend
from search.evaluator.programs import text_of
from search.generate import kernel_for
from tiling.problem import Problem
from tiling.program.infer import Sized


@dataclass(frozen=True)
class Kernel:
    """A compiled file's facts. It defines SYMBOL_run, SYMBOL_supported, and for a product SYMBOL_pack.

    threads: how many share a call, each of which calls SYMBOL_run. arrays: the C type of each, such as "const float *".
    scratch: bytes of memory that a call needs meanwhile. packed: floats of the packed weights of a product; 0 for a
    program, which returns whether all indices that it read were inside. scheme: the text that a search chose.
    """

    symbol: str
    text: str
    flags: tuple[str, ...]
    threads: int
    arrays: tuple[str, ...]
    scratch: int
    packed: int = 0
    scheme: str = ""

    @property
    def openmp(self) -> bool:
        return self.threads > 1

    @property
    def parameters(self) -> tuple[str, ...]:
        """The C type of each parameter of SYMBOL_run."""
        return (*self.arrays, *("char *",) * (self.scratch > 0), *("long", "long") * (self.threads > 1))


def predicted_seconds(threads: int) -> Callable[[Problem], float]:
    """What the model of data movement expects of the best kernel of a problem."""
    backend = cpu_backend(threads=threads)

    @cache
    def seconds(problem: Problem) -> float:
        return backend.predicted_seconds(backend.candidates(backend.problem(problem))[:1])[0]

    return seconds


def kernels_of(
    steps: Sequence[Step],
    threads: int,
    tune: str,
    budget: float,
    progress: Callable[[str, int, int], None] = lambda what, done, all: None,
) -> Mapping[Problem | Sized, Kernel]:
    """A kernel for every different work. budget: seconds of search for all products together.

    Raises what `search.generate.kernel_for` raises.
    """
    works = [work for work in dict.fromkeys(step.work for step in steps) if isinstance(work, (Problem, Sized))]
    products = [work for work in works if isinstance(work, Problem)]
    # The largest first: what is known of them is worth most if the search is ended.
    products.sort(key=lambda problem: -problem.flops)
    total = sum(problem.flops for problem in products) or 1
    target = target_of("cpu", "f32", threads=threads)
    found: dict[Problem | Sized, Kernel] = {}
    ordered: list[Problem | Sized] = [*products, *(work for work in works if isinstance(work, Sized))]
    for done, work in enumerate(ordered):
        progress(str(work) if isinstance(work, Problem) else str(work.program), done, len(ordered))
        if isinstance(work, Problem):
            share = max(budget * work.flops / total, 0.5)
            kernel: Any = kernel_for(work, target, tune, share)  # that of a CPU
            source = kernel.emitted
            arrays = ("const float *",) * len(work.epilogue_arrays)
            found[work] = Kernel(
                source.symbol,
                source.inside,
                source.compiler_flags,
                source.threads,
                ("const float *", "const float *", "float *", *arrays),
                source.scratch,
                source.packed,
                kernel.scheme.text,
            )
        else:
            text = text_of(work, target)
            types = tuple(p.replace("restrict ", "").rpartition("*")[0] + "*" for p in text.parameters)
            flags, scratch = text.compiler_flags, text.scratch
            found[work] = Kernel(text.symbol, text.inside, flags, text.threads, types, scratch)
    return found
