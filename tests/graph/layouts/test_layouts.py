"""Channels first or last: the numbers stay the same, and the sum of the times is the least that there is."""

from dataclasses import replace
from itertools import product as every_choice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model, plan
from graph.layouts.choice import RATE, channels_last
from graph.layouts.costs import Costs
from graph.layouts.cut import Cut
from graph.layouts.explain import renamed, told
from graph.layouts.rewrite import with_layouts
from graph.library.build import fused
from graph.onnx.read import read
from tests.support.models.choices import choices_with, laid_out
from tests.support.models.onnx_models import model, residual_network, whole
from tiling.epilogue import fused as with_epilogue
from tiling.operators import conv2d, in_layout
from tiling.problem import Problem

node = helper.make_node


def last_is_faster(problem):
    return 1.0 if problem.layout == "nhwc" else 2.0


def first_is_faster(problem):
    return 3.0 - last_is_faster(problem)


def layouts(given, seconds, dims=None):
    """The layout of each convolution, and how many steps only lay arrays out."""
    steps = laid_out(fused(read(given, dims or {})), seconds).steps
    convolutions = [s.work.layout for s in steps if isinstance(s.work, Problem) and s.work.op != "matmul"]
    return convolutions, sum(step.node == "layout" for step in steps)


def mixed(outputs):
    """Whatever reads images: pooling, concatenation, padding, sums over channels, slices, scales by channel."""
    constants = {"w": whole(1, 8, 3, 3, 3), "v": whole(2, 8, 8, 1, 1), "u": whole(3, 4, 16, 3, 3)}
    constants |= {
        "full": whole(4, 2, 8, 6, 6),
        "part": whole(5, 8, 6, 6),
        "starts": np.array([1, 0]),
        "ends": np.array([5, 9]),
    }
    constants |= {"axes": np.array([1, 3]), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "channels": np.array([1])}
    nodes = [
        node("Conv", ["x", "w"], ["a"], "a", pads=[1, 1, 1, 1]),
        node("Add", ["a", "full"], ["b"], "b"),
        node("Conv", ["b", "v"], ["c0"], "c0"),
        node("Add", ["c0", "part"], ["c"], "c"),
        node("MaxPool", ["c"], ["d"], "d", kernel_shape=[2, 2]),
        node("AveragePool", ["b"], ["e"], "e", kernel_shape=[2, 2]),
        node("Concat", ["d", "e"], ["f"], "f", axis=1),
        node("Pad", ["f", "pads"], ["g"], "g"),
        node("Conv", ["g", "u"], ["h"], "h"),
        node("GlobalAveragePool", ["h"], ["i"], "i"),
        node("Mul", ["h", "i"], ["j"], "j"),
        node("ReduceSum", ["j", "channels"], ["k"], "k"),
        node("Slice", ["c", "starts", "ends", "axes"], ["l"], "l"),
        node("Flatten", ["l"], ["m"], "m"),
        node("Transpose", ["h"], ["t"], "t", perm=[0, 3, 1, 2]),
    ]
    return model(nodes, {"x": [2, 3, 6, 6]}, outputs, constants)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("seconds", [last_is_faster, first_is_faster])
