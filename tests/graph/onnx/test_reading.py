"""What of an ONNX file is read, and what is refused in a sentence, operator by operator."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from graph import ModelError, compile_model
from graph.operators import OPERATORS
from graph.operators.points.elementwise import elementwise
from tests.support.models.onnx_models import model, whole

node = helper.make_node


def typed(nodes, inputs, outputs=("y",), constants=None, opset=None):
    """A model whose inputs have dtypes: {"x": (TensorProto.INT64, [2, 3])}."""
    proto = model(nodes, {name: shape for name, (_, shape) in inputs.items()}, list(outputs), constants or {})
    for value in proto.graph.input:
        value.type.tensor_type.elem_type = inputs[value.name][0]
    if opset:
        proto.opset_import[0].version = opset
    return proto


def call(proto, *arrays):
    return compile_model(proto)(*arrays)[0]


@pytest.mark.parametrize(
    ("operator", "function", "attributes"),
    [
        ("Sinh", np.sinh, {}),
        ("Softplus", lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0), {}),
        ("Elu", lambda x: np.where(x < 0, np.expm1(x), x), {}),
        ("Celu", lambda x: np.where(x < 0, 2 * np.expm1(x / 2), x), {"alpha": 2.0}),
    ],
)
def test_no_digits_are_lost_near_0_and_far_below(operator, function, attributes):
    x = np.array([1e-7, -1e-7, 3e-5, -3e-5, 0.1, -0.1, -20, -50, -80, 20, 80], np.float32)
    y = call(model([node(operator, ["x"], ["y"], **attributes)], {"x": [len(x)]}, ["y"]), x)
    np.testing.assert_allclose(y, function(x.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize(
    ("operator", "function"), [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)]
)
def test_operators_that_were_others_before_version_7_are_converted(operator, function):
    made = node(operator, ["x", "b"], ["y"], axis=0, broadcast=1)
    x, b = whole(0, 2, 2), np.array([2, 4], np.float32)
    y = call(typed([made], {"x": (1, [2, 2]), "b": (1, [2])}, opset=6), x, b)
    assert y.tolist() == function(x, b[:, None]).tolist()


def test_operators_that_nobody_converts_are_refused():
    """Slopes lie along the channels there, which another version would take for the last axis."""
    made = node("PRelu", ["x", "b"], ["y"], "bent")
    with pytest.raises(ModelError, match=r"node bent \(PRelu\): it is of version 6 .* version 7, the oldest"):
        compile_model(typed([made], {"x": (1, [2, 3, 3]), "b": (1, [3])}, opset=6))
    x = whole(0, 2, 3)
    assert call(typed([node("Abs", ["x"], ["y"])], {"x": (1, [2, 3])}, opset=6), x).tolist() == abs(x).tolist()


def test_filters_that_groups_do_not_divide_are_refused():
    constants = {"w": whole(1, 3, 2, 2, 2, 2)}
    proto = model([node("Conv", ["x", "w"], ["y"], "c", group=2)], {"x": [1, 4, 3, 3, 3]}, ["y"], constants)
    with pytest.raises(ModelError, match=r"node c \(Conv\): 3 filters are no multiple of 2 groups"):
        compile_model(proto)


@pytest.mark.parametrize(
    ("known", "why"),
    [
        (np.array([1.0, 2.0]), r"known: k is f64\[2\], and the model's is f32\[2\]"),
        (np.ones(3, np.float32), r"known: k is f32\[3\], and the model's is f32\[2\]"),
    ],
)
def test_known_numbers_are_of_the_models_dtype_and_shape(known, why):
    with pytest.raises(ModelError, match=why):
        compile_model(model([node("Add", ["x", "k"], ["y"])], {"x": [2], "k": [2]}, ["y"]), known={"k": known})


def test_weights_of_n_grams_belong_to_their_columns():
    """Columns in another order than the pool's, and one that no n-gram has."""
    attributes = {"mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}
    attributes |= {"ngram_counts": [0, 3], "pool_int64s": [2, 3, 5, 2, 3, 5, 7], "ngram_indexes": [4, 0, 2, 5, 1]}
    made_ = node("TfIdfVectorizer", ["x"], ["y"], weights=[2.0, 3.0, 5.0, 7.0, 11.0], **attributes)
    proto = typed([made_], {"x": (TensorProto.INT64, [7])})
    x = np.array([2, 3, 5, 2, 3, 5, 7])
    assert call(proto, x).tolist() == [2 * 3.0, 11.0, 2 * 5.0, 0.0, 2 * 2.0, 2 * 7.0]


def test_powers_of_whole_numbers_are_exact_to_their_last_bit():
    base = np.array([3, -3, 7, 2, -2, 0, 1, -1, 5, -1, 2], np.int64)
    exponent = np.array([39, 39, 22, 62, 63, 0, 1000, 1001, 1, -3, -1], np.int64)
    proto = typed([node("Pow", ["x", "e"], ["y"])], {"x": (TensorProto.INT64, [11]), "e": (TensorProto.INT64, [11])})
    wanted = [int(b) ** int(e) if e >= 0 else int(1 / int(b) ** int(-e)) for b, e in zip(base, exponent)]
    assert call(proto, base, exponent).tolist() == wanted
    constant = typed([node("Pow", ["x", "e"], ["y"])], {"x": (TensorProto.INT32, [2])}, constants={"e": np.int32(19)})
    assert call(constant, np.array([3, -3], np.int32)).tolist() == [3**19, -(3**19)]


def test_a_bound_may_be_the_largest_number():
    least = np.array([np.finfo(np.float32).min, np.finfo(np.float32).max], np.float32)
    proto = model([node("Max", ["x", "k"], ["m"]), node("Min", ["m", "k2"], ["y"])], {"x": [3]}, ["y"])
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(v, n) for v, n in zip(least, ("k", "k2")))
    x = np.array([-np.inf, 1, np.inf], np.float32)
    assert call(proto, x).tolist() == [least[0], 1, least[1]]
    clip = model([node("Clip", ["x", "k", "k2"], ["y"])], {"x": [3]}, ["y"])
    clip.graph.initializer.extend(proto.graph.initializer)
    assert call(clip, x).tolist() == [least[0], 1, least[1]]


