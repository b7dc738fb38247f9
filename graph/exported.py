"""PyTorch's exported programs as ONNX models."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

from graph.model.language import ModelError

if TYPE_CHECKING:
    import onnx
    from torch.export import ExportedProgram


def exported(program: ExportedProgram) -> onnx.ModelProto:
    """The ONNX model of an exported program, by PyTorch's own exporter. Raises ModelError."""
    import torch

    logs = logging.getLogger("torch.onnx")
    level = logs.level
    try:
        logs.setLevel(logging.ERROR)  # it warns of operators of packages that are not installed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = torch.onnx.export(program, dynamo=True, verbose=False)
    except ModuleNotFoundError as error:
        raise ModelError(f"PyTorch exports models by {error.name}: pip install 'tilewright[torch]'") from None
    except Exception as error:  # whatever the exporter raises, the model cannot be had
        raise ModelError(f"PyTorch cannot export the model to ONNX: {str(error).strip().splitlines()[0]}") from error
    finally:
        logs.setLevel(level)
    assert made is not None
    proto: onnx.ModelProto = made.model_proto
    return proto
