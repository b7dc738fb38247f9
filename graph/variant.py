"""A model whose layouts are chosen: its last steps, their kernels, and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any  # schemes

from graph.layouts.costs import Costs
from graph.layouts.explain import renamed, told
from graph.layouts.rewrite import with_layouts
from graph.library.build import files_of
from graph.library.kernels import KernelFile, Kernels, Work, products_of
from graph.library.text import library
from graph.model.language import Model
from graph.model.regions import kernel_steps
from graph.passes.by_image import image_by_image
from graph.passes.fuse import fused_maps
from graph.passes.in_place import joined_in_place
from search.commands.progress import SearchState
from search.flow import in_models
from search.flow.choices import Choice
from tiling.problem import Problem
from tiling.program.infer import Sized

Progress = Callable[[SearchState], None]


@dataclass(frozen=True, eq=False)
class Variant:
    """plan: the steps before layouts are chosen. last: the numbers of those that keep channels last."""

    plan: Model
    last: frozenset[int]
    kernels: Kernels
    choices: Callable[[Iterable[Problem]], Mapping[Problem, Choice]]
    name: str

    @cached_property
    def laid(self) -> Model:
        return with_layouts(self.plan, self.last)

    @cached_property
    def joined(self) -> Model:
        """The last steps, each on all images."""
        # Only now do the maps that round sums of bytes read them in their order.
        return joined_in_place(fused_maps(self.laid, lambda problem: problem.sums_are_exact))

    @cached_property
    def graph(self) -> Model:
        """The last steps."""
        machine, threads = self.kernels.backend.machine, self.kernels.backend.target.threads
        return image_by_image(self.joined, machine.caches[-1].bytes, machine.memory_bandwidth, threads)

    @cached_property
    def chosen(self) -> Mapping[Problem, Choice]:
        """The model's choice for each product. Some write into parts of wider arrays, or have an epilogue, only now."""
        return self.choices(products_of(works_of(self.graph)))

    @cached_property
    def schemes(self) -> Mapping[Problem, Any]:
        """The scheme of each product to begin with: the one that was chosen in a model, else the model's."""
        kept = {problem: in_models.chosen(self.kernels.of(problem.dtype), problem) for problem in self.chosen}
        return {problem: kept[problem] or choice.scheme for problem, choice in self.chosen.items()}

    def compiled(
        self, schemes: Mapping[Problem, Any], progress: Progress = lambda stage: None
    ) -> Mapping[Work, KernelFile]:
        """The kernels. Products that `schemes` lacks have the schemes to begin with."""
        return self.kernels.compiled(works_of(self.graph), {**self.schemes, **schemes}, progress)

    def files(
        self, made: Mapping[Work, KernelFile], costs: Costs | None = None, layouts: str = ""
    ) -> Mapping[str, bytes]:
        """The files with these kernels. costs: what to say about the layouts of steps. layouts: how all were chosen."""
        tuned = frozenset(problem for problem in self.chosen if self._is_tuned(problem, made[problem]))
        laid = told(self.plan, self.laid, self.last, costs) if costs else {}
        # A loop over images keeps the order of the steps.
        pairs = zip(kernel_steps(self.joined.steps), kernel_steps(self.graph.steps), strict=True)
        of_steps = renamed(laid, pairs)
        return files_of(self.graph, library(self.graph, made, self.name), made, tuned, of_steps, layouts)

    def _is_tuned(self, problem: Problem, kernel: KernelFile) -> bool:
        kept = in_models.chosen(self.kernels.of(problem.dtype), problem)
        return kept is not None and kernel.scheme == kept.text != self.chosen[problem].scheme.text

    @property
    def timed(self) -> Mapping[Work, list[int]]:
        """The numbers of the steps of each work whose layout was chosen, as a timed call counts them."""
        works = {step.outputs: step.work for step in self.laid.steps}
        found: dict[Work, list[int]] = {}
        # Loops over images keep the order of the steps, and each takes its seconds for all images.
        for number, step in enumerate(kernel_steps(self.joined.steps)):
            work = works.get(step.outputs)
            # A product that rounds its sums since then writes what a map wrote: its time is not the map's.
            if isinstance(work, (Problem, Sized)) and isinstance(step.work, type(work)):
                found.setdefault(work, []).append(number)
        return found


def works_of(graph: Model) -> list[Work]:
    """What the kernels of a model compute."""
    return [step.work for step in kernel_steps(graph.steps) if isinstance(step.work, (Problem, Sized))]


def steps_of(graph: Model) -> Mapping[Problem, list[int]]:
    """The numbers of the steps of each f32 product, as a timed call counts them. Other products are not tuned."""
    found: dict[Problem, list[int]] = {}
    for number, work in enumerate(works_of(graph)):
        if isinstance(work, Problem) and work.dtype == "f32":
            found.setdefault(work, []).append(number)
    return found
