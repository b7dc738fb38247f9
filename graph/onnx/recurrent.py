"""LSTM, GRU and RNN as a Scan over time: the products of all inputs at once, then a loop of a product and a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from graph.model.node import Unsupported
from graph.onnx.control import scan
from graph.onnx.reading import Reading
from graph.operators.points.recurrent import ACTIVATIONS

_FLOATS: dict[str, type[np.floating[Any]]] = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_DEFAULT = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_DIRECTIONS = {b"forward": (False,), b"reverse": (True,), b"bidirectional": (False, True)}
# The places of inputs.
_X, _W, _R, _B, _LENGTHS, _H, _C, _P = range(8)


def recurrent(reading: Reading, proto: onnx.NodeProto, name: str) -> bool:
    """Reads an LSTM, a GRU or an RNN. False for any other node. Raises Unsupported."""
    if proto.op_type not in _GATES:
        return False
    _Layer(reading, proto, name).read()
    return True


@dataclass
class _Layer:
    reading: Reading
    proto: onnx.NodeProto
    name: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.attributes = {each.name: helper.get_attribute_value(each) for each in self.proto.attribute}
        self.scope = f"\0{next(filter(None, self.proto.output), self.name)}"
        self.outputs = [*self.proto.output, "", "", ""][:3]

    def refuse(self, why: str) -> Unsupported:
        return Unsupported(f"node {self.name} ({self.proto.op_type}): {why}")

    def input(self, place: int) -> str:
        return self.proto.input[place] if place < len(self.proto.input) else ""

    def node(self, kind: str, inputs: Sequence[str], what: str, **attributes: Any) -> str:
        """Reads one more node. Returns the name of its output."""
        made = f"{self.scope}.{what}"
        self.reading.node(helper.make_node(kind, inputs, [made], **attributes), f"{self.name}.{what}")
        return made

    def known(self, numbers: np.ndarray, what: str) -> str:
        self.reading.know(f"{self.scope}.{what}", numbers)
        return f"{self.scope}.{what}"

    def part(self, array: str, direction: int, what: str) -> str:
        """A direction's part of an input."""
        at = self.known(np.array(direction, np.int64), f"{what}.at")
        return self.node("Gather", [array, at], what, axis=0)

    def rows(self, array: str, first: int, count: int, what: str) -> str:
        at = self.known(np.arange(first, first + count, dtype=np.int64), f"{what}.at")
        return self.node("Gather", [array, at], what, axis=0)

    def transposed(self, array: str, order: list[int], what: str) -> str:
        return self.node("Transpose", [array], what, perm=order)

    def read(self) -> None:
        directions = _DIRECTIONS.get(self.attributes.get("direction", b"forward"))
        if directions is None:
            raise self.refuse(f"there is no direction {self.attributes['direction'].decode()}")
        batch_first = bool(self.attributes.get("layout", 0))
        x = self.transposed(self.input(_X), [1, 0, 2], "x") if batch_first else self.input(_X)
        self.check(x, len(directions))
        found = [self.direction(x, number, backward) for number, backward in enumerate(directions)]
        together: list[tuple[int, list[int]]] = [(1, [2, 0, 1, 3]), (0, [1, 0, 2]), (0, [1, 0, 2])]
        for place, ((axis, order), output) in enumerate(zip(together, self.outputs)):
            if not output:
                continue
            parts = []
            for number, arrays in enumerate(found):
                shape = list(self.reading.arrays[arrays[place]].shape)
                parts.append(f"{self.scope}.{number}.output{place}")
                self.reading.view(parts[-1], arrays[place], (*shape[:axis], 1, *shape[axis:]))
            whole = self.node("Concat", parts, f"joined{place}", axis=axis) if len(parts) > 1 else parts[0]
            whole = self.transposed(whole, order, f"transposed{place}") if batch_first else whole
            self.reading.view(output, whole, self.reading.arrays[whole].shape)

    def check(self, x: str, directions: int) -> None:
        """Raises Unsupported where shapes contradict each other."""
        gates, arrays = _GATES[self.proto.op_type], self.reading.arrays
        shapes = [arrays[each].shape if each else () for each in (*self.proto.input, *[""] * 8)][:8]
        if len(arrays[x].shape) != 3 or len(shapes[_R]) != 3:
            raise self.refuse(f"x has shape {arrays[x].shape} and R {shapes[_R]}, and both need 3 axes")
        _, batch, features = arrays[x].shape
        self.batch, self.hidden, self.dtype = batch, shapes[_R][2], arrays[x].dtype
        if self.dtype not in _FLOATS:
            raise self.refuse(f"x is {self.dtype}, which is not supported")
        hidden, rows = self.hidden, gates * self.hidden
        state = (batch, directions, hidden) if self.attributes.get("layout", 0) else (directions, batch, hidden)
        wanted = {_W: (directions, rows, features), _R: (directions, rows, hidden), _B: (directions, 2 * rows)}
        wanted |= {_LENGTHS: (batch,), _H: state, _C: state, _P: (directions, 3 * hidden)}
        for place, shape in wanted.items():
            if self.input(place) and shapes[place] != shape:
                raise self.refuse(f"input {place} has shape {shapes[place]}, and {shape} is needed")

    def activations(self, number: int) -> list[str]:
        """The activations of a direction: name, alpha, beta. Only activations that have an alpha take one in turn."""
        kind = self.proto.op_type
        count = len(_DEFAULT[kind])
        directions = len(_DIRECTIONS[self.attributes.get("direction", b"forward")])
        given = [each.decode() for each in self.attributes.get("activations", [])]
        names = [each.lower() for each in given or _DEFAULT[kind] * directions]
        if len(names) != count * directions:
            raise self.refuse(f"{len(names)} activations are given, and {count * directions} are needed")
        rest = [iter(self.attributes.get(f"activation_{each}", [])) for each in ("alpha", "beta")]
        found = []
        for each in names:
            if each not in ACTIVATIONS:
                raise self.refuse(f"there is no activation {each}")
            _, *defaults = ACTIVATIONS[each]
            numbers = [default if default is None else next(of, default) for of, default in zip(rest, defaults)]
            found.append(" ".join([each, *(repr(float(value or 0.0)) for value in numbers)]))
        return found[number * count : (number + 1) * count]

    def state(self, place: int, number: int) -> str:
        """The state before the first iteration."""
        if not self.input(place):
            zeros = np.zeros((self.batch, self.hidden), _FLOATS[self.dtype])
            return self.known(zeros, f"{number}.zeros{place}")
        array = self.input(place)
        if self.attributes.get("layout", 0):
            array = self.transposed(array, [1, 0, 2], f"{number}.transposed.state{place}")
        return self.part(array, number, f"{number}.state{place}")

    def direction(self, x: str, number: int, backward: bool) -> list[str]:
        """Reads a direction. Returns the names of its Y, Y_h and Y_c, "" where there is none."""
        kind, hidden = self.proto.op_type, self.hidden
        linear = bool(self.attributes.get("linear_before_reset", 0))
        weights = self.transposed(self.part(self.input(_W), number, f"{number}.w"), [1, 0], f"{number}.wt")
        row = self.node("MatMul", [x, weights], f"{number}.xw")
        last_bias = self.known(np.zeros(hidden, _FLOATS[self.dtype]), f"{number}.no_bias")
        if self.input(_B):
            both, rows = self.part(self.input(_B), number, f"{number}.b"), _GATES[kind] * hidden
            first, second = (self.rows(both, part * rows, rows, f"{number}.b{part}") for part in (0, 1))
            if kind == "GRU" and linear:  # its last gate's second bias is inside the reset
                last_bias = self.rows(second, 2 * hidden, hidden, f"{number}.last")
                inside = np.repeat([1, 0], [2 * hidden, hidden]).astype(_FLOATS[self.dtype])
                second = self.node("Mul", [second, self.known(inside, f"{number}.inside")], f"{number}.b2")
            row = self.node("Add", [row, self.node("Add", [first, second], f"{number}.bias")], f"{number}.row")
        recurrent_weights = self.part(self.input(_R), number, f"{number}.r")
        states = [self.state(_H, number)] + ([self.state(_C, number)] if kind == "LSTM" else [])
        body = _Body(self, number)
        if kind == "GRU" and not linear:
            gates, new = (
                self.rows(recurrent_weights, *part, f"{number}.r{part[0]}")
                for part in ((0, 2 * hidden), (2 * hidden, hidden))
            )
            body.gru(self.transposed(gates, [1, 0], f"{number}.rt0"), self.transposed(new, [1, 0], f"{number}.rt1"))
        else:
            transposed = self.transposed(recurrent_weights, [1, 0], f"{number}.rt")
            if kind == "GRU":
                body.linear_gru(transposed, last_bias)
            else:
                peepholes = self.part(self.input(_P), number, f"{number}.p") if self.input(_P) else ""
                body.one_product(kind, transposed, peepholes)
        parts = [row]
        if self.input(_LENGTHS):
            parts.append(self.known(np.arange(self.reading.arrays[x].shape[0], dtype=np.int32), f"{number}.times"))
        return self.scanned(number, backward, body, states, parts)

    def scanned(self, number: int, backward: bool, body: _Body, states: list[str], parts: list[str]) -> list[str]:
        values = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, None) for each in body.inputs]
        results = [onnx.ValueInfoProto(name=each) for each in body.outputs[: None if self.outputs[0] else len(states)]]
        graph = helper.make_graph(body.nodes, "iteration", values, results)
        finals = [f"{self.scope}.{number}.final{place}" for place in range(len(states))]
        stack = [f"{self.scope}.{number}.all"] if self.outputs[0] else []
        node = helper.make_node(
            "Scan",
            [*states, *parts],
            [*finals, *stack],
            body=graph,
            num_scan_inputs=len(parts),
            scan_input_directions=[int(backward)] * len(parts),
        )
        if stack:
            node.attribute.append(helper.make_attribute("scan_output_directions", [int(backward)]))
        scan(self.reading, node, f"{self.name}.{number}")
        return [*(stack or [""]), *finals]


