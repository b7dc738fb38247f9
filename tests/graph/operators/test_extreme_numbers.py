"""Infinities, NaN, zeros of both signs, the largest and the smallest numbers, against onnx's reference."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from tests.support.models.onnx_models import OPSET

node = helper.make_node
TYPES = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}
INF, NAN, MOST, LEAST = np.inf, np.nan, np.finfo(np.float32).max, np.finfo(np.float32).tiny
SPECIAL = [INF, -INF, NAN, 0.0, -0.0, MOST, -MOST, LEAST, -LEAST, 1e-45, -1e-45, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0]
SPECIAL += [1e30, -1e30, 1e20, -1e20, 88.0, -88.0, 89.5, -89.5, 104.0, -104.0, 1e-20, -1e-20, 9.0, 16777216.5, 20.0]


def together(nodes, x, constants=None, opset=OPSET):
    """The outputs of all nodes in one model, beside those of onnx's reference. Each reads x and gives its name."""
    outputs = [helper.make_tensor_value_info(each.output[0], TensorProto.UNDEFINED, None) for each in nodes]
    for each in outputs:
        each.type.tensor_type.elem_type = TYPES[x.dtype.type]
    inputs = [helper.make_tensor_value_info("x", TYPES[x.dtype.type], x.shape)]
    held = [numpy_helper.from_array(numbers.astype(x.dtype), name) for name, numbers in (constants or {}).items()]
    graph = helper.make_graph(nodes, "extreme", inputs, outputs, held)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(proto).run(None, {"x": x})
    found = compile_model(proto)(x)
    return {each.output[0]: pair for each, pair in zip(nodes, zip(found, wanted, strict=True))}


def same(found, wanted, rtol=2e-6, atol=1e-37):
    """Numbers that are not finite are the same; others are near, but for those below the smallest normal ones."""
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(found - wanted) <= atol + rtol * np.abs(wanted)
    return (np.isnan(found) & np.isnan(wanted)) | (found == wanted) | near


def check(nodes, x, constants=None, opset=OPSET, **near):
    wrong = []
    for name, (found, wanted) in together(nodes, x, constants, opset).items():
        assert found.shape == wanted.shape
        for place in np.argwhere(~same(found, wanted, **near)):
            at = tuple(map(int, place))
            wrong.append(f"{name}{at}: {found[at]} for {wanted[at]}")
    assert not wrong, "\n".join(wrong)


POINTS = ["Relu", "Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Exp", "Sqrt", "Tanh", "Sigmoid", "Erf", "Reciprocal"]
POINTS += ["Softsign", "HardSwish", "Elu", "Selu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Mish", "Celu", "Log"]
POINTS += ["Softplus", "Sinh", "Cosh", "Atan", "Asinh", "Acosh", "Atanh", "Asin", "Acos"]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_a_point(dtype):
    nodes = [node(name, ["x"], [name]) for name in POINTS]
    nodes += [node("Shrink", ["x"], ["Shrink"], lambd=1.5, bias=1.0), node("Identity", ["x"], ["Identity"])]
    x = np.array(SPECIAL, dtype)
    # The exponential of an f32 below the smallest normal number is 0, and Mish multiplies it by its argument.
    check(nodes, x, opset=22, atol=1e-36)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu(dtype):
    nodes = [node("Gelu", ["x"], ["exact"]), node("Gelu", ["x"], ["tanh"], approximate="tanh")]
    check(nodes, np.array(SPECIAL, dtype), opset=22, atol=1e-7)


