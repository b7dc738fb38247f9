"""Gives a program its sizes: the extent of every dim, the shape and dtype of every array. Here indices are checked.

    sized(read("y[h] = sum[r] x[h+r-1] * w[r]"), {"h": 56, "r": 3})      x: f32[56]

An input is as long as its indices reach. An index that may lie outside says what counts there, `x[i-1] else 0`. Only a
window of a sum needs not: an input counts as 0 there. A window is an index over both a dim of the output and a reduced
one, such as h+r-1. Where it begins below 0, as many elements are missing behind the end, as in a convolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tiling.loops.index import Index
from tiling.problem import LARGEST_EXTENT, LARGEST_TENSOR
from tiling.program.dtypes import FLOATS, INTEGERS, computed_in, given_by
from tiling.program.indices import affine, is_window
from tiling.program.language import DTYPES, Access, Apply, Dim, Expression, Program, Reduce, Statement, parts
from tiling.program.names import ProgramError

# Bounds of // and % by their parts alone are too wide. Up to so many points they are found by trying all.
MOST_TRIED = 1 << 16


@dataclass(frozen=True)
class Array:
    """An array of a program: row-major."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Sized:
    """A program with sizes. Every index of it lies inside its array, or says what counts outside.

    inputs, assigned: in the order of first use, and of the statements. outputs: names of assigned arrays.
    """

    program: Program
    dims: tuple[tuple[str, int], ...]
    inputs: tuple[Array, ...]
    assigned: tuple[Array, ...]
    outputs: tuple[str, ...]

    @property
    def extents(self) -> dict[str, int]:
        """The extent of each dim."""
        return dict(self.dims)

    def array(self, name: str) -> Array:
        """The array of a name."""
        return next(array for array in (*self.inputs, *self.assigned) if array.name == name)


def sized(
    program: Program,
    extents: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    dtype: str = "f32",
    outputs: tuple[str, ...] = (),
) -> Sized:
    """The program with these extents of dims, and shapes of inputs where they are known.

    dtype: that of inputs that do not declare one. outputs: the arrays that are wanted; by default the last. An array in
    between has the dtype that it is computed in. Raises ProgramError.
    """
    if dtype not in DTYPES:
        raise ProgramError(f"dtype={dtype!r} must be one of {', '.join(DTYPES)}")
    return _Sizing(program, dict(extents), dict(shapes or {}), dtype, outputs).whole()


def _is_extent(extent: object) -> bool:
    return isinstance(extent, int) and not isinstance(extent, bool) and 1 <= extent <= LARGEST_EXTENT