@pytest.mark.parametrize(
    ("given", "options", "why"),
    [
        (5, {}, "model is of type int: give the path"),
        (onnx.ModelProto(), {}, "the model has no graph, or a graph without outputs"),
        (None, {"dims": {"n": 2.5}}, "dims: n=2.5 must be a whole number"),
        (None, {"dims": {"x": (1,) * 7}}, "axes by the file, and 7 extents are given"),
        (None, {"dims": {"n": 2}, "name": "printf"}, "'printf' is taken in C"),
        (None, {"dims": {"n": 2}, "name": "double"}, "'double' is taken in C"),
        (None, {"dims": {"n": 2}, "name": "main"}, "'main' is taken in C"),
    ],
)
def test_what_no_model_can_be_made_of_is_one_sentence(given, options, why):
    proto = model([node("Neg", ["x"], ["y"])], {"x": ["n"]}, ["y"]) if given is None else given
    with pytest.raises(ModelError, match=why):
        compile_model(proto, **options)


def test_extents_may_be_numbers_of_numpy():
    proto = model([node("Neg", ["x"], ["y"])], {"x": ["n"]}, ["y"])
    assert compile_model(proto, dims={"n": np.int64(2)})(whole(0, 2))[0].shape == (2,)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zeros", "index", "x"])
def test_a_library_may_have_any_name_that_c_leaves_free(name, tmp_path):
    proto = model([node("Neg", ["a */ b /*"], ["y"])], {"a */ b /*": [2]}, ["y"])
    proto.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 2
    path = tmp_path / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString())
    x = whole(0, 2)
    assert compile_model(path)(x)[0].tolist() == (-x).tolist()


def test_padding_may_be_computed():
    constants = {"pads": np.array([1, 2])}
    proto = model([node("Pad", ["x", "pads", "v"], ["y"])], {"x": [3], "v": []}, ["y"], constants)
    assert call(proto, np.arange(3, dtype=np.float32), np.float32(9)).tolist() == [9, 0, 1, 2, 9, 9]


