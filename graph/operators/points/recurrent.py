"""The cells of recurrent networks: one iteration after its products. `graph/onnx/recurrent.py` makes their nodes.

Gates lie side by side in a row: those of an LSTM in the order i o f c, those of a GRU in the order z r h. Where lengths
of sequences are given, a row that is over keeps its state, and its output is 0.
"""

from __future__ import annotations

from collections.abc import Callable

from graph.model.node import Made, Node, Text

# Values of an activation with its alpha {a} and beta {b}, and the two by default; None where it has none.
ACTIVATIONS: dict[str, tuple[str, float | None, float | None]] = {
    "relu": ("max({x}, 0)", None, None),
    "tanh": ("tanh({x})", None, None),
    "sigmoid": ("sigmoid({x})", None, None),
    "softsign": ("({x}) / (1 + abs({x}))", None, None),
    "softplus": ("max({x}, 0) + log1p(exp(-abs({x})))", None, None),
    "affine": ("{a} * ({x}) + {b}", 1.0, 0.0),
    "scaledtanh": ("{a} * tanh({b} * ({x}))", 1.0, 1.0),
    "hardsigmoid": ("clamp({a} * ({x}) + {b}, 0, 1)", 0.2, 0.5),
    "leakyrelu": ("leaky_relu({x}, {a})", 0.01, None),
    "thresholdedrelu": ("where({x} > {a}, {x}, 0)", 1.0, None),
    "elu": ("where({x} < 0, {a} * expm1({x}), {x})", 1.0, None),
}
# The places of a cell's inputs. Those from MASK on are the iteration's number and the lengths of sequences.
ROW, STATE, MEMORY, PEEPHOLES, MASK = range(5)


def _activated(node: Node, number: int, value: str, clipped: bool = True) -> str:
    """A value after the cell's activation of this number."""
    name, alpha, beta = node.attribute("activations")[number].decode().split()
    clip = node.attribute("clip")
    value = f"clamp({value}, {-clip!r}, {clip!r})" if clip and clipped else value
    return f"({ACTIVATIONS[name][0].format(x=value, a=alpha, b=beta)})"


def _cell(node: Node, statements: list[str], inputs: dict[str, int], states: dict[str, str]) -> Made:
    """The cell's program. states: what the statements call a state after the iteration, and before it.

    Its outputs are the states and, where sequences have lengths, the first state as an output.
    """
    after = list(states)
    if node.has(MASK):
        inputs = inputs | {"t": MASK, "l": MASK + 1}
        kept = [f"{new}2[n,k] = where(t[] < l[n], {new}[n,k], {old}[n,k])" for new, old in states.items()]
        statements = [*statements, *kept, f"y[n,k] = where(t[] < l[n], {after[0]}[n,k], 0)"]
        after = [*(f"{new}2" for new in after), "y"]
    rows, hidden = node.shape(STATE)
    extents = {"n": rows, "k": hidden}
    return Text("; ".join(statements), inputs, extents, (node.dtype(),) * len(after), outputs=tuple(after))


def _gate(hidden: int, number: int) -> str:
    return f"[n,k + {number * hidden}]" if number else "[n,k]"


def _lstm(node: Node) -> Made:
    """x: the row of gates, products and biases added."""
    hidden = node.shape(STATE)[1]
    inputs = {"x": ROW, "h": STATE, "c": MEMORY}

    def gate(number: int, peephole: int, memory: str) -> str:
        value = f"x{_gate(hidden, number)}"
        if node.has(PEEPHOLES):
            inputs["p"] = PEEPHOLES
            value += f" + p[k + {peephole * hidden}] * {memory}[n,k]"
        return _activated(node, 0, value)

    forget = "1 - i[n,k]" if node.attribute("input_forget", 0) else gate(2, 2, "c")
    statements = [
        f"i[n,k] = {gate(0, 0, 'c')}",
        f"f[n,k] = {forget}",
        f"m[n,k] = f[n,k] * c[n,k] + i[n,k] * {_activated(node, 1, f'x{_gate(hidden, 3)}')}",
        f"s[n,k] = {gate(1, 1, 'm')} * {_activated(node, 2, 'm[n,k]', clipped=False)}",
    ]
    if not node.has(MASK):
        del inputs["h"]
    return _cell(node, statements, inputs, {"s": "h", "m": "c"})


def _rnn(node: Node) -> Made:
    inputs = {"x": ROW, "h": STATE} if node.has(MASK) else {"x": ROW}
    return _cell(node, [f"s[n,k] = {_activated(node, 0, 'x[n,k]')}"], inputs, {"s": "h"})


def _gru_reset(node: Node) -> Made:
    """The gates of a GRU, and the state times the reset gate. Its third input is the product of the state."""
    rows, hidden = node.shape(STATE)
    z, r = (f"x{_gate(hidden, number)} + p{_gate(hidden, number)}" for number in (0, 1))
    text = f"z[n,k] = {_activated(node, 0, z)}; s[n,k] = {_activated(node, 0, r)} * h[n,k]"
    inputs = {"x": ROW, "h": STATE, "p": MEMORY}
    return Text(text, inputs, {"n": rows, "k": hidden}, (node.dtype(),) * 2, outputs=("z", "s"))


def _gru_after(node: Node) -> Made:
    """What follows the second product of a GRU. Its third and fourth inputs are that product and the gate z."""
    hidden = node.shape(STATE)[1]
    new = _activated(node, 1, f"x{_gate(hidden, 2)} + p[n,k]")
    statements = [f"s[n,k] = (1 - z[n,k]) * {new} + z[n,k] * h[n,k]"]
    return _cell(node, statements, {"x": ROW, "h": STATE, "p": MEMORY, "z": PEEPHOLES}, {"s": "h"})


def _gru_linear(node: Node) -> Made:
    """A GRU that resets after its product: its third input. Its fourth is the bias of the last gate's product."""
    hidden = node.shape(STATE)[1]
    z, r = (f"x{_gate(hidden, number)} + p{_gate(hidden, number)}" for number in (0, 1))
    new = f"x{_gate(hidden, 2)} + r[n,k] * (p{_gate(hidden, 2)} + b[k])"
    statements = [
        f"z[n,k] = {_activated(node, 0, z)}",
        f"r[n,k] = {_activated(node, 0, r)}",
        f"s[n,k] = (1 - z[n,k]) * {_activated(node, 1, new)} + z[n,k] * h[n,k]",
    ]
    return _cell(node, statements, {"x": ROW, "h": STATE, "p": MEMORY, "b": PEEPHOLES}, {"s": "h"})


# No operator of a file has such a name.
RECURRENT: dict[str, Callable[[Node], Made]] = {
    "LSTM.cell": _lstm,
    "RNN.cell": _rnn,
    "GRU.reset": _gru_reset,
    "GRU.after": _gru_after,
    "GRU.linear": _gru_linear,
}
