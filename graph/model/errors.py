"""The error of a model, which a saved one raises too."""


class ModelError(ValueError):
    """A model that cannot be compiled or called so: which node, input or option is wrong, and why."""
