"""One statement of a program as plain loops over scalars, inside the loops that its group shares.

Each value has the dtype in which it is computed (`tiling.program.dtypes`), and casts stand where two dtypes meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tiling.dtypes.formats import FLOATS, FORMATS, WIDENED
from tiling.loops import language as loops
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, applied, constant, variable
from tiling.loops.language import Alloc, Body, Choose, For, Inside, Load, Position, Read, Store, Value
from tiling.loops.meaning.functions import neutral
from tiling.loops.quotients import from_zero
from tiling.loops.rewrite import parts_of
from tiling.program.dtypes import FRACTION, WHOLE, computed_in, dtype_in, met_in, promoted, real, summed_in
from tiling.program.functions import COMBINE, FUNCTIONS, REAL, SAME, TRUTH
from tiling.program.indices import affine, tests
from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Apply, Dim, Expression, Number, Reduce, Statement
from tiling.program.lowering.group import Group
from tiling.program.runtime import ends


def register(name: str, dtype: str) -> Buffer:
    """One number in a register."""
    return Buffer(name, (1,), ("number",), dtype, "registers")


def row_of(program: Sized, group: Group, name: str) -> Buffer:
    """The part of an array that one iteration of the loops of its group needs, with room for the largest extents."""
    whole = buffer(program, program.array(name))
    kept = [axis for axis, dim in enumerate(whole.axes) if dim not in group.dims]
    if not kept:
        return register(whole.name, whole.dtype)
    shape, axes = tuple(whole.shape[axis] for axis in kept), tuple(whole.axes[axis] for axis in kept)
    return replace(whole, shape=shape, axes=axes, memory="own", extents=())


def over(program: Sized, dims: tuple[str, ...], body: Body, ends: Mapping[str, Index] | None = None) -> Body:
    """Loops over dims around a block, the first outermost. ends: where loops may end early."""
    for dim in reversed(dims):
        body = (For(dim, ZERO, program.count(dim), 1, body, dim=dim, limit=(ends or {}).get(dim)),)
    return body


def buffer(program: Sized, array: Array) -> Buffer:
    """An array in memory. Its axes are named after the dims that first move along them."""
    uses = (access.at for s in program.program.statements for access in s.accesses if access.array == array.name)
    assigned = (s.dims for s in program.program.statements if s.array == array.name)
    at: tuple[Expression, ...] | None = next((tuple(map(Dim, dims)) for dims in assigned), None)
    if at is None:  # an input, which nobody may read after inlining
        at = next(uses, tuple(Number(0) for _ in array.shape))
    found = [affine(index) for index in at]
    names = [next(iter(index.names()), "") if index else "" for index in found]
    axes = tuple(name if name and names.index(name) == axis else f"axis{axis}" for axis, name in enumerate(names))
    return Buffer(called(program, array.name), array.shape, axes, array.dtype, extents=array.extents)


def called(program: Sized, array: str) -> str:
    """The name of an array in loops, where a dim may have the same: `w_` beside the dim w."""
    return f"{array}_" if array in program.extents else array


@dataclass
class StatementLoops:
    """One statement on its way. read: the statements that read indices, before the value that uses them.

    ends: where loops over dims may end early. numbers: counts new names.
    """

    program: Sized
    group: Group
    statement: Statement
    ends: Mapping[str, Index]
    numbers: Iterator[int]

    def __post_init__(self) -> None:
        self.read: list[Read] = []
        self.ranges = self.program.ranges
        self.dtypes = {array.name: array.dtype for array in (*self.program.inputs, *self.program.assigned)}

    def loops(self) -> Body:
        """The loops over the dims that the group has not, with the loops of a reduction inside."""
        statement, at = self.statement, tuple(variable(dim) for dim in self.statement.dims)
        if isinstance(statement.value, Reduce):
            body = self.reduced(statement.value, at)
        else:
            value = self.value(statement.value, self.meeting(statement.value))
            body = (*self.read, self.stored(at, value, self.meeting(statement.value)))
        return self.over(tuple(dim for dim in statement.dims if dim not in self.group.dims), body)

    def over(self, dims: tuple[str, ...], body: Body) -> Body:
        return over(self.program, dims, body, self.ends)

    def stored(self, at: tuple[Index, ...], value: Value, dtype: str) -> Store:
        """The value of an element in the dtype of its array."""
        wanted = self.dtypes[self.statement.array]
        name = self.statement.array
        return Store(called(self.program, name), self.in_row(name, at), _cast(value, dtype, wanted))

    def in_row(self, array: str, at: tuple[Index, ...]) -> tuple[Index, ...]:
        """The place of an element, within the group's row where the array has room for one row only."""
        if array not in self.group.rows:
            return at
        dims = next(s.dims for s in self.group.statements if s.array == array)
        return tuple(index for dim, index in zip(dims, at) if dim not in self.group.dims) or (ZERO,)

    # --- reductions

    def reduced(self, reduce: Reduce, at: tuple[Index, ...]) -> Body:
        met = self.meeting(reduce.value)
        if reduce.kind in ("argmax", "argmin"):
            return self.position(reduce, at, met)
        dtype = summed_in(reduce.kind, met)
        found: Value = Load(self.accumulator, (ZERO,))
        if reduce.kind == "mean":
            found = loops.Apply("div", (found, self.points(reduce.dims, dtype)))
        return (*self.accumulated(reduce), self.stored(at, found, dtype))

    @property
    def accumulator(self) -> str:
        """The register in which a reduction accumulates."""
        return f"acc_{self.statement.array}"

    def accumulated(self, reduce: Reduce, begin: Value | None = None) -> Body:
        """The accumulator, and the loops that add every value to it. begin: its first value, by default neutral."""
        met = self.meeting(reduce.value)
        dtype = summed_in(reduce.kind, met)
        combine, acc = COMBINE[reduce.kind], self.accumulator
        if dtype == "bool":  # the larger of two truths
            combine = {"max": "or", "min": "and"}.get(combine, combine)
        begun = begin or loops.Number(neutral(combine, dtype), dtype)
        value = _cast(self.value(reduce.value, met), met, dtype)
        taken = loops.Apply(combine, (Load(acc, (ZERO,)), value))
        inside = self.over(reduce.dims, (*self.read, Store(acc, (ZERO,), taken)))
        return (Alloc(register(acc, dtype)), Store(acc, (ZERO,), begun), *inside)

    def points(self, dims: tuple[str, ...], dtype: str) -> Value:
        """The number of points over dims."""
        found = constant(1)
        for dim in dims:
            found = applied("*", found, self.program.count(dim))
        if found.is_constant:
            return loops.Number(found.offset, dtype)
        return _cast(Position(found), "s64", dtype)

    def position(self, reduce: Reduce, at: tuple[Index, ...], met: str) -> Body:
        """The first position of the largest or smallest value, which is kept beside it."""
        (dim,) = reduce.dims
        best_name, where_name = f"best_{self.statement.array}", f"where_{self.statement.array}"
        best, where = Load(best_name, (ZERO,)), Load(where_name, (ZERO,))
        value = self.value(reduce.value, met)
        better: Value = loops.Apply("gt" if reduce.kind == "argmax" else "lt", (value, best))
        if met in FLOATS:  # the first that is no number wins
            none, some = loops.Apply("ne", (value, value)), loops.Apply("eq", (best, best))
            better = loops.Apply("or", (better, loops.Apply("and", (none, some))))
        found = Store(where_name, (ZERO,), loops.Apply("where", (better, Position(variable(dim)), where)))
        kept = Store(best_name, (ZERO,), loops.Apply("where", (better, value, best)))
        begin = neutral(reduce.kind.removeprefix("arg"), met)
        return (
            Alloc(register(best_name, met)),
            Alloc(register(where_name, "s64")),
            Store(best_name, (ZERO,), loops.Number(begin, met)),
            Store(where_name, (ZERO,), loops.Number(0, "s64")),
            *self.over(reduce.dims, (*self.read, found, kept)),
            self.stored(at, where, "s64"),
        )

    # --- values

    def meeting(self, value: Expression) -> str:
        """The dtype in which a value is computed."""
        return met_in(value, self.dtypes, self.dtypes[self.statement.array])

    def value(self, value: Expression, dtype: str) -> Value:
        """A value of the program as a value of the loop language, in this dtype."""
        if isinstance(value, Number):
            return loops.Number(value.value, dtype)
        if isinstance(value, Dim):
            return _cast(Position(variable(value.name)), "s64", dtype)
        if isinstance(value, Access):
            return self.element(value, dtype)
        function = FUNCTIONS[value.function]
        if function.gives not in (SAME, REAL, TRUTH):  # a cast
            (argument,) = value.arguments
            inner = met_in(argument, self.dtypes, function.gives)
            cast = _cast(self.value(argument, inner), inner, function.gives)
            return _cast(_loaded(cast, function.gives), computed_in(function.gives), dtype)
        condition, rest = value.arguments[: function.choice], value.arguments[function.choice :]
        met = self.meeting_of(rest)
        if dtype == "f64" and dtype_in(value, self.dtypes) == FRACTION:
            met = dtype  # numbers alone are computed in the dtype of what they meet
        if value.function in ("and", "or", "not"):
            met = "bool"
        elif function.gives == REAL:
            met = real(met)
        elif met == "bool" and function.gives == SAME and not function.choice:
            met = "s64"
        # Computed once: otherwise nested choices would double the work with each level.
        arguments = tuple(self.converted(argument, met) for argument in rest)
        if value.function == "where" and (chosen := self.chosen(condition[0], *arguments)):
            return _cast(chosen, met, dtype)
        conditions = (_cast(self.value(c, self.meeting(c)), self.meeting(c), "bool") for c in condition)
        applied = loops.Apply(value.function, (*conditions, *arguments))
        return _cast(applied, "bool" if function.gives == TRUTH else met, dtype)

    def chosen(self, condition: Expression, value: Value, otherwise: Value) -> Choose | None:
        """A choice by positions alone, which most vectors make as a whole; None for any other choice."""
        chosen_by = tests(condition, self.ranges)
        guarded = any(isinstance(part, Choose) for part in (*parts_of(value), *parts_of(otherwise)))
        gathered = any(isinstance(part, Load) and self.reads(part) for part in parts_of(value))
        return Choose(chosen_by, value, otherwise) if chosen_by and not guarded and not gathered else None

    def reads(self, load: Load) -> bool:
        """Whether an index of an element is read from an array."""
        names = {read.name for read in self.read}
        return any(not names.isdisjoint(index.names()) for index in load.at)

    def converted(self, argument: Expression, dtype: str) -> Value:
        """An argument in the dtype in which all arguments meet."""
        own = dtype_in(argument, self.dtypes)
        if own in (WHOLE, FRACTION) and dtype != "bool":  # numbers alone are computed in the dtype of what they meet
            return self.value(argument, dtype)
        met = self.meeting(argument)
        return _cast(self.value(argument, met), met, dtype)

    def meeting_of(self, arguments: tuple[Expression, ...]) -> str:
        met = dtype_in(arguments[0], self.dtypes)
        for argument in arguments[1:]:
            met = promoted(met, dtype_in(argument, self.dtypes))
        return computed_in({WHOLE: "s64", FRACTION: "f32"}.get(met, met))

    def element(self, access: Access, dtype: str) -> Value:
        array = self.program.array(access.array)
        at = tuple(self.index(index) for index in access.at)
        place = self.in_row(array.name, at)
        found: Value = _loaded(Load(called(self.program, array.name), place), array.dtype)
        bounds = tuple(test for pair in zip(at, array.sizes) for test in self.inside(*pair))
        if access.outside is not None and bounds:
            found = Choose(bounds, found, loops.Number(access.outside, computed_in(array.dtype)))
        return _cast(found, computed_in(array.dtype), dtype)

    def inside(self, index: Index, extent: Index) -> tuple[Inside, ...]:
        """The tests that an index lies inside an axis; none where it always does."""
        if not set(index.names()) <= set(self.ranges):
            return bounded(index, extent)  # it depends on elements of arrays
        low, high = index.within(self.ranges)
        if self.program.runtime:
            counts = {name: self.program.count(name) for name in index.names() if name in self.program.extents}
            most = ends(index, counts)[1] if len(counts) == len(set(index.names())) else index
            high = (most - extent).within(self.ranges)[1] + 1
            return bounded(index, extent, low < 0, high > 0)
        return bounded(index, extent, low < 0, high >= extent.offset)

    def index(self, index: Expression) -> Index:
        """An index. What depends on elements of arrays is read before."""
        found = affine(index)
        if found is not None:
            return from_zero(found, self.ranges)
        value = self.value(_wide(index), "s64")
        known = next((read for read in self.read if read.value == value), None)
        if known is None:
            known = Read(f"at_{next(self.numbers)}", value)
            self.read.append(known)
        return variable(known.name)


