"""A file as an ONNX model: `load`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable

import onnx
import onnx.inliner
import onnx.version_converter

from graph.model.language import ModelError

# Operators that onnx's converter writes anew as the standard says. It leaves the slopes of PRelu along another axis.
_CONVERTED = {"Add", "Sub", "Mul", "Div", "Pow", "Gemm", "AveragePool", "BatchNormalization"}


def load(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model in a file, with external weights. Raises ModelError."""
    if not str(path):
        raise ModelError("the name of the model's file is empty: give the path of an ONNX file")
    if "\0" in str(path):
        raise ModelError(f"{str(path)!r:.60} cannot be the name of a file: it has a NUL in it")
    if stat.S_ISFIFO(mode := _mode(path)) or stat.S_ISCHR(mode):  # reading one might wait for ever
        raise ModelError(f"{path} is no regular file: give the path of an ONNX file")
    try:
        # Checked and rewritten without external weights: with them the model may be too large for protobuf.
        small = onnx.load(str(path), load_external_data=False)
        onnx.checker.check_model(str(path), full_check=False)
        model = without_functions(small)
        onnx.load_external_data_for_model(model, os.path.dirname(os.path.abspath(path)))
        return model
    except FileNotFoundError as error:
        of_model = error.filename and os.path.abspath(error.filename) != os.path.abspath(path)
        raise ModelError(f"{path}: {error.filename} is missing" if of_model else f"there is no file {path}") from None
    except IsADirectoryError:
        raise ModelError(f"{path} is a folder: give the path of an ONNX file") from None
    except (OSError, onnx.checker.ValidationError) as error:
        raise ModelError(f"{path} is no valid ONNX model: {_in_a_line(str(error))}") from None
    except ModelError:
        raise
    except Exception as error:  # protobuf's own error has no public name
        raise ModelError(f"{path} is no ONNX file, or it is cut short: {error}") from None


def _mode(path: str | os.PathLike[str]) -> int:
    """The kind of a file; 0 where there is none."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def _in_a_line(told: str) -> str:
    """The message of onnx's checker, after the node that it is about."""
    node = re.search(r"\b[Nn]ame: (.*?) ?OpType: (\w+)", told)
    first = re.sub(r" of node:\s+name: .*? ?OpType: \w+\s+", " ", told.strip()).splitlines()[0]
    return f"node {node[1] or 'without a name'} ({node[2]}): {first}" if node else first


def without_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with each call of its own functions replaced by the function's nodes. Raises ModelError."""
    if not model.functions:
        return model
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:  # onnx's own errors here are of several kinds
        raise ModelError(f"the model's functions cannot be put in place of their calls: {error}") from None


def renewed(model: onnx.ModelProto, changed: Callable[[onnx.NodeProto], bool], oldest: int) -> onnx.ModelProto:
    """A model of an older operator set in the operators of `oldest`, as onnx's own converter writes it.

    changed: whether the meaning of a node has changed. The model stays as it is where no node's has, and where the
    converter does not know one of the nodes: a later message names that node.
    """
    found = {node.op_type for node in model.graph.node if changed(node)}
    if not found or found - _CONVERTED:
        return model
    try:
        return onnx.version_converter.convert_version(model, oldest)
    except Exception:  # onnx's own errors here are of several kinds
        return model
