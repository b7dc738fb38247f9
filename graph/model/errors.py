"""The errors of a model. A saved model raises them too."""

from __future__ import annotations

from collections.abc import Collection


class ModelError(ValueError):
    """A model cannot be compiled, or is called wrongly. The message says which node, input or option, and why."""


def not_open(dim: str, dims: Collection[str]) -> ModelError:
    """The error where a caller binds a dim that is not an open dim of the model. dims: those that have names."""
    others = f"it has {', '.join(sorted(dims))}" if dims else "none of its open dims has a name"
    return ModelError(f"the model has no open dim {dim!r}: {others}")
