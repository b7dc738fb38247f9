"""Models whose dims are open: a call binds them, and compiles for its shapes once."""

import threading

import numpy as np
import pytest
from onnx import helper, shape_inference
from onnx.reference import ReferenceEvaluator

from graph import CompiledModel, ModelError, OpenModel, compile_model, plan
from tests.support.models.onnx_models import model, residual_network, whole

node = helper.make_node


@pytest.fixture
def compilations(monkeypatch):
    """The dims that models were compiled for."""
    found, before = [], plan.Plan.compiled

    def compiled(self, dims):
        found.append(dict(dims))
        return before(self, dims)

    monkeypatch.setattr(plan.Plan, "compiled", compiled)
    return found


def adding(first, second):
    return model([node("Add", ["a", "b"], ["y"], "add")], {"a": first, "b": second}, ["y"])


@pytest.mark.slow
def test_each_shape_is_exact_and_compiled_once(compilations):
    network = compile_model(residual_network())
    assert isinstance(network, OpenModel) and compilations == []
    for batch in (1, 3, 1, 3):
        x = whole(batch, batch, 3, 16, 16)
        (wanted,) = ReferenceEvaluator(residual_network()).run(None, {"x": x})
        assert network(x)[0].tolist() == wanted.tolist()
        assert network.run({"x": x})["y"].tolist() == network({"x": x})[0].tolist() == wanted.tolist()
    assert compilations == [{"batch": 1}, {"batch": 3}]


@pytest.mark.slow
def test_dims_that_are_given_are_bound_ahead(compilations):
    assert isinstance(compile_model(residual_network(), dims={"batch": 2}), CompiledModel)
    some = compile_model(adding(["n", "m"], ["n", 1]), dims={"n": 2})
    assert isinstance(some, OpenModel)
    assert some(whole(0, 2, 5), whole(1, 2, 1))[0].tolist() == (whole(0, 2, 5) + whole(1, 2, 1)).tolist()
    assert compilations[1:] == [{"n": 2, "m": 5}]


@pytest.mark.slow
def test_dims_without_names_take_the_whole_shape(compilations):
    some = compile_model(adding([None, 3], ["n"]))
    assert some(whole(0, 2, 3), whole(1, 3))[0].tolist() == (whole(0, 2, 3) + whole(1, 3)).tolist()
    assert compilations == [{"a": (2, 3), "n": 3}]


def test_calls_of_several_threads_compile_once(compilations):
    some, x, found = compile_model(adding(["n"], ["n"])), whole(0, 7), []
    threads = [threading.Thread(target=lambda: found.append(some(x, x)[0].tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == 4 * [(2 * x).tolist()] and compilations == [{"n": 7}]


def test_shapes_that_contradict_are_one_sentence():
    some = compile_model(adding(["n", 3], ["n", 3]))
    with pytest.raises(ModelError, match="dim 'n' is 2 in a and 4 in b"):
        some(whole(0, 2, 3), whole(1, 4, 3))
    with pytest.raises(ModelError, match="a has 1 axes, and the model takes 2"):
        some(whole(0, 2), whole(1, 2, 3))
    with pytest.raises(ModelError, match=r"a has shape \(2, 4\), and the model was compiled for \(2, 3\)"):
        some(whole(0, 2, 4), whole(1, 2, 3))
    with pytest.raises(ModelError, match="1 array is given for 2 inputs: a, b"):
        some(whole(0, 2, 3))
    with pytest.raises(ModelError, match="no open dim 'm': it has n"):
        compile_model(adding(["n"], ["n"]), dims={"m": 1})


def test_the_command_binds_dims_by_its_arrays(tmp_path, capsys):
    from graph.run import main

    path = tmp_path / "adding.onnx"
    path.write_bytes(shape_inference.infer_shapes(adding(["n"], ["n"])).SerializeToString())
    np.save(tmp_path / "a.npy", whole(0, 5))
    assert main([str(path)]) == 2
    assert capsys.readouterr().err == "0 arrays are given for 2 inputs: a, b: give --input FILE.npy for each\n"
    assert main([str(path), "--input", str(tmp_path / "a.npy"), "--input", str(tmp_path / "a.npy")]) == 0
    assert "y: f32[5]" in capsys.readouterr().out
