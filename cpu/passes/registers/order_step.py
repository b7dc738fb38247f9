"""Orders the multiplications of a step so that each number is loaded once and no accumulator is spilled.

    for s_u, w_u, v, unrolled:                           w_0 = load(w + …); w_1 = load(w + …)
      acc[w_u, v] = fma(broadcast(x[w_u + s_u]),   ->    { x_0 = broadcast(x[0]); acc[0, 0] = fma(x_0, w_0, …) … }
                        load(w + …), acc[w_u, v])        { x_1 = broadcast(x[1]); … every use of x[1] … }

Where the vectors of the whole step, here of weights, fit beside the accumulators, they are loaded first, and each x is
read once for all points that share it. Otherwise the points follow one another, with a fence between them: x is read
again, as loads are cheaper than a spill. A vector that the step also copies elsewhere is stored from its register. A
register is named after the array that it is read from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from cpu.passes.control.unroll import decided
from tiling.loops.index import LANE, Index, constant
from tiling.loops.language import (
    Address,
    Alloc,
    Block,
    Body,
    Do,
    Fence,
    For,
    Function,
    If,
    Immediate,
    Inside,
    Invoke,
    Kernel,
    Let,
    Load,
    Mask,
    Operand,
    Register,
    Statement,
    Store,
    View,
)
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import parts_of, with_operands
from tiling.loops.walk import buffers, walk, with_blocks

# Loads by what they are read for and the indices there. Equal ones are one object, so that a step tells them apart by
# identity: to hash all of a load takes ten times as long.
Placed = dict[tuple[int, tuple[int, ...]], Invoke]
Point = tuple[int, ...]  # of the summed dims in a step


class _Product(NamedTuple):
    """One multiplication of a step: which accumulator, the vector that is held for it, and the other factor."""

    point: Point
    row: int
    vector: int
    other: Invoke
    held: Invoke
    fma: Invoke


def order_step(kernel: Kernel, registers: int) -> Kernel:
    """The kernel with its multiplications ordered for `registers` vector registers."""
    functions = tuple(_Orderer(kernel, function, registers).whole() for function in kernel.functions)
    return replace(kernel, functions=functions)


class _Orderer:
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
        found: list[Statement] = []
        copies: list[Invoke] = []
        for statement in body:
            if _is(statement, _is_product):
                found += self.step(list(_products(statement, self.known)), copies)
            elif _is(statement, _is_copy):
                copies += _copies(statement, self.known)
            else:
                found.append(with_blocks(statement, self.body))
        return tuple(found)

    def step(self, products: list[_Product], copies: list[Invoke]) -> Body:
        """The statements of a step. The products come point by point. copies: the stores of vectors to elsewhere."""
        runs = self.runs(products)
        if len(runs) == 1:
            return self.run(products, copies)
        found: list[Statement] = []
        for run in runs:
            found += [Fence()] if found else []
            found.append(Block("", self.run([product for product in products if product.point in run], copies)))
        return tuple(found)

    def runs(self, products: list[_Product]) -> list[tuple[Point, ...]]:
        """The points of a step, in runs whose vectors are all in registers at once. Points that share an exchange of
        lanes stay together where at least their vectors fit.
        """
        points = tuple(dict.fromkeys(product.point for product in products))
        others = {id(product.other): product.other for product in products}.values()
        used = {part.instruction for other in others for part in parts_of(other) if isinstance(part, Invoke)}
        taken = 1 + sum(instruction.registers for instruction in used)

        def fits(run: tuple[Point, ...]) -> bool:
            return (self.rows + len(run)) * self.vectors + taken < self.registers

        if len(points) <= 1 or fits(points):
            return [points]
        alike: dict[int, dict[Point, None]] = {}
        for product in sorted(products, key=lambda product: _exchange(product.other)):
            alike.setdefault(_exchange(product.other), {})[product.point] = None
        if len(alike) == 1 or not all(fits(tuple(run)) for run in alike.values()):
            return [(point,) for point in points]
        runs: list[tuple[Point, ...]] = [()]
        for run in map(tuple, alike.values()):
            runs[-1:] = [runs[-1] + run] if fits(runs[-1] + run) else [runs[-1], run]
        return runs

    def run(self, products: list[_Product], copies: list[Invoke]) -> Body:
        """Points whose vectors are all in registers at once."""
        found: list[Statement] = []
        names: dict[int, str] = {}
        number = {point: n for n, point in enumerate(dict.fromkeys(product.point for product in products))}
        for product in products:
            if id(product.held) not in names:
                of_point = f"{number[product.point]}_" if len(number) > 1 else ""
                names[id(product.held)] = f"{self.source(product.held)}_{of_point}{product.vector}"
                found.append(Let(names[id(product.held)], product.held))
        for store in copies:
            operands = dict(store.operands)
            if id(operands["v"]) in names:
                operands["v"] = Register(names[id(operands["v"])])
                found.append(Do(Invoke(store.instruction, tuple(operands.items()))))
        uses: dict[int, list[_Product]] = {}
        for product in products:
            uses.setdefault(id(product.other), []).append(product)
        for n, alike in enumerate(sorted(uses.values(), key=lambda alike: self.place(alike[0].other, alike[0].vector))):
            name = f"{self.source(alike[0].other)}_{n}"
            block: list[Statement] = [Let(name, alike[0].other)]
            x = Register(name)
            for product in alike:
                acc = self.sum_of(product.row, product.vector)
                values = {"x": x, "w": Register(names[id(product.held)]), "acc": acc}
                factors = tuple([(key, values[key]) for key, _ in product.fma.operands])
                block.append(Store(ACCUMULATORS, acc.at, Invoke(product.fma.instruction, factors)))
            found.append(Block("", tuple(block)))
        return tuple(found)

    def sum_of(self, row: int, vector: int) -> Load:
        """An accumulator; the same object for all products that are added to it."""
        if (row, vector) not in self.sums:
            self.sums[row, vector] = Load(ACCUMULATORS, (constant(row), constant(vector), LANE))
        return self.sums[row, vector]

    def source(self, load: Invoke) -> str:
        """The array of a number, as the tile names it: `x`, also where a loop's pointer x_c is read."""
        return self.sources[_address(load).buffer]

    def place(self, load: Invoke, vector: int) -> tuple[int, int, int]:
        """Sorts the numbers that a step reads: as they lie, but each exchange of lanes for all vectors of a row."""
        return self.linear(load) - vector * self.lanes, _exchange(load), vector

    def linear(self, load: Invoke) -> int:
        """How far from the beginning of its array a number lies. All of a step move with the loops alike."""
        address = _address(load)
        return sum(index.offset * stride for index, stride in zip(address.at, self.strides[address.buffer]))


