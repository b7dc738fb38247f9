"""The multiplications of a step, written out: which accumulator each adds to, and the two numbers that it multiplies.

    for s_u, w_u, v, unrolled:  acc[w_u, v] = fma(…)   ->   products, one for each value of s_u, w_u and v

`order_step` orders them, and the copies of vectors that stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from cpu.passes.control.unroll import decided
from tiling.loops.index import Index
from tiling.loops.language import (
    Address,
    Body,
    Do,
    For,
    If,
    Immediate,
    Inside,
    Invoke,
    Load,
    Mask,
    Operand,
    Statement,
    Store,
)
from tiling.loops.rewrite import parts_of, with_operands

# Loads by the operand that they are and its indices. Equal loads are one object, so that a step tells them apart by
# identity: hashing a whole load takes ten times as long.
Placed = dict[tuple[int, tuple[int, ...]], Invoke]
Point = tuple[int, ...]  # of the summed dims in a step


class StepProduct(NamedTuple):
    """One multiplication of a step: acc[row, vector] += other * held.

    held: the load of the factor that stays in a register for all rows of the tile, mostly a vector of weights. other:
    the load of the factor that all vectors of the row share, mostly a number of x in every lane. fma: the instruction
    as it stands in the loops.
    """

    point: Point
    row: int
    vector: int
    other: Invoke
    held: Invoke
    fma: Invoke


def address_of(load: Invoke) -> Address:
    """Where an instruction loads from, or the one inside it."""
    return next(part for part in parts_of(load) if isinstance(part, Address))


def stands_for(statement: Statement, kind: Callable[[Statement], bool]) -> bool:
    """Whether a statement is of a kind, or unrolled loops around one that is."""
    while isinstance(statement, If) or (isinstance(statement, For) and statement.kind == "unrolled"):
        if not statement.body:
            return False
        statement = statement.body[0]
    return kind(statement)


def is_product(statement: Statement) -> bool:
    """Whether a statement adds to a sum: what it stores has the sum as an operand."""
    if not isinstance(statement, Store) or not isinstance(statement.value, Invoke):
        return False
    return any(given == Load(statement.buffer, statement.at) for _, given in statement.value.operands)


def is_copy(statement: Statement) -> bool:
    """Whether a statement stores what it has just loaded."""
    value = dict(statement.invoke.operands).get("v") if isinstance(statement, Do) else None
    return isinstance(value, Invoke) and any(isinstance(operand, Address) for _, operand in value.operands)


def products_of(step: Statement, known: dict[Invoke, Invoke]) -> Iterator[StepProduct]:
    """The multiplications of a step, one after the other. known: the one object of each load in the function."""
    placed: Placed = {}
    written: dict[int, _Written] = {}
    for statement, at in _written_out(step):
        found = written.get(id(statement))
        if found is None:
            found = written[id(statement)] = _Written.of(statement)
        point = tuple([value for name, value in at.items() if name not in found.of_output])
        other, held = (operand.placed(at, placed, known) for operand in (found.other, found.held))
        yield StepProduct(point, _offset(found.row, at), _offset(found.vector, at), other, held, found.fma)


class _Operand(NamedTuple):
    """An operand of an instruction in a loop, with the indices that tell its uses apart."""

    operand: Invoke
    indices: tuple[Index, ...]

    @classmethod
    def of(cls, operand: Operand) -> _Operand:
        assert isinstance(operand, Invoke)
        return cls(operand, tuple(_indices(operand)))

    def placed(self, at: Mapping[str, int], placed: Placed, known: dict[Invoke, Invoke]) -> Invoke:
        """The operand where unrolled loops have these values. placed: operands made before. known: loads as single
        objects.
        """
        key = id(self.operand), tuple([_offset(index, at) for index in self.indices])
        if key not in placed:
            found = with_operands(self.operand, lambda part: _placed(part, at))
            placed[key] = known.setdefault(found, found)
        return placed[key]


class _Written(NamedTuple):
    """The one statement of a step as it stands in its loops: its sum, the loop variables that move it, its operands."""

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


def copies_of(copy: Statement, known: dict[Invoke, Invoke]) -> Iterator[Invoke]:
    """The stores of a copy, one after the other. known: the one object of each load in the function."""
    placed: Placed = {}
    for statement, at in _written_out(copy):
        assert isinstance(statement, Do)
        operands = dict(statement.invoke.operands)
        where = address_of(statement.invoke)
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
        if isinstance(term, str) and term in at:
            offset += coefficient * at[term]
    return offset


def _indices(invoke: Invoke) -> list[Index]:
    """The indices that tell uses of an instruction apart, also those of instructions inside it."""
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
