"""Layouts that are chosen by times of whole models: which models are timed, what is kept, and what wins."""

import time
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from cpu.runtime.compiler.toolchain import CompileError
from cpu.runtime.processes.worker import CandidateError
from graph.layout_trials import HOPE, faster_layouts
from graph.layouts.choice import RATE, channels_last, priced
from graph.layouts.costs import Costs
from graph.library.times import Times, digest
from graph.plan import AS_PREDICTED, Plan
from graph.variant import Variant
from search.flow import in_models
from tests.support.models.onnx_models import model, whole
from tests.support.models.quantised import NUMBERS, made, numbers
from tiling.problem import Problem
from tiling.program.infer import Sized

node = helper.make_node


def network(channels=8):
    """Five convolutions in a row, one with a residual."""
    nodes, constants, last = [], {}, "x"
    for place in range(5):
        constants[f"w{place}"] = whole(place, channels, channels, 3, 3)
        name = f"a{place}"
        nodes.append(node("Conv", [last, f"w{place}"], [name], name, pads=[1, 1, 1, 1], strides=[1 + place % 2] * 2))
        last = name
        if place == 2:
            nodes.append(node("Add", [name, "a1"], ["sum"], "sum"))
            last = "sum"
    return model(nodes, {"x": [1, channels, 48, 48]}, [last], constants)


class Unwritten(Variant):
    """A variant without kernels."""

    def compiled(self, schemes, progress=None):
        return {}

    def files(self, made, costs=None, layouts=""):
        return {"variant": self}


class Clock:
    """Trials of models that take made-up seconds."""

    def __init__(self, seconds, broken=frozenset()):
        self.seconds, self.broken = seconds, broken
        self.models, self.timings = {}, []

    def placed(self, files):
        self.models[path := Path(str(len(self.models)))] = files["variant"]
        return path

    def dropped(self, folder):
        del self.models[folder]
        self.models[folder.with_name(f"{folder} is gone")] = None

    def timed(self, folders, count):
        variants = [self.models[folder] for folder in folders]
        self.timings.append([variant.last for variant in variants])
        if any(variant.last in self.broken for variant in variants):
            raise CandidateError("crashed with SIGSEGV")
        return [np.tile(self.steps(variant), (count, 1)) for variant in variants]

    def steps(self, variant):
        found = {number: self.seconds(work) for work, numbers in variant.timed.items() for number in numbers}
        return np.array([found[number] for number in sorted(found)])

    def whole(self, variant):
        return float(self.steps(variant).sum())


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """A store of its own."""
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))


class Search:
    """A model, what is predicted of it, and what it takes. taken(work, predicted): seconds."""

    def __init__(self, predicted, taken, broken=frozenset()):
        self.plan = Plan(network())
        self.graph = self.plan.graph({})
        self.predicted, self.times = predicted, Times(self.plan.backend)
        self.costs = Costs(predicted, self.times.seconds)
        self.clock = Clock(lambda work: taken(work, self.guess(work)), broken)

    def guess(self, work):
        return self.predicted(work) if isinstance(work, Problem) else 4 * np.prod(work.inputs[0].shape) / RATE

    def variant(self, last):
        return Unwritten(self.graph, last, None, None, "net")

    def run(self, budget=60.0):
        first = channels_last(self.graph, self.costs)
        trying = self.graph, first, self.costs, self.variant, self.times, self.clock
        found = faster_layouts(*trying, budget, lambda stage: None)
        self.account = found.account
        return found.last

    def every(self):
        """All layouts."""
        free = [n for n, step in enumerate(self.graph.steps) if isinstance(step.work, Problem)]
        return [frozenset(some) for count in range(len(free) + 1) for some in combinations(free, count)]


def first_by_prediction(problem):
    return 1e-3 if problem.layout == "nchw" else 1.1e-3


def last_in_truth(work, predicted):
    if isinstance(work, Problem):
        return 2e-3 if work.layout == "nchw" else 1e-3
    return predicted


