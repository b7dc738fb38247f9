"""Turns loops over lanes into vector instructions.

    for lane in 0..16, vector:
      acc[m_u, 0, lane] += x[m_u, k] * w[lane + 16*k]
    …
    for lane in 0..16, vector:
      y[m_u, lane] = acc[m_u, 0, lane]
    ->
    acc[m_u, 0, lane] = fma(x: broadcast(x + [m_u, k]), w: load(w + […]), …)
    …
    store(p: y + [m_u, 0], v: acc[m_u, 0, lane])

A number that all lanes share is broadcast, neighbours are loaded as a vector, and a test on the lane becomes a mask.
Where lane l reads the number of lane l ^ c, lanes are exchanged.
An epilogue becomes a call of the file's own vector function, and a rounding to fewer bits part of its store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeGuard

from cpu.passes.vectors.exchange_lanes import exchange_of
from microkernels.tile.instructions import Instructions, NarrowStores, at, epilogue_instruction, words_instruction
from tiling.loops.facts.sums import terms_of
from tiling.loops.index import ZERO, Index
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Do,
    For,
    If,
    Immediate,
    Inside,
    Instruction,
    Invoke,
    Let,
    Load,
    Mask,
    Number,
    Operand,
    Register,
    Statement,
    Store,
    Value,
)
from tiling.loops.meaning.functions import PRODUCTS
from tiling.loops.rewrite import parts_of, with_operands
from tiling.loops.walk import buffers, walk, with_blocks


def vectorise(kernel: Kernel, instructions: Instructions, lanes: int, zero: bool) -> Kernel:
    """The kernel with vector instructions in place of its loops over lanes.

    zero: the epilogue compares with zero, so it takes a vector of zeros.
    """
    packed = {buffer.name for buffer in buffers(kernel) if buffer.packed or buffer.memory == "own"}

    def whole(body: Body, views: dict[str, str]) -> Body:
        copies = frozenset(view for view, array in views.items() if array in packed)
        registers = frozenset(
            s.buffer.name for s in walk(body) if isinstance(s, Alloc) and s.buffer.memory in ("registers", "stack")
        )
        return _Vectoriser(instructions, lanes, zero, copies, registers).body(body)

    functions = tuple(replace(f, body=whole(f.body, dict(f.views))) for f in kernel.functions)
    return replace(kernel, body=whole(kernel.body, {name: name for name in packed}), functions=functions)


@dataclass(frozen=True)
class _Vectoriser:
    """copies: the buffers with room for whole vectors, also in unused lanes, so that no access to them is masked.

    registers: the buffers that are vectors in registers, such as accumulators.
    """

    instructions: Instructions
    lanes: int
    zero: bool
    copies: frozenset[str]
    registers: frozenset[str]

    def body(self, body: Body) -> Body:
        """The block without loops over lanes."""
        found: list[Statement] = []
        for statement in body:
            if isinstance(statement, For) and statement.kind == "vector":
                found += self.lane_loop(statement.body)
            else:
                found.append(with_blocks(statement, self.body))
        return tuple(found)

    def lane_loop(self, body: Body) -> Body:
        """The statements inside a loop over lanes, for all lanes at once."""
        if len(body) == 1 and isinstance(body[0], If) and len(body[0].body) > 1 and (test := _on_lane(body[0])):
            assert body[0].conditions == test and not body[0].otherwise, "several statements stand behind one test"
            return tuple(found for statement in body[0].body for found in self.of_lanes(statement, *test))
        return tuple(found for statement in body for found in self.of_lanes(statement, None))

    def of_lanes(self, statement: Statement, test: Inside | None) -> Body:
        """One of these statements. test: only lanes that pass it exist."""
        if isinstance(statement, Let):
            assert statement.value is not None
            return (replace(statement, value=self.value(statement.value, test)),)
        if isinstance(statement, Store):
            return (self.store(statement, test),)
        return self.choice(statement, test) if isinstance(statement, If) else (statement,)

    def choice(self, choice: If, test: Inside | None) -> Body:
        """A choice inside a loop over lanes. A test of the lane becomes a mask of the store behind it; others stay.

        test: only lanes that pass it exist, where the choice itself does not ask for the lane.
        """
        on_lane = _on_lane(choice)
        if not on_lane:
            blocks = (choice.body, choice.otherwise)
            body, otherwise = (tuple(s for inner in block for s in self.of_lanes(inner, test)) for block in blocks)
            return (If(choice.conditions, body, otherwise),)
        (store,) = choice.body
        (asked,) = on_lane
        # Where other lanes become 0, all of the vector is stored: a masked load has zeros in them.
        zero_others = bool(choice.otherwise)
        whole, masked = self.store(store, None), self.store(store, asked, zero_others)
        # If the last lane is used, all are. Unrolling makes this test True or False, and the mask a number.
        last_lane = replace(asked, index=asked.index + (self.lanes - 1) - Index((("lane", 1),)))
        stored: Statement = If((last_lane,), (whole,), (masked,))
        others = tuple(c for c in choice.conditions if c not in on_lane)
        rest = tuple(s for inner in choice.otherwise for s in self.of_lanes(inner, None))
        return (If(others, (stored,), rest),) if others else (stored,)

    def store(self, statement: Statement, test: Inside | None, zero_others: bool = False) -> Statement:
        """A store of one element for each lane, as an instruction. test: only lanes that pass it exist.

        zero_others: the elements of other lanes get 0.
        """
        assert isinstance(statement, Store)
        if statement.buffer in self.registers:
            return _exchanged(replace(statement, value=self.value(statement.value, test)))
        where = Address(statement.buffer, _first_lane(statement.at))
        stores: Instructions | NarrowStores = self.instructions
        value = statement.value
        if isinstance(value, Apply) and value.function in self.instructions.narrow:
            stores, (value,) = self.instructions.narrow[value.function], value.arguments
        vector = self.output(value, test)
        if test is None or zero_others or statement.buffer in self.copies:
            return Do(_invoke(stores.store, p=where, v=vector))
        return Do(_invoke(stores.store_tail, p=where, lanes=_mask(test), v=vector))

    def value(self, value: Value, test: Inside | None) -> Value:
        """The vector that registers get: zeros, elements of an array, or a sum with one more product."""
        if isinstance(value, Number) and value.value == 0:
            return _invoke(self.instructions.zero)
        if isinstance(value, Load):
            return self.load(value, test)
        if terms_of(value) is not None:
            return self.sum(value)
        assert isinstance(value, Apply)
        if value.function == "alone":
            return self.alone(value, test)
        if value.function == "word":
            return self.words(value, test)
        acc, product = value.arguments
        assert isinstance(product, Apply)
        assert product.function in PRODUCTS, f"PRODUCTS of `tiling.loops.meaning.functions` lacks {product.function}"
        # One factor is a vector. All lanes may share the other, and then it comes first.
        x, w = (self.value(factor, test) for factor in sorted(product.arguments, key=_moves_with_lane))
        return _invoke(self.instructions.fma, x=x, w=w, acc=self.value(acc, test))

    def sum(self, value: Value) -> Value:
        """The vector of a sum of registers by numbers."""
        if isinstance(value, (Register, Number)):
            return value
        assert isinstance(value, Apply)
        names = {"mul": ("s", "v"), "neg": ("v",)}.get(value.function, ("a", "b"))
        operands = dict(zip(names, map(self.sum, value.arguments), strict=True))
        return _invoke(self.instructions.arithmetic[value.function], **operands)

    def output(self, value: Value, test: Inside | None) -> Value:
        """The vector that an array gets: sums, the results of an epilogue, a copy, or zeros."""
        if isinstance(value, Number):
            return _invoke(self.instructions.zero)
        if isinstance(value, Load):
            return self.load(value, test)
        return self.floats(value) if self.is_sum(value) else self.epilogue(value, test)

    def load(self, load: Load, test: Inside | None) -> Value:
        """The vector that a load in each lane is: a register, a broadcast, neighbours, or an exchange of these."""
        if load.buffer in self.registers:
            return load
        if exchange := exchange_of(load.at[-1]):
            return _invoke(self.instructions.exchange, x=self.load(_still(load, exchange), test), c=Immediate(exchange))
        where = Address(load.buffer, _first_lane(load.at))
        if not _moves_with_lane(load):
            return _invoke(self.instructions.broadcast, p=where)
        if test is None or load.buffer in self.copies:
            return _invoke(self.instructions.load, p=where)
        return _invoke(self.instructions.load_tail, lanes=_mask(test), p=where)

    def alone(self, value: Apply, test: Inside | None) -> Value:
        """Narrow numbers side by side, each in a lane of its own."""
        (load,) = value.arguments
        assert isinstance(load, Load)
        where = Address(load.buffer, _first_lane(load.at))
        if test is None:
            return _invoke(self.instructions.alone, p=where)
        return _invoke(self.instructions.alone_tail, lanes=_mask(test), p=where)

    def words(self, value: Apply, test: Inside | None) -> Value:
        """Words of narrow numbers: each for the lanes of its group, or each of numbers that lie apart."""
        loads = [load for load in value.arguments if isinstance(load, Load)]
        if loads[0].at[-1].coefficient("lane") == 1:
            return self.gathered(loads, test)
        if exchange := exchange_of(loads[0].at[-1]):
            still = Apply("word", tuple(_still(load, exchange) for load in loads))
            return _invoke(self.instructions.exchange, x=self.words(still, test), c=Immediate(exchange))
        first = _first_lane(loads[0].at)
        numbers = tuple(load.at[-1] - first[-1] for load in loads)
        alone = self.instructions.alone if test is None else self.instructions.alone_tail
        words = words_instruction(alone.text, numbers, self.lanes, test is not None)
        mask = {} if test is None else {"lanes": _mask(test)}
        return _invoke(words, **mask, p=Address(loads[0].buffer, first))

    def gathered(self, loads: list[Load], test: Inside | None) -> Value:
        """A word of each lane, whose numbers lie apart: the numbers of neighbouring lanes are neighbours."""
        whole, tail = self.instructions.gathered[len(loads) - 1]
        places = {f"p_{n}": Address(load.buffer, _first_lane(load.at)) for n, load in enumerate(loads)}
        return _invoke(whole, **places) if test is None else _invoke(tail, lanes=_mask(test), **places)

    def floats(self, value: Value) -> Value:
        """The sums of a vector as floats."""
        return _invoke(self.instructions.floats, v=value.arguments[0]) if isinstance(value, Apply) else value

    def epilogue(self, value: Value, test: Inside | None) -> Invoke:
        """An expression over a sum and arrays, as a call of the vector function that computes it."""
        operands: dict[str, Operand] = {}

        def inside(part: Operand) -> Operand | None:
            if self.is_sum(part):
                operands["y"] = self.floats(part)
                return at("y")
            if isinstance(part, Load):
                operands[part.buffer] = self.load(part, test)
                return at(part.buffer)
            return None

        of_operands = with_operands(value, inside)

        if self.zero:
            operands["zero"] = _invoke(self.instructions.zeros)
        arrays = tuple(name for name in operands if name != "y")
        return _invoke(epilogue_instruction(arrays, of_operands, self.lanes), **operands)

    def is_sum(self, value: Operand) -> TypeGuard[Value]:
        """Whether a value is a sum in a register, or the float of one."""
        if isinstance(value, Apply) and value.function == "to_f32":
            (value,) = value.arguments
        return isinstance(value, Register) or (isinstance(value, Load) and value.buffer in self.registers)


def _exchanged(store: Store) -> Statement:
    """A store of a value for which lanes are exchanged; without any exchange where c is 0."""
    number = next((part.number for part in parts_of(store.value) if isinstance(part, Immediate)), None)
    if number is None:
        return store

    def still(part: Operand) -> Operand | None:
        exchanged = isinstance(part, Invoke) and any(isinstance(given, Immediate) for _, given in part.operands)
        return dict(part.operands)["x"] if isinstance(part, Invoke) and exchanged else None

    plain = replace(store, value=with_operands(store.value, still))
    return If((Inside(number, 0, 1),), (plain,), (store,))


def _still(load: Load, exchange: Index) -> Load:
    """The load of every lane's own element."""
    none = dict.fromkeys(exchange.names(), ZERO)
    return replace(load, at=tuple(index.replaced(none) for index in load.at))


def _on_lane(choice: If) -> tuple[Inside, ...]:
    """The tests of the lane."""
    return tuple(c for c in choice.conditions if isinstance(c, Inside) and c.index.coefficient("lane"))


def _moves_with_lane(value: Value) -> bool:
    """Whether each lane has a number of its own."""
    loads = (part for part in parts_of(value) if isinstance(part, Load))
    return any("lane" in index.names() for load in loads for index in load.at)


def _invoke(instruction: Instruction, **operands: Operand) -> Invoke:
    return Invoke(instruction, tuple(operands.items()))


def _first_lane(at: tuple[Index, ...]) -> tuple[Index, ...]:
    return tuple(index.replaced({"lane": ZERO}) for index in at)


def _mask(test: Inside) -> Mask:
    """How many lanes pass a test: once the loops around it are unrolled, a number."""
    assert test.high is not None
    return Mask((test.index - Index((("lane", 1),))) * -1 + test.high)
