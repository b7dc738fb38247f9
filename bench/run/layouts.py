"""The convolutions of a suite with the axes of x and y in another order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tiling.operators import in_layout
from tiling.text.shapes import canonical
from tiling.text.suite import Layer


def laid_out(layers: Iterable[Layer], layout: str) -> tuple[Layer, ...]:
    """The layers with their convolutions in `layout`."""
    return tuple(_laid_out(layer, layout) for layer in layers)


def _laid_out(layer: Layer, layout: str) -> Layer:
    if layer.problem is None or not layer.problem.windows or layer.problem.layout == layout:
        return layer
    problem = in_layout(layer.problem, layout)
    return replace(layer, problem=problem, shape=canonical(problem))
