"""A sum of products seen by the roles of its dims: rows, columns, groups, summed dims, and the windows of x.

    y[n,h,w,k] = sum[c,r,s] x[n,2*h+r-1,2*w+s-1,c] * f[k,c,r,s]      rows n, columns k, summed c, windows h r, w s

Dims of extent 1 are left out. An index such as 8*g + c, which walks an axis without a gap, is the two axes g and c.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.loops.index import Index, Operation, constant, variable
from tiling.program.indices import affine
from tiling.program.infer import Sized
from tiling.program.language import Access, Apply, Reduce, Statement


class NoProductError(Exception):
    """Why a statement is not read as a product. The message completes a sentence."""


@dataclass(frozen=True)
class Spatial:
    """An axis of x along which a window moves: at output o, tap t lies at stride·o + dilation·t - before.

    outs, taps: the dims; empty where there is one point. A run of rows is one axis, with a window of one tap.
    """

    outs: tuple[str, ...]
    taps: tuple[str, ...]
    extent: int
    out: int
    tap: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0

    @property
    def after(self) -> int:
        """The points that windows reach behind the end."""
        return max(0, (self.out - 1) * self.stride + (self.tap - 1) * self.dilation + 1 - self.before - self.extent)


@dataclass(frozen=True)
class ProductRoles:
    """y = Σ x·w. x: its axes in order, a dim or a window each. w, y: their dims in order."""

    x: tuple[str | Spatial, ...]
    w: tuple[str, ...]
    y: tuple[str, ...]
    extents: dict[str, int]

    @property
    def windows(self) -> tuple[Spatial, ...]:
        return tuple(axis for axis in self.x if isinstance(axis, Spatial))

    @property
    def plain(self) -> tuple[str, ...]:
        """The dims of x that are no window's."""
        return tuple(axis for axis in self.x if isinstance(axis, str))

    @property
    def rows(self) -> tuple[str, ...]:
        """The dims of x and y that w does not have."""
        return tuple(dim for dim in self.y if dim in self.plain and dim not in self.w)

    @property
    def columns(self) -> tuple[str, ...]:
        """The dims of w and y that x does not have."""
        return tuple(dim for dim in self.y if dim in self.w and dim not in self.plain)

    @property
    def groups(self) -> tuple[str, ...]:
        """The dims that all three have."""
        return tuple(dim for dim in self.y if dim in self.w and dim in self.plain)

    @property
    def summed(self) -> tuple[str, ...]:
        """The dims that are summed over and are no taps, in the order of x."""
        return tuple(dim for dim in self.plain if dim not in self.y)

    def points(self, dims: tuple[str, ...]) -> int:
        return prod(self.extents[dim] for dim in dims)


def factors(statement: Statement) -> tuple[Access, Access]:
    """The two elements whose products a statement sums. Raises NoProductError."""
    value = statement.value
    if not isinstance(value, Reduce) or value.kind != "sum":
        raise NoProductError("it is no sum")
    product = value.value
    if not isinstance(product, Apply) or product.function != "mul":
        raise NoProductError(f"{product} is no product of two elements")
    left, right = product.arguments
    if not isinstance(left, Access) or not isinstance(right, Access):
        raise NoProductError(f"{left if not isinstance(left, Access) else right} is no element of an array")
    return left, right


def product_of(program: Sized, statement: Statement, x: Access, w: Access) -> ProductRoles:
    """The statement as a product in which windows move over x. Raises NoProductError."""
    return _Reader(program, statement).product(x, w)


