"""Loads what an epilogue reads of a row or of a column once, before the loops over all points of a lane.

    for m_u in 0..32 by 16, unrolled:
      for half in 0..2, unrolled:
        for n_u in 0..48 by 8, unrolled:
          …
          get2(to: E_scale_pair, p: E_scale + [n_u + 2*(member % 4)])
          …
            Y_pair[pair] = relu(acc[…] * from_bf16(E_scale_pair[pair])) + …
    ->
    E_scale_once[6, 2] of bf16 in registers
    for n_u in 0..48 by 8, unrolled:
      if n_u + 2*(member % 4) < 44:
        get2(to: E_scale_once + [n_u / 8, 0], p: E_scale + [n_u + 2*(member % 4)])
    for m_u in 0..32 by 16, unrolled:
      for half in 0..2, unrolled:
        for n_u in 0..48 by 8, unrolled:
          …
            Y_pair[pair] = relu(acc[…] * from_bf16(E_scale_once[n_u / 8, pair])) + …

Compilers do not, since each row has a condition of its own. Source: broadcasts of rows and columns in CUTLASS's
epilogues.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gpu.passes.facts.reading import loads_of
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.facts.writes import stored_to
from tiling.loops.index import Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Body,
    Choose,
    Condition,
    Do,
    For,
    If,
    Inside,
    Invoke,
    Load,
    Operand,
    Statement,
    Store,
)
from tiling.loops.rewrite import operands_of, parts_of, with_own_values
from tiling.loops.walk import buffers_of, free_name, walk, with_blocks, with_statements

ONCE = "once"


def load_once(kernel: Kernel) -> Kernel:
    """The kernel, whose lanes load a number of a row or column once."""
    written = set(stored_to(kernel.body))
    buffers = buffers_of(kernel)
    read = {b.name: b for b in buffers.values() if b.memory == "global" and b.name not in written}

    def loaded(statement: Statement) -> Body | None:
        nest = _Nest.of(statement, read, set(buffers))
        return nest.statements() if nest else None

    return replace(kernel, body=with_statements(kernel.body, loaded))


@dataclass(frozen=True)
class _Nest:
    """Unrolled loops, one right inside the other, and what the innermost one does where tests hold, or else.

    arrays: those that nothing writes. taken: names of all buffers.
    """

    loops: tuple[For, ...]
    tests: tuple[Condition, ...]
    body: Body
    otherwise: Body
    arrays: Mapping[str, Buffer]
    taken: Collection[str]

    @classmethod
    def of(cls, statement: Statement, arrays: Mapping[str, Buffer], taken: Collection[str]) -> _Nest | None:
        loops: list[For] = []
        while isinstance(statement, For) and statement.kind == "unrolled":
            loops.append(statement)
            if len(statement.body) > 1:
                return cls(tuple(loops), (), statement.body, (), arrays, taken)
            (statement,) = statement.body
        if not loops:
            return None
        if isinstance(statement, If):
            return cls(tuple(loops), statement.conditions, statement.body, statement.otherwise, arrays, taken)
        return cls(tuple(loops), (), (statement,), (), arrays, taken)

    def statements(self) -> Body:
        """The nest, behind what it reads of a row or a column."""
        once: list[Statement] = []
        body, taken = self.body, set(self.taken)
        for load in dict.fromkeys(self.loads()):
            along = self.along(load.at)
            if len(along) < len(self.loops):
                name = free_name(f"{load.buffer}_{ONCE}", taken)
                taken.add(name)
                ahead, body = self.moved(load, along, name, body)
                once += ahead
        if not once:
            return (self.loops[0],)
        inner: Body = (If(self.tests, body, self.otherwise),) if self.tests else body
        for loop in reversed(self.loops):
            inner = (replace(loop, body=inner),)
        return (*once, *inner)

    def loads(self) -> Iterator[Load]:
        """What the body reads of arrays that nothing writes: numbers, and pairs by their first ones.

        Nothing where there are more tests than those of the nest, or others than whether a place is inside.
        """
        if not all(isinstance(test, Inside) for test in self.tests):
            return
        if any(isinstance(s, If) or any(map(_chooses, operands_of(s))) for s in walk(self.body)):
            return
        inside = {loop.name for loop in walk(self.body) if isinstance(loop, For)}
        for statement in walk(self.body):
            found = list(loads_of(statement))
            if isinstance(statement, Do) and (source := _source(statement)) and _pair_of(source, self.body):
                found.append(source)
            for load in found:
                if load.buffer in self.arrays and inside.isdisjoint(self.names(load.at)):
                    yield load

    def names(self, at: tuple[Index, ...]) -> set[str]:
        return {name for index in at for name in index.names()}

    def along(self, at: tuple[Index, ...]) -> tuple[For, ...]:
        """The loops that a place moves with."""
        return tuple(loop for loop in self.loops if loop.name in self.names(at))

    def moved(self, load: Load, along: tuple[For, ...], name: str, body: Body) -> tuple[Body, Body]:
        """What loads all the numbers before the loops, and the body, which takes them from registers of that name."""
        by, pairs = _pair_of(load, body) or (None, None)
        extents = tuple(map(steps_of, along))
        place = tuple((variable(loop.name) - loop.start) // loop.step for loop in along)
        more = pairs.shape if pairs else ()
        array = self.arrays[load.buffer]
        axes = (*(loop.name for loop in along), *(pairs.axes if pairs else ()))
        kept = Buffer(name, (*extents, *more), axes, array.dtype, "registers")
        each: Statement = Store(name, place, load)
        if by and pairs:
            given = dict(by.invoke.operands) | {"to": Address(name, (*place, constant(0)))}
            each = Do(Invoke(by.invoke.instruction, tuple(given.items())))
        others = {loop.name for loop in self.loops} - {loop.name for loop in along}
        tests = tuple(t for t in self.tests if isinstance(t, Inside) and others.isdisjoint(t.index.names()))
        ahead: Body = (If(tests, (each,)),) if tests else (each,)
        for loop in reversed(along):
            ahead = (replace(loop, body=ahead),)

        def value(operand: Operand) -> Operand | None:
            if not isinstance(operand, Load):
                return None
            if pairs and operand.buffer == pairs.name:
                return Load(name, (*place, *operand.at))
            return Load(name, place) if operand == load and not pairs else None

        gone = {id(by)} | {id(s) for s in body if pairs and isinstance(s, Alloc) and s.buffer == pairs}
        kept_statements = tuple(_with_values(s, value) for s in body if id(s) not in gone)
        return (Alloc(kept), *ahead), kept_statements


def _chooses(operand: Operand) -> bool:
    return any(isinstance(part, Choose) for part in parts_of(operand))


def _with_values(statement: Statement, value: Callable[[Operand], Operand | None]) -> Statement:
    return with_blocks(
        with_own_values(statement, value), lambda block: tuple(map(partial(_with_values, value=value), block))
    )


def _pair_of(load: Load, body: Body) -> tuple[Do, Buffer] | None:
    """The instruction of a block that loads a pair, and the registers that the block has for it."""
    made = {s.buffer.name: s.buffer for s in body if isinstance(s, Alloc)}
    found = (s for s in body if isinstance(s, Do) and _source(s) == load and _target(s) in made)
    return next(((s, made[_target(s)]) for s in found), None)


def _source(statement: Do) -> Load | None:
    """What an instruction reads at its operand p."""
    place = dict(statement.invoke.operands).get("p")
    return Load(place.buffer, place.at) if isinstance(place, Address) else None


def _target(statement: Do) -> str:
    """The buffer that an instruction writes at its operand `to`."""
    place = dict(statement.invoke.operands).get("to")
    return place.buffer if isinstance(place, Address) else ""
