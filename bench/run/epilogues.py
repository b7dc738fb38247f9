"""The layers of a suite with an epilogue fused into their stores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tiling.epilogue import fused
from tiling.text.shapes import canonical
from tiling.text.suite import Layer


def followed_by(layers: Iterable[Layer], epilogue: str | None) -> tuple[Layer, ...]:
    """The layers, each followed by `epilogue`; None changes nothing. Raises EpilogueError."""
    return tuple(_followed(layer, epilogue) for layer in layers)


def _followed(layer: Layer, epilogue: str | None) -> Layer:
    if layer.problem is None or epilogue is None:
        return layer
    problem = fused(layer.problem, epilogue)
    return replace(layer, problem=problem, shape=canonical(problem))
