"""A scheme lowered to its loops, one immutable node a loop.

The model of the CPU, the plans of prefetches and panels, `lower` and the pseudo-code all walk this tree.
Positions and steps are in points of a dim: a vector counts `lanes` points, a dot group the points of its D.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tiling.loops.index import ZERO, Index, variable
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import DotGroup, Lambda, Matrix, PixelBlock, Stage, Tile, Unroll, Vector


@dataclass(frozen=True)
class Loop:
    """`trips` iterations over `dim`, each covering `step` points of it, from `start` points past the loop outside."""

    dim: str
    trips: int
    step: int
    start: int
    worker: str | None
    body: tuple[Node, ...]

    @property
    def points(self) -> int:
        """Points of `dim` that all iterations cover."""
        return self.trips * self.step

    @property
    def written(self) -> bool:
        """Whether the kernel has a loop for this node. A single iteration needs none, unless workers share it."""
        return self.trips > 1 or self.worker is not None


@dataclass(frozen=True)
class Staged:
    """Everything inside works on a copy of the tile of `tensor`, one memory level further in.

    holds_sums: the tensor is the output, so the copy is the accumulators.
    """

    tensor: str
    depth: int
    holds_sums: bool
    body: tuple[Node, ...]


@dataclass(frozen=True)
class RegisterTile:
    """A register tile: points per dim. Along the vectorised dim they are a multiple of `lanes`."""

    points: tuple[tuple[str, int], ...]
    lanes: int

    @property
    def extents(self) -> dict[str, int]:
        return dict(self.points)


Node = Loop | Staged | RegisterTile


def nest_of(scheme: Scheme) -> tuple[Node, ...]:
    """The loop nest of a scheme, outermost nodes first. An L becomes several loops, one after the other."""
    return _nodes(scheme, 0, {})


def _nodes(scheme: Scheme, position: int, chosen: dict[str, int]) -> tuple[Node, ...]:
    """The nodes of the specifiers from `position` on. chosen: by dim, the size of the L branch that they stand in."""
    if position == len(scheme.specifiers):
        return (_register(scheme, position, chosen),)
    specifier = scheme.specifiers[position]
    if isinstance(specifier, (Unroll, DotGroup, Vector, Matrix)):
        return (_register(scheme, position, chosen),)
    if isinstance(specifier, Stage):
        holds_sums = specifier.tensor == scheme.problem.output.name
        return (Staged(specifier.tensor, specifier.depth, holds_sums, _nodes(scheme, position + 1, chosen)),)
    if isinstance(specifier, PixelBlock):  # it says what loops count, and is none
        return _nodes(scheme, position + 1, chosen)
    dim = specifier.dim
    if isinstance(specifier, Lambda):
        loops, start = [], 0
        for count, size in specifier.branches:
            inner = {**chosen, dim: size}
            loop = Loop(
                dim, count, _step(scheme, position + 1, inner, dim), start, None, _nodes(scheme, position + 1, inner)
            )
            loops.append(loop)
            start += loop.points
        return tuple(loops)
    trips = scheme.iterations(specifier)
    worker = specifier.worker if isinstance(specifier, Tile) else None
    step = _step(scheme, position + 1, chosen, dim)
    return (Loop(dim, trips, step, 0, worker, _nodes(scheme, position + 1, chosen)),)


def _step(scheme: Scheme, position: int, chosen: dict[str, int], dim: str) -> int:
    """Points of `dim` covered by the specifiers from `position` inwards."""
    points = 1
    for s in scheme.specifiers[position:]:
        if isinstance(s, Matrix):
            points *= s.factors.get(dim, 1)
        if getattr(s, "dim", None) != dim:
            continue
        if isinstance(s, Tile):
            points *= s.trips
        elif isinstance(s, Lambda):
            points *= s.units
        elif isinstance(s, Unroll):
            # Outside an L all its branches count together; inside it the size of the chosen branch does.
            points *= s.factor if s.factor is not None else chosen.get(dim, 1)
        elif isinstance(s, DotGroup):
            points *= s.points
        elif isinstance(s, Vector):
            points *= s.lanes
    return points


def _register(scheme: Scheme, position: int, chosen: dict[str, int]) -> RegisterTile:
    """The tile of the specifiers from `position` on, which no loop is made of."""
    points = {dim: 1 for dim in scheme.extents}
    for s in scheme.specifiers[position:]:
        if isinstance(s, Unroll):
            points[s.dim] *= chosen[s.dim] if s.factor is None else s.factor
        elif isinstance(s, DotGroup):
            points[s.dim] *= s.points
        elif isinstance(s, Vector):
            points[s.dim] *= s.lanes
        elif isinstance(s, Matrix):
            for dim, covered in s.factors.items():
                points[dim] *= covered
    return RegisterTile(tuple(points.items()), scheme.lanes)


@dataclass(frozen=True)
class Around:
    """A register tile and the loops around it, `outer` ones outside S(output) and `inner` ones inside, outermost first.

    shared: the number of outer loops that stand outside the S of an input. Inside them tiles read a packed copy of that
    input. None where no input is staged.
    """

    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    register: RegisterTile
    shared: int | None = None


def around(staged: Staged, outer: tuple[Loop, ...], shared: int | None = None) -> Around:
    """The register tile inside S(output), where S(output) stands inside the loops `outer`."""
    inner: list[Loop] = []
    node = staged.body[0]
    while isinstance(node, Loop):
        inner.append(node)
        node = node.body[0]
    assert isinstance(node, RegisterTile)
    return Around(outer, tuple(inner), node, shared)


def tiles(nodes: tuple[Node, ...], outer: tuple[Loop, ...] = (), shared: int | None = None) -> Iterator[Around]:
    """Every register tile of a scheme whose tiles stand inside S(output), as a CPU's do."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from tiles(node.body, (*outer, node), shared)
            continue
        assert isinstance(node, Staged)  # a CPU's register tiles stand inside S(output)
        if node.holds_sums:
            yield around(node, outer, shared)
        else:
            yield from tiles(node.body, outer, len(outer))


def starts(loops: tuple[Loop, ...], dim: str) -> tuple[int, ...]:
    """Every position along `dim` at which the innermost of these nested loops (outermost first) starts a tile."""
    positions = [0]
    for loop in loops:
        if loop.dim == dim:
            positions = [p + loop.start + i * loop.step for p in positions for i in range(loop.trips)]
    return tuple(sorted(set(positions)))


def position(loop: Loop) -> str:
    """The variable of a loop: `h` for the innermost loop over h, then `h_1`, `h_2`, … outwards."""
    depth = _depth(loop.body, loop.dim)
    return f"{loop.dim}_{depth}" if depth else loop.dim


def _depth(nodes: tuple[Node, ...], dim: str) -> int:
    """How many loops over `dim` stand inside each other in `nodes`. For a λ: in its deepest branch."""
    depths = [0]
    for node in nodes:
        if isinstance(node, Staged):
            depths.append(_depth(node.body, dim))
        elif isinstance(node, Loop):
            depths.append((node.dim == dim and node.written) + _depth(node.body, dim))
    return max(depths)


def counter(dim: str) -> str:
    """The variable of the unrolled loop over `dim` in a register tile: `h_u`."""
    return f"{dim}_u"


def positions(loops: tuple[Loop, ...]) -> dict[str, Index]:
    """The position along each dim inside these loops, outermost first."""
    found: dict[str, Index] = {}
    for loop in loops:
        found[loop.dim] = variable(position(loop)) if loop.written else found.get(loop.dim, ZERO) + loop.start
    return found