@pytest.mark.parametrize("outputs", [("j", "k", "m", "t"), ("h", "c"), ("g",)], ids=str)
def test_the_numbers_are_the_same_in_each_layout(monkeypatch, seconds, outputs):
    monkeypatch.setattr(plan, "choices", choices_with(seconds))
    given = mixed(outputs)
    x = whole(6, 2, 3, 6, 6)
    wanted = ReferenceEvaluator(given).run(None, {"x": x})
    for y, other in zip(compile_model(given)(x), wanted, strict=True):
        assert y.tolist() == other.tolist()


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("seconds", [last_is_faster, first_is_faster])
@pytest.mark.parametrize("outputs", [("d", "i"), ("f", "g")], ids=str)
def test_volumes_have_the_same_numbers_in_each_layout(monkeypatch, seconds, outputs):
    monkeypatch.setattr(plan, "choices", choices_with(seconds))
    constants = {"w": whole(1, 6, 3, 2, 3, 3), "v": whole(2, 6, 6, 1, 1, 1), "u": whole(3, 4, 12, 2, 1, 2)}
    constants |= {"b": whole(4, 6), "part": whole(5, 6, 1, 1, 1)}
    nodes = [
        node("Conv", ["x", "w", "b"], ["a"], "a", pads=[1, 1, 1, 0, 1, 1], strides=[1, 1, 2]),
        node("Relu", ["a"], ["c"], "c"),
        node("Conv", ["c", "v"], ["e"], "e"),
        node("Add", ["e", "c"], ["d"], "d"),
        node("Mul", ["d", "part"], ["f"], "f"),
        node("Concat", ["f", "c"], ["g"], "g", axis=1),
        node("MaxPool", ["g"], ["h"], "h", kernel_shape=[2, 2, 1]),
        node("Conv", ["h", "u"], ["i"], "i", dilations=[1, 1, 2], auto_pad="SAME_UPPER"),
    ]
    given = model(nodes, {"x": [2, 3, 4, 5, 6]}, list(outputs), constants)
    assert set(layouts(given, seconds)[0]) == {"nhwc" if seconds is last_is_faster else "nchw"}
    x = whole(6, 2, 3, 4, 5, 6)
    for y, wanted in zip(compile_model(given)(x), ReferenceEvaluator(given).run(None, {"x": x}), strict=True):
        assert y.tolist() == wanted.tolist()


@pytest.mark.parametrize("attributes", [{"pads": [-1, 0, 0, 1, 0, 0]}, {"group": 3}], ids=str)
def test_volumes_that_have_no_microkernels_are_computed_by_rules(attributes):
    weights = whole(1, 6, 3 // attributes.get("group", 1), 2, 3, 3)
    given = model([node("Conv", ["x", "w"], ["y"], "y", **attributes)], {"x": [1, 3, 4, 3, 5]}, ["y"], {"w": weights})
    x = whole(2, 1, 3, 4, 3, 5)
    cut = x[:, :, 1:] if "pads" in attributes else x
    plain = {"pads": [0, 0, 0, 1, 0, 0]} if "pads" in attributes else attributes
    other = model([node("Conv", ["x", "w"], ["y"], "y", **plain)], {"x": list(cut.shape)}, ["y"], {"w": weights})
    (y,), (wanted,) = compile_model(given)(x), ReferenceEvaluator(other).run(None, {"x": cut})
    assert y.tolist() == wanted.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 3])
def test_an_image_that_is_seen_in_another_shape_is_laid_out_from_that_one(monkeypatch, channels):
    monkeypatch.setattr(plan, "choices", choices_with(last_is_faster))
    constants = {"shape": np.array([2, channels, 6, 8]), "w": whole(1, 5, channels, 3, 3)}
    nodes = [node("Reshape", ["x", "shape"], ["r"], "seen"), node("Conv", ["r", "w"], ["a"], "a")]
    nodes += [node("Relu", ["x"], ["b"], "b"), node("Reshape", ["b", "shape"], ["s"], "again")]
    nodes += [node("Conv", ["s", "w"], ["c"], "c")]
    given = model(nodes, {"x": [2, 6, 8, channels]}, ["a", "c"], constants)
    x = whole(2, 2, 6, 8, channels)
    for y, wanted in zip(compile_model(given)(x), ReferenceEvaluator(given).run(None, {"x": x}), strict=True):
        assert y.tolist() == wanted.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("seen", [(2, 6, 20), (2, 4, 6, 5), (12, 4, 5), (2, 24, 5, 1), (1, 2, 6, 20)], ids=str)
