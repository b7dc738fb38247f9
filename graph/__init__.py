"""Whole models: an ONNX file becomes one small C library without dependencies.

    from graph import compile_model, load_model

In reading order: `model/` (data) · `operators/` (a program for each) · `onnx/` (reads a file) · `kernels` (by
`search`) · `places`, `steps`, `library` (C text) · `build` (files) · `compiled` (the callable). Doors: the commands
`compile`, `run`, `conformance`; `exported`, `torch_backend`, `onnx_backend`.
"""

import tilewright_entry  # noqa: F401 - first: it keeps files of the current folder out of the way
from graph.build import compile_model
from graph.compiled import CompiledModel, load_model
from graph.model.language import ModelError

__all__ = ["CompiledModel", "ModelError", "compile_model", "load_model"]
