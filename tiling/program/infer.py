"""Gives a program its sizes: the extent of every dim, the shape and dtype of every array.

    sized(read("y[h] = sum[r] x[h+r-1] * w[r]"), {"h": 56, "r": 3})      x: f32[56]

An input is as long as its indices reach. An index that may lie outside says what counts there, `x[i-1] else 0`. Only
a window of a sum may leave this out: the input counts as 0 there. A window is an index over both a dim of the output
and a reduced one, such as h+r-1. Where it begins below 0, it reaches as far beyond the end, as in a convolution.

The extent "<=512" is a runtime one: each call has another, up to 512 (`tiling.program.runtime`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tiling.dtypes.formats import format_of
from tiling.loops.index import Index, Range, constant, variable
from tiling.problem import LARGEST_EXTENT, LARGEST_TENSOR
from tiling.program.bounds import Extents
from tiling.program.checks import check
from tiling.program.dtypes import computed_in, given_by
from tiling.program.indices import is_window
from tiling.program.language import DTYPES, Access, Apply, Dim, Expression, Program, Reduce, Statement
from tiling.program.names import ProgramError
from tiling.program.runtime import extent_name


@dataclass(frozen=True)
class Array:
    """An array of a program: row-major.

    extents: indices over the names of runtime extents; empty where there are none. `shape` has the largest extents.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    extents: tuple[Index, ...] = ()

    @property
    def sizes(self) -> tuple[Index, ...]:
        """The extent of each axis, fixed or runtime."""
        return self.extents or tuple(map(constant, self.shape))


@dataclass(frozen=True)
class Sized:
    """A program with sizes. Every index of it lies inside its array, or says what counts outside.

    inputs: in the order of first use. assigned: in the order of the statements. outputs: names of assigned arrays.
    runtime: the dims whose extents each call gives. `dims` has the largest extent of each.
    """

    program: Program
    dims: tuple[tuple[str, int], ...]
    inputs: tuple[Array, ...]
    assigned: tuple[Array, ...]
    outputs: tuple[str, ...]
    runtime: tuple[str, ...] = ()

    @property
    def extents(self) -> dict[str, int]:
        """The extent of each dim; for a runtime dim the largest extent."""
        return dict(self.dims)

    def count(self, dim: str) -> Index:
        """The extent of a dim, whenever it is known."""
        return variable(extent_name(dim)) if dim in self.runtime else constant(self.extents[dim])

    @property
    def numbers(self) -> dict[str, int]:
        """The largest value of each runtime extent, by its name."""
        return {extent_name(dim): self.extents[dim] for dim in self.runtime}

    @property
    def ranges(self) -> dict[str, Range]:
        """The values of each dim and of each runtime extent."""
        dims = {dim: (0, extent - 1) for dim, extent in self.dims}
        return dims | {name: (1, most) for name, most in self.numbers.items()}

    def at(self, values: Mapping[str, int]) -> Sized:
        """The program with these numbers of points of its runtime dims."""
        names = {extent_name(dim): value for dim, value in values.items()}

        def fixed(array: Array) -> Array:
            return Array(array.name, array.dtype, tuple(size.at(names) for size in array.sizes))

        dims = tuple((dim, values.get(dim, extent)) for dim, extent in self.dims)
        inputs, assigned = (tuple(map(fixed, arrays)) for arrays in (self.inputs, self.assigned))
        return replace(self, dims=dims, inputs=inputs, assigned=assigned, runtime=())

    def over(self, name: str, dtype: str, dims: tuple[str, ...]) -> Array:
        """An array over dims."""
        extents = tuple(map(self.count, dims)) if any(dim in self.runtime for dim in dims) else ()
        return Array(name, dtype, tuple(self.extents[dim] for dim in dims), extents)

    def array(self, name: str) -> Array:
        """The array of a name."""
        return next(array for array in (*self.inputs, *self.assigned) if array.name == name)


def sized(
    program: Program,
    extents: Mapping[str, int | str],
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    dtype: str = "f32",
    outputs: tuple[str, ...] = (),
) -> Sized:
    """The program with these extents of dims, and shapes of inputs where they are known.

    An extent is a number, or "<=512" for a runtime one. dtype: what inputs have that declare none, by any name that
    libraries use. outputs: the wanted arrays; by default the last. An intermediate array has the dtype in which it is
    computed. Raises ProgramError.
    """
    known_dtype = format_of(dtype)
    if not isinstance(known_dtype, str) or known_dtype not in DTYPES:
        raise ProgramError(f"dtype={dtype!r:.60} must be one of {', '.join(DTYPES)}")
    bounds = {dim: _bound(extent) for dim, extent in extents.items()}
    runtime = tuple(dim for dim in program.dims if bounds.get(dim) is not None)
    known = {dim: extents[dim] if bound is None else bound for dim, bound in bounds.items()}
    return _Sizing(program, known, dict(shapes or {}), known_dtype, outputs, runtime).whole()  # type: ignore[arg-type]


def _bound(extent: object) -> int | None:
    """The largest value of a runtime extent such as "<=512"; None for any other one."""
    found = re.fullmatch(r"\s*<=\s*([0-9]{1,18})\s*", extent) if isinstance(extent, str) else None
    return int(found[1]) if found else None


def _is_extent(extent: object) -> bool:
    return isinstance(extent, int) and not isinstance(extent, bool) and 1 <= extent <= LARGEST_EXTENT


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


