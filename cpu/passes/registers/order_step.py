"""Orders the multiplications of a step so that each number is loaded once and no accumulator is spilled.

    for s_u in 0..3, unrolled:                               w_0_0 = load(w_c)
      for w_u in 0..4, unrolled:                             w_1_0 = load(w_c + [16])
        acc[w_u, 0, lane] = fma(x: …, w: …, acc: …)    ->    w_2_0 = load(w_c + [32])
                                                             …
                                                             x_1 = broadcast(x_c + [0, 0, 1, 0])
                                                             acc[1, 0, lane] = fma(x: x_1, w: w_0_0, acc: …)
                                                             acc[0, 0, lane] = fma(x: x_1, w: w_1_0, acc: …)
                                                             …

Where the vectors of the whole step, here of weights, fit beside the accumulators, they are loaded first, and each x is
read once for all points that share it. Otherwise the points follow one another, with a fence between them: x is read
again, as loads are cheaper than a spill. A vector that the step also copies elsewhere is stored from its register. A
register is named after the array that it is read from.
"""

from __future__ import annotations

from dataclasses import replace

from cpu.passes.registers.products import (
    Point,
    StepProduct,
    address_of,
    copies_of,
    is_copy,
    is_product,
    products_of,
    stands_for,
)
from tiling.loops.index import LANE, constant
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Alloc,
    Block,
    Body,
    Do,
    Immediate,
    Invoke,
    Let,
    Load,
    Operand,
    Register,
    Statement,
    Store,
    View,
)
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.machines import Fence
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import buffers, walk, with_blocks


def order_step(kernel: Kernel, registers: int) -> Kernel:
    """The kernel with its multiplications ordered for `registers` vector registers."""
    functions = tuple(_Orderer(kernel, function, registers).whole() for function in kernel.functions)
    return replace(kernel, functions=functions)