class _Sizing:
    def __init__(
        self,
        program: Program,
        extents: dict[str, int],
        shapes: dict[str, tuple[int, ...]],
        dtype: str,
        outputs: tuple[str, ...],
    ):
        self.program, self.extents, self.shapes, self.dtype = program, extents, shapes, dtype
        self.outputs = outputs or (program.statements[-1].array,)
        self.dtypes: dict[str, str] = {}

    def whole(self) -> Sized:
        self.check_names()
        self.declare()
        self.derive_extents()
        program = replace(self.program, statements=tuple(map(self.padded, self.program.statements)))
        for name in program.inputs:
            self.dtypes[name] = program.declared(name).dtype or self.dtype
            if name not in self.shapes:
                self.shapes[name] = self.reached(program, name)
        for number, statement in enumerate(program.statements):
            self.check(number, statement)
            self.shapes[statement.array] = tuple(self.extents[dim] for dim in statement.dims)
            self.dtypes[statement.array] = self.dtype_of(statement)
        for name, shape in self.shapes.items():
            if prod(shape) > LARGEST_TENSOR:
                raise ProgramError(f"{name} has {' x '.join(map(str, shape))} elements: more than any machine holds")
        inputs = tuple(Array(name, self.dtypes[name], self.shapes[name]) for name in program.inputs)
        assigned = tuple(Array(s.array, self.dtypes[s.array], self.shapes[s.array]) for s in program.statements)
        dims = tuple((dim, self.extents[dim]) for dim in program.dims)
        return Sized(program, dims, inputs, assigned, self.outputs)

    def check_names(self) -> None:
        """Every name that is given exists, and every extent is one."""
        for dim, extent in self.extents.items():
            if dim not in self.program.dims:
                raise ProgramError(
                    f"{dim}={extent}: the program has no dim {dim}; its dims are {' '.join(self.program.dims)}"
                )
            if not _is_extent(extent):
                raise ProgramError(f"{dim}={extent!r}: an extent is a whole number from 1 to {LARGEST_EXTENT}")
        for name, shape in self.shapes.items():
            if not isinstance(shape, tuple) or not all(map(_is_extent, shape)):
                raise ProgramError(
                    f"the shape of {name} is {shape!r}: give a tuple of whole numbers from 1 to {LARGEST_EXTENT}"
                )
            if name not in self.program.inputs:
                raise ProgramError(f"{name} is no input of the program; its inputs are {' '.join(self.program.inputs)}")
        for name in self.outputs:
            if all(name != statement.array for statement in self.program.statements):
                raise ProgramError(f"no statement assigns {name}, which is wanted as an output")

    def declare(self) -> None:
        """The shapes that declarations give, of numbers and of dims with an extent."""
        for declaration in self.program.declarations:
            name, declared = declaration.array, declaration.extents
            if declared is None:
                continue
            if name in self.shapes:
                for extent, given in zip(declared, self.shapes[name]):
                    if isinstance(extent, str):
                        self.give(extent, given, str(declaration))
            unknown = [extent for extent in declared if isinstance(extent, str) and extent not in self.extents]
            if unknown:
                raise ProgramError(f"{declaration}: dim {unknown[0]} has no extent: give {unknown[0]}=…")
            shape = tuple(self.extents[extent] if isinstance(extent, str) else extent for extent in declared)
            if self.shapes.setdefault(name, shape) != shape:
                elements = " x ".join(map(str, self.shapes[name]))
                raise ProgramError(f"{declaration} is given with {elements} elements")

    def give(self, dim: str, extent: int, where: str) -> None:
        """A dim gets an extent. Raises ProgramError where it has another."""
        if self.extents.setdefault(dim, extent) != extent:
            raise ProgramError(f"{where}: dim {dim} has two extents, {self.extents[dim]} and {extent}")

    def derive_extents(self) -> None:
        """A dim that is an index by itself, such as i of x[i], is as long as that axis of x."""
        given = set(self.extents)
        for number, statement in enumerate(self.program.statements):
            for access in statement.accesses:
                shape = self.shapes.get(access.array)
                if shape is not None and len(shape) != len(access.at):
                    raise ProgramError(
                        f"statement {number + 1}: {access} has {len(access.at)} indices, but {access.array} has "
                        f"{len(shape)} axes"
                    )
                for index, extent in zip(access.at, shape or ()):
                    if isinstance(index, Dim) and index.name not in given and access.outside is None:
                        self.give(index.name, extent, f"statement {number + 1}, {access}")
            for dim in (*statement.dims, *statement.reduced):
                if dim not in self.extents:
                    raise ProgramError(
                        f"statement {number + 1}, {statement.array}: dim {dim} has no extent: give {dim}=…"
                    )

    def padded(self, statement: Statement) -> Statement:
        """The statement where windows of a sum count inputs as 0 outside."""
        if not isinstance(statement.value, Reduce) or statement.value.kind != "sum":
            return statement

        def changed(part: Expression) -> Expression:
            if isinstance(part, Apply):
                return Apply(part.function, tuple(map(changed, part.arguments)))
            if not isinstance(part, Access) or part.outside is not None or part.array not in self.program.inputs:
                return part
            windows = (index for index in part.at if is_window(index, statement))
            return replace(part, outside=0) if any(self.bounds(index)[0] < 0 for index in windows) else part

        return replace(statement, value=replace(statement.value, value=changed(statement.value.value)))

    def reached(self, program: Program, name: str) -> tuple[int, ...]:
        """The shape of an input that its indices reach."""
        accesses = [(access, s) for s in program.statements for access in s.accesses if access.array == name]
        axes = range(len(accesses[0][0].at))
        return tuple(max(self.reach(access, axis, statement) for access, statement in accesses) for axis in axes)

    def reach(self, access: Access, axis: int, statement: Statement) -> int:
        """How many elements along an axis an access needs."""
        index = affine(access.at[axis])
        if index is None:
            raise ProgramError(
                f"{access}: how long axis {axis} of {access.array} is depends on numbers that are known later: give "
                f"the shape of {access.array}"
            )
        low, high = self.bounds(access.at[axis])
        if low >= 0 or not is_window(access.at[axis], statement):
            return max(high + 1, 1)
        # A stride may leave some elements at the end unread.
        stride = max(abs(index.coefficient(dim)) for dim in statement.dims)
        return max(high + 1 + low + stride - 1, 1)

    def bounds(self, index: Expression) -> tuple[int, int]:
        """The least and the largest value of an index that has no elements of arrays in it."""
        found = affine(index)
        assert found is not None
        names = sorted(set(found.names()))
        simple = all(isinstance(term, str) for term, _ in found.terms)
        if simple or prod(self.extents[name] for name in names) > MOST_TRIED:
            return found.within({name: (0, self.extents[name] - 1) for name in names})
        points = product(*(range(self.extents[name]) for name in names))
        values = [found.at(dict(zip(names, point))) for point in points]
        return min(values), max(values)

    def check(self, number: int, statement: Statement) -> None:
        """Every index of a statement is a whole number inside its array, or says what counts outside."""
        for access in statement.accesses:
            where, dtype = f"statement {number + 1}, {access}", self.dtypes[access.array]
            if dtype not in FLOATS and access.outside not in (None, 0, 1):
                whole = isinstance(access.outside, int) and dtype != "bool"
                if not whole:
                    raise ProgramError(f"{where}: {access.outside} is no {dtype}, which {access.array} is made of")
            for axis, index in enumerate(access.at):
                if self.indexed(index, where) is None or access.outside is not None:
                    continue
                low, high = self.bounds(index)
                extent = self.shapes[access.array][axis]
                if low < 0 or high >= extent:
                    raise ProgramError(
                        f"{where}: axis {axis} of {access.array} has {extent} elements, and {index} is "
                        f"{low if low < 0 else high} for some point; write {access} else 0 if 0 counts there"
                    )

    def indexed(self, index: Expression, where: str) -> Index | None:
        """An index as sums of dims; None where it depends on elements of arrays. Raises ProgramError for no index."""
        for part in parts(index):
            if isinstance(part, Access) and self.dtypes[part.array] not in INTEGERS:
                raise ProgramError(f"{where}: {part} is {self.dtypes[part.array]}, and an index is a whole number")
        found = affine(index)
        if found is None and not any(isinstance(part, Access) for part in parts(index)):
            raise ProgramError(
                f"{where}: {index} is no index: dims and whole numbers with + - * // % min max are, if one factor of "
                f"a product, and what stands right of // and %, is a number"
            )
        return found

    def dtype_of(self, statement: Statement) -> str:
        """The dtype of the array that a statement assigns."""
        declared = self.program.declared(statement.array).dtype
        found = declared or given_by(statement, self.dtypes)
        return found if declared or statement.array in self.outputs else computed_in(found)
