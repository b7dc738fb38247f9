"""One step of the optimisers of ONNX's preview of training: weights, gradients and states in, new ones out."""

from __future__ import annotations

from collections.abc import Callable

from graph.model.node import Made, Node, Text, at


def _step(states: int, statements: Callable[[Node, str], str], gives: tuple[str, ...]) -> Callable[[Node], Made]:
    """Inputs: the rate, the number of steps so far, then all weights, all gradients, and all of each state.

    statements: gives the text for a node and an index in brackets. It reads x, g and the states a and b, and assigns
    what `gives` names, in order.
    """

    def made(node: Node) -> Made:
        count, left = divmod(len(node.inputs) - 2, 2 + states)
        if left or not count:
            raise node.refuse(f"{len(node.inputs)} inputs are no rate, a count and groups of {2 + states}")
        names, text = ("x", "g", "a", "b")[: 2 + states], []
        extents: dict[str, int] = {}
        inputs = {"rate": 0, "steps": 1}
        for number in range(count):
            dims = [f"{dim}{number}" for dim in node.dims(len(node.shape(2 + number)))]
            extents |= dict(zip(dims, node.shape(2 + number)))
            one = statements(node, at(dims)).replace("#", str(number))
            one = one.replace("rate[]", f"rate{at(['0'] * len(node.shape(0)))}")
            text.append(one.replace("steps[]", f"steps{at(['0'] * len(node.shape(1)))}"))
            inputs |= {f"{name}{number}": 2 + place * count + number for place, name in enumerate(names)}
        outputs = [f"{name}{number}" for name in gives for number in range(count)]
        read = {name: place for name, place in inputs.items() if any(f"{name}[" in one for one in text)}
        dtypes = tuple(node.dtype(2 + number) for _ in gives for number in range(count))
        return Text("; ".join(text), read, extents, dtypes, outputs=tuple(outputs))

    return made


def _adagrad(node: Node, at_: str) -> str:
    norm, eps = node.attribute("norm_coefficient", 0.0), node.attribute("epsilon", 1e-6)
    decay = node.attribute("decay_factor", 0.0)
    return (
        f"r#{at_} = {norm!r} * x#{at_} + g#{at_}; h#{at_} = a#{at_} + r#{at_} * r#{at_}; "
        f"y#{at_} = x#{at_} - rate[] / (1 + steps[] * {decay!r}) * r#{at_} / (sqrt(h#{at_}) + {eps!r})"
    )


def _adam(node: Node, at_: str) -> str:
    norm, post = node.attribute("norm_coefficient", 0.0), node.attribute("norm_coefficient_post", 0.0)
    alpha, beta, eps = node.attribute("alpha", 0.9), node.attribute("beta", 0.999), node.attribute("epsilon", 1e-6)
    corrected = f"rate[] * f32(sqrt(1.0 - pow(f64({beta!r}), steps[])) / (1.0 - pow(f64({alpha!r}), steps[])))"
    return (
        f"r#{at_} = {norm!r} * x#{at_} + g#{at_}; v#{at_} = {alpha!r} * a#{at_} + {1 - alpha!r} * r#{at_}; "
        f"h#{at_} = {beta!r} * b#{at_} + {1 - beta!r} * (r#{at_} * r#{at_}); "
        f"d#{at_} = where(steps[] > 0, {corrected}, rate[]); "
        f"y#{at_} = {1 - post!r} * (x#{at_} - d#{at_} * (v#{at_} / (sqrt(h#{at_}) + {eps!r})))"
    )


def _momentum(node: Node, at_: str) -> str:
    norm, alpha, beta = (node.attribute(name, 0.0) for name in ("norm_coefficient", "alpha", "beta"))
    text = f"r#{at_} = {norm!r} * x#{at_} + g#{at_}; "
    text += f"v#{at_} = {alpha!r} * a#{at_} + where(steps[] > 0, {beta!r}, 1.0) * r#{at_}; "
    moved = f"v#{at_}"
    if node.attribute("mode", b"standard") == b"nesterov":
        moved = f"(r#{at_} + {alpha!r} * v#{at_})"
    return f"{text}y#{at_} = x#{at_} - rate[] * {moved}"


_DOMAIN = "ai.onnx.preview.training"
TRAINING: dict[str, Callable[[Node], Made]] = {
    f"{_DOMAIN}.Adagrad": _step(1, _adagrad, ("y", "h")),
    f"{_DOMAIN}.Adam": _step(2, _adam, ("y", "v", "h")),
    f"{_DOMAIN}.Momentum": _step(1, _momentum, ("y", "v")),
}
