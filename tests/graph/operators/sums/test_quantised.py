"""Products of bytes, exactly, beside sums of whole numbers by NumPy: bytes of either sign, zero points, padding."""

from itertools import product

import numpy as np
import pytest
from onnx import TensorProto, helper

from graph import compile_model
from graph.onnx.read import read
from tests.support.models.quantised import KINDS, NUMBERS, convolved, made, numbers
from tiling.program.rewrite.anchored import Anchored, anchored

node = helper.make_node


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("x_kind", "w_kind", "group"), [(x, w, g) for (x, w), g in product(product(KINDS, KINDS), (1, 2))]
)
def test_a_quantised_convolution_is_exact(x_kind, w_kind, group):
    """Scales are powers of 2, so that the result is one rounding of the sums, before the odd zero point is added."""
    x, bias = numbers(0, x_kind, 2, 4, 5, 6), np.arange(6, dtype=np.int32) * 100 - 300
    w = numbers(1, w_kind, 6, 4 // group, 3, 2)
    zero, middle = 130 if x_kind == "u8" else -3, 128 if w_kind == "u8" else 0
    zeros = np.full(6, middle, w.dtype) if group == 1 else np.array(middle, w.dtype)
    constants = {"sx": np.float32(0.5), "zx": np.array(zero, x.dtype), "w": w, "sw": np.float32(0.25), "zw": zeros}
    constants |= {"sy": np.float32(64), "zy": np.array(5, x.dtype), "bias": bias}
    if group == 1:
        constants["sw"] = np.full(6, 0.25, np.float32)
    names = ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "bias"]
    proto = made(
        [node("QLinearConv", names, ["y"], pads=[1, 0, 2, 1], group=group)], {"x": x}, NUMBERS[x_kind], constants
    )
    sums = convolved(x, zero, w, zeros, (1, 0, 2, 1), group=group) + bias[:, None, None]
    wanted = np.clip(np.rint(sums * (0.5 * 0.25 / 64)) + 5, *KINDS[x_kind][1:])
    (y,) = compile_model(proto)(x)
    assert y.dtype == x.dtype and y.tolist() == wanted.tolist()


@pytest.mark.parametrize(("x_kind", "pads"), [("u8", (0, 0, 0, 0)), ("s8", (0, 0, 0, 0)), ("u8", (1, 1, 1, 1))])
def test_the_zero_point_of_x_may_be_computed(x_kind, pads):
    x, w = numbers(0, x_kind, 1, 3, 6, 5), numbers(1, "s8", 4, 3, 3, 3)
    zero = np.array(7, x.dtype)
    proto = made(
        [node("ConvInteger", ["x", "w", "zx"], ["y"], pads=list(pads), strides=[2, 2])],
        {"x": x, "zx": zero},
        TensorProto.INT32,
        {"w": w},
    )
    assert compile_model(proto)(x, zero)[0].tolist() == convolved(x, 7, w, 0, pads, 2).tolist()


@pytest.mark.parametrize(("a_kind", "b_kind", "middle"), [("u8", "s8", 0), ("s8", "u8", 128), ("u8", "u8", 3)])
def test_a_product_of_bytes_is_exact(a_kind, b_kind, middle):
    """The last factor does not fit s8 without its zero point."""
    a, b = numbers(0, a_kind, 2, 5, 7), numbers(1, b_kind, 7, 6)
    zero = np.array(11, a.dtype)
    proto = made(
        [node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])],
        {"a": a, "za": zero},
        TensorProto.INT32,
        {"b": b, "zb": np.full(6, middle, b.dtype)},
    )
    wanted = (a.astype(np.int64) - 11) @ (b.astype(np.int64) - middle)
    assert compile_model(proto)(a, zero)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize("x_kind", KINDS)
def test_what_goes_by_rules_now_is_a_product_that_cpus_have_instructions_for(x_kind):
    x, w = np.zeros((1, 64, 56, 56), KINDS[x_kind][0]), numbers(1, "s8", 64, 64, 3, 3)
    scale, zero = np.float32(1), np.zeros((), x.dtype)
    names = ["x", "s", "z", "w", "s", "zw", "s", "z"]
    constants = {"s": scale, "z": zero, "w": w, "zw": np.int8(0)}
    graph = read(made([node("QLinearConv", names, ["y"], pads=[1] * 4)], {"x": x}, NUMBERS[x_kind], constants))
    (step,) = graph.steps
    found = anchored(step.work, ("int8",))
    assert isinstance(found, Anchored) and found.anchor.problem.dtype == "int8"


@pytest.mark.parametrize("batched", [False, True])
def test_scales_and_zero_points_may_be_rows_of_each_matrix(batched):
    """One for each row of a, and for each column of b, of every matrix."""
    random = np.random.default_rng(4)
    outer = (2, 3) if batched else ()
    a, b = numbers(5, "u8", *outer, 4, 5), numbers(6, "u8", *outer, 5, 6)
    za, zb = (random.integers(0, 256, shape).astype(np.uint8) for shape in ((*outer, 4, 1), (*outer, 1, 6)))
    sa, sb = (2.0 ** random.integers(-3, 3, zero.shape).astype(np.float32) for zero in (za, zb))
    constants = {"sa": sa, "za": za, "sb": sb, "zb": zb, "sy": np.float32(256), "zy": np.uint8(7)}
    names = ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"]
    proto = made([node("QLinearMatMul", names, ["y"])], {"a": a, "b": b}, NUMBERS["u8"], constants)
    sums = (a.astype(np.int64) - za) @ (b.astype(np.int64) - zb)
    wanted = np.clip(np.rint(sums * (sa.astype(np.float64) * sb / 256)) + 7, 0, 255)
    (y,) = compile_model(proto)(a, b)
    assert y.tolist() == wanted.tolist()
