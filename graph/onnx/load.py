"""A file as an ONNX model: `load`."""

from __future__ import annotations

import os

import onnx

from graph.model.language import ModelError


def load(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model in a file, with external weights. Raises ModelError."""
    try:
        model = onnx.load(str(path))
        onnx.checker.check_model(model, full_check=False)
        return model
    except FileNotFoundError as error:
        raise ModelError(f"{path}: {error.filename or path} is missing") from None
    except (OSError, onnx.checker.ValidationError) as error:
        raise ModelError(f"{path} is no valid ONNX model: {str(error).strip().splitlines()[0]}") from None
    except Exception as error:  # protobuf's own error has no public name
        raise ModelError(f"{path} is no ONNX file, or it is cut short: {error}") from None
