"""LSTM, GRU and RNN against the formulas of the standard in float64."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from graph import ModelError, compile_model
from tests.support.models.onnx_models import model

DEFAULT = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Softsign": lambda x, a, b: x / (1 + abs(x)),
    "Softplus": lambda x, a, b: np.log1p(np.exp(x)),
    "Affine": lambda x, a, b: a * x + b,
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0),
    "Elu": lambda x, a, b: np.where(x < 0, a * (np.exp(x) - 1), x),
}


def defined(kind, x, w, r, b, lengths, h, c, p, functions, clip=None, linear=False, coupled=False, backward=False):
    """One direction: x [T,B,I], w [G*H,I], r [G*H,H], b [2*G*H], h and c [B,H], p [3*H]. Gives Y, Y_h, Y_c."""
    f, g, last = (*functions, None, None)[:3]
    clipped = (lambda v: np.clip(v, -clip, clip)) if clip else (lambda v: v)
    wb, rb = np.split(b, 2)
    y = np.zeros((*x.shape[:2], h.shape[1]))
    h, c = h.copy(), c.copy()
    for row in range(x.shape[1]):
        times = range(lengths[row])
        for t in reversed(times) if backward else times:
            wx = np.split(w @ x[t, row] + wb, GATES[kind])
            rs, bs = np.split(r, GATES[kind]), np.split(rb, GATES[kind])
            rh = [each @ h[row] + bias for each, bias in zip(rs, bs)]
            if kind == "RNN":
                h[row] = f(clipped(wx[0] + rh[0]))
            elif kind == "GRU":
                z, q = f(clipped(wx[0] + rh[0])), f(clipped(wx[1] + rh[1]))
                inner = q * rh[2] if linear else rs[2] @ (q * h[row]) + bs[2]
                h[row] = (1 - z) * g(clipped(wx[2] + inner)) + z * h[row]
            else:
                pi, po, pf = np.split(p, 3)
                i = f(clipped(wx[0] + rh[0] + pi * c[row]))
                forget = 1 - i if coupled else f(clipped(wx[2] + rh[2] + pf * c[row]))
                c[row] = forget * c[row] + i * g(clipped(wx[3] + rh[3]))
                h[row] = f(clipped(wx[1] + rh[1] + po * c[row])) * last(c[row])
            y[t, row] = h[row]
    return y, h, c


def layer(kind, directions, given, turns, batch, inputs=4, hidden=8):
    """The arrays of a layer by the letters of its inputs. One that is not given is 0, or as long as there are turns."""
    random = np.random.default_rng(7)
    gates = GATES[kind] * hidden
    shapes = {"x": (turns, batch, inputs), "w": (directions, gates, inputs), "r": (directions, gates, hidden)}
    shapes |= {"b": (directions, 2 * gates), "h": (directions, batch, hidden), "c": (directions, batch, hidden)}
    shapes |= {"p": (directions, 3 * hidden)}
    arrays = {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    arrays |= {name: np.zeros_like(arrays[name]) for name in "bhcp" if name not in given}
    lengths = [turns, 2, 4][:batch] if "l" in given else [turns] * batch
    return arrays | {"l": np.array(lengths, np.int32)}


def expected(kind, arrays, functions, attributes, direction, layout):
    """The outputs. functions: those of a direction after those of the other one."""
    wide = {name: array.astype(np.float64) for name, array in arrays.items()} | {"l": arrays["l"]}
    count, found = len(DEFAULT[kind]), []
    flags = {"clip": "clip", "linear": "linear_before_reset", "coupled": "input_forget"}
    more = {name: attributes.get(attribute) for name, attribute in flags.items()}
    for d in range(len(functions) // count):
        of = [wide[name] if name in "xl" else wide[name][d] for name in "xwrblhcp"]
        backward = direction == "reverse" or d == 1
        found.append(defined(kind, *of, functions[d * count : (d + 1) * count], **more, backward=backward))
    wanted = [np.stack([each[0] for each in found], 1), *(np.stack([each[n] for each in found]) for n in (1, 2))]
    if layout:
        wanted = [wanted[0].transpose(2, 0, 1, 3), *(each.transpose(1, 0, 2) for each in wanted[1:])]
    return wanted[: 3 if kind == "LSTM" else 2]


def check(
    kind, direction="forward", given="", layout=0, known=True, turns=5, batch=3, functions=None, threads=1, **attributes
):
    """given: letters of optional inputs, b l h c p. known: whether the weights are constant.

    functions: the name, alpha and beta of each activation.
    """
    directions = 1 + (direction == "bidirectional")
    arrays = layer(kind, directions, given, turns, batch)
    names = ["x", "w", "r", *(letter if letter in given else "" for letter in "blhcp")]
    while not names[-1]:
        names.pop()
    transposed = {name: arrays[name] for name in names if name}
    transposed |= {name: np.moveaxis(arrays[name], 0, 1) for name in "xhc" if layout and name in transposed}
    outputs = ["y", "yh", *(["yc"] if kind == "LSTM" else [])]
    more = {"direction": direction, "layout": layout, "hidden_size": 8, **attributes}
    if functions:
        more["activations"] = [name for name, _, _ in functions]
        for place, attribute in ((1, "activation_alpha"), (2, "activation_beta")):
            numbers = [each[place] for each in functions if each[place] is not None]
            more |= {attribute: numbers} if numbers else {}
    inner = {name: array for name, array in transposed.items() if known and name not in "xlhc"}
    outer = {name: array for name, array in transposed.items() if name not in inner}
    node = helper.make_node(kind, names, outputs, "cell", **more)
    proto = model([node], {name: array.shape for name, array in outer.items()}, outputs, inner)
    for value in proto.graph.input:
        if value.name == "l":
            value.type.tensor_type.elem_type = TensorProto.INT32
    compiled = compile_model(proto, threads=threads)
    assert compiled.source.count("for (int64_t iteration_") == (directions if turns > 1 else 0)
    named = functions or [(name, None, None) for name in DEFAULT[kind] * directions]
    called = [lambda v, n=name, a=alpha, b=beta: FUNCTIONS[n](v, a, b) for name, alpha, beta in named]
    # Values lie within 3, activations change an error by 1 at most, and sums have 12 products: 100 roundings a turn.
    for one, wanted in zip(compiled(outer), expected(kind, arrays, called, attributes, direction, layout), strict=True):
        assert one.shape == wanted.shape
        np.testing.assert_allclose(one, wanted, rtol=0, atol=turns * 100 * 2**-23)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions(kind, direction):
    check(kind, direction, "bh")


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
def test_lengths_of_sequences(kind, direction, layout):
    check(kind, direction, "blh", layout, threads=1 + layout)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_weights_may_be_computed(kind):
    check(kind, "bidirectional", "bhc" if kind == "LSTM" else "bh", known=False)


@pytest.mark.slow
@pytest.mark.parametrize("coupled", [0, 1])
def test_peepholes(coupled):
    check("LSTM", "bidirectional", "bhcpl", input_forget=coupled)


@pytest.mark.slow
@pytest.mark.parametrize("given", ["bh", "h", "bhl"])
def test_a_gru_that_resets_after_its_product(given):
    check("GRU", "reverse", given, linear_before_reset=1)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_one_turn_of_one_row_has_no_loop(kind):
    check(kind, given="bh", turns=1, batch=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gates_are_clipped(kind):
    check(kind, given="bh", clip=0.3)


# alpha and beta of each, None where it has none: a list of numbers has those alone that are taken.
ACTIVATIONS = (
    (("HardSigmoid", 0.3, 0.4), ("Softsign", None, None), ("ScaledTanh", 0.6, 0.7)),
    (("Sigmoid", None, None), ("LeakyRelu", 0.25, None), ("Softplus", None, None)),
    (("HardSigmoid", 0.3, 0.4), ("Elu", 0.5, None), ("Affine", 0.6, 0.1)),
    (("Sigmoid", None, None), ("ThresholdedRelu", 0.125, None), ("Relu", None, None)),
)


@pytest.mark.slow
@pytest.mark.parametrize("functions", ACTIVATIONS, ids=lambda functions: functions[1][0])
def test_activations(functions):
    check("LSTM", given="bh", functions=functions)


@pytest.mark.parametrize(
    ("names", "why"), [(["Tanh", "Sine", "Tanh"], "there is no activation sine"), (["Tanh"], "1 activations are given")]
)
def test_wrong_activations_are_one_sentence(names, why):
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], "cell", hidden_size=8, activations=names)
    with pytest.raises(ModelError, match=rf"node cell \(LSTM\): {why}"):
        compile_model(model([node], {"x": [5, 3, 4], "w": [1, 32, 4], "r": [1, 32, 8]}, ["y"]))


def test_shapes_that_contradict_are_one_sentence():
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], "cell", hidden_size=8)
    with pytest.raises(ModelError, match=r"node cell \(LSTM\): input 1 has shape \(1, 32, 5\), and \(1, 32, 4\) is"):
        compile_model(model([node], {"x": [5, 3, 4], "w": [1, 32, 5], "r": [1, 32, 8]}, ["y"]))