def test_groups_had_one_factor_each_before_version_21():
    x, scale, bias = whole(0, 2, 4, 3), np.array([1, 3], np.float32), np.array([2, -1], np.float32)
    nodes = [node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2, epsilon=1e-3)]
    proto = typed(nodes, {"x": (1, [2, 4, 3])}, constants={"s": scale, "b": bias}, opset=18)
    groups = x.reshape(2, 2, 6).astype(np.float64)
    scaled = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-3)
    wanted = scaled * scale[:, None] + bias[:, None]
    np.testing.assert_allclose(call(proto, x), wanted.reshape(x.shape), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Split", ["x", "sizes"], ["a", "y"], axis=0)],
        [node("Slice", ["x", "one", "one"], ["a"]), node("Concat", ["a", "x"], ["y"], axis=0)],
        [node("Slice", ["x", "one", "one"], ["a"]), node("ReduceSum", ["a", "zero"], ["y"], keepdims=0)],
        [node("Slice", ["x", "one", "one"], ["y"])],
    ],
)
def test_arrays_without_elements_are_known(nodes):
    constants = {"sizes": np.array([0, 3]), "one": np.array([1]), "zero": np.array([0])}
    proto = model(nodes, {"x": [3, 2]}, ["y"], constants)
    x = whole(0, 3, 2)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    y = call(proto, x)
    assert y.shape == wanted.shape and y.tolist() == wanted.tolist()


def test_an_input_may_have_no_elements():
    proto = model([node("Concat", ["x", "e"], ["y"], axis=0)], {"x": [3], "e": [0]}, ["y"])
    x = whole(0, 3)
    assert call(proto, x, np.zeros(0, np.float32)).tolist() == x.tolist()


def test_weights_of_bf16_keep_their_bits():
    weights = np.array([1.5, -2.25, 3], ml_dtypes.bfloat16)
    proto = typed([node("Mul", ["x", "w"], ["y"])], {"x": (TensorProto.BFLOAT16, [3])}, constants={"w": weights})
    x = np.array([2, 4, 8], ml_dtypes.bfloat16)
    assert call(proto, x).view(ml_dtypes.bfloat16).tolist() == (x * weights).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn"]
)
def test_casts_to_a_few_bits_round_as_ml_dtypes_do(name):
    narrow = np.dtype(getattr(ml_dtypes, name))
    to = onnx.helper.np_dtype_to_tensor_dtype(narrow)
    given = {}
    for source in (np.float32, np.float64):
        every = np.arange(16 if "4_" in name else 256, dtype=np.uint8).view(narrow).astype(source)
        every = np.sort(every[np.isfinite(every)])
        between = (every[1:] + every[:-1]) / 2
        x = np.concatenate([every, between])
        if source == np.float32:  # ml_dtypes rounds an f64 twice
            x = np.concatenate([x, np.nextafter(between, source(9e9)), np.nextafter(between, source(-9e9))])
        given[f"x_{source.__name__}"] = x
    wanted = {source: x.astype(narrow) for source, x in given.items()}
    given |= {f"bits of {source}": y for source, y in wanted.items()}
    # All casts are one model, which is compiled once.
    casts = [node("Cast", [x], [f"y {x}"], to=TensorProto.FLOAT if "bits" in x else to) for x in given]
    kinds = {x: (onnx.helper.np_dtype_to_tensor_dtype(array.dtype), [len(array)]) for x, array in given.items()}
    y = compile_model(typed(casts, kinds, [f"y {x}" for x in given]))(*given.values())
    for found, expected in zip(y[:2], wanted.values(), strict=True):
        assert found.tolist() == expected.view(np.uint8).tolist()
    for found, expected in zip(y[2:], wanted.values(), strict=True):
        assert found.tolist() == expected.astype(np.float32).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 70])
def test_as_many_arrays_are_joined_as_there_are(count):
    parts = [whole(number, 2, 1 + number % 3) for number in range(count)]
    names = [f"x{number}" for number in range(count)]
    shapes = {name: part.shape for name, part in zip(names, parts)}
    proto = model([node("Concat", names, ["y"], axis=1)], shapes, ["y"])
    assert compile_model(proto)(*parts)[0].tolist() == np.concatenate(parts, 1).tolist()