def test_a_map_may_see_an_image_in_another_shape(monkeypatch, seen):
    """It is part of the convolution, whose array then has that shape, and so has what is added."""
    monkeypatch.setattr(plan, "choices", choices_with(last_is_faster))
    constants = {"w": whole(1, 6, 3, 3, 3), "v": whole(2, 5, 6, 1, 1), "shape": np.array(seen)}
    constants["back"] = np.array([2, 6, 4, 5])
    nodes = [
        node("Conv", ["x", "w"], ["a"], "a"),
        node("Reshape", ["a", "shape"], ["b"], "b"),
        node("Add", ["b", "z"], ["c"], "c"),
        node("Relu", ["c"], ["d"], "d"),
        node("Reshape", ["d", "back"], ["e"], "e"),
        node("Conv", ["e", "v"], ["y"], "y"),
    ]
    given = model(nodes, {"x": [2, 3, 6, 7], "z": list(seen)}, ["d", "y"], constants)
    feeds = {"x": whole(3, 2, 3, 6, 7), "z": whole(4, *seen)}
    for outputs in (["d", "y"], ["y"]):
        kept = model(nodes, {"x": [2, 3, 6, 7], "z": list(seen)}, outputs, constants)
        for y, wanted in zip(compile_model(kept)(feeds), ReferenceEvaluator(given).run(outputs, feeds), strict=True):
            assert y.tolist() == wanted.tolist()


@pytest.mark.slow
def test_a_matrix_product_reads_and_writes_images_as_they_are(monkeypatch):
    monkeypatch.setattr(plan, "choices", choices_with(last_is_faster))
    constants = {"w": whole(1, 8, 3, 1, 1), "m": whole(2, 5, 7), "v": whole(3, 4, 8, 3, 3)}
    nodes = [
        node("Conv", ["x", "w"], ["a"], "a"),
        node("MatMul", ["a", "m"], ["b"], "b"),
        node("Conv", ["b", "v"], ["c"], "c"),
        node("Relu", ["c"], ["y"], "y"),
    ]
    given = model(nodes, {"x": [2, 3, 6, 5]}, ["y"], constants)
    assert layouts(given, last_is_faster) == (["nhwc", "nhwc"], 4)
    x = whole(4, 2, 3, 6, 5)
    (y,), (wanted,) = compile_model(given)(x), ReferenceEvaluator(given).run(None, {"x": x})
    assert y.tolist() == wanted.tolist()


def test_convolutions_that_are_faster_with_channels_last_get_them():
    found, conversions = layouts(residual_network(), last_is_faster, {"batch": 2})
    # One image comes from the caller. The pooled one has a single pixel, which lies the same either way.
    assert found == ["nhwc"] * 3 and conversions == 1


def test_where_channels_first_are_as_fast_nothing_changes():
    nodes = [
        node("Conv", ["x", "w"], ["a"], "a"),
        node("Relu", ["a"], ["b"], "b"),
        node("Conv", ["b", "w"], ["y"], "y"),
    ]
    given = fused(read(model(nodes, {"x": [1, 8, 16, 16]}, ["y"], {"w": whole(1, 8, 8, 1, 1)})))
    assert laid_out(given, lambda problem: 1.0) is given
    assert laid_out(given, first_is_faster) is given


def test_windows_are_read_where_channels_last_make_vectors_of_them():
    nodes = [
        node("Conv", ["x", "w"], ["a"], "a"),
        node("MaxPool", ["a"], ["b"], "b", kernel_shape=[3, 3], strides=[2, 2]),
    ]
    nodes += [node("Conv", ["b", "w"], ["y"], "y")]
    given = model(nodes, {"x": [1, 64, 40, 40]}, ["y"], {"w": whole(1, 64, 64, 1, 1)})
    assert layouts(given, lambda problem: 1.0) == (["nhwc", "nchw"], 2)


