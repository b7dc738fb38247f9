"""From a file to a compiled model: reads it, chooses layouts and kernels, compiles, tunes.

compile_model("model.onnx") -> CompiledModel
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from math import inf, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpu.runtime.machine.host import host
from graph.calls.compiled import CompiledModel
from graph.calls.open_model import OpenModel, axes_of, is_open
from graph.calls.saved_folder import RECORD
from graph.layout_trials import faster_layouts
from graph.layouts.choice import channels_last, priced
from graph.layouts.costs import Costs
from graph.layouts.explain import LEAST_SUM
from graph.library.build import c_name, fused
from graph.library.kernels import Kernels, by_dtype, products_of
from graph.library.text import check_name
from graph.library.times import Times
from graph.model.dtypes import DTYPES
from graph.model.language import Model, ModelError
from graph.passes.narrow import with_narrow_products
from graph.trials import trials
from graph.tuning import tuned
from graph.variant import Progress, Variant, steps_of, works_of
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.evaluator.cpu.programs import anchored_for
from search.evaluator.cpu.target import MOST_THREADS
from search.flow.choices import Choice, choices
from tiling.dtypes.formats import FORMATS
from tiling.problem import Problem

if TYPE_CHECKING:
    import onnx
    from torch.export import ExportedProgram

ALGORITHMS = ("direct", "auto")
DEFAULT_BUDGET = 60.0  # seconds
# Layouts are timed for this share of a budget of at least so many seconds.
_FOR_LAYOUTS, _WORTH_LAYOUTS = 1 / 3, 6.0
# How layouts were chosen where no model was timed.
AS_KEPT = "those of an earlier search in whole models, which came to its end; no model was timed now"
AS_PREDICTED = f"{LEAST_SUM}; no model was timed, as --budget does"
MODELS = "whole models need onnx: pip install 'tilewright[models]'"


def compile_model(
    model: str | os.PathLike[str] | onnx.ModelProto | ExportedProgram,
    *,
    dims: Mapping[str, int | Sequence[int]] | None = None,
    known: Mapping[str, Any] | None = None,
    threads: int = 1,
    tune: str = "model",
    budget: float = DEFAULT_BUDGET,
    algorithm: str = "direct",
    name: str | None = None,
    progress: Progress = lambda stage: None,
) -> CompiledModel | OpenModel:
    """A model as a function of NumPy arrays. Where it leaves dims open, each call with new shapes compiles it for them.

    model: a path of an ONNX file, or the result of `onnx.load` or `torch.export.export`. dims: sizes of dims that the
    model leaves open, by the name of the dim; by the name of an input, its whole shape, or the number of elements of a
    sequence. known: inputs with the same value at every call, which are then no inputs any more: arrays, lists of them
    for sequences, None for an optional without an element. tune: "model" trusts the model of data movement; "measure"
    tries other kernels inside the model for about `budget` seconds. algorithm: "auto" takes Winograd's where that is
    faster, with larger errors. name: what the C function is called, by default as the file.

    Raises ModelError for what cannot be compiled, ToolchainError without a C compiler, CacheError or StoreError where
    files cannot be kept.
    """
    bound, numbers = {} if dims is None else dims, {} if known is None else known
    plan = Plan(model, numbers, threads, tune, budget, algorithm, name, progress)
    axes = axes_of(plan.proto, bound, numbers)
    if is_open(axes):
        return OpenModel(axes, lambda found: plan.compiled({**bound, **found}))
    return plan.compiled(bound)


@dataclass(frozen=True)
class Plan:
    """A model and how it is compiled, with the arguments of `compile_model`."""

    model: object
    known: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    tune: str = "model"
    budget: float = DEFAULT_BUDGET
    algorithm: str = "direct"
    name: str | None = None
    progress: Progress = lambda stage: None

    def __post_init__(self) -> None:
        if self.tune not in ("model", "measure"):
            raise ModelError(f'tune={self.tune!r} must be "model" or "measure"')
        if self.algorithm not in ALGORITHMS:
            raise ModelError(f"algorithm={self.algorithm!r} must be one of {', '.join(ALGORITHMS)}")
        budget = self.budget
        if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not 0 < budget < inf:
            raise ModelError(f"budget={budget!r} must be a number of seconds above 0")
        if self.tune == "model" and budget != DEFAULT_BUDGET:
            raise ModelError(
                f"budget={budget!r} means nothing to tune='model': leave it out, or give tune='measure' too"
            )
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or not 1 <= self.threads <= MOST_THREADS:
            raise ModelError(f"threads={self.threads!r} must be a whole number from 1 to {MOST_THREADS}")
        if self.name is not None:
            check_name(self.name)

    @cached_property
    def proto(self) -> Any:  # an ONNX model or what is made one: the exporter's types are not always installed
        try:
            from graph.onnx.load import load
        except ModuleNotFoundError as error:
            raise ModelError(MODELS) from error
        if isinstance(self.model, (str, os.PathLike)):
            if (Path(self.model) / RECORD).is_file():
                raise ModelError(
                    f"{self.model} is a compiled model already: python -m graph.run calls it, and load_model loads it"
                )
            return load(self.model)
        if hasattr(self.model, "graph") and hasattr(self.model, "opset_import"):
            return self.model
        if type(self.model).__module__.startswith("torch.export"):
            from graph.exported import exported

            program: Any = self.model
            return exported(program)
        raise ModelError(
            f"model is of type {type(self.model).__name__}: give the path of an ONNX file, or what onnx.load or "
            "torch.export gives"
        )

    def compiled(self, dims: Mapping[str, int | Sequence[int]]) -> CompiledModel:
        """The model with these dims. Raises what `compile_model` raises."""
        return self.built(self.graph(dims))

    def graph(self, dims: Mapping[str, int | Sequence[int]]) -> Model:
        """The model's steps with these dims, before layouts are chosen. Raises ModelError."""
        proto = self.proto
        from graph.onnx.read import read

        model = fused(read(proto, dims, self.known))
        target = self.backend("f32").target
        return with_narrow_products(model, lambda program, ahead: anchored_for(program, target, ahead))

    @cached_property
    def backend(self) -> Callable[[str], CpuBackend]:
        """The back end of the products of a dtype.

        Weights that are larger than the last cache come from memory at each call.
        """
        outgrow = bytes_of_weights(self.proto) > host().caches[-1].bytes
        return cache(partial(_backend, self.threads, self.algorithm, outgrow))

    def choices(self, problems: Iterable[Problem]) -> dict[Problem, Choice]:
        """The model's choice for each problem."""
        found: dict[Problem, Choice] = {}
        for dtype, own in by_dtype(problems).items():
            found |= choices(self.backend(dtype), own, self.progress)
        return found

    def built(self, graph: Model) -> CompiledModel:
        """The model of these steps."""
        known: dict[Problem, Choice] = {}

        def choices(problems: Iterable[Problem]) -> Mapping[Problem, Choice]:
            wanted = tuple(dict.fromkeys(problems))
            known.update(self.choices(problem for problem in wanted if problem not in known))
            return {problem: known[problem] for problem in wanted}

        choices([*products_of(works_of(graph)), *priced(graph)])
        kernels, times = Kernels(self.backend), Times(self.backend)
        costs = Costs(lambda problem: known[problem].seconds, times.seconds)
        variant = cache(lambda last: Variant(graph, last, kernels, choices, self.function))
        kept, left = times.layouts(graph), self.budget
        last = channels_last(graph, costs) if kept is None else kept
        account = AS_PREDICTED if kept is None else AS_KEPT
        made = variant(last).compiled({}, self.progress)
        if self.tune == "measure" and kept is None and priced(graph) and left >= _WORTH_LAYOUTS:
            began = time.monotonic()
            with trials(kernels.backend.environment) as trying:
                share = left * _FOR_LAYOUTS
                found = faster_layouts(graph, last, costs, variant, times, trying, share, self.progress)
            last, account = found.last, found.account
            made = variant(last).compiled({})
            left -= time.monotonic() - began
        chosen = variant(last)
        if self.tune == "measure":
            backend, steps = self.backend("f32"), steps_of(chosen.graph)
            others = {problem: known[problem].others for problem in steps}
            # Where a scheme does not compile, the kernel has another scheme.
            begun = {problem: backend.parsed(backend.problem(problem), made[problem].scheme) for problem in steps}
            best = tuned(kernels, steps, begun, others, lambda f: chosen.files(chosen.compiled(f)), left, self.progress)
            made = chosen.compiled(best)
        return CompiledModel.of_files(chosen.files(made, costs, account if priced(graph) else ""))

    @property
    def function(self) -> str:
        """The name of the C function."""
        stem = Path(self.model).stem if isinstance(self.model, (str, os.PathLike)) else "model"
        return self.name or c_name(stem)


def _backend(threads: int, algorithm: str, cold_weights: bool, dtype: str) -> CpuBackend:
    """The back end of the products of a dtype. Narrow ones have the direct algorithm alone."""
    found = cpu_backend(None, threads, dtype, algorithm if dtype == "f32" else "direct")
    return found.with_cold_weights() if cold_weights else found


def bytes_of_weights(proto: Any) -> int:
    """The size of the arrays of numbers that come with a model."""
    sizes = {number: FORMATS[name].bytes for number, name in DTYPES.items()}
    return sum(prod(array.dims) * sizes.get(array.data_type, 0) for array in proto.graph.initializer)
