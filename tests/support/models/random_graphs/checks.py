"""Random models, and what is compiled of them, beside onnx's reference."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from cpu.passes.program import bind_tasks
from graph import compile_model, plan
from graph.library.build import fused
from graph.onnx.read import read
from graph.passes import by_image, in_place
from graph.passes.by_image import image_by_image
from graph.passes.in_place import joined_in_place
from tests.support.models.choices import choices_with, laid_out
from tests.support.models.onnx_reference import onnx_outputs
from tests.support.models.random_graphs.graphs import Drawn, random_graph
from tests.support.models.steps import outputs_of
from tiling.problem import Problem


def times(random: Random) -> Callable[[Problem], float]:
    """Made-up times, by which some convolutions want their channels first and others last."""
    known: dict[Problem, float] = {}
    return lambda problem: known.setdefault(problem, random.random() * 1e-3)


def check(found: list[np.ndarray], drawn: Drawn, seed: int) -> None:
    for value, y, other in zip(drawn.model.graph.output, found, onnx_outputs(drawn.model, drawn.feeds), strict=True):
        np.testing.assert_array_equal(y, other, err_msg=f"output {value.name} of seed {seed}")


def check_steps(seed: int) -> None:
    """What reading, fusing, grouping, layouts and joins make of a model, without a compiler."""
    drawn = random_graph(Random(seed), 10)
    model = joined_in_place(laid_out(fused(read(drawn.model)), times(Random(seed))))
    check(outputs_of(model, drawn.feeds), drawn, seed)
    # A memory this slow makes every loop over images worth it whose arrays leave a cache of 4 KB.
    check(outputs_of(image_by_image(model, 4096, 1.0, 1), drawn.feeds), drawn, seed)


def check_compiled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, random = random_graph(Random(seed), 8), Random(seed)
    monkeypatch.setattr(plan, "choices", choices_with(times(random)))
    monkeypatch.setattr(in_place, "ALIGNMENT", random.choice((64, 4)))
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 64)  # so that small loops are shared among threads too
    threads = random.choice((1, 2))
    monkeypatch.setattr(by_image, "_CALL", random.choice((-1.0, 1.0)))  # every loop over images is worth it, or none
    model = compile_model(drawn.model, threads=threads)
    for _ in range(2):  # the arena holds what the first call left
        check(model(*(drawn.feeds[array.name] for array in model.inputs)), drawn, seed)
