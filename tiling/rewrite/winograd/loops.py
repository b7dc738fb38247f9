"""Winograd's algorithm as plain loops, around the products: what surrounds α² products of each block.

    for block:                          V = B^T x B of its tiles, each a function of a tile
      for part of the channels:
        for point in 0..α²:             M = U · V: `product`, a kernel of its own
                                        Y = A^T M A, the epilogue in its stores

lower_around(winograd, workers) -> Kernel           W holds U, packed as the product reads it
with_product(around, product) -> Kernel             the same with `product`, a kernel of V, U and M of one point
"""

# A tile that reaches beyond the image is copied first, with zeros: then it is transformed like any other. V and M of
# one block stay in a core's cache. Lanes beyond the last input channel are never read.

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Body,
    Call,
    Comment,
    Define,
    For,
    If,
    Inside,
    Number,
    Seen,
    Statement,
    Store,
)
from tiling.loops.lowering.arrays import arrays
from tiling.loops.rewrite import with_buffers
from tiling.rewrite.weight_groups import packed_elements
from tiling.rewrite.winograd.algorithm import Winograd, odd_lines
from tiling.rewrite.winograd.tiles import WinogradTiles, at_point

PRODUCT = "product"  # the function that multiplies: views X of V, W of W, Y of M
IMAGE = "image"  # counts the images of X and Y
TILE = tuple[Index, Index, Index]  # the image, the row and the column where a tile begins


def lower_around(winograd: Winograd, workers: int) -> Kernel:
    """The kernel as plain loops. `product`, which it calls, is not among its functions."""
    return _Around(winograd, workers).kernel()


# A product computes one point. Its X, W and Y have these names there: the array, the view, and what the view shows.
_OF_POINT = {"X": ("VP", "v", "V"), "W": ("UP", "u", "W"), "Y": ("MP", "m", "M")}


def with_product(around: Kernel, product: Kernel) -> Kernel:
    """The loops around the products and the product, in any of their forms, as one kernel.

    Its W holds what the product reads as W, point by point. To `product` a row of V is a matrix VP, of W one UP, of M
    one MP: the elements lie in rows of their own, whose strides the tiles know.
    """
    names = {array: name for array, (name, _, _) in _OF_POINT.items()}
    elements = next(prod(buffer.shape) for buffer in product.arrays if buffer.name == "W")
    seen = (
        Seen(replace(buffer, name=names[buffer.name], memory="global" if buffer.name == "W" else "own"), view)
        for buffer, (_, view, _) in ((buffer, _OF_POINT[buffer.name]) for buffer in product.arrays)
    )
    body = (*seen, *(with_buffers(statement, names) for statement in product.body))
    views = tuple((view, array) for _, view, array in _OF_POINT.values())
    one = Function(PRODUCT, views, (), (), body, (), "One product of a block: m = v u", apart=True)
    tiles = (
        replace(tile, views=tuple((view, names.get(array, array)) for view, array in tile.views))
        for tile in product.functions
    )
    arrays = tuple(replace(b, shape=(b.shape[0], elements)) if b.name == "W" else b for b in around.arrays)
    return replace(around, arrays=arrays, functions=(*tiles, *around.functions, one))


def point_strides(winograd: Winograd) -> tuple[int, int]:
    """Floats from one point to the next of V and of M."""
    product = winograd.product.problem
    return odd_lines(product.broadcast.elements), odd_lines(product.output.elements)


