"""The layers of a suite for another algorithm. A layer that the algorithm cannot compute carries the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tiling.rewrite.winograd.algorithm import unsupported_reason
from tiling.text.suite import Layer


def computed_by(layers: Iterable[Layer], algorithm: str) -> tuple[Layer, ...]:
    """The layers for `algorithm`. "direct" and "auto" compute every layer."""
    if algorithm != "winograd":
        return tuple(layers)
    return tuple(_transformed(layer) for layer in layers)


def _transformed(layer: Layer) -> Layer:
    reason = unsupported_reason(layer.problem) if layer.problem else None
    return replace(layer, problem=None, unsupported=reason) if reason else layer
