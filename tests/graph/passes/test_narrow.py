"""Products of bytes and of bf16 in models: they become kernels of their own, and stay exact."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from tests.support.kernels.low_precision_cases import multiplies
from tests.support.models.quantised import KINDS, NUMBERS, convolved, made, numbers

node = helper.make_node


def products(model):
    return [each for each in model.explained if each.product]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("a_kind", KINDS)
def test_a_product_of_bytes_has_microkernels(a_kind, threads):
    a, b = numbers(0, a_kind, 2, 40, 256), numbers(1, "s8", 256, 130)
    constants = {"b": b, "za": np.array(11, a.dtype)}
    proto = made([node("MatMulInteger", ["a", "b", "za"], ["y"])], {"a": a}, TensorProto.INT32, constants)
    model = compile_model(proto, threads=threads)
    assert len(products(model)) == multiplies("int8")
    assert model(a)[0].tolist() == ((a.astype(np.int64) - 11) @ b.astype(np.int64)).tolist()


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("x_kind", KINDS)
def test_a_chain_of_quantised_convolutions_has_microkernels(x_kind, group):
    """Its filters lie in another order than a convolution of groups of them wants, and padding is the zero point."""
    x, bias = numbers(0, x_kind, 2, 32, 14, 12), np.arange(48, dtype=np.int32) * 100 - 300
    w, v = numbers(1, "s8", 48, 32 // group, 3, 3), numbers(2, "s8", 160, 48, 1, 1)
    zero, middle = np.array(130 if x_kind == "u8" else -3, x.dtype), np.array(5, x.dtype)
    half, last = np.float32(0.5), np.float32(2048)
    constants = {"half": half, "last": last, "zx": zero, "w": w, "z0": np.int8(0), "zy": middle, "bias": bias, "v": v}
    first = node(
        "QLinearConv",
        ["x", "half", "zx", "w", "half", "z0", "last", "zy", "bias"],
        ["t"],
        pads=[1, 0, 1, 1],
        group=group,
    )
    second = node("ConvInteger", ["t", "v", "zy"], ["y"])
    model = compile_model(made([first, second], {"x": x}, TensorProto.INT32, constants))
    sums = convolved(x, int(zero), w, 0, (1, 0, 1, 1), group=group) + bias[:, None, None]
    between = np.clip(np.rint(sums * (0.25 / 2048)) + 5, *KINDS[x_kind][1:])
    assert len(products(model)) == 2 * multiplies("int8")
    assert model(x)[0].tolist() == convolved(between, 5, v, 0).tolist()


def quantised(kind, a, b, scales, zeros, bias=None):
    """A product of bytes that is quantised: the model, and what it gives. scales, zeros: one for each of a, b and y."""
    constants = dict(zip(("sa", "sb", "sy"), scales)) | dict(zip(("za", "zb", "zy"), zeros)) | {"b": b}
    names = ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"]
    proto = made([node("QLinearMatMul", names, ["y"])], {"a": a}, NUMBERS[kind], constants)
    sums = (a.astype(np.int64) - int(zeros[0])) @ b.astype(np.int64)
    factor = np.float32(scales[0]) * scales[1] / np.float32(scales[2])
    return proto, np.clip(np.rint(sums * factor.astype(float)) + int(zeros[2]), *KINDS[kind][1:])


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_bytes_are_rounded_in_the_products_stores(kind):
    """An f64 holds the products of sums and factors. With most factors some sum lies nearer to a half than an f32."""
    a, b = numbers(0, kind, 400, 64), numbers(1, "s8", 64, 256)
    scales = np.float32(0.02), np.random.default_rng(2).uniform(0.001, 0.004, 256).astype(np.float32), np.float32(0.3)
    zero = np.array(5, a.dtype)
    proto, wanted = quantised(kind, a, b, scales, (zero, np.zeros(256, np.int8), zero))
    model = compile_model(proto)
    (y,) = model(a)
    assert y.dtype == a.dtype and y.tolist() == wanted.tolist()
    if multiplies("int8"):
        (product,) = products(model)
        assert f"out={kind}" in product.work and "round_mul" in product.work


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_sums_that_f32_does_not_hold_are_rounded_in_stores_where_all_saturate(kind):
    a, b = numbers(0, kind, 400, 2304), numbers(1, "s8", 2304, 64)
    low, high = KINDS[kind][1:]
    first = np.arange(2304) < 1152
    a[0], a[1], b[:, 3] = np.where(first, high, low), np.where(first, low, high), np.where(first, 127, -128)
    scales = np.float32(0.02), np.random.default_rng(2).uniform(0.0005, 0.008, 64).astype(np.float32), np.float32(0.5)
    zero = np.array(5, a.dtype)
    proto, wanted = quantised(kind, a, b, scales, (zero, np.zeros(64, np.int8), zero))
    assert np.abs(a.astype(np.int64) @ b.astype(np.int64)).max() > 1 << 25
    assert {wanted.min(), wanted.max()} == {low, high} and len(np.unique(wanted)) > 200
    model = compile_model(proto)
    assert model(a)[0].tolist() == wanted.tolist()
    if multiplies("int8"):
        (product,) = products(model)
        assert "round_mul" in product.work


def test_sums_that_an_f32_may_not_hold_are_rounded_in_f64():
    a, b = np.full((3, 1024), 255, np.uint8), np.full((1024, 16), 127, np.int8)
    a[1, :3], b[5, 7] = 1, -128
    scales, zeros = (np.float32(1.5), np.float32(0.9), np.float32(2e5)), (np.uint8(0), np.int8(0), np.uint8(3))
    proto, wanted = quantised("u8", a, b, scales, zeros)
    assert wanted.min() > 0 and wanted.max() < 255
    model = compile_model(proto)
    assert model(a)[0].tolist() == wanted.tolist()
    assert not any("round_mul" in each.work for each in model.explained)


def test_what_follows_a_product_of_bytes_reads_its_sums():
    a, b = numbers(0, "u8", 64, 256), numbers(1, "s8", 256, 128)
    factors = (2.0 ** np.arange(-4, 4).repeat(16)).astype(np.float32)
    nodes = [
        node("MatMulInteger", ["a", "b"], ["sums"]),
        node("Cast", ["sums"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["f", "factors"], ["scaled"]),
        node("Relu", ["scaled"], ["y"]),
    ]
    model = compile_model(made(nodes, {"a": a}, TensorProto.FLOAT, {"b": b, "factors": factors}))
    wanted = np.maximum((a.astype(np.int64) @ b.astype(np.int64)).astype(np.float32) * factors, 0)
    assert len(products(model)) == multiplies("int8")
    assert model(a)[0].tolist() == wanted.tolist()


AFTER = {
    "a cast": [node("Cast", ["q"], ["y"], to=TensorProto.FLOAT)],
    "a factor": [
        node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["f", "half"], ["g"]),
        node("Relu", ["g"], ["y"]),
    ],
    "an addition": [node("Cast", ["q"], ["f"], to=TensorProto.FLOAT), node("Add", ["f", "vector"], ["y"])],
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize(("op", "kind"), [("QLinearMatMul", "u8"), ("QLinearConv", "s8")])
def test_what_follows_a_quantised_product_reads_rounded_and_saturated_bytes(op, kind, after):
    rows, columns = ((32, 64), (64, 48)) if op == "QLinearMatMul" else ((1, 32, 9, 8), (48, 32, 3, 3))
    x, w = numbers(0, kind, *rows), numbers(1, "s8", *columns)
    zero = np.array(6, x.dtype)  # even: the reference adds it before it rounds halves to even numbers
    constants = {"w": w, "half": np.float32(0.5), "zero": zero, "none": np.int8(0), "sy": np.float32(32)}
    vector = np.arange(48, dtype=np.float32).reshape((48,) if op == "QLinearMatMul" else (48, 1, 1))
    constants |= {"vector": vector} if after == "an addition" else {}
    product = node(op, ["x", "half", "zero", "w", "half", "none", "sy", "zero"], ["q"])
    only = made([product, *AFTER["a cast"]], {"x": x}, TensorProto.FLOAT, constants)
    proto = made([product, *AFTER[after]], {"x": x}, TensorProto.FLOAT, constants)
    (rounded,) = ReferenceEvaluator(only).run(None, {"x": x})
    assert {rounded.min(), rounded.max()} == {*KINDS[kind][1:]}  # sums saturate at both ends
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    model = compile_model(proto)
    assert model(x)[0].tolist() == wanted.tolist()
    if multiplies("int8"):
        (found,) = products(model)
        assert f"out={kind}" in found.work and found.unfused == f"its stores round to {kind}"


@pytest.mark.parametrize("known", [True, False])
def test_a_product_of_bf16_has_microkernels(known):
    import ml_dtypes

    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, shape).astype(ml_dtypes.bfloat16) for shape in ((64, 256), (256, 128)))
    inputs, constants = ({"a": a}, {"b": b}) if known else ({"a": a, "b": b}, {})
    model = compile_model(made([node("MatMul", ["a", "b"], ["y"])], inputs, TensorProto.BFLOAT16, constants))
    wanted = (a.astype(np.float64) @ b.astype(np.float64)).astype(ml_dtypes.bfloat16)
    assert len(products(model)) == multiplies("bf16")
    (y,) = model(*inputs.values())
    assert y.view(ml_dtypes.bfloat16).tolist() == wanted.tolist()


def test_weights_are_laid_out_for_each_product_that_reads_them():
    """Both want them in the same shape, and in another order of axes."""
    import ml_dtypes

    random, equations = np.random.default_rng(0), ("ai,jikl->ajkl", "ai,jkil->ajkl")
    a, w = (random.integers(-2, 3, shape).astype(ml_dtypes.bfloat16) for shape in ((64, 8), (8, 8, 8, 8)))
    nodes = [node("Einsum", ["a", "w"], [y], equation=equation) for y, equation in zip("tu", equations)]
    model = compile_model(made([*nodes, node("Sub", ["t", "u"], ["y"])], {"a": a}, TensorProto.BFLOAT16, {"w": w}))
    t, u = (np.einsum(equation, a.astype(np.float64), w.astype(np.float64)) for equation in equations)
    assert len(products(model)) == 2 * multiplies("bf16")
    (y,) = model(a)
    assert y.view(ml_dtypes.bfloat16).tolist() == (t - u).tolist()


def test_small_products_have_microkernels_where_weights_are_packed_ahead():
    a, b = numbers(0, "u8", 4, 8), numbers(1, "s8", 8, 16)
    multiplied = node("MatMulInteger", ["a", "b"], ["y"])
    for known in (True, False):
        inputs, constants = ({"a": a}, {"b": b}) if known else ({"a": a, "b": b}, {})
        model = compile_model(made([multiplied], inputs, TensorProto.INT32, constants))
        assert len(products(model)) == (known and multiplies("int8"))
        assert model(*inputs.values())[0].tolist() == (a.astype(np.int64) @ b.astype(np.int64)).tolist()


def test_tuning_leaves_products_of_bytes_as_they_are():
    a, b = numbers(0, "u8", 64, 256), numbers(1, "s8", 256, 128)
    proto = made([node("MatMulInteger", ["a", "b"], ["y"])], {"a": a}, TensorProto.INT32, {"b": b})
    model = compile_model(proto, tune="measure", budget=1)
    assert model(a)[0].tolist() == (a.astype(np.int64) @ b.astype(np.int64)).tolist()