class _Body:
    """The nodes of one iteration. Names without a scope belong to the iteration."""

    def __init__(self, layer: _Layer, number: int):
        self.attributes: dict[str, Any] = {"activations": layer.activations(number)}
        self.attributes |= {
            each: layer.attributes[each] for each in ("clip", "input_forget") if each in layer.attributes
        }
        self.masked = bool(layer.input(_LENGTHS))
        self.mask = ["time", layer.input(_LENGTHS)] if self.masked else []
        memory = layer.proto.op_type == "LSTM"
        self.inputs = ["h", *(["c"] if memory else []), "row", *(["time"] if self.masked else [])]
        self.states = ["h2", *(["c2"] if memory else [])]
        self.outputs = [*self.states, "y" if self.masked else "h2"]
        self.nodes: list[onnx.NodeProto] = []

    def node(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        self.nodes.append(helper.make_node(kind, inputs, outputs, kind, **attributes))

    def cell(self, kind: str, inputs: list[str]) -> None:
        """The node that gives the states and, where sequences have lengths, the output."""
        inputs = [*inputs, *[""] * (4 - len(inputs))] if self.masked else inputs
        self.node(kind, [*inputs, *self.mask], list(dict.fromkeys((*self.states, *self.outputs))), **self.attributes)

    def one_product(self, kind: str, weights: str, peepholes: str) -> None:
        self.node("MatMul", ["h", weights], ["p"])
        self.node("Add", ["p", "row"], ["g"])
        self.cell(f"{kind}.cell", ["g", "h", *(["c"] if kind == "LSTM" else []), *([peepholes] if peepholes else [])])

    def linear_gru(self, weights: str, bias: str) -> None:
        self.node("MatMul", ["h", weights], ["p"])
        self.cell("GRU.linear", ["row", "h", "p", bias])

    def gru(self, gates: str, new: str) -> None:
        self.node("MatMul", ["h", gates], ["p"])
        self.node("GRU.reset", ["row", "h", "p"], ["z", "s"], **self.attributes)
        self.node("MatMul", ["s", new], ["q"])
        self.cell("GRU.after", ["row", "h", "q", "z"])
