"""`tiling.volumes`: convolutions of volumes by their definition, in both layouts, and as text."""

from random import Random

import numpy as np
import pytest

from cpu.reference.oracle import integers, reference
from tests.support.kernels.random_problems import volume
from tiling.problem import ProblemError, ShapeError
from tiling.text.shapes import canonical, parse_shape
from tiling.volumes import conv3d


def defined(problem, x, w):
    """The sums, element by element, from the indices of the problem's own tensors."""
    y = np.zeros(problem.output.shape)
    for point in np.ndindex(*problem.extents.values()):
        at = dict(zip(problem.extents, point))
        place = [index.at(at) for index in problem.broadcast.indices]
        if all(0 <= each < size for each, size in zip(place, x.shape)):
            taken = x[tuple(place)] * w[tuple(index.at(at) for index in problem.vector.indices)]
            y[tuple(index.at(at) for index in problem.output.indices)] += taken
    return y


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_the_reference_is_the_definition(layout):
    problem = conv3d(
        **{"n": 2, "c": 2, "d": 4, "h": 5, "w": 3, "k": 3, "q": 2, "r": 3, "s": 2},
        stride=(1, 2, 1),
        dilation=(2, 1, 1),
        padding=((1, 0), (0, 2), (1, 1)),
        layout=layout,
    )
    x, w, *_ = integers(problem)
    assert problem.output.shape == {"nhwc": (2, 3, 3, 4, 3), "nchw": (2, 3, 3, 3, 4)}[layout]
    np.testing.assert_array_equal(reference(problem, x, w), defined(problem, x, w))


def test_the_text_reads_back_the_same():
    random = Random(7)
    for _ in range(200):
        problem = volume(random)
        assert parse_shape(canonical(problem)) == problem


def test_same_padding_and_one_number_for_all_axes():
    same = conv3d(c=1, d=5, h=6, w=7, k=1, q=3, r=3, s=3, padding="same", stride=2)
    assert same.output.shape == (1, 3, 3, 4, 1)
    text = "c=1,d=5,h=6,w=7,k=1,q=3,r=3,s=3"
    assert parse_shape(f"{text},pad=1") == conv3d(c=1, d=5, h=6, w=7, k=1, q=3, r=3, s=3, padding=1)
    sides = "pad_front=1,pad_back=1,pad_bottom=1,pad_left=1,pad_right=1"
    assert canonical(same) == f"{text},stride=2,{sides}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c=1,d=5,h=6,w=7,k=1,q=3", "the shape lacks r, s"),
        ("c=1,h=6,w=7,k=1,q=3,r=1,s=1", "the shape lacks d"),
        ("c=1,d=5,h=6,w=7,k=1,q=3,r=1,s=1,groups=2", "groups=2: convolutions of volumes have one group"),
        (
            "c=1,d=5,h=6,w=7,k=1,q=3,r=1,s=1,dtype=bf16",
            "volumes are of f32 alone: leave the dtypes away",
        ),
        ("c=1,d=5,h=6,w=7,k=1,q=8,r=1,s=1", "the kernel reaches over 8 points along d, the padded input has only 5"),
        ("c=1,d=0,h=6,w=7,k=1,q=1,r=1,s=1", "d=0 must be at least 1"),
        ("c=1,d=5,h=6,w=7,k=1,q=1,r=1,s=1,stride=1,stride_d=2", "stride and stride_d set the same value"),
    ],
)
def test_texts_that_are_no_volume(text, message):
    with pytest.raises(ShapeError, match=message):
        parse_shape(text)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stride": (1, 1)}, r"stride=\(1, 1\) must be one number or one per axis \(d, h, w\)"),
        ({"padding": (1, 1)}, r"must be p, \(pd, ph, pw\), \(\(front, back\), \(top, bottom\), \(left, right\)\)"),
        ({"padding": -1}, "padding=-1 must be at least 0"),
        ({"layout": "ndhwc"}, "conv3d: layout='ndhwc' must be 'nhwc' or 'nchw'"),
        ({"q": 1.5}, "q=1.5 must be a whole number"),
    ],
)
def test_arguments_that_are_refused(wrong, message):
    with pytest.raises(ProblemError, match=message):
        conv3d(**{"c": 1, "d": 5, "h": 6, "w": 7, "k": 1, "q": 3, "r": 3, "s": 3} | wrong)
