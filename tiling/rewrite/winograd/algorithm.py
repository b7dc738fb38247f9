"""Winograd's algorithm for 3 x 3 convolutions of stride 1: fewer multiplications, by ordinary matrix products.

Source: Winograd, Arithmetic Complexity of Computations, 1980; Lavin and Gray, Fast Algorithms for Convolutional Neural
Networks, 2015.
"""

# F(m x m, 3 x 3) computes a tile of m x m outputs from α x α inputs, α = m + 2. It takes α² multiplications, where the
# definition takes 9 m²:
#
#     y = A^T [ (G w G^T) ⊙ (B^T x B) ] A
#
# Summed over the channels, ⊙ is α² matrix products of (tiles x C) by (C x K), one for each pair of points. Their scheme
# and register tiles are those of any matrix product.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from math import prod
from typing import ClassVar

from tiling.loops.lowering.prefetch.plan import PrefetchPlan, plan_prefetches
from tiling.operators import matmul
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import SchemeError, Specifiers
from tiling.tensor import Tensor

TAPS = 3
# Points are small and come in pairs ±p, so that the transforms share sums and their numbers are exact in binary. ∞ is
# the last point of each F. f32 is too short for more than F(4): F(4) loses 3 of the 24 bits of a direct convolution,
# F(6) some 6. No data are left on which F(6) is exact, so that == could check it.
POINTS = (Fraction(0), Fraction(1), Fraction(-1), Fraction(2), Fraction(-2))
SIZES = range(2, len(POINTS))
# Rows of scratch arrays start on a cache line, an odd number of lines apart. Then neighbouring rows, which are written
# and read side by side, fall into different sets of a cache.
LINE_FLOATS = 16

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Transforms:
    """The matrices of F(m, 3): `output` A^T of m x α, `weights` G of α x 3, `input` B^T of α x α."""

    output: Matrix
    weights: Matrix
    input: Matrix


@cache
def transforms(m: int) -> Transforms:
    """The matrices of F(m, 3) by Toom and Cook: polynomials are multiplied at α - 1 points and ∞, transposed."""
    # With f_j = Π_{l≠j} (p_j - p_l): A^T[i][j] = p_j^i, G[j][i] = p_j^i / f_j, and row j of B^T has the coefficients of
    # Π_{l≠j} (x - p_l). At ∞ A^T and G take the highest power alone, B^T the product over all points.
    points = POINTS[: m + 1]
    last = len(points)

    def powers(count: int) -> list[list[Fraction]]:
        return [[p**i for i in range(count)] for p in points] + [[Fraction(i == count - 1) for i in range(count)]]

    divisors = [prod(p - other for other in points if other != p) for p in points] + [Fraction(1)]
    weights = [[value / divisors[j] for value in row] for j, row in enumerate(powers(TAPS))]
    input_rows = [_polynomial([p for p in points if j == last or p != points[j]], last + 1) for j in range(last + 1)]
    return Transforms(tuple(zip(*powers(m))), _tuples(weights), _tuples(input_rows))


def _polynomial(roots: list[Fraction], count: int) -> list[Fraction]:
    """The first `count` coefficients of Π (x - root), lowest first."""
    coefficients = [Fraction(1)]
    for root in roots:
        lower = [-root * c for c in coefficients] + [Fraction(0)]
        coefficients = [a + b for a, b in zip(lower, [Fraction(0), *coefficients])]
    return coefficients + [Fraction(0)] * (count - len(coefficients))


def _tuples(rows: Iterable[Iterable[Fraction]]) -> Matrix:
    return tuple(tuple(row) for row in rows)


def unsupported_reason(problem: Problem) -> str | None:
    """Why Winograd's algorithm cannot compute this problem, as a sentence; None where it can."""
    problem = problem.original
    if problem.op != "conv2d" or problem.looped_dims:
        groups = {
            "conv2d": problem.extents.get("g"),
            "grouped2d": problem.extents.get("k", 0) // problem.extents.get("c", 1),
        }
        what = f"one of {groups[problem.op]} groups" if problem.op in groups else problem.op
        return f"Winograd's algorithm takes a convolution without groups, not {what}: use algorithm='direct'"
    if problem.dtype != "f32" or problem.output_dtype != "f32":
        return f"Winograd's algorithm is for f32, not {problem.dtype}: use algorithm='direct'"
    taps = tuple(problem.extents[dim] for dim in "rs")
    if taps != (TAPS, TAPS):
        return f"Winograd's algorithm is for kernels of 3 x 3, not {taps[0]} x {taps[1]}: use algorithm='direct'"
    for name in ("stride", "dilation"):
        steps = tuple(getattr(window, name) for window in problem.windows)
        if steps != (1, 1):
            return f"Winograd's algorithm is for {name} 1, not {steps[0]} and {steps[1]}: use algorithm='direct'"
    if problem.layout != "nhwc":
        return "Winograd's algorithm is for channels last (NHWC): use algorithm='direct'"
    return None