class _Sizing:
    def __init__(
        self,
        program: Program,
        extents: dict[str, int],
        shapes: dict[str, tuple[int, ...]],
        dtype: str,
        outputs: tuple[str, ...],
        runtime: tuple[str, ...],
    ):
        self.program, self.extents, self.dtype, self.runtime = program, extents, dtype, runtime
        self.given, self.shapes = shapes, {}  # type: dict[str, tuple[int, ...]], dict[str, tuple[Index, ...]]
        self.outputs = outputs or (program.statements[-1].array,)
        self.dtypes: dict[str, str] = {}

    def whole(self) -> Sized:
        self.check_names()
        self.shapes = {name: tuple(map(constant, shape)) for name, shape in self.given.items()}
        self.declare()
        self.derive_extents()
        known = self.known
        program = replace(self.program, statements=tuple(map(self.padded, self.program.statements)))
        for name in program.inputs:
            self.dtypes[name] = program.declared(name).dtype or self.dtype
            if name not in self.shapes:
                self.shapes[name] = known.reached(program, name)
        for number, statement in enumerate(program.statements):
            check(f"statement {number + 1}", statement, self.dtypes, self.shapes, known)
            self.shapes[statement.array] = tuple(map(known.count, statement.dims))
            self.dtypes[statement.array] = self.dtype_of(statement)
        arrays = {name: self.array(name, sizes) for name, sizes in self.shapes.items()}
        for name, array in arrays.items():
            if prod(array.shape) > LARGEST_TENSOR:
                elements = " x ".join(map(str, array.shape))
                raise ProgramError(f"{name} has {elements} elements: more than any machine holds")
        inputs = tuple(arrays[name] for name in program.inputs)
        assigned = tuple(arrays[statement.array] for statement in program.statements)
        dims = tuple((dim, self.extents[dim]) for dim in program.dims)
        return Sized(program, dims, inputs, assigned, self.outputs, self.runtime)

    @property
    def known(self) -> Extents:
        """The extents that are known by now."""
        return Extents(self.extents, self.runtime)

    def array(self, name: str, sizes: tuple[Index, ...]) -> Array:
        fixed = all(size.is_constant for size in sizes)
        shape = tuple(size.within(self.known.numbers)[1] for size in sizes)
        return Array(name, self.dtypes[name], shape, () if fixed else sizes)

    def check_names(self) -> None:
        """Every name that is given exists, and every extent is one."""
        for dim, extent in self.extents.items():
            if dim not in self.program.dims:
                raise ProgramError(
                    f"{dim}={extent}: the program has no dim {dim}; its dims are {' '.join(self.program.dims)}"
                )
            if not _is_extent(extent):
                raise ProgramError(
                    f"{dim}={extent!r}: an extent is a whole number from 1 to {LARGEST_EXTENT}, or '<=512' for one "
                    f"that each call has anew"
                )
        for name, shape in self.given.items():
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
                        self.give(extent, given.offset, str(declaration))
            unknown = [extent for extent in declared if isinstance(extent, str) and extent not in self.extents]
            if unknown:
                raise ProgramError(f"{declaration}: dim {unknown[0]} has no extent: give {unknown[0]}=…")
            shape = tuple(
                self.known.count(extent) if isinstance(extent, str) else constant(extent) for extent in declared
            )
            if self.shapes.setdefault(name, shape) != shape:
                elements = " x ".join(map(str, self.shapes[name]))
                raise ProgramError(f"{declaration} is given with {elements} elements")

    def give(self, dim: str, extent: int, where: str) -> None:
        """A dim gets an extent. Raises ProgramError where it has another."""
        if self.extents.setdefault(dim, extent) != extent:
            raise ProgramError(f"{where}: dim {dim} has two extents, {self.extents[dim]} and {extent}")

    def derive_extents(self) -> None:
        """A dim that is an index by itself, such as i in x[i], gets the extent of that axis of x."""
        given = set(self.extents)
        for number, statement in enumerate(self.program.statements):
            for access in statement.accesses:
                shape = self.shapes.get(access.array)
                if shape is not None and len(shape) != len(access.at):
                    raise ProgramError(
                        f"statement {number + 1}: {access} has {_counted(len(access.at), 'index', 'indices')}, but "
                        f"{access.array} has {_counted(len(shape), 'axis', 'axes')}"
                    )
                for index, extent in zip(access.at, shape or ()):
                    simple = isinstance(index, Dim) and index.name not in given and access.outside is None
                    if simple and isinstance(index, Dim) and extent.is_constant:
                        self.give(index.name, extent.offset, f"statement {number + 1}, {access}")
            for dim in (*statement.dims, *statement.reduced):
                if dim not in self.extents:
                    raise ProgramError(
                        f"statement {number + 1}, {statement.array}: dim {dim} has no extent: give {dim}=…"
                    )

    def padded(self, statement: Statement) -> Statement:
        """The statement where windows of a sum count inputs as 0 outside."""
        if not isinstance(statement.value, Reduce) or statement.value.kind != "sum":
            return statement
        known = self.known

        def changed(part: Expression) -> Expression:
            if isinstance(part, Apply):
                return Apply(part.function, tuple(map(changed, part.arguments)))
            if not isinstance(part, Access) or part.outside is not None or part.array not in self.program.inputs:
                return part
            windows = (index for index in part.at if is_window(index, statement))
            below = any(known.least(known.bounds(index)[0]) < 0 for index in windows)
            return replace(part, outside=0) if below else part

        return replace(statement, value=replace(statement.value, value=changed(statement.value.value)))

    def dtype_of(self, statement: Statement) -> str:
        """The dtype of the array that a statement assigns."""
        declared = self.program.declared(statement.array).dtype
        found = declared or given_by(statement, self.dtypes)
        return found if declared or statement.array in self.outputs else computed_in(found)
