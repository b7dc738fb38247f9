"""Steps take one image after the other where that moves fewer bytes, and the results stay the same."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from graph.library.build import fused
from graph.model.language import Loop
from graph.onnx.read import read
from graph.passes import by_image
from graph.passes.by_image import image_by_image
from graph.passes.in_place import joined_in_place
from tests.support.models.onnx_models import model, whole
from tests.support.models.steps import outputs_of

node = helper.make_node
IMAGES = 5
# One image of x has 3 x 9 x 9 numbers, a line and a half more than some lines: slices begin anywhere.
X, R = whole(0, IMAGES, 3, 9, 9), whole(1, IMAGES, 4, 9, 9)
CONSTANTS = {"w": whole(2, 4, 3, 3, 3), "v": whole(3, 4, 4, 1, 1), "b": whole(4, 4), "flat": np.array([IMAGES, 4])}
CONSTANTS |= {"0": np.array([0]), "turned": np.array([3, 0, 4, 1, 2])}
CONV = node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1])

# name: the nodes, the outputs, and the numbers of steps in each loop where every loop is worth it.
CASES = {
    "a chain": ([CONV, node("Conv", ["a", "v"], ["y"])], ["y"], [2]),
    "an array that is read outside": ([CONV, node("Conv", ["a", "v"], ["y"])], ["y", "a"], [2]),
    "a residual": ([CONV, node("Conv", ["a", "v"], ["c"]), node("Add", ["c", "r"], ["y"])], ["y"], [2]),
    "joined channels": (
        [CONV, node("Conv", ["a", "v"], ["c"]), node("Concat", ["a", "c"], ["j"], axis=1), node("Relu", ["j"], ["y"])],
        ["y"],
        [3],
    ),
    "images change places": (
        [CONV, node("Gather", ["a", "turned"], ["g"], axis=0), node("Conv", ["g", "v"], ["y"])],
        ["y"],
        [2],
    ),
    "a sum over images": (
        [CONV, node("Conv", ["a", "v"], ["c"]), node("ReduceSum", ["c", "0"], ["s"]), node("Sub", ["c", "s"], ["y"])],
        ["y"],
        [2],
    ),
    "one number an image": (
        [
            CONV,
            node("Conv", ["a", "v"], ["c"]),
            node("GlobalMaxPool", ["c"], ["p"]),
            node("Reshape", ["p", "flat"], ["f"]),
            node("Softmax", ["f"], ["y"], axis=1),
        ],
        ["y"],
        [2, 2],  # as good as one loop of all four
    ),
}


def made(nodes, outputs):
    used = {given for each in nodes for given in each.input}
    inputs = {name: array.shape for name, array in (("x", X), ("r", R)) if name in used}
    return model(nodes, inputs, outputs, {name: value for name, value in CONSTANTS.items() if name in used})


def lengths(graph):
    return [len(step.work.body) for step in graph.steps if isinstance(step.work, Loop)]


@pytest.fixture
def worth_it(monkeypatch):
    """Calls cost less than nothing, so that every part is worth a loop."""
    monkeypatch.setattr(by_image, "_CALL", -1.0)


@pytest.mark.parametrize("name", CASES)
def test_steps_take_one_image_after_the_other(name, worth_it):
    nodes, outputs, expected = CASES[name]
    proto = made(nodes, outputs)
    before = joined_in_place(fused(read(proto)))
    after = image_by_image(before, 1 << 20, 1e10, 1)
    assert lengths(after) == expected
    feeds = {name: array for name, array in (("x", X), ("r", R)) if name in before.inputs}
    wanted = ReferenceEvaluator(proto).run(None, feeds)
    for found, other in zip(outputs_of(after, feeds), wanted, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("a chain", "a sum over images")])
def test_compiled_loops_over_images_give_the_same_bits(name, worth_it, monkeypatch):
    nodes, outputs, _ = CASES[name]
    compiled = compile_model(made(nodes, outputs))
    assert max(step.turns for step in compiled.explained) == IMAGES
    monkeypatch.setattr(by_image, "_CALL", 1.0)  # seconds: no loop is worth it
    other = compile_model(made(nodes, outputs))
    assert max(step.turns for step in other.explained) == 1
    given = [dict(x=X, r=R)[array.name] for array in compiled.inputs]
    for y, expected in zip(compiled(*given), other(*given), strict=True):
        np.testing.assert_array_equal(y, expected)
    assert sum(each.flops * each.turns for each in compiled.explained) == sum(each.flops for each in other.explained)
    assert [each.layout for each in compiled.explained] == [each.layout for each in other.explained]


@pytest.mark.slow
def test_several_threads_take_all_images_at_once(worth_it):
    nodes, outputs, _ = CASES["a chain"]
    one, two = (compile_model(made(nodes, outputs), threads=threads) for threads in (1, 2))
    assert [max(step.turns for step in compiled.explained) for compiled in (one, two)] == [IMAGES, 1]
    np.testing.assert_array_equal(one(X)[0], two(X)[0])


def test_a_part_is_worth_it_where_arrays_of_all_images_leave_the_cache():
    """Two steps whose arrays of 5 images have 13 and 6 KB: by the cache's size alone they are taken together or not."""
    before = joined_in_place(fused(read(made(*CASES["a chain"][:2]))))
    assert lengths(image_by_image(before, 1 << 20, 1.0, 1)) == []  # all stays in the cache
    assert lengths(image_by_image(before, 32 << 10, 1.0, 1)) == [2]
    assert lengths(image_by_image(before, 32 << 10, 1e12, 1)) == []  # calls take longer than such a memory
    assert lengths(image_by_image(before, 4 << 10, 1.0, 1)) == []  # no image stays there either


def test_weights_that_leave_the_cache_are_not_read_for_each_image():
    """The second step's weights have 256 KB, and the arrays between 5 * 64 KB."""
    nodes = [node("Conv", ["x", "w"], ["a"]), node("Conv", ["a", "v"], ["y"])]
    numbers = {"w": whole(2, 256, 1, 1, 1), "v": whole(3, 256, 256, 1, 1)}
    before = joined_in_place(fused(read(model(nodes, {"x": (IMAGES, 1, 8, 8)}, ["y"], numbers))))
    assert lengths(image_by_image(before, 1 << 20, 1.0, 1)) == [2]
    assert lengths(image_by_image(before, 512 << 10, 1.0, 1)) == []
