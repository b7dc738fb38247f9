"""The error of a model, which a saved one raises too."""

from __future__ import annotations

from collections.abc import Collection


class ModelError(ValueError):
    """A model that cannot be compiled or called so: which node, input or option is wrong, and why."""


def not_open(dim: str, dims: Collection[str]) -> ModelError:
    """The error where a caller binds a dim that is none of the model's open ones."""
    others = f"it has {', '.join(sorted(dims))}" if dims else "all its dims are known"
    return ModelError(f"the model has no open dim {dim!r}: {others}")