@pytest.mark.parametrize(("operator", "function"), [("Max", np.max), ("Sum", np.sum), ("Mean", np.mean)])
def test_as_many_arrays_meet_as_there_are(operator, function):
    parts = [whole(number, 2, 3) for number in range(64)]
    names = [f"x{number}" for number in range(64)]
    proto = model([node(operator, names, ["y"])], dict.fromkeys(names, (2, 3)), ["y"])
    assert compile_model(proto)(*parts)[0].tolist() == function(parts, 0).tolist()


@pytest.mark.parametrize("constant", [True, False])
def test_lrn_goes_over_channels_whatever_the_batch(constant):
    """By the standard's definition; onnx's reference goes over as many channels as there are images."""
    x, size = whole(0, 2, 7, 2, 2, most=5), 4
    squares = np.zeros(x.shape, np.float64)
    for c in range(7):
        squares[:, c] = (x[:, max(0, c - 1) : min(7, c + 3)].astype(np.float64) ** 2).sum(1)
    nodes = [node("LRN", ["x"], ["a"], size=size, alpha=0.5, beta=0.75, bias=1.0), node("Add", ["a", "z"], ["y"])]
    inputs = {"z": [1]} | ({} if constant else {"x": list(x.shape)})
    compiled = compile_model(model(nodes, inputs, ["y"], {"x": x} if constant else {}))
    (y,) = compiled.run({"z": np.zeros(1, np.float32)} | ({} if constant else {"x": x})).values()
    assert y == pytest.approx(x / (1 + 0.5 / size * squares) ** 0.75, rel=1e-5)


def test_an_operator_of_another_domain_may_stand_on_constants(monkeypatch):
    """onnx's reference does not know it, so its own program computes it."""
    monkeypatch.setitem(OPERATORS, "com.example.Twice", lambda made: elementwise(made, "{0} + {0}"))
    nodes = [node("Twice", ["c"], ["t"], domain="com.example"), node("Add", ["t", "x"], ["y"])]
    constant, x = whole(0, 3), whole(1, 3)
    proto = model(nodes, {"x": [3]}, ["y"], {"c": constant})
    proto.opset_import.append(helper.make_opsetid("com.example", 1))
    assert compile_model(proto)(x)[0].tolist() == (2 * constant + x).tolist()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("operator", "number"), [("Add", 0), ("Sub", 0), ("Mul", 1), ("Div", 1)])
@pytest.mark.parametrize(
    ("shape", "steps"), [((), 1), ((1,), 1), ((4, 1), 1), ((2, 4, 3), 1), ((5, 2, 4, 3), 2), ((1, 2, 4, 3), 2)], ids=str
)
def test_numbers_that_change_nothing_are_no_step(operator, number, shape, steps):
    constants = {"c": np.full(shape, number, np.float32), "m": whole(2, 3, 5)}
    nodes = [node(operator, ["x", "c"], ["a"], "a"), node("MatMul", ["a", "m"], ["y"], "y")]
    given, x = model(nodes, {"x": [2, 4, 3]}, ["y"], constants), whole(1, 2, 4, 3)
    compiled = compile_model(given)
    assert len(compiled.explained) == steps
    (wanted,) = ReferenceEvaluator(given).run(None, {"x": x})
    assert compiled(x)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize(("operator", "number"), [("Add", 0), ("Sub", 0), ("Mul", 1), ("Div", 1)])
def test_numbers_that_change_something_are_a_step(operator, number):
    one_differs = np.full(3, number, np.float32)
    one_differs[1] = 2
    nodes = [node(operator, ["x", "c"], ["a"], "a"), node(operator, ["o", "a"], ["y"], "y")]
    given = model(nodes, {"x": [4, 3]}, ["y"], {"c": one_differs, "o": np.full(1, number, np.float32)})
    x = np.abs(whole(1, 4, 3)) + 1
    (wanted,) = ReferenceEvaluator(given).run(None, {"x": x})
    assert compile_model(given)(x)[0].tolist() == wanted.tolist()