def bounded(index: Index, extent: Index, below: bool = True, above: bool = True) -> tuple[Inside, ...]:
    """The tests that an index is at least 0, and below an extent: one of them, or both."""
    low = 0 if below else None
    if extent.is_constant:
        return (Inside(index, low, extent.offset if above else None),) if below or above else ()
    return ((Inside(index, low, None),) if below else ()) + ((Inside(index - extent, None, 0),) if above else ())


def _wide(index: Expression) -> Expression:
    """An index in 64 bits, whatever the dtype of the arrays that it is read from. Arguments of casts keep theirs."""
    if isinstance(index, Access):
        return Apply("s64", (index,))
    if not isinstance(index, Apply) or FUNCTIONS[index.function].gives not in (SAME, REAL, TRUTH):
        return index
    return Apply(index.function, tuple(map(_wide, index.arguments)))


def _cast(value: Value, dtype: str, wanted: str) -> Value:
    """A value converted from one dtype to another. A number of the text simply takes the other dtype."""
    if dtype == wanted:
        return value
    if isinstance(value, loops.Number) and wanted in ("f32", "f64"):
        return replace(value, dtype=wanted)
    if FORMATS[wanted].named and dtype != "f32":  # which rounds from f32
        value = loops.Apply("as_f32", (value,))
    return loops.Apply(f"as_{wanted}", (value,))


def _loaded(value: Value, dtype: str) -> Value:
    """A loaded number in the dtype in which it is computed."""
    return loops.Apply(WIDENED[dtype], (value,)) if dtype in WIDENED else _cast(value, dtype, computed_in(dtype))
