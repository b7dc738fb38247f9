"""The packing of Winograd's weights as loops: U = G w G^T of each point, in the order in which its product reads it.

for part of the channels:
  for i, j in α x α:                U[c, k] = Σ G[i, r] G[j, s] W[k, c, r, s]       in double, rounded once
    pack_product(U, packed of this point)
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Call,
    For,
    If,
    Inside,
    Let,
    Load,
    Number,
    Register,
    Set,
    Statement,
    Store,
)
from tiling.loops.lowering.arrays import axes_of
from tiling.loops.walk import with_blocks
from tiling.rewrite.weight_groups import packed_elements
from tiling.rewrite.winograd.algorithm import TAPS, Winograd

PACK = "pack_product"


def lower_weights(winograd: Winograd, product: Kernel) -> Kernel:
    """The kernel that packs: arrays W, G and `packed`. product: the loops that pack the weights of one product.

    Its registers are doubles.
    """
    problem, alpha = winograd.problem, winograd.alpha
    weights, points = problem.vector, winograd.parts * alpha**2
    part, i, j, k, c, r, s = map(variable, ("part", "i", "j", "k", "c", "r", "s"))
    channel = part * winograd.channels + k
    at = {"k": channel, "c": c, "r": r, "s": s}
    element = Load("W", tuple(sum((at[d] * step for d, step in index.terms), ZERO) for index in weights.indices))
    factor = Apply("mul", (Load("G", (i, r)), Load("G", (j, s))))
    added = Set("sum", Apply("add", (Register("sum"), Apply("mul", (factor, element)))))
    taps = _loop("r", TAPS, (_loop("s", TAPS, (added,)),))
    summed: Body = (Let("sum", Number(0), True), taps, Store("U", (c, k), Register("sum")))
    if winograd.parts * winograd.channels > problem.extents["k"]:
        summed = (If((Inside(channel, None, problem.extents["k"]),), summed, (Store("U", (c, k), Number(0)),)),)
    u = Buffer("U", (problem.extents["c"], winograd.channels), ("c", "k"), memory="own")
    packed = Address("packed", ((part * alpha + i) * alpha + j, ZERO))
    body: Body = (
        _loop("k", winograd.channels, (_loop("c", problem.extents["c"], summed),)),
        Call(PACK, (Address("U", (ZERO, ZERO)), packed)),
    )
    for name, stop in (("j", alpha), ("i", alpha), ("part", winograd.parts)):
        body = (_loop(name, stop, body),)
    arrays = (
        Buffer("W", weights.shape, axes_of(problem, weights)),
        Buffer("G", (alpha, TAPS), ("point", "tap"), "f64"),
        Buffer("packed", (points, packed_elements(winograd.product)), ("point", "number")),
    )
    comment = "Packs U of one point and part in the order in which the products read it"
    inner = Function(
        PACK, (("W", "U"), ("packed", "packed")), (), (), tuple(map(_of_point, product.body)), (), comment, True
    )
    return Kernel(arrays, (Alloc(u), *body), (inner,))


def _loop(name: str, stop: int, body: Body) -> For:
    return For(name, ZERO, constant(stop), 1, body)


def _of_point(statement: Statement) -> Statement:
    """A statement of a product's packing, for the packed numbers of one point."""
    if isinstance(statement, Store):
        return replace(statement, at=(ZERO, *statement.at))
    return with_blocks(statement, lambda body: tuple(map(_of_point, body)))