class _Reader:
    def __init__(self, program: Sized, statement: Statement):
        self.program, self.statement = program, statement
        self.extents = program.extents
        self.cut: dict[str, int] = {}  # dims that an index divides, and by what

    def product(self, x: Access, w: Access) -> ProductRoles:
        self.find_cuts(x)
        y = tuple(dim for d in self.statement.dims for dim in self.dims_of(variable(d), self.extents[d], d))
        filters = tuple(dim for index, extent in self.indices(w) for dim in self.dims_of(index, extent, str(w)))
        if w.outside is not None:
            raise NoProductError(f"{w} may lie outside")
        if x.outside not in (None, 0):
            raise NoProductError(f"outside of {x.array} counts {x.outside}, not 0")
        axes: list[str | Spatial] = []
        for index, extent in self.indices(x):
            names = {term for term, _ in index.terms}
            moves = bool(names & set(y) - set(filters)) and bool(names - set(y))
            plain = None if moves else self.split(index, extent)
            axes += [self.window(index, extent, y, x)] if plain is None else plain
        found = ProductRoles(tuple(axes), filters, y, self.extents)
        self.check(found, x, w)
        return found

    def find_cuts(self, x: Access) -> None:
        """Groups of channels: in 16*(k // 8) + c the dim k counts 8 outputs of each group."""
        for at in x.at:
            index = affine(at)
            if index is None:
                raise NoProductError(f"{at} in {x} is no sum of dims")
            for term, _ in index.terms:
                if isinstance(term, Operation):
                    divided, by = list(term.left.names()), term.right.offset
                    whole = term.operation == "/" and term.left == variable(divided[0]) if divided else False
                    if not whole or divided[0] in self.statement.reduced or self.extents[divided[0]] % by:
                        raise NoProductError(f"{at} in {x} is no sum of dims")
                    self.cut[divided[0]] = by
                    self.extents |= {f"{divided[0]}/": self.extents[divided[0]] // by, f"{divided[0]}%": by}

    def indices(self, access: Access) -> list[tuple[Index, int]]:
        """The index of each axis of more than one element, and the axis's extent."""
        found = []
        for at, extent in zip(access.at, self.program.array(access.array).shape):
            index = affine(at)
            if index is None:
                raise NoProductError(f"{at} in {access} is no sum of dims")
            if extent > 1 or access.outside is not None:
                found.append((self.simple(index, access), extent))
        return found

    def simple(self, index: Index, where: Access) -> Index:
        """The index without dims of extent 1, over the parts of dims that are cut."""
        found = constant(index.offset)
        for term, coefficient in index.terms:
            if isinstance(term, Operation):
                name = next(iter(term.left.names()), "")
                if self.cut.get(name) != term.right.offset or term.operation != "/":
                    raise NoProductError(f"{index} in {where} is no sum of dims")
                found = found + variable(f"{name}/") * coefficient
            elif term in self.cut:
                by = self.cut[term]
                found = found + variable(f"{term}/") * (by * coefficient) + variable(f"{term}%") * coefficient
            else:
                found = found + variable(term) * coefficient
        return Index(tuple((term, c) for term, c in found.terms if self.extents[str(term)] > 1), found.offset)

    def dims_of(self, index: Index, extent: int, where: str) -> list[str]:
        if extent == 1:
            return []
        at = self.simple(index, Access(where, ()))
        found = self.split(at, extent)
        if found is None:
            raise NoProductError(f"{at} in {where} does not walk a whole axis")
        return found

    def split(self, index: Index, extent: int) -> list[str] | None:
        """The dims that walk an axis without a gap, the slowest first; None where they do not."""
        if index.offset or any(not isinstance(term, str) for term, _ in index.terms):
            return None
        dims = sorted(index.terms, key=lambda term: -term[1])
        step = extent
        for dim, coefficient in dims:
            if coefficient < 1 or coefficient * self.extents[str(dim)] != step:
                return None
            step = coefficient
        return [str(dim) for dim, _ in dims] if step == 1 else None

    def window(self, index: Index, extent: int, y: tuple[str, ...], x: Access) -> Spatial:
        """An axis of x as one that a window moves along."""
        outs = [(str(term), c) for term, c in index.terms if term in y]
        taps = [(str(term), c) for term, c in index.terms if term not in y]
        if len(outs) > 1 or len(taps) > 1 or any(c < 1 for _, c in (*outs, *taps)):
            raise NoProductError(f"{index} in {x} is no window of one output and one tap")
        if index.offset > 0:
            raise NoProductError(f"{index} in {x} leaves out the first elements")
        (out, stride), (tap, dilation) = outs[0] if outs else ("", 1), taps[0] if taps else ("", 1)
        found = Spatial(
            (out,) if out else (),
            (tap,) if tap else (),
            extent,
            self.extents[out] if out else 1,
            self.extents[tap] if tap else 1,
            stride,
            dilation,
            -index.offset,
        )
        reach = (found.tap - 1) * dilation + 1
        if (extent + found.before + found.after - reach) // stride + 1 != found.out:
            raise NoProductError(f"{x} has more elements than {index} reads")
        return found

    def check(self, found: ProductRoles, x: Access, w: Access) -> None:
        """Every dim has a role, and one only."""
        outs = [dim for window in found.windows for dim in window.outs]
        taps = [dim for window in found.windows for dim in window.taps]
        for access, dims in ((x, [*found.plain, *outs, *taps]), (w, list(found.w))):
            if len(set(dims)) < len(dims):
                raise NoProductError(f"a dim stands twice in {access}")
        for dim in found.y:
            if dim not in (*found.rows, *found.columns, *found.groups, *outs):
                raise NoProductError(f"no factor moves with {dim}")
            if dim in outs and dim in found.w:
                raise NoProductError(f"{w} moves with {dim}, as windows of {x} do")
        for dim in (*found.summed, *taps):
            if dim not in found.w:
                raise NoProductError(f"{w} does not move with {dim}")
        for dim in found.w:
            if dim not in (*found.columns, *found.groups, *found.summed, *taps):
                raise NoProductError(f"{x} does not move with {dim}")
