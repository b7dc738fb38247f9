"""Random ONNX models whose numbers f32 holds exactly: whole numbers and halves of them, however sums are ordered.

    drawn = random_graph(Random(3))
    drawn.model, drawn.feeds            the model, and an array for each of its inputs

Each value knows the largest number that it may hold, and how often that may be halved. An operator that would go beyond
24 bits is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.support.models.random_graphs import control, maps, moves, products, windows
from tests.support.models.random_graphs.drawing import OPSET, Drawing, Impossible, Value

# Drawn as often as they stand here.
OPERATORS: tuple[Callable[[Drawing], None], ...] = (
    *(products.conv, products.conv, products.conv, products.matmul, products.matmul, products.gemm),
    *(maps.unary, maps.unary, maps.twice, maps.twice, maps.binary, maps.binary, maps.binary, maps.binary, maps.norm),
    *(windows.pool, windows.reduce, windows.reduce, windows.position),
    *(moves.reshape, moves.reshape, moves.transpose, moves.squeeze, moves.concat, moves.split, moves.cut, moves.pad),
    *(moves.expand, moves.gather, moves.resize, moves.cast, control.branch, control.loop),
)


@dataclass
class Drawn:
    """A model and inputs for it."""

    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]


def random_graph(random: Random, nodes: int = 8) -> Drawn:
    """A model of so many operators at most, with several inputs and outputs."""
    drawing = Drawing(random)
    pick = drawing.random
    shapes = [(pick.choice((1, 1, 2)), pick.choice((1, 3, 4, 8, 16, 17)), pick.randint(1, 9), pick.randint(1, 19))]
    shapes += pick.sample([(pick.randint(1, 9), pick.choice((1, 5, 16, 24))), (pick.randint(1, 33),), shapes[0]], 1)
    shapes += [(2, pick.randint(1, 5), pick.randint(1, 9))] * pick.randint(0, 1)
    drawing.values = [Value(f"x{place}", shape) for place, shape in enumerate(shapes)]
    inputs = list(drawing.values)
    tries = 0
    while len(drawing.nodes) < nodes and tries < 40 * nodes:
        tries += 1
        before = (list(drawing.values), list(drawing.nodes), dict(drawing.constants))
        try:
            pick.choice(OPERATORS)(drawing)
        except Impossible:
            drawing.values, drawing.nodes, drawing.constants = before
    made = [value for value in drawing.values if value not in inputs]
    read = {name for node in drawing.nodes for name in node.input}
    ends = [value for value in made if value.name not in read] or [drawing.values[-1]]
    wanted = dict.fromkeys(value.name for value in ends)
    wanted |= dict.fromkeys(pick.choice(drawing.values).name for _ in range(pick.choice((0, 0, 1, 2))))
    if pick.random() < 0.1 and drawing.constants:
        wanted |= {pick.choice([name for name in drawing.constants]): None}
    named = {value.name: value for value in drawing.values}
    outputs = [drawing.declared(named[name]) if name in named else drawing.constant_value(name) for name in wanted]
    graph = helper.make_graph(
        drawing.nodes,
        "drawn",
        [drawing.declared(value) for value in inputs],
        outputs,
        [numpy_helper.from_array(numbers, name) for name, numbers in drawing.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    return Drawn(model, {value.name: drawing.numbers(value.shape) for value in inputs})
