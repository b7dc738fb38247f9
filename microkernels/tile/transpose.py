"""A block of a register tile transposed in registers, for an output whose contiguous axis is not the vectorised dim.

The shuffles are those that x86 has one instruction for. They are written for the compiler's own vector types, so every
instruction set has them.
"""

# Accumulators hold vectors of k, one for each row (a pixel of w). Where y is (N,K,OH,OW), neighbours in memory are
# pixels. So up to `lanes` rows of one vector are transposed, and there is one store for each point of k:
#
#     acc_0  k0 k1 k2 k3            t[0]  w0 w1 w2 w3
#     acc_1  k0 k1 k2 k3     ──►    t[1]  w0 w1 w2 w3       each stage pairs neighbours: 1 row with 1, 2 with 2, …
#     acc_2  k0 k1 k2 k3            t[2]  w0 w1 w2 w3
#     acc_3  k0 k1 k2 k3            t[3]  w0 w1 w2 w3
#
# The first stages interleave single lanes and pairs within 128 bits; the others move 128 bits as a whole.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby, product

from microkernels.tile.isa_row import Isa
from microkernels.tile.lanes import shuffle_definition
from tiling.problem import Problem

# The content of a lane: (row, point of k), or None where it is empty.
_Lane = tuple[int, int] | None
_QUAD = 4  # lanes of 128 bits


@dataclass(frozen=True)
class Rows:
    """Rows first … first+count-1 of a register tile. They are neighbours in the output and the epilogue's arrays."""

    first: int
    count: int


def blocks(problem: Problem, extents: Mapping[str, int], lanes: int) -> tuple[Rows, ...]:
    """The rows of a tile of `extents` points per dim, in blocks of at most `lanes` neighbours.

    Rows are counted in row-major order of the row dims. From row to row of a block the address of the output grows by
    one. The address of each array of the epilogue grows by one or stays, throughout the block.
    """
    dims = problem.row_dims
    rows = list(product(*(range(extents[dim]) for dim in dims)))
    tensors = (problem.output, *problem.epilogue_arrays)
    places = [tuple(sum(t.stride(d) * i for d, i in zip(dims, row)) for t in tensors) for row in rows]
    found: list[Rows] = []
    first, steps = 0, None
    for row in range(1, len(rows) + 1):
        step = row < len(rows) and tuple(b - a for a, b in zip(places[row - 1], places[row]))
        neighbours = step and step[0] == 1 and set(step) <= {0, 1} and steps in (None, step)
        if neighbours and row - first < lanes:
            steps = step
            continue
        found.append(Rows(first, row - first))
        first, steps = row, None
    return tuple(found)


@cache
def stages(lanes: int) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """The two shuffles of each stage. Lanes 0 … lanes-1 belong to one vector, lanes … 2·lanes-1 to the other."""
    quads = range(0, lanes, _QUAD)

    def within(order: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(quad + place % _QUAD + place // _QUAD * lanes for quad in quads for place in order)

    def whole(order: tuple[int, ...]) -> tuple[int, ...]:
        half = tuple(quad * _QUAD + place for quad in order for place in range(_QUAD))
        return (*half, *(lanes + lane for lane in half))

    found = [(within((0, 4, 1, 5)), within((2, 6, 3, 7))), (within((0, 1, 4, 5)), within((2, 3, 6, 7)))]
    if lanes == 8:
        found += [(whole((0,)), whole((1,)))]
    if lanes == 16:
        found += [(whole((0, 1)), whole((2, 3))), (whole((0, 2)), whole((1, 3)))]
    return tuple(found)


@dataclass(frozen=True)
class Shuffle:
    """`name` is the low (or high) shuffle of vectors `a` and `b` in a stage."""

    name: str
    stage: int
    high: bool
    a: str
    b: str


@dataclass(frozen=True)
class Transposition:
    """The shuffles that transpose vectors r0, r1 … of points into `columns`, one vector of rows for each point."""

    shuffles: tuple[Shuffle, ...]
    columns: tuple[str, ...]


@cache
def transposition(lanes: int, rows: int) -> Transposition:
    """The shuffles for a block of `rows` rows. Where a row has no partner, shuffles that move nothing are left out."""
    groups: list[list[tuple[str, tuple[_Lane, ...]]]] = [
        [(f"r{row}", tuple((row, point) for point in range(lanes)))] for row in range(rows)
    ]
    shuffles: list[Shuffle] = []
    for number, orders in enumerate(stages(lanes)):
        paired = []
        for at in range(0, len(groups), 2):
            group = groups[at]
            partner = groups[at + 1] if at + 1 < len(groups) else [(name, (None,) * lanes) for name, _ in group]
            vectors = []
            for (a, held), (b, beside) in zip(group, partner):
                for high, order in enumerate(orders):
                    lane = tuple((*held, *beside)[place] for place in order)
                    name = f"s{number + 1}_{len(shuffles)}"
                    if all(new is None or new == old for new, old in zip(lane, held)):
                        name = a
                    else:
                        shuffles.append(Shuffle(name, number, bool(high), a, b))
                    vectors.append((name, lane))
            paired.append(vectors)
        groups = paired
    points = {first[1]: name for name, (first, *_) in groups[0] if first}
    return Transposition(tuple(shuffles), tuple(points[point] for point in range(lanes)))


def definitions(isa: Isa, sizes: list[int]) -> list[str]:
    """The C functions `transpose_ROWS(t, r0, r1, …)` for blocks of these numbers of rows, with those that they call."""
    v, lanes = isa.vector_type, isa.lanes
    lines = [
        "/* Transposes a block of a tile before it is stored: t[j] gets point j of every row. Single lanes are",
        " * interleaved first, then pairs of lanes, both within 128 bits. Then 128 bits move as a whole. */",
        *shuffle_definition(isa),
    ]
    for number, orders in enumerate(stages(lanes)):
        for name, order in zip(("low", "high"), orders):
            picked = ", ".join(map(str, order))
            value = isa.shuffle.format(a="a", b="b", places=picked)
            lines.append(f"static inline {v} {name}_{1 << number}({v} a, {v} b) {{ return {value}; }}")
    for rows in sizes:
        found = transposition(lanes, rows)
        parameters = ", ".join(f"{v} r{row}" for row in range(rows))
        lines += [f"static inline __attribute__((always_inline)) void transpose_{rows}({v} *t, {parameters})", "{"]
        for _, pair in groupby(found.shuffles, key=lambda s: (s.a, s.b)):
            values = (f"{s.name} = {'high' if s.high else 'low'}_{1 << s.stage}({s.a}, {s.b})" for s in pair)
            lines.append(f"    const {v} {', '.join(values)};")
        for quad in range(0, lanes, _QUAD):
            lines.append(
                "    " + " ".join(f"t[{point}] = {found.columns[point]};" for point in range(quad, quad + _QUAD))
            )
        lines.append("}")
    return lines
