"""The specifiers of a scheme: what each one means, and how it is written.

The language is TTile's. Its worker bindings are Hidet's `spatial`: workers share the iterations of a bound loop, and
one worker runs all iterations of an unbound loop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

WORKERS = ("core", "cluster", "block", "warpgroup", "warp", "lane")
LAMBDA = "λ"


class SchemeError(ValueError):
    """A scheme that does not parse or breaks a rule. The message names the specifier and the rule."""


@dataclass(frozen=True)
class Rest:
    """`R(d)`: the outermost loop over d. It runs as often as the other specifiers of d leave it."""

    dim: str

    def __str__(self) -> str:
        return f"R({self.dim})"


@dataclass(frozen=True)
class Tile:
    """`T(d,n)`: a loop of exactly n iterations; `T(d,n)@core` hands them to workers."""

    dim: str
    trips: int
    worker: str | None = None

    def __str__(self) -> str:
        return f"T({self.dim},{self.trips})" + (f"@{self.worker}" if self.worker else "")


@dataclass(frozen=True)
class Lambda:
    """`L(d, 2x11 + 1x12)`: loops one after the other, 2 iterations over a microkernel of size 11, then 1 of size 12."""

    dim: str
    branches: tuple[tuple[int, int], ...]

    @property
    def trips(self) -> int:
        """Iterations of all branches together."""
        return sum(count for count, _ in self.branches)

    @property
    def units(self) -> int:
        """Units of the dim that all branches cover together."""
        return sum(count * size for count, size in self.branches)

    def __str__(self) -> str:
        return f"L({self.dim}, " + " + ".join(f"{count}x{size}" for count, size in self.branches) + ")"


@dataclass(frozen=True)
class Unroll:
    """`U(d,n)`: n iterations unrolled into registers; `U(d,λ)` (factor None) takes its size from the L on d."""

    dim: str
    factor: int | None

    def __str__(self) -> str:
        return f"U({self.dim},{LAMBDA if self.factor is None else self.factor})"


@dataclass(frozen=True)
class Vector:
    """`V(d,16)`: one vector register of 16 lanes along d. The last vector of d may be masked."""

    dim: str
    lanes: int

    def __str__(self) -> str:
        return f"V({self.dim},{self.lanes})"


@dataclass(frozen=True)
class DotGroup:
    """`D(c,2)`: one instruction sums the products of 2 neighbours along c in every lane. It stands just before V.

    Other specifiers then count c in such dot groups, as they count the dim of V in vectors. The last group may be
    partly used.

        D(c,2)     a vector instruction's: the group fills the 32 bits of a lane
        D(c,32)    a matrix instruction's: the group is longer, and the instruction reads several rows of x
        D(sc,2)    the taps s and channels c of a window's row are one dim, also in `T(sc,5)` and `U(sc,5)`
        D(sc,12)   the same for a matrix instruction, where every pixel is filled up to whole 32 bits

    Around a matrix instruction the pixels of an image may be one dim, `T(hw,75)` … `U(hw,64)`
    (`tiling.arrays.flat_pixels`).
    """

    dim: str
    points: int

    def __str__(self) -> str:
        return f"D({self.dim},{self.points})"


@dataclass(frozen=True)
class Matrix:
    """`M(m16n8k16)`: a GPU's matrix instruction, in the place of V. It covers 16 points of m, 8 of n and 16 of k.

    A scheme that ends with one may fuse any dims: `T(nhw,25)` … `M(nhw16k8rsc16)` treats the points of n, h and w, in
    this order, as one dim. The outermost tile of a dim may reach over the edge, where the kernel masks it.
    """

    shape: str

    @cached_property
    def factors(self) -> dict[str, int]:
        """Points that the instruction covers along each dim."""
        return {dim: int(points) for dim, points in re.findall(r"([a-z]+)([0-9]+)", self.shape)}

    def __str__(self) -> str:
        return f"M({self.shape})"


@dataclass(frozen=True)
class Stage:
    """`S(y)`: everything inside works on a copy of the tensor's tile, one memory level further in.

    For the output these are the accumulators in registers. For an input it is a packed panel, a strip of an image
    (`tiling.arrays.flat_pixels`), or `depth` stages of shared memory.
    """

    tensor: str
    depth: int = 1

    def __str__(self) -> str:
        return f"S({self.tensor})" if self.depth == 1 else f"S({self.tensor}, {self.depth})"


@dataclass(frozen=True)
class PixelBlock:
    """`P(2x8)`, outermost: everything inside reads a copy of x in blocks of 2 rows and 8 columns of pixels.

    A block is one pixel with the channels of all. Blocks begin a stride apart, so dims count other points: those of
    taps count blocks, and `c` counts the numbers of a block (`tiling.arrays.pixel_blocks`).
    """

    high: int
    wide: int

    def __str__(self) -> str:
        return f"P({self.high}x{self.wide})"


Specifier = PixelBlock | Rest | Tile | Lambda | Unroll | DotGroup | Vector | Matrix | Stage
Specifiers = tuple[Specifier, ...]


def names_a_gpu(specifiers: Specifiers) -> bool:
    """Whether a GPU's lanes or matrix instruction are named. Its kernels leave out what lies beyond an edge."""
    return any(isinstance(s, Matrix) or (isinstance(s, Tile) and s.worker == "lane") for s in specifiers)


def dim_of(specifier: Specifier) -> str | None:
    """The dim that a specifier stands on; None for M, S and P."""
    return None if isinstance(specifier, (Matrix, Stage, PixelBlock)) else specifier.dim
