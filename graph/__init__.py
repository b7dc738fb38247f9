"""Whole models: an ONNX file becomes one small C library without dependencies.

    from graph import compile_model, load_model

In reading order: `model/` (data) · `operators/` (a program for each) · `onnx/` (reads a file) · `plan` (all of it) ·
`passes/` (decisions) · `layouts/` (channels) · `variant` (laid out) · `library/` (kernels, C text, files) · `trials`,
`layout_trials`, `tuning` (in whole models) · `calls/` (the callable). Doors: the commands `compile` with its `report`
and `check`, `run`, `conformance` with the tests of `official`; `exported`, `torch_backend`, `onnx_backend`.
"""

from typing import Any

import tilewright_entry  # first: it keeps files of the current folder out of the way

# Each name is loaded when it is first used: a saved model is loaded without what compiles.
_PLACES = {
    "CompiledModel": "graph.calls.compiled",
    "ModelError": "graph.model.language",
    "OpenModel": "graph.calls.open_model",
    "compile_model": "graph.plan",
    "load_model": "graph.calls.compiled",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    """Loads one of the names, such as `load_model`, when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return tilewright_entry.listed(__name__, __all__)
