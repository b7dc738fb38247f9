"""How a problem is tiled: an ordered tuple of specifiers, outermost first.

A scheme is pure data. `tiling.text.notation` reads its text, `tiling.loops.lowering.nest` lowers it to loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar

from tiling.problem import Problem
from tiling.scheme.counts import covered_by, extents_of, units_of
from tiling.scheme.rules import check
from tiling.scheme.specifiers import DotGroup, Lambda, Rest, Specifiers, Stage, Tile, Unroll, Vector


@dataclass(frozen=True)
class Scheme:
    """A valid tiling of a problem. The constructor raises SchemeError where a specifier breaks a rule."""

    problem: Problem
    specifiers: Specifiers
    algorithm: ClassVar[str] = "direct"  # every multiplication of the definition

    def __post_init__(self) -> None:
        check(self.problem, self.specifiers)

    @cached_property
    def text(self) -> str:
        """The text form. `tiling.text.notation.parse` turns it back into this scheme."""
        return " ".join(str(specifier) for specifier in self.specifiers)

    def __str__(self) -> str:
        return self.text

    @cached_property
    def lanes(self) -> int:
        """Lanes of V; 1 where there is none."""
        return next((s.lanes for s in self.specifiers if isinstance(s, Vector)), 1)

    @cached_property
    def extents(self) -> dict[str, int]:
        """The extent of every dim of this scheme: fused dims first, then the others."""
        return extents_of(self.problem, self.specifiers)

    @cached_property
    def units(self) -> dict[str, int]:
        """How many units each dim has: vectors for the dim of V, dot groups for the dim of D, else points."""
        return units_of(self.problem, self.specifiers)

    @cached_property
    def branches(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """The (count, size) branches of every composed dim."""
        return {s.dim: s.branches for s in self.specifiers if isinstance(s, Lambda)}

    @cached_property
    def tiles(self) -> tuple[dict[str, int], ...]:
        """The register tiles that the scheme is composed of, one for each choice of λ: units unrolled per dim."""
        choices: list[dict[str, int]] = [{}]
        for dim, branches in self.branches.items():
            choices = [{**choice, dim: size} for choice in choices for _, size in branches]
        tiles = []
        for choice in choices:
            tile = {dim: 1 for dim in self.extents}
            for s in self.specifiers:
                if isinstance(s, Unroll):
                    tile[s.dim] *= choice[s.dim] if s.factor is None else s.factor
            tiles.append(tile)
        return tuple(tiles)

    @property
    def accumulators_at(self) -> int:
        """The position of S(output) among the specifiers. Raises StopIteration where there is none."""
        name = self.problem.output.name
        return next(i for i, s in enumerate(self.specifiers) if isinstance(s, Stage) and s.tensor == name)

    @cached_property
    def single_pass(self) -> bool:
        """Whether every output is written once and never read back: no reduction loop stands outside S(output)."""
        outside = self.specifiers[: self.accumulators_at]
        return not any(isinstance(s, (Rest, Tile)) and s.dim[0] in self.problem.reductions for s in outside)

    def iterations(self, loop: Rest | Tile | Lambda) -> int:
        """Iterations of the loop. For an L: the sum over its branches."""
        return self.trips(loop) if isinstance(loop, Rest) else loop.trips

    def covered(self, dim: str, place: int = 0) -> int:
        """Units of `dim` that the specifiers from `place` inwards cover together."""
        inside = self.specifiers[place:]
        rest = next((self.trips(s) for s in inside if isinstance(s, Rest) and s.dim == dim), 1)
        return rest * covered_by(inside, dim)

    def trips(self, specifier: Rest) -> int:
        """Iterations of an R loop: the units of its dim over the product of every other factor."""
        return self.units[specifier.dim] // covered_by(self.specifiers, specifier.dim)

    def visited(self, dims: str) -> int:
        """Points of a dim that the loops visit: its extent, or more where the last tile reaches beyond it."""
        groups = [s.points for s in self.specifiers if isinstance(s, DotGroup) and s.dim == dims]
        return self.covered(dims) * prod(groups) * (self.lanes if self.problem.vector_dim in dims else 1)
