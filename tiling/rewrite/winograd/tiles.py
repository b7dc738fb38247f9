"""The tiles of Winograd's algorithm as functions of plain loops: transforms of x and of the products.

input_tile, input_patch     V = B^T x B, of x where it lies or of a copy with padding, made by `padded`
output_tile, output_edge    y = A^T M A, of a tile on the image or at its end
"""

# Sums are written row by row as the matrices have them; a pass finds what they share. Each has a register of its own.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tiling.loops.facts.sums import sum_of
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Function
from tiling.loops.language import Body, Comment, For, If, Inside, Let, Load, Number, Register, Statement, Store
from tiling.loops.lowering.epilogue import epilogue_of
from tiling.rewrite.winograd.algorithm import Matrix, Winograd, transforms

OfVector = Callable[[Index], Body]  # what is done to the vector that begins at a channel


@dataclass(frozen=True)
class WinogradTiles:
    """The functions of a kernel's tiles."""

    winograd: Winograd

    @property
    def lanes(self) -> int:
        return self.winograd.lanes

    def extent(self, dim: str) -> int:
        return self.winograd.problem.extents[dim]

    @property
    def channels(self) -> int:
        """The input channels, rounded up to whole vectors."""
        return -(-self.extent("c") // self.lanes) * self.lanes

    @property
    def padded(self) -> bool:
        """Whether some tile reaches beyond x."""
        found = self.winograd
        return any(
            window.before or (tiles - 1) * found.m - window.before + found.alpha > window.extent
            for window, tiles in zip(found.problem.windows, found.grid)
        )

    @property
    def cut(self) -> bool:
        """Whether some tile reaches beyond y."""
        return any(self.extent(dim) % self.winograd.m for dim in "hw")

    def functions(self) -> tuple[Function, ...]:
        alpha = self.winograd.alpha
        x = Load("x", (ZERO, variable("i"), variable("j"), ZERO))
        found = [self.transformed("input_tile", "X", "x", "a tile's input", x)]
        if self.padded:
            patch = Load("p", (variable("i") * alpha + variable("j"), ZERO))
            found += [self.patch(), self.transformed("input_patch", "P", "p", "a padded tile's input", patch)]
        found.append(self.outputs("output_tile", False))
        return tuple(found + ([self.outputs("output_edge", True)] if self.cut else []))

    def transformed(self, name: str, array: str, view: str, what: str, element: Load) -> Function:
        """V = B^T x B of a tile whose element (i, j) is `element`, for every vector of channels."""
        alpha, matrix = self.winograd.alpha, transforms(self.winograd.m).input

        def body(c: Index) -> Body:
            found: list[Statement] = []
            for j in range(alpha):
                found.append(Comment(f"B^T times column {j} of x"))
                for i in range(alpha):
                    at = tuple(n.replaced({"i": constant(i), "j": constant(j)}) for n in element.at)
                    found.append(Let(f"x_{i}_{j}", Load(view, (*at[:-1], at[-1] + c + LANE))))
                found += _rows(matrix, "t", "x", [(i, j) for i in range(alpha)])
            for i in range(alpha):
                found.append(Comment(f"row {i} of that times B"))
                found += _rows(matrix, "v", "t", [(i, j) for j in range(alpha)])
                found += [Store("v", (constant(i * alpha + j), c + LANE), Register(f"v_{i}_{j}")) for j in range(alpha)]
            return tuple(found)

        exact = array == "P"  # a padded tile has zeros up to whole vectors
        extent = self.channels if exact else self.extent("c")
        comment = f"V = B^T x B of {what}, point by point"
        views = ((view, array), ("v", "V"))
        return _outlined(name, views, (), self.each_vector("c", extent, body), comment)

    def patch(self) -> Function:
        """The copy of a tile's input, with zeros beyond the image."""
        vertical, horizontal = self.winograd.problem.windows
        alpha, h, w = self.winograd.alpha, variable("h") + variable("i"), variable("w") + variable("j")
        target = variable("i") * alpha + variable("j")

        def of(value: Load | Number) -> OfVector:
            def body(c: Index) -> Body:
                loaded = Load("x", (ZERO, h, w, c + LANE)) if isinstance(value, Load) else value
                return (Store("p", (target, c + LANE), loaded),)

            return body

        taken = self.each_vector("c", self.extent("c"), of(Load("x", ())), zeros=("p", target))
        beyond = self.each_vector("c", self.channels, of(Number(0)))
        tests = (Inside(h, 0, vertical.extent), Inside(w, 0, horizontal.extent))
        body: Body = (If(tests, taken, beyond),)
        for name in "ji":
            body = (For(name, ZERO, constant(alpha), 1, body),)
        comment = "A copy of a tile's input that reaches beyond the image, 0 there; x is one image of the batch"
        return _outlined("padded", (("x", "X"), ("p", "P")), ("h", "w"), body, comment)

    def outputs(self, name: str, edge: bool) -> Function:
        """y = A^T m A of a tile, for `channels` output channels. edge: only `rows` x `columns` lie on the image."""
        found, problem = self.winograd, self.winograd.problem
        alpha, side, matrix = found.alpha, found.m, transforms(found.m).output

        def body(k: Index) -> Body:
            lines: list[Statement] = []
            for j in range(alpha):
                lines.append(Comment(f"A^T times column {j} of m"))
                for i in range(alpha):
                    lines.append(Let(f"m_{i}_{j}", Load("m", (constant(i * alpha + j), k + LANE))))
                lines += _rows(matrix, "t", "m", [(i, j) for i in range(side)])
            for i in range(side):
                row: list[Statement] = [Comment(f"row {i} of that times A")]
                row += _rows(matrix, "y", "t", [(i, j) for j in range(side)])
                for j in range(side):
                    store = self.stored(i, j, k)
                    row.append(If((Inside(variable("columns"), j + 1, None),), (store,)) if edge and j else store)
                lines += [If((Inside(variable("rows"), i + 1, None),), tuple(row))] if edge and i else row
            return tuple(lines)

        arrays = tuple((f"e_{array.name}", f"E_{array.name}") for array in problem.epilogue_arrays)
        views = (("m", "M"), ("y", "Y"), *arrays)
        numbers = ("channels", "rows", "columns") if edge else ("channels",)
        what = (
            f"A tile's output at the end of the image, `rows` x `columns` of {side} x {side}"
            if edge
            else ("A tile's output")
        )
        comment = f"{what}, for `channels` output channels: y = A^T m A"
        return _outlined(name, views, numbers, self.each_output(body), comment)

    def stored(self, i: int, j: int, k: Index) -> Store:
        epilogue = self.winograd.problem.epilogue
        at = {"n": ZERO, "h": constant(i), "w": constant(j), "k": k + LANE}
        arrays = {
            array.name: Load(f"e_{array.name}", tuple(at_point(index.terms, at) for index in array.indices))
            for array in self.winograd.problem.epilogue_arrays
        }
        result = Register(f"y_{i}_{j}")
        value = epilogue_of(epilogue.value, result, arrays) if epilogue else result
        return Store("y", tuple(at_point(index.terms, at) for index in self.winograd.problem.output.indices), value)

    # ---- vectors of channels

    def lane(self, body: Body) -> For:
        return For("lane", ZERO, constant(self.lanes), 1, body, "vector")

    def vectors(self, name: str, extent: int, body: Body) -> For:
        return For(name, ZERO, constant(extent), self.lanes, body)

    def each_vector(self, name: str, extent: int, body: OfVector, zeros: tuple[str, Index] | None = None) -> Body:
        """Whole vectors of channels in a loop, then the last ones. zeros: where the lanes beyond these get 0."""
        whole = extent // self.lanes * self.lanes
        found: list[Statement] = [self.vectors(name, whole, (self.lane(body(variable(name))),))] if whole else []
        if extent > whole:
            beyond = (Store(zeros[0], (zeros[1], LANE + whole), Number(0)),) if zeros else ()
            found.append(self.lane((If((Inside(LANE, None, extent - whole),), body(constant(whole)), beyond),)))
        return tuple(found)

    def each_output(self, body: OfVector) -> Body:
        """Whole vectors of `channels`, then a partial one, which only the last part of the channels may have."""
        rest, channels = self.extent("k") % self.lanes, variable("channels")
        whole = channels // self.lanes * self.lanes
        found: list[Statement] = []
        if self.extent("k") >= self.lanes:
            found.append(For("k", ZERO, whole, self.lanes, (self.lane(body(variable("k"))),)))
        if rest:
            last = self.lane((If((Inside(LANE, None, rest),), body(whole if found else ZERO)),))
            found.append(If((Inside(applied("%", channels, constant(self.lanes)), 1, None),), (last,)))
        return tuple(found)


def _outlined(
    name: str, views: tuple[tuple[str, str], ...], numbers: tuple[str, ...], body: Body, comment: str
) -> Function:
    """A transform. It stays a function: inlined into loops, some would have too few registers."""
    return Function(name, views, numbers, (), body, comment=comment, outlined=True)


def _rows(matrix: Matrix, name: str, given: str, places: Sequence[tuple[int, int]]) -> list[Let]:
    """One line of a tile, times the matrix: the sum for each place along it."""
    (i, j), (down, _) = places[0], places[-1]
    found = []
    for row, place in zip(matrix, places, strict=True):
        along = [(n, j) if down != i else (i, n) for n in range(len(row))]
        terms = {f"{given}_{a}_{b}": factor for (a, b), factor in zip(along, row, strict=True) if factor}
        found.append(Let(f"{name}_{place[0]}_{place[1]}", sum_of(terms)))
    return found


def at_point(terms: tuple[tuple[str, int], ...], at: Mapping[str, Index]) -> Index:
    """The index of an axis at a point. at: the index along each dim."""
    return sum((at[dim] * step for dim, step in terms), ZERO)
