"""Models with Winograd's algorithm: where it is taken, and what is said of its errors."""

import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from onnx import helper, shape_inference
from onnx.reference import ReferenceEvaluator

from cpu.runtime.compiler.toolchain import find_compiler
from graph import ModelError, compile_model, load_model, plan
from search.flow import choices as flow
from tests.support.models.onnx_models import model

node = helper.make_node


def network():
    """A 3 x 3 convolution of stride 1 that Winograd's algorithm serves, and one of stride 2 that it does not."""
    random = np.random.default_rng(0)
    constants = {name: random.standard_normal((32, 32, 3, 3)).astype(np.float32) for name in "vw"}
    nodes = [
        node("Conv", ["x", "w"], ["a"], "one", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"], "relu"),
        node("Conv", ["b", "v"], ["y"], "two", strides=[2, 2]),
    ]
    return model(nodes, {"x": [1, 32, 14, 14]}, ["y"], constants)


@pytest.fixture
def winograd_first(monkeypatch):
    """The model's choice is Winograd's algorithm wherever it is a candidate, and then takes no time."""

    def choices(backend, problems, progress):
        found = flow.choices(backend, problems, progress)
        for problem, choice in found.items():
            texts, _ = flow.candidates(backend, [problem])[problem]
            first = next((text for text in texts if text.startswith("F(")), "")
            if first:
                scheme = backend.parsed(backend.problem(problem), first)
                found[problem] = replace(choice, scheme=scheme, seconds=0.0)
        return found

    monkeypatch.setattr(plan, "choices", choices)


@pytest.mark.slow
def test_auto_takes_winograd_where_it_can_be_and_is_near_the_reference(winograd_first):
    compiled = compile_model(network(), algorithm="auto")
    schemes = {each.node: each.scheme for each in compiled.explained if each.product}
    assert schemes["one, relu"].startswith("F(") and not schemes["two"].startswith("F(")
    x = np.random.default_rng(1).standard_normal((1, 32, 14, 14)).astype(np.float32)
    (wanted,) = ReferenceEvaluator(network()).run(None, {"x": x})
    (y,) = compiled(x)
    # Two layers sum 288 products each, with the constants of F(4). A wrong tap would give far more.
    assert np.abs(y - wanted).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.slow
def test_make_builds_a_model_of_two_threads_that_has_winograd(winograd_first, tmp_path):
    """The makefile takes a warning for an error."""
    if not find_compiler().openmp:
        pytest.skip("the compiler has no OpenMP")
    compiled = compile_model(network(), threads=2, algorithm="auto", name="net")
    assert any(each.scheme.startswith("F(") for each in compiled.explained)
    compiled.save(tmp_path)
    (tmp_path / "net.so").unlink()
    subprocess.run(["make", "net.so"], cwd=tmp_path, check=True, capture_output=True)
    x = np.random.default_rng(1).standard_normal((1, 32, 14, 14)).astype(np.float32)
    np.testing.assert_array_equal(load_model(tmp_path)(x), compiled(x))


@pytest.mark.slow
def test_the_command_prints_the_error_beside_it(winograd_first, tmp_path, capsys, monkeypatch):
    from graph.compile import main

    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)

    path = tmp_path / "net.onnx"
    path.write_bytes(shape_inference.infer_shapes(network()).SerializeToString())
    assert main([str(path), "--algorithm", "auto", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["winograd"] == 1 and 0 < facts["error"] < 1e-4
    assert main([str(path), "--algorithm", "auto"]) == 0
    assert "winograd  in 1 kernel; outputs differ from those of direct kernels by " in capsys.readouterr().out
    assert main([str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["winograd"] == 0 and facts["error"] is None


def test_other_algorithms_are_refused():
    with pytest.raises(ModelError, match="algorithm='winograd' must be one of direct, auto"):
        compile_model(network(), algorithm="winograd")
