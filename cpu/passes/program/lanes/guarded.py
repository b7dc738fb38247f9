"""Loads of elements that may lie outside their array: nothing is read outside.

    x[j + lane - 1] if inside else 2     ->     x_0 = 0; inside_1 = 0
                                                if j >= 1:
                                                  x_0 = load(&x[j - 1]); inside_1 = 1
                                                else:
                                                  for each in 0..16:
                                                    if j + each - 1 >= 0:
                                                      x_0[each] = x[j + each - 1]; inside_1[each] = -1
                                                where(inside_1, x_0, 2)

Most vectors lie wholly inside and are loaded at once. An index that is read from an array, has no `else`, and lies
outside is an error of the caller: the element counts as 0, and the kernel's return value says so.
"""

from __future__ import annotations

from cpu.passes.program.lanes.instructions import OUTSIDE
from cpu.passes.program.lanes.statement import Lanes
from tiling.loops.index import LANE, ZERO, Index, variable
from tiling.loops.language import (
    Apply,
    Body,
    Choose,
    Condition,
    Do,
    If,
    Inside,
    Invoke,
    Load,
    Number,
    Statement,
    Store,
    Value,
)
from tiling.loops.rewrite import parts_of
from tiling.program.lowering.statements import bounded

_CASTS = ("as_", "from_bf16")
_TRUE = Number(-1, "bool")  # in one lane of a vector: all bits


def guarded(lanes: Lanes, choose: Choose) -> Value:
    """The value of a choice for the lanes of a statement."""
    return _Guarded(lanes, choose).value()


class _Guarded:
    """One choice between a value of elements and another one. `lanes` has the vectors of its statement."""

    def __init__(self, lanes: Lanes, choose: Choose):
        self.lanes, self.choose = lanes, choose
        found = dict.fromkeys(part for part in parts_of(choose.value) if isinstance(part, Load))
        self.loads = [load for load in found if lanes.facts.buffers[load.buffer].memory != "registers"]
        # Without conditions of its own: an index that is read must be inside.
        self.reports = not choose.conditions
        self.conditions = choose.conditions or tuple(
            test
            for load in self.loads
            for index, extent in zip(load.at, lanes.facts.buffers[load.buffer].sizes)
            if any(name in lanes.facts.read for name in index.names())
            for test in bounded(index, extent)
        )

    def value(self) -> Value:
        """The value, after the statements that it needs."""
        lanes, whole = self.lanes, (LANE,)
        taken = {load: lanes.fresh(load.buffer) for load in self.loads}
        for load, name in taken.items():
            lanes.before += lanes.empty(name, lanes.memory_dtype(load))
        inside = "" if self.zero_outside else lanes.fresh("inside")
        if inside:
            lanes.before += lanes.empty(inside, "bool")
        lanes.before += self.taking(taken, inside)
        known = dict(lanes.loaded)
        lanes.loaded |= {load: lanes.of_memory(Load(name, whole), load) for load, name in taken.items()}
        value = lanes.value(self.choose.value)
        lanes.loaded = known
        if not inside:
            return value
        return Apply("where", (Load(inside, whole), value, lanes.value(self.choose.otherwise)))

    @property
    def zero_outside(self) -> bool:
        """Whether the value is already the other one where its elements outside count as 0."""
        value: Value = self.choose.value
        while isinstance(value, Apply) and value.function.startswith(_CASTS):
            (value,) = value.arguments
        otherwise = self.choose.otherwise
        return isinstance(value, Load) and value in self.loads and isinstance(otherwise, Number) and not otherwise.value

    def taking(self, taken: dict[Load, str], inside: str) -> Body:
        """The statements that load the elements inside."""
        lanes = self.lanes
        direct = {load: lanes.direct(load) for load in self.loads}
        at_once: list[Statement] = [Store(taken[load], (LANE,), found) for load, found in direct.items() if found]
        at_once += [Store(inside, (LANE,), lanes.number(Number(1, "bool")))] if inside else []
        report: Body = (Do(Invoke(OUTSIDE, ())),) if self.reports else ()
        together = len([found for found in direct.values() if found]) == len(direct)
        steps = {lanes.step_of(c.index) for c in self.conditions if isinstance(c, Inside)}
        if together and steps <= {0}:
            return (If(self.at(ZERO), tuple(at_once), report),)
        if lanes.every:
            raise AssertionError("all lanes are at one place, which is loaded at once")
        each = variable("each")
        one_by_one: list[Statement] = []
        for load, name in taken.items():
            at = tuple(index.replaced({"lane": each}) for index in load.at)
            one_by_one.append(Store(name, (each,), Load(load.buffer, at)))
        one_by_one += [Store(inside, (each,), _TRUE)] if inside else []
        indices = (
            *(c.index for c in self.conditions if isinstance(c, Inside)),
            *(i for load in taken for i in load.at),
        )
        slowly = lanes.each((If(self.at(each), tuple(one_by_one), report),), indices)
        if not together or None in steps:
            return (slowly,)
        return (If(self.ends(), tuple(at_once), (slowly,)),)

    def ends(self) -> tuple[Condition, ...]:
        """The conditions that hold for all lanes: each bound for the lane that is next to it."""
        found: dict[Condition, None] = {}
        for condition in self.conditions:
            assert isinstance(condition, Inside)
            step = self.lanes.step_of(condition.index)
            assert step is not None
            lowest, highest = (ZERO, self.lanes.used - 1)[:: 1 if step >= 0 else -1]
            index = condition.index
            if condition.low is not None:
                found[Inside(index.replaced({"lane": lowest}), condition.low, None)] = None
            if condition.high is not None:
                found[Inside(index.replaced({"lane": highest}), None, condition.high)] = None
        return tuple(found)

    def at(self, lane: Index) -> tuple[Condition, ...]:
        """The conditions for one lane."""
        inside = (c for c in self.conditions if isinstance(c, Inside))
        return tuple(Inside(c.index.replaced({"lane": lane}), c.low, c.high) for c in inside)
