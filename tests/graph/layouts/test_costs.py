"""What is measured goes before what is predicted, and what is known of one layout tells what the other takes."""

import pytest

from graph.layouts.costs import Costs
from graph.layouts.images import conversion, to_first, to_last
from tiling.operators import conv2d, in_layout
from tiling.program.infer import sized
from tiling.program.read import read

FIRST = conv2d(n=1, c=8, h=6, w=6, k=8, r=3, s=3, layout="nchw")
LAST = in_layout(FIRST, "nhwc")
MOVED = conversion("f32", (1, 8, 6, 6), to_last(4))
BACK = conversion("f32", (1, 6, 6, 8), to_first(4))


def costs(hope=1.0, **measured):
    known = {{"first": FIRST, "last": LAST, "moved": MOVED, "back": BACK}[name]: t for name, t in measured.items()}
    return Costs(lambda problem: 0.0, known.get, hope)


@pytest.mark.parametrize(
    ("measured", "found"),
    [
        ({}, (2.0, 3.0)),
        ({"first": 5.0, "last": 7.0}, (5.0, 7.0)),
        ({"first": 5.0}, (5.0, 7.5)),
        ({"last": 7.5}, (5.0, 7.5)),
    ],
)
def test_where_one_layout_is_measured_the_other_takes_as_many_times_as_long_as_predicted(measured, found):
    assert costs(**measured).pair((FIRST, LAST), (2.0, 3.0)) == pytest.approx(found)
    hoped = [t if name in measured else 0.8 * t for name, t in zip(("first", "last"), found)]
    assert costs(0.8, **measured).pair((FIRST, LAST), (2.0, 3.0)) == pytest.approx(hoped)


def test_a_prediction_of_nothing_tells_nothing_of_the_other_layout():
    assert costs(last=1.0).pair((FIRST, LAST), (2.0, 0.0)) == (2.0, 1.0)


def test_a_conversion_takes_what_was_measured_and_a_view_nothing():
    assert costs().of(MOVED, 3.0) == 3.0 and costs(0.5).of(MOVED, 3.0) == 1.5 and costs(moved=2.0).of(MOVED, 3.0) == 2.0
    view = sized(read("x: f32; y: f32; y[i] = x[i]"), {}, {"x": (8,)}, outputs=("y",))
    assert costs().of(view, 3.0) == 0.0


def test_only_two_measured_works_tell_how_much_longer_one_takes():
    assert costs(0.5, moved=4.0).more(MOVED, BACK, 3.0) == 1.5
    assert costs(0.5, moved=4.0, back=1.0).more(MOVED, BACK, 3.0) == 3.0
    assert costs(0.5, moved=1.0, back=4.0).more(MOVED, BACK, 3.0) == 0.0


def test_it_is_told_what_is_measured():
    known = costs(moved=2e-3)
    assert known.told(MOVED, known.of(MOVED, 1.0)) == "2.00 ms measured"
    assert known.told(BACK, known.of(BACK, 1e-3)) == "1.00 ms predicted"
