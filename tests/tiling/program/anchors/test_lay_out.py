"""The copy of an operand in the order of a problem's axes, compared with NumPy's transposition."""

import numpy as np
import pytest

from tests.support.loops.loops import result
from tiling.program.anchors.anchor import Operand
from tiling.program.anchors.lay_out import in_order, lay_out


@pytest.mark.parametrize("order", [(1, 2, 0, 3), (3, 2, 1, 0), (0, 1, 2, 3)])
def test_the_loops_copy_the_axes_in_order(order):
    split = (3, 5, 2, 4)
    given = np.arange(120, dtype=np.float32)
    found = result(lay_out(Operand("b", split, order, (120,)), "b", "Y", "f32"), {"b": given})
    np.testing.assert_array_equal(found, given.reshape(split).transpose(order).reshape(-1))


@pytest.mark.parametrize(
    "split, order, holds",
    [((3, 5, 4), (0, 1, 2), True), ((3, 5, 4), (0, 2, 1), False), ((3, 1, 4), (1, 0, 2), True), ((1, 5), (1, 0), True)],
)
def test_axes_of_one_point_have_no_order(split, order, holds):
    assert in_order(Operand("b", split, order, split)) is holds