def product_problem(problem: Problem, block: int, channels: int) -> Problem:
    """One of the α² products of a block: a (block, C) by b (C, channels). Rows of a and c are odd lines apart."""
    product = matmul(m=block, n=channels, k=problem.extents["c"])

    def spaced(tensor: Tensor) -> Tensor:
        return replace(tensor, shape=(tensor.shape[0], odd_lines(tensor.shape[1])))

    return replace(product, tensors=(spaced(product.broadcast), product.vector, spaced(product.output)))


def odd_lines(floats: int) -> int:
    """The least number of floats, at least `floats`, that is an odd number of cache lines."""
    return (-(-floats // LINE_FLOATS) | 1) * LINE_FLOATS


@dataclass(frozen=True)
class Winograd:
    """F(m x m, 3 x 3) of a convolution: blocks of `block` tiles by `channels` output channels, and a product's scheme.

    It may stand in the place of a `Scheme`. Its text names the tile, the block and the scheme of one product:

        F(4x4,3x3) B(28,64) T(m,2) S(c) T(k,64) U(m,14) U(n,4) V(n,16)

    Raises SchemeError where the parts do not fit together.
    """

    problem: Problem
    m: int
    block: int
    channels: int
    product: Scheme
    algorithm: ClassVar[str] = "winograd"
    single_pass: ClassVar[bool] = True  # sums are complete before they are transformed

    def __post_init__(self) -> None:
        check_block(self.problem, self.m, self.block, self.channels)
        if not isinstance(self.product, Scheme) or self.product.problem != product_problem(
            self.problem, self.block, self.channels
        ):
            raise SchemeError(f"{self.head}: the scheme that follows is not of a product of its blocks")
        if self.channels % self.product.lanes:
            raise SchemeError(
                f"{self.head}: {self.channels} channels are no whole vectors of {self.product.lanes} lanes"
            )

    @property
    def head(self) -> str:
        """The part of the text before the product's scheme."""
        return f"F({self.m}x{self.m},{TAPS}x{TAPS}) B({self.block},{self.channels})"

    @property
    def text(self) -> str:
        """The text form. `tiling.text.notation.parse` turns it back into an equal object."""
        return f"{self.head} {self.product.text}"

    def __str__(self) -> str:
        return self.text

    @property
    def alpha(self) -> int:
        """Inputs of a tile along one axis. A block has α² products."""
        return self.m + TAPS - 1

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Tiles along h and along w. The last ones may reach beyond the output."""
        return tile_grid(self.problem, self.m)

    @property
    def all_tiles(self) -> int:
        return self.problem.extents["n"] * prod(self.grid)

    @property
    def blocks(self) -> int:
        """Blocks of tiles. The last block may have tiles that do not exist; these are zero."""
        return -(-self.all_tiles // self.block)

    @property
    def parts(self) -> int:
        """Parts that the output channels are cut into."""
        return -(-self.problem.extents["k"] // self.channels)

    @cached_property
    def prefetches(self) -> tuple[PrefetchPlan, ...]:
        """What the tiles of a product prefetch. Between two uses of a row of V, all α² points of V are read."""
        points = self.alpha**2
        return plan_prefetches(self.product, in_turn=points, weights_in_turn=points * self.parts)

    @property
    def lanes(self) -> int:
        return self.product.lanes

    @property
    def specifiers(self) -> Specifiers:
        """The specifiers of the product's scheme."""
        return self.product.specifiers

    @property
    def tiles(self) -> tuple[dict[str, int], ...]:
        """The register tiles of the product's scheme."""
        return self.product.tiles


def tile_grid(problem: Problem, m: int) -> tuple[int, int]:
    """Tiles of m outputs that cover the output along h and along w."""
    return -(-problem.extents["h"] // m), -(-problem.extents["w"] // m)


def check_block(problem: Problem, m: int, block: int, channels: int) -> None:
    """Raises SchemeError where `problem` cannot be cut into such blocks."""
    head = f"F({m}x{m},{TAPS}x{TAPS}) B({block},{channels})"
    refused = unsupported_reason(problem)
    if refused:
        raise SchemeError(f"{head}: {refused}")
    if m not in SIZES:
        raise SchemeError(f"{head}: tiles are of {SIZES[0]} to {SIZES[-1]} outputs a side")
    most = problem.extents["n"] * prod(tile_grid(problem, m))
    if not 1 <= block <= most:
        raise SchemeError(f"{head}: a block has 1 to {most} tiles, all that there are")
    if not 1 <= channels < problem.extents["k"] + 64:
        raise SchemeError(f"{head}: a block has up to {problem.extents['k']} output channels, in whole vectors")
