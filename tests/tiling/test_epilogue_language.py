"""Epilogues as text: what is read, printed, refused; shapes and symbols that carry one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu.codegen.emit import symbol_of
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import PRODUCT
from tests.support.kernels.epilogue_cases import ARRAYS, INFIX, Y
from tests.support.sampled import examples
from tiling.arrays.bias import bias_of, split, stored
from tiling.epilogue import FUNCTIONS, EpilogueError, fused, parse
from tiling.operators import conv2d, in_layout, matmul
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.shapes import canonical, parse_matmul_shape, parse_shape
from tiling.value import Applied, Constant, Epilogue

CONV = conv2d(n=2, c=3, h=5, w=6, k=7, r=3, s=3, padding=1)


@pytest.mark.parametrize(
    "text, printed",
    [
        ("relu(y + b)", "relu(y+b[k])"),
        ("relu( y+b[ k ]+z )", "relu(y+b[k]+z[n,h,w,k])"),
        ("relu6(y*scale + shift) - residual", "relu6(y*scale[k]+shift[k])-residual[n,h,w,k]"),
        ("min(max(y, 0), 6.0)", "min(max(y,0),6)"),
        ("y - (b - 1) - 2", "y-(b[k]-1)-2"),
        ("((y))*(b*2)/(.5)", "y*(b[k]*2)/0.5"),
        ("-(y + 1) * -y", "-(y+1)*-y"),
        ("- - y", "--y"),
        ("y + t[n,k] + rows[h]", "y+t[n,k]+rows[h]"),
        ("clamp(y, -1e-3, 1e6)", "clamp(y,-0.001,1000000)"),
    ],
)
def test_what_is_read_is_printed_in_one_form(text, printed):
    epilogue = parse(CONV, text)
    assert str(epilogue) == printed
    assert parse(CONV, printed) == epilogue


def test_names_stand_for_shapes():
    def shapes(problem, text):
        return {tensor.name: tensor.shape for tensor in fused(problem, text).epilogue_arrays}

    assert shapes(CONV, "z + y*scale + b + t[n,k]") == {"z": (2, 5, 6, 7), "scale": (7,), "b": (7,), "t": (2, 7)}
    assert list(shapes(CONV, "z + y*scale + b + z")) == ["z", "scale", "b"]
    assert shapes(PRODUCT, "y + b + z + rows[m]") == {"b": (50,), "z": (23, 50), "rows": (23,)}


@pytest.mark.parametrize(
    "text, begins, left",
    [
        ("relu(y + b)", "b[k]", "relu(y)"),
        ("b + y", "b[k]", "y"),
        ("relu(y + b + z)", "b[k]", "relu(y+z[n,h,w,k])"),
        ("silu(scale * (b + y)) - z", "b[k]", "silu(scale[k]*y)-z[n,h,w,k]"),
        ("y + b + b", "b[k]", "y+b[k]"),
        ("y + z", "z[n,h,w,k]", "y"),
    ],
)
def test_a_sum_may_begin_with_what_is_added_to_it(text, begins, left):
    array, rest = split(parse(CONV, text))
    assert (str(array), str(rest)) == (begins, left)


@pytest.mark.parametrize("text", ["relu(y)", "relu(y) + b", "y * b", "y - b", "y + 1", "y * (y + b)", "y + b * scale"])
def test_a_sum_begins_with_nothing_else(text):
    assert split(parse(CONV, text)) is None


STARTS = {
    "a bias": (CONV, "relu(y + b)", "b"),
    "channels first": (in_layout(CONV, "nchw"), "relu(y + b)", "b"),
    "of groups": (conv2d(c=6, h=5, w=6, k=12, r=3, s=3, groups=2), "y + b", "b"),
    "depthwise": (conv2d(c=6, h=5, w=6, k=6, r=3, s=3, groups=6), "relu6(y + b)", "b"),
    "of columns": (PRODUCT, "y + b", "b"),
    "of rows": (PRODUCT, "y + rows[m]", None),
    "all outputs": (CONV, "y + z", None),
    "a bias of each image": (CONV, "y + b[n,k]", None),
    "bf16": (conv2d(c=6, h=5, w=6, k=12, r=3, s=3, dtype="bf16"), "y + b", "b"),
    "sums of integers": (conv2d(c=6, h=5, w=6, k=12, r=3, s=3, dtype="int8", output_dtype="f32"), "y + b", None),
    "nothing": (CONV, None, None),
}


@pytest.mark.parametrize("case", STARTS)
def test_sums_of_floats_begin_with_a_value_a_channel(case):
    problem, text, array = STARTS[case]
    found = bias_of(fused(problem, text))
    assert (found.name if found else None) == array


def test_rows_of_pixels_begin_with_their_own():
    problem = pointwise2d(fused(conv2d(c=3, h=5, w=6, k=7, r=1, s=1, layout="nchw"), "relu(y + b) * scale"))
    assert bias_of(problem).name == "b" and str(stored(problem)) == "relu(y)*scale[k]"
    assert [array.name for array in problem.epilogue_arrays] == ["b", "scale"]


NUMBERS = st.floats(0, 1e30).map(Constant) | st.integers(0, 9).map(lambda n: Constant(float(n)))


def trees(operations):
    def grown(inside):
        return st.sampled_from(operations).flatmap(
            lambda o: st.tuples(*[inside] * o[1]).map(lambda arguments: Applied(o[0], arguments))
        )

    return st.recursive(st.just(Y) | NUMBERS | ARRAYS, grown, max_leaves=8)


@pytest.mark.slow
@examples(300)
@given(trees([*INFIX, *FUNCTIONS.items()]))
def test_any_expression_parses_back(tree):
    epilogue = Epilogue(Applied("add", (tree, Y)))
    if len(str(epilogue)) <= 300 and len(epilogue.arrays) <= 4:
        assert parse(CONV, str(epilogue)) == epilogue


@pytest.mark.parametrize(
    "text, message",
    [
        ("relu(y + q)", "'q' at character 10 does not say its shape: write q[k] for one value a channel, q[n,h,w,k]"),
        ("relu(y", "the end stands where ')' is expected, which closes relu"),
        ("y)", "')' at character 2 follows a complete expression"),
        ("2 y", "'y' at character 3 follows a complete expression"),
        ("y +", "the end stands where a value is expected"),
        ("y ** 2", "'*' at character 4 stands where a value is expected"),
        ("", "the end stands where a value is expected"),
        ("y; z", "';' at character 2 cannot be read"),
        ("Relu(y)", "'Relu' at character 1 is no function (did you mean relu or relu6 or gelu?); there are relu relu6"),
        ("softplus(y)", "'softplus' at character 1 is no function; there are relu relu6"),
        ("relu y", "'y' at character 6 stands where '(' is expected, after relu"),
        ("max(y)", "ends max after 1: it takes 2 arguments"),
        ("relu(y, 1)", "ends relu after 2: it takes 1 argument"),
        ("y + b[j]", "'j' at character 7 is no dim of the output; its dims are n h w k"),
        ("y + z[k,n]", "z[k,n] at character 5 must name dims once each, in the output's order n,h,w,k"),
        ("y + z[k,k]", "must name dims once each"),
        ("y + z[k", "the end stands where ']' is expected, after the dims of z"),
        ("y + b[k] + b[n]", "has both b[k] and b[n]: use two names"),
        ("y + w", "'w' at character 5 is an argument of the kernel already"),
        ("relu(b)", "does not use y"),
        ("y + 1e39", "'1e39' at character 5 is larger than any f32"),
        ("y+b+scale+shift+bias+z", "names 5 arrays, 4 are the most supported"),
        ("(" * 100 + "y" + ")" * 100, "is inside more than 40 parentheses"),
        ("y" + " + 1" * 100, "has 401 characters, 300 are the most supported"),
        (3, "epilogue=3 must be a text such as"),
    ],
)
def test_an_epilogue_that_cannot_be_read(text, message):
    with pytest.raises(EpilogueError) as raised:
        fused(CONV, text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300


def test_shapes_carry_the_epilogue():
    problem = parse_shape("resnet18:R2, epilogue = relu(y*scale + b)")
    assert canonical(problem) == "c=64,h=56,w=56,k=64,r=3,s=3,pad=1,epilogue=relu(y*scale[k]+b[k])"
    assert parse_shape(canonical(problem)) == problem != parse_shape("resnet18:R2")
    product = parse_matmul_shape("m=4 n=5 k=6 epilogue=max(y, z) + b")
    assert parse_matmul_shape(canonical(product)) == product == fused(matmul(m=4, n=5, k=6), "max(y,z) + b")
    assert fused(CONV, None) == CONV
    with pytest.raises(EpilogueError, match=r"has an epilogue already, relu\(y\)"):
        fused(fused(CONV, "relu(y)"), "y + b")


def test_symbols_are_names_and_differ():
    texts = ("relu(y + b)", "relu(y - b)", "y*0.5", "y*5", "Y[k] + y", "gelu(y)", "relu(y)" + " + y" * 60)
    symbols = [symbol_of(fused(CONV, text), ISAS["portable"], 2) for text in texts]
    assert len({*symbols, symbol_of(CONV, ISAS["portable"], 2)}) == len(texts) + 1
    assert all(re.fullmatch("[a-z][a-z0-9_]{,160}", symbol) for symbol in symbols)