def test_layouts_that_are_faster_in_the_model_are_found_and_kept(apart):
    search = Search(first_by_prediction, last_in_truth)
    assert channels_last(search.graph, search.costs) == frozenset()
    found = search.run()
    assert found == max(search.every(), key=len)
    assert [len(each) for each in search.clock.timings] == [1, 2]  # the one by prediction, then both
    compared = "took 2.00 times as long with channels last in 0 steps as with channels last in 5 steps"
    ended = "2 variants of the model timed; the search came to its end. In turns, the whole model"
    assert search.account == f"{ended} {compared}"
    again = Times(search.plan.backend)
    assert again.layouts(search.graph) == found
    assert all(again.seconds(problem) == last_in_truth(problem, 0) for problem in priced(search.graph))


@pytest.mark.parametrize("seed", range(12))
def test_none_takes_less_where_predictions_are_as_true_as_is_hoped(apart, seed):
    random = Random(seed)
    share = HOPE**-0.5  # of two predictions, one may be too large by so much and the other too small
    apart_from_truth, known = {}, {}

    def predicted(problem):
        return known.setdefault(problem, random.uniform(1e-5, 4e-5))

    def taken(work, guess):
        return guess * apart_from_truth.setdefault(work, random.uniform(share**-0.5, share**0.5))

    search = Search(predicted, taken)
    wholes = {last: search.clock.whole(search.variant(last)) for last in search.every()}
    assert wholes[search.run()] <= min(wholes.values()) / 0.99


def test_the_last_word_is_the_whole_models(apart):
    """The steps are faster with channels last, and the model is not."""
    search = Search(first_by_prediction, last_in_truth)
    steps = search.clock.steps
    search.clock.steps = lambda variant: np.append(steps(variant), 1.0 if variant.last else 1e-3)
    assert search.run() == frozenset()
    assert Times(search.plan.backend).layouts(search.graph) == frozenset()


@pytest.mark.parametrize("budget, timings", [(19, [1]), (21, [1, 2])])
def test_a_variant_begins_where_the_budget_has_room_for_as_long_as_the_first_took(apart, monkeypatch, budget, timings):
    search = Search(first_by_prediction, last_in_truth)
    monkeypatch.setattr(time, "monotonic", lambda: 10.0 * len(search.clock.timings))
    search.run(budget)
    assert [len(each) for each in search.clock.timings] == timings


def test_layouts_that_the_compiler_does_not_take_are_left(apart, monkeypatch):
    search = Search(first_by_prediction, last_in_truth)

    def compiled(variant, schemes, progress=None):
        if variant.last:
            raise CompileError("gcc took too much memory")
        return {}

    monkeypatch.setattr(Unwritten, "compiled", compiled)
    assert search.run() == frozenset()


def test_what_was_timed_before_a_budget_ended_is_known_to_the_next_run(apart):
    search = Search(first_by_prediction, last_in_truth)
    assert search.run(budget=1e-9) == frozenset()
    assert search.account == "1 variant of the model timed; the budget ended the search, and the next one goes on"
    assert len(search.clock.timings) == 1 and search.times.layouts(search.graph) is None
    again = Search(first_by_prediction, last_in_truth)
    firsts = [work for work in priced(again.graph) if work.layout == "nchw"]
    assert all(again.times.seconds(problem) == 2e-3 for problem in firsts)
    assert again.run() == max(again.every(), key=len)


def test_layouts_that_crash_are_left(apart, monkeypatch):
    every = max(Search(first_by_prediction, last_in_truth).every(), key=len)
    search = Search(first_by_prediction, last_in_truth, broken={every})
    assert search.run() == frozenset() and search.times.layouts(search.graph) is None
    assert search.account.endswith("; a variant that does not work ended the search: crashed with SIGSEGV")
    broken = Search(first_by_prediction, last_in_truth, broken={frozenset()})
    assert broken.run() == frozenset() and broken.account.startswith("the model could not be timed")


