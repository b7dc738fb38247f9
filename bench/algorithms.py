"""A suite's layers for another algorithm than the definition: those that it cannot compute are refused
with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tiling.suite import Layer
from tiling.winograd import refusal


def computed_by(layers: Iterable[Layer], algorithm: str) -> tuple[Layer, ...]:
    """The layers as `algorithm` takes them; "auto" takes what "direct" takes, which is everything."""
    if algorithm != "winograd":
        return tuple(layers)
    return tuple(_transformed(layer) for layer in layers)


def _transformed(layer: Layer) -> Layer:
    refused = refusal(layer.problem) if layer.problem else None
    return replace(layer, problem=None, refused=refused) if refused else layer