def _address(load: Invoke) -> Address:
    """Where an instruction loads from, or the one inside it."""
    return next(part for part in parts_of(load) if isinstance(part, Address))


def _exchange(load: Invoke) -> int:
    """Which lanes are exchanged after a load: those of l and l ^ c, for this c."""
    return next((part.number.offset for part in parts_of(load) if isinstance(part, Immediate)), 0)


def _is(statement: Statement, kind: Callable[[Statement], bool]) -> bool:
    """Whether a statement is of a kind, or unrolled loops around one that is."""
    while isinstance(statement, If) or (isinstance(statement, For) and statement.kind == "unrolled"):
        if not statement.body:
            return False
        statement = statement.body[0]
    return kind(statement)


def _is_product(statement: Statement) -> bool:
    """Whether a statement is a multiplication."""
    if not isinstance(statement, Store) or not isinstance(statement.value, Invoke):
        return False
    return statement.value.instruction.name == "fma"


def _is_copy(statement: Statement) -> bool:
    """Whether a statement stores what it has just loaded."""
    value = dict(statement.invoke.operands).get("v") if isinstance(statement, Do) else None
    return isinstance(value, Invoke) and any(isinstance(operand, Address) for _, operand in value.operands)


def _products(step: Statement, known: dict[Invoke, Invoke]) -> Iterator[_Product]:
    """The multiplications of a step, one after the other. known: the one object of each load in the function."""
    placed: Placed = {}
    written: dict[int, _Written] = {}
    for statement, at in _written_out(step):
        found = written.get(id(statement))
        if found is None:
            found = written[id(statement)] = _Written.of(statement)
        point = tuple([value for name, value in at.items() if name not in found.of_output])
        other, held = (operand.placed(at, placed, known) for operand in (found.other, found.held))
        yield _Product(point, _offset(found.row, at), _offset(found.vector, at), other, held, found.fma)


