"""Runs an instruction by its meaning: on whole vectors where the meaning is of lanes alone, else its statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tiling.loops.interpreter.scope import Copies, Scope
from tiling.loops.language import Address, Immediate, Invoke, Mask, Operand, Stride
from tiling.loops.meaning.instructions import Vectors, lanes_of
from tiling.loops.meaning.memory import NUMPY, Fault, Given, by_lane, read_only, undefined
from tiling.loops.meaning.prefetches import Prefetches
from tiling.loops.meaning.slices import Operands
from tiling.loops.meaning.workers import Workers

# What an instruction means starts no copy, prefetches nothing and is one worker's.
_NO_COPIES, _NO_WORKERS, _NO_PREFETCHES = Copies(), Workers(), Prefetches([])


def run_instruction(
    invoke: Invoke,
    scope: Scope,
    values: Mapping[type, Callable[..., Given]],
    statements: Mapping[type, Callable[..., None]],
) -> np.ndarray | None:
    """Runs the meaning of an instruction. Returns what it stored to `out`, or None where it stores to memory.

    values, statements: what finds a value in a scope and what runs a statement, by their types.
    """
    instruction = invoke.instruction
    lanes = scope.instructions.get(id(instruction))
    if lanes is None:
        lanes = scope.instructions[id(instruction)] = lanes_of(instruction)
    vectors, others = {}, []
    for name, operand in invoke.operands:
        if type(operand) in values:
            given = values[type(operand)](operand, scope)
            vectors[name] = given if given.ndim else given.reshape(1)
        else:
            others.append((name, operand))
    if lanes.vectors is not None:
        done, found = _of_vectors(lanes.vectors, instruction.dtype, vectors, others, scope)
        if done:
            return found
    operands = Operands({name: read_only(name, vector) for name, vector in vectors.items()})
    for name, operand in others:
        _hand_over(name, operand, scope, operands)
    if lanes.of_value:
        dtype = NUMPY[instruction.dtype] if instruction.dtype else operands.arrays["p"].elements.dtype
        operands.arrays["out"] = undefined("out", (lanes.of_value,), dtype)
    inner = None
    for number, statement in enumerate(instruction.meaning):
        if not lanes.slices or not lanes.slices[number].run(operands):
            inner = inner or _alone(operands, scope)
            statements[type(statement)](statement, inner)
    if lanes.of_value and np.count_nonzero(operands.arrays["out"].written) < lanes.of_value:
        raise Fault(f"{instruction.name} leaves lanes of its value without one")
    return operands.arrays["out"].elements if lanes.of_value else None


def _of_vectors(
    known: Vectors, dtype: str, vectors: Mapping[str, Given], others: list[tuple[str, Operand]], scope: Scope
) -> tuple[bool, np.ndarray | None]:
    """Whether an instruction could run on whole vectors, and its value."""
    given: dict[str, Given] = {}
    for name, vector in vectors.items():
        if name not in known.alone and len(vector) != known.count:
            return False, None
        given[name] = vector[0] if name in known.alone else vector
    to = places = None
    for name, operand in others:
        if type(operand) is not Address or any([index.has("lane") for index in operand.at]):
            return False, None
        array, writes, alone = scope.arrays[operand.buffer], name == known.to, name in known.alone
        row = array.neighbours(scope.at(operand.at), 1 if alone else known.count, writes)
        if row is None:
            return False, None
        if writes:
            to, places = array, row
        else:
            elements = array.elements.reshape(-1)
            given[name] = elements[row.start] if alone else elements[row]
    if to is not None:
        to.elements.reshape(-1)[places], to.written.reshape(-1)[places] = known.value(given), True
        return True, None
    if known.to != "out":
        return False, None
    found = np.empty(known.count, NUMPY[dtype] if dtype else given["p"].dtype)
    found[...] = known.value(given)
    return True, found


def _alone(operands: Operands, scope: Scope) -> Scope:
    """The scope of an instruction's meaning."""
    return Scope(
        {},
        operands.arrays,
        numbers=operands.numbers,
        copies=_NO_COPIES,
        workers=_NO_WORKERS,
        prefetches=_NO_PREFETCHES,
        nests=scope.nests,
        slices=scope.slices,
        accesses=scope.accesses,
    )


def _hand_over(name: str, operand: Operand, scope: Scope, to: Operands) -> None:
    """Gives an instruction's meaning an operand that is no value."""
    if isinstance(operand, Address):
        array = scope.arrays[operand.buffer]
        if any([index.has("lane") for index in operand.at]):
            to.arrays[name] = by_lane(array, lambda lane: scope.at(operand.at, lane))
        else:
            to.arrays[name] = array.flat(scope.at(operand.at))
    elif isinstance(operand, Mask):
        to.numbers[name] = operand.lanes.at(scope.numbers)
    elif isinstance(operand, Immediate):
        to.numbers[name] = operand.number.at(scope.numbers)
    else:
        assert isinstance(operand, Stride)  # the meaning counts elements: it is made for this stride
