"""Calls with arrays that are bound once, copies of models, and outputs that overlap other arrays."""

import copy
import pickle

import numpy as np
import pytest
from onnx import helper

from graph import ModelError, compile_model
from tests.support.models.onnx_models import model, whole

node = helper.make_node


def test_outputs_that_overlap_another_array_are_refused():
    compiled = compile_model(model([node("Transpose", ["x"], ["y"], "turn", perm=[1, 0])], {"x": [4, 4]}, ["y"]))
    x = whole(0, 4, 4)
    with pytest.raises(ModelError, match="overlaps an input"):
        compiled(x, out=[x])
    memory = np.zeros((12, 4), np.float32)
    for row in (1, 2, 4, 6, 7):
        with pytest.raises(ModelError, match="overlaps an input"):
            compiled(memory[4:8], out=[memory[row : row + 4]])
    memory[4:8] = x
    memory.flags.writeable = False
    only_read = memory[4:8]
    memory.flags.writeable = True
    for row in (0, 8):
        y = memory[row : row + 4]
        assert compiled(only_read, out=[y])[0].tolist() == x.T.tolist() == y.tolist()


def test_a_bound_call_reads_what_its_arrays_hold_then():
    compiled = compile_model(model([node("Transpose", ["x"], ["y"], "turn", perm=[1, 0])], {"x": [4, 4]}, ["y"]))
    x, y = whole(0, 4, 4), np.empty((4, 4), np.float32)
    call = compiled.bound({"x": x}, out=[y])
    for seed in range(2):
        x[...] = whole(seed, 4, 4)
        assert call()[0] is y and y.tolist() == x.T.tolist()
    owned = compiled.bound(x)
    del compiled
    found = owned().pop()
    assert found.tolist() == y.tolist() and found is not y
    x[...] = 7
    assert owned()[0] is found and found.tolist() == x.tolist()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_of_a_model_and_of_a_bound_call_are_their_own(copied):
    weights = {"w": whole(1, 4, 4)}
    compiled = compile_model(model([node("MatMul", ["x", "w"], ["y"], "n")], {"x": [4, 4]}, ["y"], weights))
    x = whole(0, 4, 4)
    call = compiled.bound(x)
    model_again, call_again = copied(compiled), copied(call)
    before = (x @ weights["w"]).tolist()
    x[...] = 0
    assert call()[0].tolist() == np.zeros((4, 4)).tolist()
    assert call_again()[0].tolist() == before
    assert model_again(x + 1)[0].tolist() == compiled(x + 1)[0].tolist() != before


@pytest.mark.parametrize(
    "x, said",
    [
        (whole(0, 4, 4).T, "would be copied"),
        (whole(0, 4, 4).tolist(), "x is float64"),
        (whole(0, 4, 5), r"x has shape \(4, 5\)"),
    ],
)
def test_what_cannot_be_bound_is_refused(x, said):
    compiled = compile_model(model([node("Transpose", ["x"], ["y"], "turn", perm=[1, 0])], {"x": [4, 4]}, ["y"]))
    with pytest.raises(ModelError, match=said):
        compiled.bound(x)
    with pytest.raises(ModelError, match="overlaps"):
        compiled.bound(y := whole(0, 4, 4), out=[y])
