"""Kernels for calls that find their arrays in memory: how they are timed, predicted and kept."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from cpu.kernel.callable import build
from cpu.runtime.machine.host import MachineError
from cpu.runtime.machine.timer import time_calls, time_cold_calls
from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import isa_named
from search import generate_conv, generate_matmul
from search.cost.predict import Predictor
from search.cost.volume import EVERYTHING, NOTHING
from search.evaluator import target_of
from search.evaluator.cpu.backend import cpu_backend
from search.space.winograd import predicted, winograd_candidates
from search.tuner import store
from search.tuner.target import Wanted
from tests.support.search.model_cases import MACHINE, layer
from tests.support.search.searching import SHAPE, conv
from tiling.machine import Timing
from tiling.operators import matmul
from tiling.problem import ProblemError
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape


def made(m, n, k, scheme):
    """A kernel and its arrays, all ones."""
    kernel = build(parse(matmul(m=m, n=n, k=k), scheme), isa_named("portable"))
    return kernel, np.ones((m, k), np.float32), kernel.pack(np.ones((k, n), np.float32)).data, kernel.empty()


def test_cold_calls_compute_the_same():
    kernel, a, packed, c = made(64, 64, 256, "T(m,16) T(n,16) S(c) T(k,256) U(m,4) V(n,4)")
    c[...] = np.nan
    assert time_cold_calls(kernel.address, a, packed, c, seconds=0, most=1)[0] > 0
    assert np.all(c == 256)
    assert len(time_cold_calls(kernel.address, a, packed, c, seconds=1e6, most=3)) == 3
    assert len(time_cold_calls(kernel.address, a, packed, c, seconds=1e-9, most=3)) == 1


def test_cold_calls_find_nothing_in_a_cache():
    """A kernel that does little but read its weights, 1 MB, each once."""
    kernel, *arrays = made(1, 32, 1 << 13, "S(c) T(k,8192) U(n,8) V(n,4)")
    warm = time_calls(kernel.address, *arrays, seconds=0.05, samples=21)
    cold = time_cold_calls(kernel.address, *arrays, seconds=0.05, most=21)
    assert min(cold) > min(warm)


def test_a_cpu_that_cannot_empty_its_caches_says_so(monkeypatch):
    kernel, *arrays = made(4, 4, 4, "S(c) T(k,4) U(m,4) V(n,4)")
    with pytest.raises(ValueError, match="most=0"):
        time_cold_calls(kernel.address, *arrays, most=0)

    class Library:
        @staticmethod
        def tw_time_cold(*_):
            return 0

    monkeypatch.setattr("cpu.runtime.machine.timer._library", lambda *_: Library)
    with pytest.raises(MachineError, match="no instruction that empties its caches"):
        time_cold_calls(kernel.address, *arrays)


def test_a_cold_call_moves_everything_from_memory():
    problem = matmul(m=64, n=64, k=64)
    scheme = parse(problem, "T(m,16) T(n,4) S(c) T(k,64) U(m,4) V(n,16)")
    warm, cold = (
        Predictor(problem, MACHINE, lambda tile: 0.9, cold=cold).predict(scheme) for cold in (NOTHING, EVERYTHING)
    )
    assert warm.traffic[-1].total == 0
    assert cold.traffic[-1].total == 4 * (sum(t.elements for t in problem.tensors) + problem.output.elements)
    assert cold.seconds > warm.seconds


def test_winograd_is_priced_cold_too():
    """By all that a cold call reads and writes in memory besides: x and y once, the transformed weights once."""
    catalog = Catalog("test", "avx512f", "matmul")
    warm, cold = (winograd_candidates(layer("R2"), MACHINE, catalog, 1, cold) for cold in (NOTHING, EVERYTHING))
    known = {found.scheme.text: found.prediction for found in warm}
    both = [(known[found.scheme.text], found.prediction) for found in cold if found.scheme.text in known]
    assert both and all(later.movement > first.movement and later.seconds > first.seconds for first, later in both)
    again = predicted([found.scheme for found in cold], MACHINE, catalog, 1, EVERYTHING)
    assert [found.prediction for found in again] == [found.prediction for found in cold]
    weights = 4 * cold[0].scheme.alpha ** 2 * layer("R2").extents["c"] * cold[0].scheme.channels
    first = next(found for found in warm if found.scheme.text == cold[0].scheme.text)
    parts = -(-layer("R2").extents["k"] // cold[0].scheme.channels)
    expected = parts * weights / MACHINE.memory_bandwidth
    assert cold[0].prediction.movement - first.prediction.movement == pytest.approx(expected)


def test_each_has_its_own_choices():
    warm, cold = cpu_backend("portable").target, target_of("cpu", Wanted(isa="portable", cache="cold"))
    keys = [target.key(parse_shape(SHAPE), "a gcc of its own") for target in (warm, cold)]
    assert [key.conditions for key in keys] == ["", "cold caches"]
    store.choose(keys[1], "measure", "one", Timing((1.0,), 2.0))
    assert store.choice(keys[0], "measure") is None and store.choice(keys[1], "measure").scheme == "one"


@pytest.mark.parametrize(
    "generate, shape", [(generate_conv, dict(c=4, w=4, k=4, s=1)), (generate_matmul, dict(m=4, n=4, k=4))]
)
def test_another_cache_or_target_is_refused(generate, shape):
    with pytest.raises(ProblemError, match="cache='hot' must be one of warm, cold"):
        generate(**shape, cache="hot")
    with pytest.raises(ProblemError, match="cache='cold' means nothing to target='cuda'"):
        generate(**shape, cache="cold", target="cuda")


@pytest.mark.slow
def test_the_report_says_what_was_measured(capsys):
    text = "R(k) T(h,12) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,4)"
    command = ("--shape", SHAPE, "--isa", "portable", "--scheme", text)
    assert conv(*command, "--cache", "cold") == 0
    said = capsys.readouterr().out
    assert "1 thread, cold caches" in said and "--cache cold" in said
    assert conv(*command, "--cache", "cold", "--json") == 0
    assert json.loads(capsys.readouterr().out)["cache"] == "cold"
    assert conv(*command, "--json") == 0
    assert json.loads(capsys.readouterr().out)["cache"] == "warm"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of a machine that is busy now
def test_a_cold_search_finds_and_keeps_a_kernel_of_its_own():
    shape = dict(c=4, h=6, w=9, k=8, r=1, s=1, isa="portable")
    kernel = generate_conv(**shape, tune="measure", budget=2.0, cache="cold")
    backend = cpu_backend("portable")
    cold = target_of("cpu", Wanted(isa="portable", cache="cold")).key(
        kernel.problem, backend.key(kernel.problem).compiler
    )
    assert store.choice(backend.key(kernel.problem), "measure") is None
    assert store.choice(cold, "measure").scheme == kernel.scheme.text
    assert np.all(kernel(np.ones((1, 6, 9, 4), np.float32), np.ones((8, 4, 1, 1), np.float32)) == 4)


@pytest.mark.slow
def test_the_time_of_a_cold_kernel_is_that_of_cold_calls(monkeypatch):
    kernel = generate_conv(c=4, h=6, w=6, k=8, r=1, s=1, isa="portable", threads=1, cache="cold")
    asked = []
    monkeypatch.setattr(
        "cpu.kernel.callable.time_cold_calls",
        lambda *arrays, **how: asked.append(how) or time_cold_calls(*arrays, **how),
    )
    for each in (kernel, pickle.loads(pickle.dumps(kernel))):
        before = len(asked)
        each.timing = None
        assert each.timing.seconds > 0 and len(asked) > before
    warm = generate_conv(c=4, h=6, w=6, k=8, r=1, s=1, isa="portable", threads=1)
    before = len(asked)
    assert warm.timing.seconds > 0 and len(asked) == before
