"""How tiles reach x and the output: one value of a problem, whatever its operator, layout and dtype."""

from dataclasses import replace

import pytest

from tiling.arrays.access import access_of
from tiling.operators import conv2d, in_layout, matmul
from tiling.rewrite.dot_groups import in_dot_groups, matrix_dot_group
from tiling.rewrite.grouped import grouped2d

CONV = dict(c=12, h=9, w=9, k=20, r=3, s=3, padding=1)


@pytest.mark.parametrize(
    "problem, transposed, read",
    [
        (conv2d(**CONV), None, (1, 9, 9, 12)),
        (conv2d(**CONV, layout="nchw"), None, (1, 12, 9, 9)),  # scalars of x are broadcast wherever they lie
        (conv2d(**CONV, layout="nchw", dtype="bf16"), 1, (1, 9, 9, 12)),
        (conv2d(**CONV | dict(k=12), groups=12, layout="nchw"), 1, (1, 9, 9, 12)),
        (conv2d(**CONV | dict(k=12), groups=12), None, (1, 9, 9, 12)),
        (matmul(m=5, n=16, k=8, dtype="int8"), None, (5, 8)),
    ],
)
def test_x_is_transposed_where_its_channels_must_be_neighbours(problem, transposed, read):
    access = access_of(problem)
    assert access.transposed_axis == transposed and access.transposes_x == (transposed is not None)
    assert access.as_read.broadcast.shape == read and access.as_read.tensors[1:] == problem.tensors[1:]
    assert access_of(access.as_read).as_read == access.as_read  # the copy lies as tiles read it


def test_dot_groups_run_along_what_is_summed_and_side_by_side():
    assert access_of(matmul(m=5, n=16, k=8)).dot_dim == "k"
    access = access_of(conv2d(**CONV, dtype="bf16"))
    assert (access.dot_dim, access.window_dims) == ("c", "sc")
    first = access_of(conv2d(**CONV, dtype="bf16", layout="nchw"))
    assert (first.dot_dim, first.window_dims) == ("c", None)  # of the copy; its rows are not joined to windows
    dilated = access_of(conv2d(**CONV, dtype="bf16", dilation=2))
    assert (dilated.dot_dim, dilated.window_dims) == ("c", None)
    depthwise = access_of(conv2d(**CONV | dict(k=12), groups=12, dtype="bf16"))
    assert depthwise.lanewise and (depthwise.dot_dim, depthwise.exchange_dim) == (None, None)
    beside = access_of(grouped2d(conv2d(**CONV | dict(k=12), groups=3, dtype="bf16")))
    assert beside.lanewise and (beside.dot_dim, beside.exchange_dim) == ("c", "c")


def test_elements_in_memory():
    """A word or a block has as many bytes as its numbers. x that is read by vectors stays narrow in memory."""

    def sizes(problem):
        access = access_of(problem)
        return tuple(access.bytes_of(tensor) for tensor in problem.tensors)

    narrow = conv2d(**CONV | dict(c=64), dtype="bf16")
    assert sizes(conv2d(**CONV)) == (4, 4, 4) and sizes(narrow) == (2, 2, 2)
    assert sizes(replace(narrow, output_dtype="f32")) == (2, 2, 4)
    assert sizes(in_dot_groups(narrow)) == (4, 4, 2) and not access_of(in_dot_groups(narrow)).by_matrix
    blocks = in_dot_groups(narrow, matrix_dot_group(narrow))
    assert sizes(blocks) == (64, 64, 2) and access_of(blocks).by_matrix
    depthwise = conv2d(**CONV | dict(k=12), groups=12, dtype="bf16")
    assert sizes(in_dot_groups(depthwise)) == (2, 4, 2)
    windows = conv2d(**CONV | dict(c=3), dtype="bf16")
    overlapping = in_dot_groups(windows, matrix_dot_group(windows))
    assert overlapping.broadcast.reach and sizes(overlapping)[0] == 4  # a word: blocks of neighbours share some


def test_an_equal_problem_has_the_same_value():
    assert access_of(conv2d(**CONV)) is access_of(conv2d(**CONV))
    assert access_of(in_layout(conv2d(**CONV), "nchw")).transposed_output