@dataclass(frozen=True)
class _Around:
    winograd: Winograd
    workers: int

    @property
    def of_tile(self) -> WinogradTiles:
        return WinogradTiles(self.winograd)

    def kernel(self) -> Kernel:
        given = tuple(self.packed() if b.name == "W" else b for b in arrays(self.winograd.problem))
        return Kernel(given, self.body(), self.of_tile.functions())

    def packed(self) -> Buffer:
        found = self.winograd
        return Buffer("W", (found.parts * found.alpha**2, packed_elements(found.product)), ("point", "number"))

    @property
    def points(self) -> int:
        return self.winograd.alpha**2

    def extent(self, dim: str) -> int:
        return self.winograd.problem.extents[dim]

    @property
    def rows(self) -> tuple[int, int]:
        """Floats from one tile to the next of V and of M."""
        product = self.winograd.product.problem
        return product.broadcast.stride("m"), product.output.stride("m")

    # ---- the loops over blocks

    def body(self) -> Body:
        v, m = point_strides(self.winograd)
        own = (
            Buffer("V", (self.workers * self.points, v), ("point", "float"), memory="own"),
            Buffer("M", (self.workers * self.points, m), ("point", "float"), memory="own"),
            Buffer("P", (self.workers * self.points, self.of_tile.channels), ("pixel", "channel"), memory="own"),
        )
        tasks, parts = self.winograd.blocks * self.winograd.parts, self.winograd.parts
        worker, block, begin, end = map(variable, ("worker", "block", "begin", "end"))
        first, last = begin - block * parts, end - block * parts
        inside = (
            Comment("V = B^T x B of the block's tiles, for all parts of the output channels"),
            *self.tiles(self.input()),
            For(
                "part",
                applied("max", first, ZERO),
                applied("min", last, constant(parts)),
                1,
                (
                    Comment("M = V U, point by point"),
                    self.products(),
                    Comment("y = A^T M A of the block's tiles"),
                    *self.tiles(self.output()),
                ),
            ),
        )
        loop = For("block", begin // parts, (end + (parts - 1)) // parts, 1, inside)
        tasks_of = (
            Define("begin", worker * tasks // self.workers),
            Define("end", (worker + 1) * tasks // self.workers),
        )
        workers = For("worker", ZERO, constant(self.workers), 1, (*tasks_of, loop), "core")
        return (*map(Alloc, own if self.of_tile.padded else own[:2]), workers)

    def tiles(self, body: tuple[Body, Body]) -> Body:
        """A loop over the tiles of a block. body: what is done for a tile that exists, and for another."""
        found, (exists, missing) = self.winograd, body
        at = variable("block") * found.block + variable("tile")
        whole = found.all_tiles % found.block == 0
        inside = exists if whole else (If((Inside(at, None, found.all_tiles),), exists, missing),)
        return (For("tile", ZERO, constant(found.block), 1, inside),)

    def place(self) -> tuple[Body, TILE]:
        """The image, row and column of a tile of y."""
        found, (high, wide) = self.winograd, self.winograd.grid
        at = variable("block") * found.block + variable("tile")
        defines = (
            Define(IMAGE, at // (high * wide)),
            Define("h", applied("%", at // wide, constant(high)) * found.m),
            Define("w", applied("%", at, constant(wide)) * found.m),
        )
        return defines, (variable(IMAGE), variable("h"), variable("w"))

    def own(self, name: str, tile: bool = True) -> Address:
        """Where V or M of this worker's tile begins."""
        row = self.rows["VM".index(name)]
        at = variable("tile") * row if tile else ZERO
        return Address(name, (variable("worker") * self.points, at))

    def input(self) -> tuple[Body, Body]:
        vertical, horizontal = self.winograd.problem.windows
        defines, (image, row, column) = self.place()
        h, w = row - vertical.before, column - horizontal.before
        alpha, x = self.winograd.alpha, Address("X", (image, h, w, ZERO))
        inside = tuple(
            Inside(at, 0, window.extent - alpha + 1)
            for at, window in ((h, vertical), (w, horizontal))
            if self.of_tile.padded
        )
        patch = Address("P", (variable("worker") * self.points, ZERO))
        copied = (
            Call("padded", (Address("X", (image, ZERO, ZERO, ZERO)), patch), (h, w)),
            Call("input_patch", (patch, self.own("V"))),
        )
        call = Call("input_tile", (x, self.own("V")))
        chosen = (If(inside, (call,), copied),) if inside else (call,)
        v = self.own("V")
        zeros = Store("V", (v.at[0] + variable("point"), v.at[1] + variable("c") + LANE), Number(0))
        missing = (
            Comment("what a product makes of tiles beyond the last one is never looked at"),
            For(
                "point",
                ZERO,
                constant(self.points),
                1,
                (self.of_tile.vectors("c", self.of_tile.channels, (self.of_tile.lane((zeros,)),)),),
            ),
        )
        return (*defines, *chosen), missing

    def products(self) -> Statement:
        point, part, worker = map(variable, ("point", "part", "worker"))
        v, m = (Address(name, (worker * self.points + point, ZERO)) for name in "VM")
        w = Address("W", (part * self.points + point, ZERO))
        return For("point", ZERO, constant(self.points), 1, (Call(PRODUCT, (v, w, m)),))

    def output(self) -> tuple[Body, Body]:
        found = self.winograd
        defines, (image, h, w) = self.place()
        first = variable("part") * found.channels
        at = {"n": image, "h": h, "w": w, "k": first}
        places = {"Y": found.problem.output} | {f"E_{a.name}": a for a in found.problem.epilogue_arrays}
        views = [self.own("M")]
        for name, tensor in places.items():
            views.append(Address(name, tuple(at_point(index.terms, at) for index in tensor.indices)))
        channels = applied("min", constant(self.extent("k")) - first, constant(found.channels))
        rows, columns = constant(self.extent("h")) - h, constant(self.extent("w")) - w
        whole = Call("output_tile", tuple(views), (channels,))
        if not self.of_tile.cut:
            return (*defines, whole), ()
        edge = Call("output_edge", tuple(views), (channels, rows, columns))
        inside = tuple(Inside(at, None, self.extent(dim) - found.m + 1) for at, dim in ((h, "h"), (w, "w")))
        return (*defines, If(inside, (whole,), (edge,))), ()
