"""onnx's own tests, as its wheel has them. They test operators, small models that PyTorch exported, and networks.

    cases() -> [TestCase, …]    each with its model and its arrays

Newer versions of onnx make the tests of operators in memory; all others are files. Nothing is downloaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
from onnx.backend.test import loader
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

# "real" tests are networks. Their files generate the weights, and there is one output for each.
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
DATA = Path(loader.DATA_DIR)


def cases() -> list[Any]:
    """All tests with their arrays, tests of operators first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the expected values of some tests overflow
        return [case for kind in KINDS for case in _of_kind(kind)]


def given_names(graph: onnx.GraphProto) -> list[str]:
    """The inputs that a call gives. Files of old versions name their weights among the inputs too."""
    weights = {each.name for each in graph.initializer}
    return [value.name for value in graph.input if value.name not in weights]


def _of_kind(kind: str) -> Iterator[Any]:
    for case in sorted(load_model_tests(kind=kind), key=lambda case: case.name):
        if case.data_sets:  # made in memory
            yield case
            continue
        if case.model_dir is not None:
            folder = Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            sets = [_arrays(model, each) for each in sorted(folder.glob("test_data_set_*"))]
        elif case.url:
            path = DATA / "light" / str(case.url).rpartition("/")[2]
            model = onnx.load(path)
            sets = [_of_network(model, path)]
        else:
            continue  # a test without arrays
        yield replace(case, model=model, data_sets=sets)


def _arrays(model: onnx.ModelProto, folder: Path) -> tuple[list[Any], list[Any]]:
    """The inputs and the expected outputs of one folder."""
    sides = (("input", given_names(model.graph), model.graph.input), ("output", None, model.graph.output))
    found = []
    for side, names, values in sides:
        wanted = [value for value in values if names is None or value.name in names]
        files = [folder / f"{side}_{number}.pb" for number in range(len(wanted))]
        found.append([_value(path, value.type) for path, value in zip(files, wanted, strict=True)])
    return found[0], found[1]


def _of_network(model: onnx.ModelProto, path: Path) -> tuple[list[Any], list[Any]]:
    """The input that onnx's own runner makes for a network, and the output beside its file."""
    given = given_names(model.graph)
    x = [Runner.generate_dummy_data(value) for value in model.graph.input if value.name in given]
    outputs = (path.with_name(f"{path.stem}_output_{number}.pb") for number in range(len(model.graph.output)))
    return x, [_value(each, value.type) for each, value in zip(outputs, model.graph.output)]


def _value(path: Path, type_: onnx.TypeProto) -> Any:
    """The tensor, sequence or optional in a file."""
    content = path.read_bytes()
    if type_.WhichOneof("value") == "sequence_type":
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if type_.WhichOneof("value") == "optional_type":
        return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(content))
