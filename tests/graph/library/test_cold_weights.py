"""Models whose weights do not stay in a cache: kernels are chosen for weights that come from memory."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import helper, numpy_helper

from cpu.runtime.machine.host import host
from graph import plan
from search.cost.volume import NOTHING, WEIGHTS
from search.flow import choices as flow
from search.tuner.target import COLD_WEIGHTS
from tests.support.models.onnx_models import model


def product():
    w = np.random.default_rng(0).integers(-3, 4, (64, 48)).astype(np.float32)
    return w, model([helper.make_node("MatMul", ["x", "w"], ["y"], "one")], {"x": [8, 64]}, ["y"], {"w": w})


@pytest.mark.parametrize("bytes_, cache", [(4 * 64 * 48, "warm"), (4 * 64 * 48 - 64, COLD_WEIGHTS)])
def test_weights_larger_than_the_last_cache_come_from_memory(monkeypatch, bytes_, cache):
    *inner, last = host().caches
    smaller = replace(host(), caches=(*inner, replace(last, bytes=bytes_)))
    monkeypatch.setattr("graph.plan.host", lambda: smaller)
    w, made = product()
    planned = plan.Plan(made)
    backend = planned.backend("f32")
    assert backend.target.cache == cache and backend.knowledge.cold == (WEIGHTS if cache == COLD_WEIGHTS else NOTHING)
    x = np.arange(8 * 64, dtype=np.float32).reshape(8, 64) % 7
    (y,) = planned.compiled({})(x)
    assert np.array_equal(y, x @ w)


def test_a_worker_lists_for_the_same_place(monkeypatch):
    asked = []
    monkeypatch.setattr(flow, "_listed", lambda backend, problem: asked.append(backend.target.cache) or ((), 0.0))
    flow.listed(
        op="matmul", shape="m=8,n=48,k=64", isa="avx2", threads=1, dtype="f32", algorithm="direct", cache=COLD_WEIGHTS
    )
    assert asked == [COLD_WEIGHTS]


def test_weights_have_the_size_of_their_numbers():
    w, made = product()
    made.graph.initializer.append(numpy_helper.from_array(w.astype(np.int8), "bytes"))
    assert plan.bytes_of_weights(made) == (4 + 1) * w.size
