"""The convolutions of a suite on several images at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tiling.problem import ProblemError
from tiling.text.shapes import canonical, problem_of
from tiling.text.suite import Layer


def batched(suite: str, layers: Iterable[Layer], images: int) -> tuple[Layer, ...]:
    """The layers with `n` = images. Raises ProblemError for matrix products, whose suites hold all sizes."""
    return tuple(_batched(suite, layer, images) for layer in layers)


def _batched(suite: str, layer: Layer, images: int) -> Layer:
    if layer.problem is None:
        return layer
    if not layer.problem.windows:
        raise ProblemError(
            f"--batch is for convolutions: {suite}:{layer.name} is a product, whose suite says its own sizes"
        )
    pairs = dict(pair.split("=") for pair in canonical(layer.problem).split(","))
    shape = ",".join(f"{key}={value}" for key, value in {**pairs, "n": images}.items())
    return replace(layer, shape=shape, problem=problem_of(layer.problem.op, shape))