class _Orderer:
    """Orders the steps of a function. Each step is a list of products (`StepProduct`).

    Equal loads are one object, kept in `known`, so dictionaries use their `id`: hashing a whole load takes longer.
    """

    def __init__(self, kernel: Kernel, function: Function, registers: int):
        self.function, self.registers = function, registers
        strides = {buffer.name: buffer.strides for buffer in buffers(kernel)}
        self.strides = {view: strides[array] for view, array in function.views}
        self.sources = {view: view for view, _ in function.views}
        self.known: dict[Invoke, Invoke] = {}
        self.sums: dict[tuple[int, int], Load] = {}
        for pointer in (s for s in walk(function.body) if isinstance(s, View)):
            self.strides[pointer.name] = self.strides[pointer.address.buffer]
            self.sources[pointer.name] = self.sources[pointer.address.buffer]

    def whole(self) -> Function:
        (accumulators,) = [s.buffer for s in self.function.body if isinstance(s, Alloc)]
        self.rows, self.vectors, self.lanes = accumulators.shape
        return replace(self.function, body=self.body(self.function.body))

    def body(self, body: Body) -> Body:
        """The block with its steps ordered. Copies of vectors stand before the step that multiplies these."""
        found: list[Statement] = []
        copies: list[Invoke] = []
        for statement in body:
            if stands_for(statement, is_product):
                found += self.step(list(products_of(statement, self.known)), copies)
                copies = []
            elif stands_for(statement, is_copy):
                copies += copies_of(statement, self.known)
            else:
                found.append(with_blocks(statement, self.body))
        assert not copies, "a copy of vectors stands before the step that holds them"
        return tuple(found)

    def step(self, products: list[StepProduct], copies: list[Invoke]) -> Body:
        """The statements of a step. The products come point by point. copies: stores of vectors of the
        products to another buffer.
        """
        held = {id(product.held) for product in products}
        assert all(id(dict(store.operands)["v"]) in held for store in copies), "no product holds a vector to copy"
        runs = self.runs(products)
        if len(runs) == 1:
            return self.run(products, copies)
        found: list[Statement] = []
        for run in runs:
            found += [Fence()] if found else []
            found.append(Block("", self.run([product for product in products if product.point in run], copies)))
        return tuple(found)

    def runs(self, products: list[StepProduct]) -> list[tuple[Point, ...]]:
        """The points of a step, in runs whose vectors are all in registers at once. Points that share an exchange of
        lanes stay together where at least their vectors fit.
        """
        points, most = tuple(dict.fromkeys(product.point for product in products)), self.most_points(products)
        if len(points) <= max(1, most):
            return [points]
        alike: dict[int, dict[Point, None]] = {}  # by the exchange that they share
        for product in sorted(products, key=lambda product: _exchange(product.other)):
            alike.setdefault(_exchange(product.other), {})[product.point] = None
        if len(alike) == 1 or any(len(run) > most for run in alike.values()):
            return [(point,) for point in points]
        runs: list[tuple[Point, ...]] = [()]
        for run in map(tuple, alike.values()):
            runs[-1:] = [runs[-1] + run] if len(runs[-1] + run) <= most else [runs[-1], run]
        return runs

    def most_points(self, products: list[StepProduct]) -> int:
        """How many points have room for their vectors, beside accumulators and the operands of a multiplication."""
        others = {id(product.other): product.other for product in products}.values()
        used = {part.instruction for other in others for part in parts_of(other) if isinstance(part, Invoke)}
        taken = 1 + sum(instruction.registers for instruction in used)
        return (self.registers - taken - 1) // self.vectors - self.rows

    def run(self, products: list[StepProduct], copies: list[Invoke]) -> Body:
        """Points whose vectors are all in registers at once."""
        names: dict[int, str] = {}  # of the registers that hold vectors, by the `id` of their load
        found = [*self.held(products, names), *_copied(copies, names)]
        uses: dict[int, list[StepProduct]] = {}  # products by the number that they share
        for product in products:
            uses.setdefault(id(product.other), []).append(product)
        for n, alike in enumerate(sorted(uses.values(), key=lambda alike: self.place(alike[0].other, alike[0].vector))):
            name = f"{self.source(alike[0].other)}_{n}"
            block: list[Statement] = [Let(name, alike[0].other)]
            x = Register(name)
            for product in alike:
                acc = self.sum_of(product.row, product.vector)
                values: dict[str, Operand] = {"x": x, "w": Register(names[id(product.held)]), "acc": acc}
                factors = tuple([(key, values[key]) for key, _ in product.fma.operands])
                block.append(Store(ACCUMULATORS, acc.at, Invoke(product.fma.instruction, factors)))
            found.append(Block("", tuple(block)))
        return tuple(found)

    def held(self, products: list[StepProduct], names: dict[int, str]) -> Body:
        """The loads of the vectors that these products multiply. Their registers go to `names`, by the load's `id`."""
        found: list[Statement] = []
        number = {point: n for n, point in enumerate(dict.fromkeys(product.point for product in products))}
        for product in products:
            if id(product.held) not in names:
                of_point = f"{number[product.point]}_" if len(number) > 1 else ""
                names[id(product.held)] = f"{self.source(product.held)}_{of_point}{product.vector}"
                found.append(Let(names[id(product.held)], product.held))
        return tuple(found)

    def sum_of(self, row: int, vector: int) -> Load:
        """An accumulator; the same object for all products that are added to it."""
        if (row, vector) not in self.sums:
            self.sums[row, vector] = Load(ACCUMULATORS, (constant(row), constant(vector), LANE))
        return self.sums[row, vector]

    def source(self, load: Invoke) -> str:
        """The array of a number, as the tile names it: `x`, also where a loop's pointer x_c is read."""
        return self.sources[address_of(load).buffer]

    def place(self, load: Invoke, vector: int) -> tuple[int, int, int]:
        """The sort key of a number that a step reads: its place, grouped by exchange of lanes within a row."""
        return self.linear(load) - vector * self.lanes, _exchange(load), vector

    def linear(self, load: Invoke) -> int:
        """How far a number lies from the beginning of its array. All numbers of a step move alike with the loops."""
        address = address_of(load)
        return sum(index.offset * stride for index, stride in zip(address.at, self.strides[address.buffer]))


def _copied(copies: list[Invoke], names: dict[int, str]) -> Body:
    """The copies of the vectors that the registers of a run hold. Other runs have the other copies."""
    found: list[Statement] = []
    for store in copies:
        operands = dict(store.operands)
        if id(operands["v"]) in names:
            operands["v"] = Register(names[id(operands["v"])])
            found.append(Do(Invoke(store.instruction, tuple(operands.items()))))
    return tuple(found)


def _exchange(load: Invoke) -> int:
    """The c of the exchange of lanes after a load: lane l gets lane l ^ c."""
    return next((part.number.offset for part in parts_of(load) if isinstance(part, Immediate)), 0)