def test_a_transposition_that_the_layout_makes_is_no_step(monkeypatch):
    """A file whose images have their channels last has them first only for its convolutions."""
    nodes = [
        node("Transpose", ["x"], ["first"], perm=[0, 3, 1, 2]),
        node("Conv", ["first", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Transpose", ["a"], ["last"], perm=[0, 2, 3, 1]),
        node("Reshape", ["last", "shape"], ["y"]),
        node("Add", ["y", "y"], ["z"]),
    ]
    given = model(nodes, {"x": [2, 9, 8, 3]}, ["z"], {"w": whole(1, 16, 3, 3, 3), "shape": np.array([2, 72, 16])})
    chosen = laid_out(fused(read(given, {})), lambda problem: 1.0)
    assert [step.node.partition(":")[0] for step in chosen.steps] == ["1", "4"]
    monkeypatch.setattr(plan, "choices", choices_with(last_is_faster))
    x = whole(2, 2, 9, 8, 3)
    (y,), (wanted,) = compile_model(given)(x), ReferenceEvaluator(given).run(None, {"x": x})
    assert y.tolist() == wanted.tolist()


def test_a_gain_below_the_cost_of_the_conversions_is_left():
    given = model([node("Conv", ["x", "w"], ["y"], "a")], {"x": [1, 8, 16, 16]}, ["y"], {"w": whole(1, 8, 8, 1, 1)})
    moving = 2 * 4 * 8 * 16 * 16 / RATE
    for share, expected in ((0.9, (["nchw"], 0)), (1.1, (["nhwc"], 2))):
        assert layouts(given, lambda p, s=share: 0.0 if p.layout == "nhwc" else s * moving) == expected


def test_a_conversion_for_two_convolutions_costs_once():
    nodes = [node("Conv", ["x", weights], [name], name) for name, weights in ("aw", "bv")]
    given = model(nodes, {"x": [1, 8, 16, 16]}, ["a", "b"], {"w": whole(1, 8, 8, 1, 1), "v": whole(2, 8, 8, 1, 1)})
    moving = 4 * 8 * 16 * 16 / RATE
    for share, expected in ((1.4, (["nchw"] * 2, 0)), (1.6, (["nhwc"] * 2, 3))):
        assert layouts(given, lambda p, s=share: 0.0 if p.layout == "nhwc" else s * moving) == expected


def test_an_array_of_the_epilogue_lies_as_the_output_does():
    problem = with_epilogue(conv2d(n=2, c=3, h=5, w=4, k=6, r=1, s=1, layout="nchw"), "relu(y + b) * z + p[k,h,w]")
    after = in_layout(problem, "nhwc")
    assert after.layout == "nhwc" and str(after.epilogue) == "relu(y+b[k])*z[n,h,w,k]+p[h,w,k]"
    assert [array.shape for array in after.epilogue_arrays] == [(6,), (2, 5, 4, 6), (5, 4, 6)]
    assert in_layout(after, "nchw") == replace(problem)


costs = st.integers(0, 20)


@pytest.mark.slow
@given(st.data(), st.integers(1, 5))
def test_the_choice_is_the_least_sum(data, count):
    sides = [(data.draw(costs), data.draw(costs)) for _ in range(count)]
    pairs = {
        (i, j): (data.draw(costs), data.draw(costs)) for i in range(count) for j in range(i) if data.draw(st.booleans())
    }
    steps = st.lists(st.integers(0, count - 1), min_size=1)
    converted = data.draw(st.lists(st.tuples(st.integers(0, count + 1), steps, costs, costs), max_size=3))
    cut = Cut(count)
    for step, (first, last) in enumerate(sides):
        cut.costs(step, first=first * 1e-6, last=last * 1e-6)
    for (writer, reader), (to_first, to_last) in pairs.items():
        cut.differs(writer, reader, to_first=to_first * 1e-6, to_last=to_last * 1e-6)
    for writer, readers, to_first, to_last in converted:
        place = writer if writer < count else cut.first
        cut.converted(place, readers, to_first=to_first * 1e-6, to_last=to_last * 1e-6)

    def total(choice):
        found = sum(sides[step][is_last] for step, is_last in enumerate(choice))
        found += sum(cost[choice[j]] for (i, j), cost in pairs.items() if choice[i] != choice[j])
        for writer, readers, *cost in converted:
            is_last = writer < count and choice[writer]
            found += cost[not is_last] * any(choice[reader] != is_last for reader in readers)
        return found

    every = {choice: total(choice) for choice in every_choice((False, True), repeat=count)}
    found = tuple(step in cut.last() for step in range(count))
    least = [choice for choice, cost in every.items() if cost == min(every.values())]
    assert found in least and sum(found) == min(map(sum, least))
    decided = data.draw(st.dictionaries(st.integers(0, count - 1), st.booleans()))
    left = [cost for choice, cost in every.items() if all(choice[step] == last for step, last in decided.items())]
    assert cut.least(decided) == pytest.approx(1e-6 * min(left))


def reasons(seconds, last=None):
    """What two convolutions in a row take, in the layouts chosen or in those given."""
    nodes = [node("Conv", ["x", "w"], ["a"], "a"), node("Conv", ["a", "v"], ["y"], "b")]
    weights = {"w": whole(1, 8, 8, 1, 1), "v": whole(2, 8, 8, 1, 1)}
    graph = fused(read(model(nodes, {"x": [1, 8, 16, 16]}, ["y"], weights), {}))
    costs = Costs(seconds)
    last = channels_last(graph, costs) if last is None else last
    found = told(graph, with_layouts(graph, last), last, costs)
    return [found[step.outputs] for step in graph.steps]


MOVED = 1e3 * 4 * 8 * 16 * 16 / RATE  # the milliseconds of a conversion: 0.001024, 102 units of 10 ns


def test_a_step_that_is_faster_in_the_other_layout_says_what_that_would_cost():
    """Its conversions take twice MOVED, and it gains half of that."""
    first, second = reasons(lambda problem: MOVED / 1e3 * (1 if problem.layout == "nhwc" else 1.5))
    assert first == second
    one = "channels first, 0.00154 ms predicted; with channels last 0.00102 ms predicted; it keeps channels first: "
    assert first == one + "with channels last all steps and conversions would take 0.00101 ms more"
    faster, _ = reasons(last_is_faster)
    assert faster == "channels last, 1000 ms predicted; with channels first 2000 ms predicted"


def test_what_reads_a_convolution_alone_is_not_told_of_its_layout():
    nodes = [node("Conv", ["x", "w"], ["a"]), node("MaxPool", ["a"], ["y"], kernel_shape=[2, 2])]
    graph = fused(read(model(nodes, {"x": [1, 8, 16, 16]}, ["y"], {"w": whole(1, 8, 8, 1, 1)}), {}))
    convolution, pool = graph.steps
    found = renamed(told(graph, graph, frozenset(), Costs(last_is_faster)), [(convolution, convolution), (pool, pool)])
    assert list(found) == [convolution.outputs] and found[convolution.outputs].startswith("channels first, 2000 ms")


def test_layouts_that_only_the_whole_model_preferred_say_so():
    first, _ = reasons(lambda problem: MOVED / 1e3 * (1 if problem.layout == "nhwc" else 3), frozenset())
    less = "it keeps channels first: with channels last all steps would take 0.00205 ms less by these times, "
    assert less in first and first.endswith(
        ", but the last word is the whole model's time, and a search that ended early may not have come to it"
    )


@pytest.mark.parametrize("seconds", [last_is_faster, first_is_faster])
def test_a_program_before_a_convolution_may_have_arrays_of_other_shapes(seconds):
    """A softmax has a maximum and a sum for each pixel, which are no images."""
    nodes = [node("Softmax", ["x"], ["a"], "a", axis=1), node("Conv", ["a", "w"], ["y"], "y")]
    given = model(nodes, {"x": [1, 4, 6, 6]}, ["y"], {"w": whole(1, 8, 4, 1, 1)})
    found, _ = layouts(given, seconds)
    assert found == ["nhwc" if seconds is last_is_faster else "nchw"]
