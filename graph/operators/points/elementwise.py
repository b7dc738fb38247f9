"""Operators that give each point a value of the same point of their inputs, which broadcast as NumPy's."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from graph.model.node import Made, Node, Text, View, at, broadcast
from tiling.dtypes.formats import FLOATS, INTEGERS
from tiling.tokens import LARGEST_NUMBER

_NO_BOUND = {"s64": 2**63 - 1, "s32": 2**31 - 1}  # floats need none: infinity is larger than the largest number
_INPUTS = "abcdefghmnorsvwxz"  # names of inputs in a text: none is a dim


def elementwise(node: Node, value: str, dtype: str | None = None) -> Text:
    """The program of a value with a field {0}, {1} … for each input. dtype: that of the output, by default that
    of the first input.
    """
    places = [place for place in range(len(node.inputs)) if node.has(place) and f"{{{place}}}" in value]
    try:
        whole = np.broadcast_shapes(*(node.shape(place) for place in places))
    except ValueError:
        shapes = ", ".join(str(node.shape(place)) for place in places)
        raise node.refuse(f"shapes {shapes} do not broadcast") from None
    dims = node.dims(len(whole))
    names = {place: _INPUTS[number] if number < len(_INPUTS) else f"a{number}" for number, place in enumerate(places)}
    fields = [_field(node, place, names.get(place, ""), whole) for place in range(len(node.inputs))]
    text = f"y{at(dims)} = {value.format(*fields)}"
    inputs = {name: place for place, name in names.items() if fields[place].startswith(name)}
    return Text(text, inputs, dict(zip(dims, whole)), (dtype or node.dtype(places[0]),))


def _field(node: Node, place: int, name: str, whole: tuple[int, ...]) -> str:
    """An input in a text: one known number by itself, so that it can be fused without an array."""
    known = node.known[place] if name else None
    if known is not None and known.size == 1 and known.dtype == np.float32 and len(whole) > 0:
        number = float(known.reshape(-1)[0])
        if abs(number) < LARGEST_NUMBER:
            return f"{number!r}" if number >= 0 else f"({number!r})"
    return f"{name}{broadcast(node, node.shape(place), whole)}" if name else ""


def _value(value: str, dtype: str | None = None) -> Callable[[Node], Made]:
    return lambda node: elementwise(node, value, dtype)


def _chained(between: str) -> Callable[[Node], Made]:
    """Any number of inputs, two by two: `between` has a field for the result so far, and one for the next input."""

    def made(node: Node) -> Made:
        return elementwise(node, halves([f"{{{place}}}" for place in range(len(node.inputs))]))

    def halves(values: list[str]) -> str:
        # Other functions join by halves, so that brackets nest only a few levels; a sum keeps its order.
        if len(values) == 1 or "(" not in between:
            return functools.reduce(between.format, values)
        half = len(values) // 2
        return between.format(halves(values[:half]), halves(values[half:]))

    return made


def _mean(node: Node) -> Made:
    value = " + ".join(f"{{{place}}}" for place in range(len(node.inputs)))
    return elementwise(node, f"({value}) / {len(node.inputs)}")


def _div(node: Node) -> Made:
    if node.dtype() in FLOATS:
        return elementwise(node, "{0} / {1}")
    # // rounds down, but the standard rounds towards zero.
    down = "{0} // {1}"
    return elementwise(node, f"{down} + where(({{0}} < 0) != ({{1}} < 0) and {{0}} % {{1}} != 0, 1, 0)")


def _mod(node: Node) -> Made:
    if not node.attribute("fmod", 0):
        return elementwise(node, "{0} % {1}")
    if node.dtype() in FLOATS:  # a remainder by infinity is the number itself, and leaves no room for the sum below
        rest = "abs({0}) % abs({1})"
        return elementwise(node, f"where({{0}} < 0, -({rest}), {rest})")
    # % has the sign of the divisor. The absolute value of the lowest whole number is none.
    rest = "{0} % {1}"
    return elementwise(node, f"where({rest} != 0 and ({rest} < 0) != ({{0}} < 0), {rest} - {{1}}, {rest})")


def _pow(node: Node) -> Made:
    exponent = node.known[1]
    if node.dtype(0) in INTEGERS and node.dtype(1) in INTEGERS:
        return _whole_pow(node)
    if exponent is not None and exponent.ndim == 0 and float(exponent) in (2, 3):
        return elementwise(node, " * ".join(["{0}"] * int(exponent)))
    base = "{0}" if node.dtype() in FLOATS else "f64({0})"  # f32 holds whole numbers to 2^24, f64 to 2^53
    return elementwise(node, f"{node.dtype()}(pow({base}, {{1}}))")


# 2 to the power of 64 is the first power that does not fit. For 0, 1 and -1 every power fits, and equals the 64th or
# 65th.
_MOST_FACTORS = 65


def _whole_pow(node: Node) -> Made:
    """Factor by factor, so exact wherever the result fits. A negative power is rounded towards zero."""
    known = node.known[1]
    most = _MOST_FACTORS if known is None or (known < 0).any() else max(1, min(int(known.max()), _MOST_FACTORS))
    found = elementwise(node, "a{0} ^ {1}")  # for its broadcasting
    base, _, exponent = found.text.partition(" = a")[2].partition(" ^ ")
    here = found.text.partition(" = ")[0].removeprefix("y")
    count = f"where({exponent} < 0, {exponent} % 2, min({exponent}, {_MOST_FACTORS - 1} + {exponent} % 2))"
    text = f"count{here} = {count}; power{here} = prod[factor] where(factor < count{here}, {base}, 1); "
    text += f"y{here} = where({exponent} < 0 and abs({base}) != 1, 0, power{here})"
    return Text(text, found.inputs, {**found.extents, "factor": most}, found.dtypes)


def _clip(node: Node) -> Made:
    low, high = _bound(node, 1, "min", -1), _bound(node, 2, "max", 1)
    value = "{0}"
    if low:
        value = f"max({value}, {low})"
    if high:
        value = f"min({value}, {high})"
    return View(node.shape()) if value == "{0}" else elementwise(node, value)


def _bound(node: Node, place: int, attribute: str, side: int) -> str:
    """A bound as a value; "" where there is none. side: -1 of the lower one, 1 of the upper one."""
    known = node.known[place] if node.has(place) else np.asarray(node.attribute(attribute, side * np.inf))
    if known is None:
        return f"{{{place}}}"
    found = known.reshape(()).item()
    # Exporters write the lowest and the highest whole number where there is no bound.
    if side * found >= _NO_BOUND.get(node.dtype(), np.inf):
        return ""
    in_text = abs(found) <= (LARGEST_NUMBER if isinstance(found, float) else 2**63 - 1)  # and NaN is not
    return repr(found) if in_text or not node.has(place) else f"{{{place}}}"


def _elu(node: Node) -> Made:
    alpha = node.attribute("alpha", 1.0)
    return elementwise(node, f"where({{0}} < 0, {alpha!r} * expm1({{0}}), {{0}})")


def _celu(node: Node) -> Made:
    alpha = node.attribute("alpha", 1.0)
    return elementwise(node, f"max({{0}}, 0) + min({alpha!r} * expm1({{0}} / {alpha!r}), 0)")


def _selu(node: Node) -> Made:
    alpha = node.attribute("alpha", 1.67326319217681884765625)
    gamma = node.attribute("gamma", 1.05070102214813232421875)
    return elementwise(node, f"{gamma!r} * where({{0}} < 0, {alpha!r} * expm1({{0}}), {{0}})")


def _hard_sigmoid(node: Node) -> Made:
    alpha, beta = node.attribute("alpha", 0.2), node.attribute("beta", 0.5)
    return elementwise(node, f"clamp({alpha!r} * {{0}} + {beta!r}, 0.0, 1.0)")


def _thresholded(node: Node) -> Made:
    return elementwise(node, f"where({{0}} > {node.attribute('alpha', 1.0)!r}, {{0}}, 0.0)")


def _shrink(node: Node) -> Made:
    bias, lambd = node.attribute("bias", 0.0), node.attribute("lambd", 0.5)
    value = f"where({{0}} < {-lambd!r}, {{0}} + {bias!r}, where({{0}} > {lambd!r}, {{0}} - {bias!r}, 0))"
    return elementwise(node, value)


def _gelu(node: Node) -> Made:
    tanh = node.attribute("approximate", b"none") == b"tanh"
    return elementwise(node, "gelu_tanh({0})" if tanh else "gelu({0})")


def _prelu(node: Node) -> Made:
    return elementwise(node, "where({0} < 0, {0} * {1}, {0})")


_SOFTPLUS = "max({0}, 0) + log1p(exp(-abs({0})))"


def _shift(node: Node) -> Made:
    up = node.attribute("direction", b"").decode() == "LEFT"
    # A negative count has the same result as one that is too large.
    count = "{1}" if node.dtype()[0] == "u" else "where({1} < 0, 64, {1})"
    return elementwise(node, f"shl({{0}}, {count})" if up else f"shr({{0}}, {count})")


def _is_inf(node: Node) -> Made:
    signs = [
        f"{{0}} == {'-' if name == 'negative' else ''}inf"
        for name in ("negative", "positive")
        if node.attribute(f"detect_{name}", 1)
    ]
    return elementwise(node, " or ".join(signs) or "{0} != {0} and {0} == {0}", "bool")


def _dropout(node: Node) -> Made:
    training = node.has(2) and bool(node.constant(2, "the mode of training").reshape(()))
    ratio = node.constant(1, "the ratio").item() if node.has(1) and training else node.attribute("ratio", 0.5)
    if training and ratio:
        raise node.refuse("in training mode it gives other numbers at every call")
    if len(node.outputs) == 1 or not node.outputs[1]:
        return View(node.shape())
    dims = at(node.dims(len(node.shape())))
    extents = dict(zip(node.dims(len(node.shape())), node.shape()))
    dtypes = (node.dtype(), "bool")
    return Text(f"y{dims} = a{dims}; z{dims} = 0 == 0", {"a": 0}, extents, dtypes, outputs=("y", "z"))


def _binarizer(node: Node) -> Made:
    return elementwise(node, f"where({{0}} > {node.attribute('threshold', 0.0)!r}, 1, 0)")


# Numbers at the second place that change nothing. Files made from PaddlePaddle add 0 after each scale. -0.0 stays as it
# is, where the sum with 0.0 is 0.0: they are equal.
_NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}


def _unless_neutral(number: int, otherwise: Callable[[Node], Made]) -> Callable[[Node], Made]:
    """A view of the first input where the second is this number everywhere, and has no larger shape."""

    def made(node: Node) -> Made:
        known, shape = node.known[1], node.shape()
        if known is None or not (known == number).all():
            return otherwise(node)
        fits = known.ndim <= len(shape) and all(one in (1, own) for one, own in zip(known.shape[::-1], shape[::-1]))
        return View(shape) if fits else otherwise(node)

    return made


ELEMENTWISE: dict[str, Callable[[Node], Made]] = {
    **{
        name: _value(value)
        for name, value in {
            **{"Add": "{0} + {1}", "Sub": "{0} - {1}", "Mul": "{0} * {1}", "Neg": "-{0}", "Abs": "abs({0})"},
            **{"Relu": "max({0}, 0)", "Sign": "sign({0})", "Floor": "floor({0})", "Ceil": "ceil({0})"},
            **{"Round": "round({0})", "Exp": "exp({0})", "Log": "log({0})", "Sqrt": "sqrt({0})"},
            **{"Sin": "sin({0})", "Cos": "cos({0})", "Tan": "tan({0})", "Tanh": "tanh({0})"},
            **{name.title(): f"{name}({{0}})" for name in ("sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh")},
            **{"Atanh": "atanh({0})", "Erf": "erf({0})", "BitwiseNot": "bitnot({0})"},
            **{f"Bitwise{name}": f"bit{name.lower()}({{0}}, {{1}})" for name in ("And", "Or", "Xor")},
            **{"Sigmoid": "sigmoid({0})", "Reciprocal": "1.0 / {0}", "HardSwish": "hardswish({0})"},
            **{"Softplus": _SOFTPLUS, "Softsign": "{0} / (1 + abs({0}))"},
            "Mish": f"{{0}} * tanh({_SOFTPLUS})",
        }.items()
    },
    **{
        name: _value(value, "bool")
        for name, value in {
            **{"Equal": "{0} == {1}", "Greater": "{0} > {1}", "GreaterOrEqual": "{0} >= {1}", "Less": "{0} < {1}"},
            **{"LessOrEqual": "{0} <= {1}", "And": "{0} and {1}", "Or": "{0} or {1}", "Xor": "{0} != {1}"},
            **{"Not": "not {0}", "IsNaN": "{0} != {0}"},
        }.items()
    },
    "Where": lambda node: elementwise(node, "where({0}, {1}, {2})", node.dtype(1)),
    "Max": _chained("max({}, {})"),
    "Min": _chained("min({}, {})"),
    "Sum": _chained("{} + {}"),
    "Mean": _mean,
    "Div": _div,
    "Mod": _mod,
    "BitShift": _shift,
    "Pow": _pow,
    "Clip": _clip,
    "Elu": _elu,
    "Celu": _celu,
    "Selu": _selu,
    "LeakyRelu": lambda node: elementwise(node, f"leaky_relu({{0}}, {node.attribute('alpha', 0.01)!r})"),
    "PRelu": _prelu,
    "HardSigmoid": _hard_sigmoid,
    "ThresholdedRelu": _thresholded,
    "Shrink": _shrink,
    "Gelu": _gelu,
    "IsInf": _is_inf,
    "Dropout": _dropout,
    "ai.onnx.ml.Binarizer": _binarizer,
}
ELEMENTWISE |= {name: _unless_neutral(number, ELEMENTWISE[name]) for name, number in _NEUTRAL.items()}
