"""A register tile of matrix instructions: tile registers of up to 16 rows multiply dot groups of x and the weights.

These functions say which rows of x share a tile register, and which register holds what.
"""

# A tile of x is a *run*: rows that lie equally far apart in x.
#
#     for every reduction block:                       tile of w, lanes 16 … 31    tile of w, lanes 0 … 15
#         one tile of each 16 lanes of the weights   ┌───────────────────────────┬───────────────────────┐
#         tile of x, rows 0 … 13                     │ sums of tile register 1   │ tile register 0       │
#         tile of x, rows 14 … 27                    │ tile register 3           │ tile register 2       │

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise, product

from microkernels.tile.isa_row import TileRegisters
from tiling.problem import Problem


@dataclass(frozen=True)
class RowRun:
    """`count` rows of a register tile from row `first` on, each `step` elements of x after the one before.

    dim: the dim whose stride the step is; "" where there is none.
    """

    first: int
    count: int
    step: int
    dim: str


@dataclass(frozen=True)
class Registers:
    """The tile registers of a register tile: first the sums, then x, then the weights.

    The sums of run i and vector v are in `i · vectors + v`. x_of: the register of x for each run. weights: the
    registers of the weights. rows: the rows of each register of sums and of x.
    """

    vectors: int
    x_of: tuple[int, ...]
    weights: tuple[int, ...]
    rows: tuple[int, ...]

    def sums(self, run: int, v: int) -> int:
        return run * self.vectors + v


def runs_of(problem: Problem, extents: Mapping[str, int], rows: int) -> tuple[RowRun, ...]:
    """The rows of a register tile, row-major, in runs of at most `rows`. Lengths differ by one row at most.

    Where padding may begin between two rows, they are in different runs.
    """
    dims = problem.row_dims
    strides = [problem.broadcast.stride(dim) for dim in dims]
    points = list(product(*(range(extents.get(dim, 1)) for dim in dims)))
    places = [sum(stride * at for stride, at in zip(strides, point)) for point in points]
    apart = [place for place, dim in enumerate(dims) if dim in problem.padded_dims]
    found, first = [], 0
    while first < len(points):
        step, end = 0, first + 1
        while end < len(points) and all(points[end][place] == points[first][place] for place in apart):
            if step == 0:
                step = places[end] - places[end - 1]
            if places[end] - places[end - 1] != step:
                break
            end += 1
        found.append((first, end, step))
        first = end
    return tuple(run for first, end, step in found for run in _split(problem, first, end - first, step, rows))


def split(count: int, most: int) -> tuple[int, ...]:
    """The lengths of the fewest runs of at most `most` rows that make `count` rows, the longer ones first."""
    pieces = -(-count // most)
    return tuple(count // pieces + (piece < count % pieces) for piece in range(pieces))


def _split(problem: Problem, first: int, count: int, step: int, most: int) -> list[RowRun]:
    sizes = split(count, most)
    # A run of one row has no step; neither has h where the pixels of an image are one dim.
    dim = next((d for d in reversed(problem.row_dims) if step and problem.broadcast.stride(d) == step), "")
    return [RowRun(first + sum(sizes[:piece]), size, step, dim) for piece, size in enumerate(sizes)]


def registers_of(matrix: TileRegisters, runs: tuple[int, ...], vectors: int) -> Registers | None:
    """The tile registers for runs of so many rows; None where there are too few.

    x has a register for each length of a run, and where possible two, so that the next run is loaded while this one is
    multiplied. The weights of a step stay in registers where they fit; else they take turns.
    """
    sums = len(runs) * vectors
    lengths = Counter(runs)
    left = matrix.registers - sums
    if left < len(lengths) + 1:
        return None
    weights = min(vectors, left - len(lengths))
    taken = {length: min(2, count) for length, count in lengths.items()}
    if sum(taken.values()) + weights > left:
        taken = dict.fromkeys(lengths, 1)
    # The registers of each length; its runs take turns.
    of_x = {length: range(*place) for length, place in zip(taken, pairwise(accumulate(taken.values(), initial=sums)))}
    x_of: list[int] = []
    turns: Counter[int] = Counter()
    for length in runs:
        x_of.append(of_x[length][turns[length] % taken[length]])
        turns[length] += 1
    first = sums + sum(taken.values())
    rows = [length for length in runs for _ in range(vectors)]
    rows += [length for length, registers in of_x.items() for _ in registers]
    return Registers(vectors, tuple(x_of), tuple(range(first, first + weights)), tuple(rows))


def shapes_definition(name: str, shapes: tuple[tuple[int, int], ...]) -> str:
    """The C text that defines the shapes of tile registers."""
    rows, widths = (", ".join(str(number) for number in column) for column in zip(*shapes))
    return f"static const struct shapes {name} = {{1, 0, {{0}}, {{{widths}}}, {{{rows}}}}};"
