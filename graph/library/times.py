"""What steps took inside models, and the layouts that were chosen by it, in the store.

Times(backends).seconds(work) -> seconds, or None where no model was timed with this work
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256

from graph.library.kernels import Work
from graph.model.language import Model
from search.evaluator.cpu.backend import CpuBackend
from search.flow import in_models
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.program.infer import Sized
from tiling.text.shapes import canonical


class Times:
    """Reads the store once. of: gives the back end of a dtype; that of f32 is the one of programs too."""

    def __init__(self, of: Callable[[str], CpuBackend]) -> None:
        self.of = cache(of)
        self._known: dict[str, dict[tuple[str, str], float]] = {}
        self._named = cache(self._name)

    def seconds(self, work: Work) -> float | None:
        """The median of the last times."""
        known = self._of(_dtype(work))
        return known.get(self._named(work)) if known else None

    def keep(self, work: Work, samples: Iterable[float]) -> None:
        """Keeps the seconds of a work, at once. A work in a branch that was not taken has none."""
        taken = tuple(map(float, samples))
        if all(taken):
            backend, known = self.of(_dtype(work)), self._of(_dtype(work))
            timing = Timing(taken, backend.machine.peak / 1e9)
            in_models.record_step(backend, *self._named(work), timing)
            known[self._named(work)] = timing.seconds

    def layouts(self, model: Model) -> frozenset[int] | None:
        """The steps that keep channels last, where that was chosen by times of the whole model."""
        found = in_models.layouts(self.of("f32"), digest(model))
        try:
            steps = None if found is None else frozenset(map(int, found.split()))
        except ValueError:
            steps = None
        return steps if steps is not None and steps <= frozenset(range(len(model.steps))) else None

    def keep_layouts(self, model: Model, last: frozenset[int]) -> None:
        in_models.choose_layouts(self.of("f32"), digest(model), " ".join(map(str, sorted(last))))

    def _of(self, dtype: str) -> dict[tuple[str, str], float]:
        if dtype not in self._known:
            found = in_models.steps(self.of(dtype))
            self._known[dtype] = {name: timing.seconds for name, timing in found.items()}
        return self._known[dtype]

    def _name(self, work: Work) -> tuple[str, str]:
        """The operator and the text of a work."""
        if isinstance(work, Problem):
            computed = self.of(work.dtype).problem(work)
            return computed.op, canonical(computed)
        return "program", _text(work)


def digest(model: Model) -> str:
    """The same for models of the same steps and arrays, whatever their weights are."""
    told = [
        (_text(step.work) if isinstance(step.work, Sized) else str(step.work), step.inputs, step.outputs)
        for step in model.steps
    ]
    # A step may see an array in another shape, so that it cannot have its channels last.
    arrays = sorted((name, array.dtype, array.shape) for name, array in model.arrays.items())
    names = sorted(model.views.items()), sorted(model.slices), sorted(model.constants)
    return sha256(repr((model.outputs, told, arrays, names)).encode()).hexdigest()[:32]


def _text(program: Sized) -> str:
    arrays = (f"{array.name}: {array.dtype}{list(array.shape)}" for array in (*program.inputs, *program.assigned))
    dims = (f"{dim}={extent}" for dim, extent in program.dims)
    return f"{program.program}; {', '.join((*arrays, *dims))}"


def _dtype(work: Work) -> str:
    return work.dtype if isinstance(work, Problem) else "f32"