class _Operand(NamedTuple):
    """An operand of an instruction in a loop, with the indices that tell its uses apart."""

    operand: Invoke
    indices: tuple[Index, ...]

    @classmethod
    def of(cls, operand: Operand) -> _Operand:
        assert isinstance(operand, Invoke)
        return cls(operand, tuple(_indices(operand)))

    def placed(self, at: Mapping[str, int], placed: Placed, known: dict[Invoke, Invoke]) -> Invoke:
        """The operand where unrolled loops have these values. placed: those that are there already. known: their
        objects.
        """
        key = id(self.operand), tuple([_offset(index, at) for index in self.indices])
        if key not in placed:
            found = with_operands(self.operand, lambda part: _placed(part, at))
            placed[key] = known.setdefault(found, found)
        return placed[key]


class _Written(NamedTuple):
    """The one statement of a step in its loops: the sum that it adds to, the names that move it, and its operands."""

    row: Index
    vector: Index
    of_output: frozenset[str]
    other: _Operand
    held: _Operand
    fma: Invoke

    @classmethod
    def of(cls, statement: Statement) -> _Written:
        assert isinstance(statement, Store) and isinstance(statement.value, Invoke)
        row, vector, _ = statement.at
        operands = dict(statement.value.operands)
        of_output = frozenset((*row.names(), *vector.names()))
        return cls(row, vector, of_output, _Operand.of(operands["x"]), _Operand.of(operands["w"]), statement.value)


def _copies(copy: Statement, known: dict[Invoke, Invoke]) -> Iterator[Invoke]:
    """The stores of a copy, one after the other. known: the one object of each load in the function."""
    placed: Placed = {}
    for statement, at in _written_out(copy):
        assert isinstance(statement, Do)
        operands = dict(statement.invoke.operands)
        where = _address(statement.invoke)
        place = Address(where.buffer, tuple(_at(index, at) for index in where.at))
        vector = _Operand.of(operands["v"]).placed(at, placed, known)
        yield Invoke(statement.invoke.instruction, (("p", place), ("v", vector)))


def _written_out(statement: Statement) -> list[tuple[Statement, Mapping[str, int]]]:
    """The statements inside unrolled loops, one after the other, with the values of these loops."""
    found: list[tuple[Statement, Mapping[str, int]]] = []

    def write(body: Body, at: Mapping[str, int]) -> None:
        for statement in body:
            if isinstance(statement, For):
                for value in range(statement.start.offset, statement.stop.offset, statement.step):
                    write(statement.body, {**at, statement.name: value})
            elif isinstance(statement, If):
                tests = [Inside(_at(c.index, at), c.low, c.high) for c in statement.conditions if isinstance(c, Inside)]
                holds = all(decided(test) is True for test in tests)
                write(statement.body if holds else statement.otherwise, at)
            else:
                found.append((statement, at))

    write((statement,), {})
    return found


def _at(index: Index, at: Mapping[str, int]) -> Index:
    """An index where unrolled loops have these values."""
    return Index(tuple([pair for pair in index.terms if pair[0] not in at]), _offset(index, at))


def _offset(index: Index, at: Mapping[str, int]) -> int:
    """The number in an index where unrolled loops have these values."""
    offset = index.offset
    for term, coefficient in index.terms:
        if term in at:
            offset += coefficient * at[term]
    return offset


def _indices(invoke: Invoke) -> list[Index]:
    """The indices that tell uses of an instruction apart, those of the instructions inside it included."""
    found: list[Index] = []
    for _, operand in invoke.operands:
        if isinstance(operand, Address):
            found += operand.at
        elif isinstance(operand, Immediate):
            found.append(operand.number)
        elif isinstance(operand, Invoke):
            found += _indices(operand)
    return found


def _placed(operand: Operand, at: Mapping[str, int]) -> Operand | None:
    if isinstance(operand, Address):
        return Address(operand.buffer, tuple(_at(index, at) for index in operand.at))
    if isinstance(operand, Immediate):
        return Immediate(_at(operand.number, at))
    return Mask(_at(operand.lanes, at)) if isinstance(operand, Mask) else None
