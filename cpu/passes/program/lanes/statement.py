"""One statement as vectors: what all lanes do at once, and the loads and stores of their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from cpu.passes.program.lanes.definitions import defined
from cpu.passes.program.lanes.instructions import first_lanes, memory_of, positions, spread
from microkernels.tile.isa_row import Isa
from tiling.loops.buffer import Buffer
from tiling.loops.facts.values import dtype_of, telling
from tiling.loops.index import LANE, ZERO, Index, constant, variable
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Choose,
    Do,
    For,
    Immediate,
    Inside,
    Invoke,
    Let,
    Load,
    Number,
    Operand,
    Position,
    Read,
    Register,
    Statement,
    Store,
    Value,
)
from tiling.loops.rewrite import parts_of


@dataclass
class LaneFacts:
    """What is known of a kernel while its statements become vectors.

    buffers, dtypes, summed: facts by name, registers included. numbers: counts new names.

    read: the register of every index that is read from an array. moving: the indices that differ from lane to lane.
    guarded: the value of a choice (`cpu.passes.program.lanes.guarded`).
    """

    isa: Isa
    guarded: Callable[[Lanes, Choose], Value]
    buffers: Mapping[str, Buffer]
    dtypes: dict[str, str]
    summed: frozenset[str]
    numbers: Iterator[int] = field(default_factory=count)
    read: dict[str, str] = field(default_factory=dict)
    moving: set[str] = field(default_factory=set)


class Lanes:
    """One statement as vectors. used: how many lanes it is for; 0 where all do the same.

    before: the statements that its operands need.
    """

    def __init__(self, facts: LaneFacts, used: Index):
        self.facts, self.lanes = facts, facts.isa.lanes
        self.used, self.every, self.whole = used, used == ZERO, used == constant(self.lanes)
        self.before: list[Statement] = []
        self.loaded: dict[Load, Value] = {}

    def statement(self, statement: Statement) -> list[Statement]:
        """A statement in vectors, behind those that its operands need."""
        if isinstance(statement, Store):
            last = self.store(statement)
        elif isinstance(statement, Let):
            assert statement.value is not None
            last = [replace(statement, value=self.value(statement.value))]
        else:
            assert isinstance(statement, Read)
            if not self.every and not self.moves(statement.value):
                return Lanes(self.facts, ZERO).statement(statement)
            last = self.index(statement)
        return [*self.before, *last]

    def moves(self, value: Value) -> bool:
        """Whether a value may differ from lane to lane."""
        moving = {"lane", *self.facts.moving}
        for part in parts_of(value):
            if isinstance(part, Register):
                return True
            if any(not moving.isdisjoint(index.names()) for index in _indices(part)):
                return True
        return False

    def index(self, statement: Read) -> list[Statement]:
        """An index that is read: a vector, and a number where all lanes have the same."""
        numbers = self.fresh(f"{statement.name}_lanes")
        self.facts.read[statement.name] = numbers
        self.facts.moving |= set() if self.every else {statement.name}
        value = self.value(statement.value)
        self.before += [self.register(numbers, "s64"), Store(numbers, (LANE,), value)]
        return [Read(statement.name, Load(numbers, (ZERO,)))] if self.every else []

    # --- stores

    def store(self, statement: Store) -> list[Statement]:
        """A store of all used lanes: at once where their places lie side by side, else one by one."""
        buffer, value = self.facts.buffers[statement.buffer], self.value(statement.value)
        if buffer.memory == "registers":
            if not (self.every or self.whole) and statement.buffer in self.facts.summed:
                mask = Invoke(first_lanes(self.lanes), (("lanes", Immediate(self.used)),))
                value = Apply("where", (mask, value, Load(statement.buffer, (LANE,))))
            return [Store(statement.buffer, (LANE,), value)]
        dtype = buffer.dtype
        if dtype == "bool":
            value, dtype = Apply("as_u8", (value,)), "u8"
        memory = memory_of(self.facts.isa, dtype)
        place = Address(buffer.name, tuple(index.replaced({"lane": ZERO}) for index in statement.at))
        operands: tuple[tuple[str, Address | Value], ...] = (("p", place), ("v", value))
        if self.every:
            return [Do(Invoke(memory.store_first, operands))]
        if self.step(buffer, statement.at) == 1:
            if self.whole:
                return [Do(Invoke(memory.store, operands))]
            return [Do(Invoke(memory.store_tail, (*operands, ("lanes", memory.first(self.used)))))]
        given = self.fresh(f"{buffer.name}_new")
        self.before += [self.register(given, dtype), Store(given, (LANE,), value)]
        each = variable("each")
        at = tuple(index.replaced({"lane": each}) for index in statement.at)
        return [self.each((Store(buffer.name, at, Load(given, (each,))),), at)]

    # --- values

    def value(self, value: Value) -> Value:
        """A value of all lanes, after the statements that it needs."""
        if isinstance(value, Register):
            return value
        if isinstance(value, Number):
            return self.number(value)
        if isinstance(value, Position):
            return self.position(value.index)
        if isinstance(value, Load):
            return self.load(value)
        if isinstance(value, Choose):
            return self.facts.guarded(self, value)
        if isinstance(value, Invoke):
            ((name, given),) = value.operands  # a sum across lanes
            assert isinstance(given, Load)
            return Invoke(value.instruction, ((name, self.value(given)),))
        return self.applied(value.function, tuple(map(self.value, value.arguments)))

    def applied(self, function: str, arguments: tuple[Value, ...]) -> Value:
        """A function of vectors, by others where C has no text for it."""
        dtype = self.dtype(telling(function, arguments))
        if function in ("max", "min"):
            # C tests whether the first is a number. The second is newer, or a number of the text: in a chain of maxima
            # the test need not wait for the last one.
            arguments = arguments[::-1]
        if defined(function, arguments, dtype) is None:
            return Apply(function, arguments)
        # An argument may occur more than once.
        found = defined(function, tuple(map(self.named, arguments)), dtype)
        assert found is not None
        return self.value_of_vectors(found)

    def value_of_vectors(self, value: Value) -> Value:
        """As `value`, for a function whose arguments are vectors and numbers already."""
        if isinstance(value, Number):
            return self.number(value)
        if not isinstance(value, Apply):
            return value
        return self.applied(value.function, tuple(map(self.value_of_vectors, value.arguments)))

    def number(self, value: Number) -> Invoke:
        return Invoke(spread(value.dtype, self.lanes), (("value", value),))

    def named(self, value: Value) -> Value:
        """A value that may be used twice: a name or a number."""
        simple = isinstance(value, Register) or (isinstance(value, Load) and value.at == (LANE,))
        number = isinstance(value, Invoke) and all(isinstance(given, Number) for _, given in value.operands)
        return value if simple or number else self.let("v", value)

    def let(self, name: str, value: Value) -> Register:
        name, dtype = self.fresh(name), self.dtype(value)
        self.facts.dtypes[name] = dtype
        self.before.append(Let(name, value, dtype=dtype))
        return Register(name)

    def dtype(self, value: Value) -> str:
        return dtype_of(value, self.facts.dtypes)

    def position(self, index: Index) -> Value:
        """An index as a number of each lane."""
        start, step = index.replaced({"lane": ZERO}), self.step_of(index)
        if step is None:
            given, each = self.fresh("position"), variable("each")
            one = Store(given, (each,), Position(index.replaced({"lane": each})))
            self.before += [*self.empty(given, "s64"), self.each((one,), (index,))]
            return Load(given, (LANE,))
        return Invoke(positions(step, self.lanes), (("first", Immediate(start)),))

    # --- loads

    def load(self, load: Load) -> Value:
        """An element for each lane. A bool is loaded as the byte that it is."""
        if load in self.loaded:
            return self.loaded[load]
        buffer = self.facts.buffers[load.buffer]
        if buffer.memory == "registers":
            return Load(load.buffer, (LANE,))
        found: Value
        if self.gathers(load):
            found = self.facts.guarded(self, Choose((), load, Number(0, buffer.dtype)))
        else:
            direct = self.direct(load)
            raw = Load(self.one_by_one(load), (LANE,)) if direct is None else self.let(buffer.name, direct)
            found = self.of_memory(raw, load)
        self.loaded[load] = found
        return found

    def memory_dtype(self, load: Load) -> str:
        """The dtype in which an element is loaded: for a bool that of its byte."""
        dtype = self.facts.buffers[load.buffer].dtype
        return "u8" if dtype == "bool" else dtype

    def of_memory(self, raw: Value, load: Load) -> Value:
        """A loaded value in the dtype of its array."""
        return self.applied("as_bool", (raw,)) if self.facts.buffers[load.buffer].dtype == "bool" else raw

    def direct(self, load: Load) -> Invoke | None:
        """A load as one instruction; None where numbers do not lie side by side."""
        buffer = self.facts.buffers[load.buffer]
        memory = memory_of(self.facts.isa, self.memory_dtype(load))
        place = Address(load.buffer, tuple(index.replaced({"lane": ZERO}) for index in load.at))
        step = self.step(buffer, load.at)
        if step == 0:
            return Invoke(memory.broadcast, (("p", place),))
        if step != 1:
            return None
        if self.whole:
            return Invoke(memory.load, (("p", place),))
        return Invoke(memory.load_tail, (("p", place), ("lanes", memory.first(self.used))))

    def one_by_one(self, load: Load) -> str:
        """The register that a loop takes the elements to."""
        taken, each = self.fresh(load.buffer), variable("each")
        at = tuple(index.replaced({"lane": each}) for index in load.at)
        one = Store(taken, (each,), Load(load.buffer, at))
        self.before += [*self.empty(taken, self.memory_dtype(load)), self.each((one,), at)]
        return taken

    def gathers(self, load: Load) -> bool:
        """Whether an index comes from an array, so that it may lie outside."""
        return any(name in self.facts.read for index in load.at for name in index.names())

    def each(self, body: Body, indices: Iterable[Index]) -> For:
        """A loop over the used lanes, with the numbers that these indices read for a lane."""
        names = {name for index in indices for name in index.names()} & self.facts.moving
        reads = (Read(name, Load(self.facts.read[name], (variable("each"),))) for name in sorted(names))
        return For("each", ZERO, self.used, 1, (*reads, *body))

    # --- names

    def step(self, buffer: Buffer, at: tuple[Index, ...]) -> int | None:
        """The distance in elements between the elements of neighbouring lanes; None where it varies."""
        steps = [self.step_of(index) for index in at]
        known = [step for step in steps if step is not None]
        if len(known) < len(steps):
            return None
        apart = ZERO
        for step, stride in zip(known, buffer.steps):
            apart = apart + stride * step
        return apart.offset if apart.is_constant else None

    def step_of(self, index: Index) -> int | None:
        """How far an index moves from lane to lane; None where that varies."""
        if self.every:
            return 0
        if not self.facts.moving.isdisjoint(index.names()):
            return None
        step = index.coefficient("lane")
        rest = Index(tuple((term, c) for term, c in index.terms if term != "lane"))
        return None if "lane" in rest.names() else step

    def fresh(self, name: str) -> str:
        """A name that nothing has yet."""
        return next(new for n in self.facts.numbers if (new := f"{name}_{n}") not in self.facts.dtypes)

    def register(self, name: str, dtype: str) -> Alloc:
        self.facts.dtypes[name] = dtype
        return Alloc(Buffer(name, (self.lanes,), ("lane",), dtype, "registers"))

    def empty(self, name: str, dtype: str) -> Body:
        """A register of zeros."""
        return self.register(name, dtype), Store(name, (LANE,), self.number(Number(0, dtype)))


def _indices(part: Operand) -> tuple[Index, ...]:
    """The indices that a part of a value itself has."""
    if isinstance(part, Load):
        return part.at
    if isinstance(part, Position):
        return (part.index,)
    return tuple(c.index for c in part.conditions if isinstance(c, Inside)) if isinstance(part, Choose) else ()
