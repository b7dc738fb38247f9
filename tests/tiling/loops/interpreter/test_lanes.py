"""Lanes side by side compute what they compute in turn: for every instruction, and for loops written by hand."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa import EVERY_ISA
from tests.support.loops.histories import history
from tiling.dtypes.products import WORD
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.interpreter import interpret
from tiling.loops.interpreter.scope import Scope
from tiling.loops.language import Apply, Choose, For, If, Inside, Instruction, Load, Number, Statement, Store, Value
from tiling.loops.meaning.histories import Memory
from tiling.loops.meaning.memory import NUMPY, Fault, LiveArray, complete, undefined
from tiling.loops.meaning.workers import Race, Workers
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk

LANES = 8


def over_lanes(*body: Statement) -> For:
    return For("lane", ZERO, constant(LANES), 1, body, "vector")


def get(name: str, at: Index = LANE) -> Load:
    return Load(name, (at,))


def put(value: Value, at: Index = LANE) -> Store:
    return Store("Y", (at,), value)


def arrays() -> dict[str, LiveArray]:
    """X of eight numbers, Z of which the last one has none, and a Y without any."""
    found = {name: complete(name, np.arange(1, LANES + 1, dtype=np.float32)) for name in "XZ"}
    found["Z"].written[-1] = False
    return found | {"Y": undefined("Y", (LANES,), np.float32)}


def both_ways(loop: For, made, numbers: dict[str, int]) -> tuple[dict[str, LiveArray], bool]:
    """The arrays after a loop, which are the same bits either way; and whether its lanes ran side by side."""
    scopes = [Scope({}, arrays=made(), numbers=dict(numbers)) for _ in range(2)]
    beside = interpret.side_by_side(loop, scopes[0])

    def in_turn(loop: For, scope: Scope) -> bool:
        return False

    with patch.object(interpret, "side_by_side", in_turn), patch.object(interpret, "at_once", in_turn):
        for scope in scopes[beside:]:
            interpret.run((loop,), scope)
    first, second = (scope.arrays for scope in scopes)
    for name in first:
        assert first[name].elements.tobytes() == second[name].elements.tobytes(), name
        assert np.array_equal(first[name].written, second[name].written), name
    return first, beside


def instructions() -> dict[str, Instruction]:
    """Those of every instruction set, which differ by lanes and by dtype."""
    found: dict[str, Instruction] = {}
    for isa in EVERY_ISA.values():
        rows = instructions_of(isa)
        nested = [*rows.arithmetic.values(), *(one for pair in rows.gathered for one in pair)]
        nested += [one for stores in rows.narrow.values() for one in vars(stores).values()]
        every = [one for one in (*vars(rows).values(), *nested) if isinstance(one, Instruction)]
        found |= {f"{isa.name} {one.name}": one for one in every if one.meaning}
    return found


_SUMS = {"s32": np.int32}


def _operand(instruction: Instruction, functions: set[str], name: str) -> type:
    """The dtype of what an instruction with these functions computes with."""
    if (instruction.dtype == WORD and not functions) or any(
        "dot" in function or "bf16_add" in function for function in functions
    ):
        return np.uint32
    if functions & {"alone", "word"}:
        return np.uint8 if "int8" in name or "vnni" in name else np.uint16
    return np.int32 if "to_f32" in functions else np.float32


@pytest.mark.parametrize("name", instructions())
def test_every_instruction(name):
    instruction, lanes = instructions()[name], EVERY_ISA[name.partition(" ")[0]].lanes
    statements = list(walk(instruction.meaning))
    loads = {p.buffer for s in statements for o in operands_of(s) for p in parts_of(o) if isinstance(p, Load)}
    stored = {s.buffer for s in statements if isinstance(s, Store)} - loads
    words = {p.function for s in statements for o in operands_of(s) for p in parts_of(o) if isinstance(p, Apply)}
    rng = np.random.default_rng(len(name))
    # Bits of any number, floats that are none included; whole numbers; and reals, whose sums are rounded.
    for kind in range(3):
        given = {}
        for buffer in sorted(loads):
            dtype = _SUMS.get(instruction.dtype, np.float32) if buffer == "acc" else _operand(instruction, words, name)
            values = rng.integers(-9, 10, 4 * lanes) if kind == 1 else 9 * rng.normal(size=4 * lanes)
            bits = rng.integers(0, 256, 4 * lanes * np.dtype(dtype).itemsize, dtype=np.uint8)
            given[buffer] = bits.view(dtype) if kind == 0 or dtype == np.uint32 else values.astype(int).astype(dtype)
            given[buffer] = values.astype(dtype) if kind == 2 and dtype == np.float32 else given[buffer]

        def made(given=given) -> dict[str, LiveArray]:
            found = {name: complete(name, row.copy()) for name, row in given.items()}
            of = NUMPY[instruction.dtype] if instruction.dtype else next(iter(given.values()), np.empty(0)).dtype
            return found | {name: undefined(name, (4 * lanes,), of) for name in stored}

        for used in (0, 1, lanes - 1, lanes):
            for loop in instruction.meaning:
                with np.errstate(all="ignore"):
                    _, beside = both_ways(loop, made, {"lanes": used, "c": 1})
                assert beside, "a vector instruction does nothing that lanes must do in turn"


@pytest.mark.parametrize(
    "loop, wanted",
    [
        (over_lanes(put(Apply("mul", (get("X"), Number(2))))), [2, 4, 6, 8, 10, 12, 14, 16]),
        (over_lanes(put(get("X", ZERO))), [1] * 8),
        (over_lanes(put(Number(3), constant(7) - LANE)), [3] * 8),
        (over_lanes(put(get("X", applied("^", LANE, constant(1))))), [2, 1, 4, 3, 6, 5, 8, 7]),
        (over_lanes(If((Inside(LANE, 2, 5),), (put(get("X")),), (put(Number(0)),))), [0, 0, 3, 4, 5, 0, 0, 0]),
        (over_lanes(If((Inside(LANE, None, 5), Inside(LANE, 2, None)), (put(get("X")),))), [0, 0, 3, 4, 5, 0, 0, 0]),
        (over_lanes(If((Inside(LANE, 0, 7),), (put(get("Z")),))), [1, 2, 3, 4, 5, 6, 7, 0]),
        (over_lanes(put(get("X"), LANE // 2)), [2, 4, 6, 8, 0, 0, 0, 0]),
        (over_lanes(put(Choose((Inside(LANE, 4, None),), Number(1), Number(2)))), [2, 2, 2, 2, 1, 1, 1, 1]),
    ],
)
def test_side_by_side(loop, wanted):
    found, beside = both_ways(loop, arrays, {})
    assert beside and found["Y"].elements.tolist() == wanted


@pytest.mark.parametrize(
    "loop, wanted",
    [
        (over_lanes(put(get("X"), ZERO)), [8, 0, 0, 0, 0, 0, 0, 0]),
        (over_lanes(put(get("X", applied("min", LANE, constant(3))))), [1, 2, 3, 4, 4, 4, 4, 4]),
        (over_lanes(put(Number(1)), put(Apply("add", (get("Y"), get("X"))))), [2, 3, 4, 5, 6, 7, 8, 9]),
        (For("lane", ZERO, constant(LANES), 1, (put(get("X")),)), [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_in_turn(loop, wanted):
    found, beside = both_ways(loop, arrays, {})
    assert not beside and found["Y"].elements.tolist() == wanted


@pytest.mark.parametrize(
    "loop, named",
    [
        (over_lanes(put(get("Z"))), r"Z\[7\] is read before anything is written there"),
        (over_lanes(put(get("X", LANE + 2))), r"X\[8\] lies outside its 8 elements"),
        (over_lanes(put(get("X", LANE - 1))), r"X\[-1\] lies outside"),
        (over_lanes(put(get("X"), LANE - 3)), r"Y\[-3\] lies outside"),
        (over_lanes(If((Inside(variable("lanes") - LANE, 1, None),), (put(get("X", LANE + 5)),))), r"X\[8\] lies"),
    ],
)
def test_a_fault_names_the_first_lane(loop, named):
    scope = Scope({}, arrays=arrays(), numbers={"lanes": 4})
    assert not interpret.side_by_side(loop, scope)
    with pytest.raises(Fault, match=named):
        interpret.run((loop,), scope)


def test_what_workers_share_is_noted():
    workers = Workers(barriers=True, now=(("thread", 0),))
    scope = Scope({}, arrays=arrays(), workers=workers)
    nobody = ((), 0)
    for loop in (over_lanes(put(get("X"))), over_lanes(put(get("X"), constant(7) - LANE))):  # side by side, and in turn
        for array in scope.arrays.values():
            array.memory = Memory(workers)
        interpret.run((loop,), scope)
        x, y = (history(scope.arrays[name].memory) for name in "XY")
        assert x == [(byte, nobody, {workers.now: 0}) for byte in range(4 * LANES)]
        assert y == [(byte, (workers.now, 0), {}) for byte in range(4 * LANES)]
    assert interpret.side_by_side(over_lanes(put(get("X"))), scope)


@pytest.mark.parametrize(
    "value, named", [(get("X"), r"thread 1 writes Y\[5\]"), (Apply("neg", (get("Y"),)), r"thread 1 reads Y\[5\]")]
)
def test_a_race_names_the_first_lane(value, named):
    workers = Workers(barriers=True, now=(("thread", 0),))
    scope = Scope({}, arrays=arrays(), workers=workers)
    y = scope.arrays["Y"]
    y.memory, y.written[:] = Memory(workers), True
    interpret.run((over_lanes(If((Inside(LANE, 5, None),), (put(Number(1)),))),), scope)
    workers.now = (("thread", 1),)
    assert not interpret.side_by_side(over_lanes(put(value)), scope)
    with pytest.raises(Race, match=named):
        interpret.run((over_lanes(put(value)),), scope)