def test_times_of_another_algorithm_and_of_other_numbers_of_threads_do_not_meet(apart):
    search = Search(first_by_prediction, last_in_truth)
    search.run()
    for other in (Plan(network(), threads=2), Plan(network(), algorithm="auto")):
        times = Times(other.backend)
        assert times.layouts(search.graph) is None
        assert all(times.seconds(problem) is None for problem in priced(search.graph))


def test_a_step_that_was_not_reached_has_no_time(apart):
    search = Search(first_by_prediction, last_in_truth)
    problem, *_ = priced(search.graph)
    search.times.keep(problem, [0.0, 1e-3])
    assert search.times.seconds(problem) is None


@pytest.mark.parametrize("kept", ["one two", "1 99", "-1"])
def test_layouts_of_another_model_are_not_taken(apart, kept):
    search = Search(first_by_prediction, last_in_truth)
    in_models.choose_layouts(search.plan.backend("f32"), digest(search.graph), kept)
    assert search.times.layouts(search.graph) is None


def test_weights_do_not_matter_and_shapes_do():
    graph, other = Plan(network()).graph({}), Plan(network(4)).graph({})
    same = network()
    same.graph.initializer[0].raw_data = whole(9, 8, 8, 3, 3).tobytes()
    assert digest(graph) == digest(Plan(same).graph({})) != digest(other)


def test_a_residual_of_another_shape_is_another_model():
    """The product is the same, but only an image of four axes is converted to channels last."""

    def with_residual(*shape):
        nodes = [node("Conv", ["x", "w"], ["a"]), node("Add", ["a", "z"], ["y"])]
        given = model(nodes, {"x": [1, 8, 6, 6], "z": shape}, ["y"], {"w": whole(1, 8, 8, 1, 1)})
        return Plan(given).graph({})

    three, four = with_residual(8, 6, 6), with_residual(1, 8, 6, 6)
    assert [step.work for step in three.steps] == [step.work for step in four.steps]
    assert digest(three) != digest(four) == digest(with_residual(1, 8, 6, 6))


@pytest.mark.isa("avx512vnni")
def test_a_product_that_rounds_its_sums_has_no_time_of_the_map_and_says_its_layouts():
    names = ["x", "s", "zx", "w", "s", "zw", "s", "zx"]
    constants = {"s": np.float32(0.5), "zx": np.uint8(3), "w": numbers(1, "s8", 16, 8, 3, 3), "zw": np.int8(0)}
    given = made([node("QLinearConv", names, ["y"])], {"x": numbers(0, "u8", 1, 8, 6, 6)}, NUMBERS["u8"], constants)
    variant = Unwritten(Plan(given).graph({}), frozenset(), None, None, "net")
    assert [type(step.work) for step in variant.laid.steps] == [Problem, Sized]
    assert [type(step.work) for step in variant.joined.steps] == [Problem] and not variant.timed
    (product,) = (each for each in Plan(given).compiled({}).explained if each.product)
    assert product.layout.count("predicted") == 2


@pytest.mark.slow
def test_a_tuned_model_is_exact_and_says_which_layouts_were_measured(apart):
    x = whole(9, 1, 8, 48, 48)
    (wanted,) = ReferenceEvaluator(network()).run(None, {"x": x})
    first = Plan(network()).compiled({})
    assert all("predicted" in each.layout and "measured" not in each.layout for each in first.explained)
    compiled = Plan(network(), tune="measure", budget=6.0).compiled({})
    assert compiled(x)[0].tolist() == wanted.tolist()
    assert all("measured" in each.layout for each in compiled.explained)
    assert first.layouts == AS_PREDICTED and "of the model timed; " in compiled.layouts
    again = Plan(network()).compiled({})  # measures nothing and takes what is kept
    kept = [(each.work, each.scheme) for each in compiled.explained]
    assert [(each.work, each.scheme) for each in again.explained] == kept