def rows(dtype, long):
    """Rows of which each has some of the special numbers; long ones are finished in vectors and blocks."""
    parts = [[1.0, 2.0, -3.0], [INF, 1.0], [-INF, 1.0], [-INF, -INF], [INF, INF], [INF, -INF], [NAN, 1.0], [NAN, INF]]
    parts += [[MOST, 1.0], [MOST, -MOST], [-MOST, -MOST], [LEAST, LEAST], [0.0, -0.0], [1e20, 1e20], [1e30, -1e30]]
    parts += [[88.0, 88.0], [-104.0, 1.0], [200.0, -200.0], [1e-45, 1e-45]]
    length = 600 if long else 6
    found = np.full((len(parts), length), -1.0, dtype)
    for row, numbers in enumerate(parts):
        filled = numbers * (length // len(numbers)) if len(set(numbers)) == 1 else numbers
        found[row, : len(filled)] = filled
        found[row] = np.roll(found[row], length // 2)
    return found


REDUCTIONS = ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare"]
REDUCTIONS += ["ReduceLogSum", "ReduceProd"]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reductions(dtype, long):
    axes = numpy_helper.from_array(np.array([1], np.int64), "axes")
    nodes = [node("Constant", [], ["axes"], value=axes)]
    nodes += [node(name, ["x", "axes"], [name], keepdims=0) for name in REDUCTIONS]
    x = rows(dtype, long)
    graph = helper.make_graph(
        nodes,
        "extreme",
        [helper.make_tensor_value_info("x", TYPES[dtype], x.shape)],
        [helper.make_tensor_value_info(name, TYPES[dtype], None) for name in REDUCTIONS],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(proto).run(None, {"x": x})
    wrong = []
    # A sum whose large parts cancel depends on their order.
    cancels = (x.max(1) == -x.min(1)) & np.isfinite(x).all(1) & (x.max(1) > 1e20)
    assert cancels.sum() == 2
    for name, found, other in zip(REDUCTIONS, compile_model(proto)(x), wanted, strict=True):
        differs = ~same(found, other, 1e-5)
        if name in ("ReduceSum", "ReduceMean", "ReduceLogSum"):
            differs &= ~cancels
        wrong += [f"{name} of row {r}: {found[r]} for {other[r]}" for r in np.flatnonzero(differs)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.exhaustive
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_sum_exp_is_that_of_its_definition(dtype, long):
    """onnx's reference makes NaN of rows of -inf alone, and infinity of large numbers where it is none."""
    axes = numpy_helper.from_array(np.array([1], np.int64), "axes")
    nodes = [node("Constant", [], ["axes"], value=axes), node("ReduceLogSumExp", ["x", "axes"], ["y"], keepdims=0)]
    x = rows(dtype, long)
    graph = helper.make_graph(
        nodes,
        "extreme",
        [helper.make_tensor_value_info("x", TYPES[dtype], x.shape)],
        [helper.make_tensor_value_info("y", TYPES[dtype], None)],
    )
    (found,) = compile_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))(x)
    with np.errstate(all="ignore"):
        wanted = np.logaddexp.reduce(x.astype(np.float64), axis=1)
    assert same(found, wanted).all(), [(r, found[r], wanted[r]) for r in np.flatnonzero(~same(found, wanted))]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_normalised(dtype, long):
    x = rows(dtype, long)
    length = x.shape[1]
    nodes = [node(name, ["x"], [name], axis=1) for name in ("Softmax", "LogSoftmax")]
    nodes += [node("LpNormalization", ["x"], ["l2"], axis=1, p=2)]
    nodes += [node("LayerNormalization", ["x", "g", "b"], ["layer"], axis=1)]
    check(nodes, x, {"g": np.ones(length), "b": np.zeros(length)}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_norm_of_absolute_values(dtype):
    """onnx's reference adds the values themselves."""
    x = rows(dtype, False)
    (found, _), *_ = together([node("LpNormalization", ["x"], ["l1"], axis=1, p=1)], x).values()
    with np.errstate(all="ignore"):
        total = np.abs(x).sum(1, keepdims=True)
        wanted = np.where(total == 0, 0, x / total)
    assert same(found, wanted, 1e-5).all()


def test_a_remainder_of_the_lowest_whole_number_is_exact():
    lowest = np.iinfo(np.int32).min
    a = np.array([lowest, lowest, 7, -7, 7, -7, lowest + 1, 0], np.int32)
    b = np.array([3, -3, 3, 3, -3, -3, 10, 5], np.int32)
    values = [helper.make_tensor_value_info(name, TensorProto.INT32, [8]) for name in "ab"]
    outputs = [helper.make_tensor_value_info("y", TensorProto.INT32, None)]
    graph = helper.make_graph([node("Mod", ["a", "b"], ["y"], fmod=1)], "rest", values, outputs)
    (found,) = compile_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))(a, b)
    assert found.tolist() == np.fmod(a.astype(np.int64), b).tolist()


def test_bounds_of_clip_may_be_any_number():
    """All of them in one model, which is compiled once."""
    x = np.array(SPECIAL, np.float32)
    lows, highs = (-INF, INF, NAN, MOST, -MOST, 0.0), (-INF, INF, NAN, MOST, -MOST, 1.0)
    held = {f"low{n}": number for n, number in enumerate(lows)} | {f"high{n}": number for n, number in enumerate(highs)}
    pairs = list(np.ndindex(len(lows), len(highs)))
    graph = helper.make_graph(
        [node("Clip", ["x", f"low{low}", f"high{high}"], [f"y{low}{high}"]) for low, high in pairs],
        "clip",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(f"y{low}{high}", TensorProto.FLOAT, None) for low, high in pairs],
        [numpy_helper.from_array(np.float32(number), name) for name, number in held.items()],
    )
    compiled = compile_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))
    for (low, high), found in zip(pairs, compiled(x), strict=True):
        wanted = np.minimum(np.maximum(x, np.float32(lows[low])), np.float32(highs[high]))
        assert same(found, wanted, 0, 0).all(), (lows[low], highs[high])
