"""A problem and its scheme as plain loops over scalars: the first form of every kernel.

    T(m,10) S(c) T(k,60) U(m,10) V(n,16)     ->      for m in 0..100 by 10:
                                                       tile 10mx16n:
                                                         acc[10, 1, 16] in registers
                                                         …

The loops follow the scheme: one `For` for each iteration that it names, also those of U and V, and accumulators where
S(output) stands. Nothing is packed, clipped or vectorised yet. `tiling.loops.lowering.nest` reads the scheme, and
`tiling.loops.lowering.tile` writes what lies inside S(output).
"""

# Variables are positions: `h` runs over 0, 14, 28 …, and the loops over h outside it are h_1, h_2 … The loops inside
# S(output), and the unrolled ones, h_u, count from 0.
#
# A dim of a problem is one letter. A dim of a scheme may fuse several of them into one loop, such as `rsc`: then either
# all of them are summed over, or none.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tiling.loops.index import ZERO, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Along, Body, Decide, For, Statement
from tiling.loops.lowering import nest
from tiling.loops.lowering.arrays import arrays
from tiling.loops.lowering.tile import TileLowering, staged_part
from tiling.loops.lowering.workers import with_workers_outside
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme

Visited = Mapping[str, Along]  # by dim, the part of it that one iteration of the loops outside visits
OuterSums = Mapping[str, nest.Loop]  # by variable, the loops over summed dims outside S(output)


@lru_cache(maxsize=1)  # the loops that pack the weights begin with those of the kernel
def lower_scheme(scheme: Scheme) -> Kernel:
    """The kernel of a scheme as plain loops. It says what is computed and in which order, for any machine."""
    whole = {dim: Along(dim, ZERO, scheme.visited(dim)) for dim in scheme.extents}
    return Kernel(arrays(scheme.problem), _Lowering(scheme).body(nest.nest_of(scheme), whole, {}))


@dataclass(frozen=True)
class _Lowering:
    """Walks the nest of a scheme from its outermost loop to its register tiles, which `TileLowering` makes loops."""

    scheme: Scheme

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    def body(self, nodes: tuple[nest.Node, ...], visited: Visited, outer_sums: OuterSums) -> Body:
        """The statements of nodes that stand one after the other, as the branches of a λ do."""
        found: list[Statement] = []
        for node in nodes:
            statements = self.node(node, visited, outer_sums)
            # The branches of a λ decide alike whether this visit to their outputs is the first or the last.
            found += [s for s in statements if not (isinstance(s, Decide) and s in found)]
        return tuple(found)

    def node(self, node: nest.Node, visited: Visited, outer_sums: OuterSums) -> Body:
        """The statements of one node."""
        match node:
            case nest.Loop():
                return self.loop(node, visited, outer_sums)
            case nest.Staged(holds_sums=False):
                return (staged_part(self.problem, node, visited, self.body(node.body, visited, outer_sums)),)
            case nest.Staged() | nest.RegisterTile():  # S(output), or the end of a scheme that has none
                return self.tile(node, visited, outer_sums, covered=visited)

    def loop(self, loop: nest.Loop, visited: Visited, outer_sums: OuterSums) -> Body:
        """The loop; only its body where it has a single iteration and no workers."""
        if not loop.written:
            start = visited[loop.dim].start + loop.start
            return self.body(loop.body, {**visited, loop.dim: Along(loop.dim, start, loop.step)}, outer_sums)
        if all(dim in self.problem.reductions for dim in loop.dim):
            outer_sums = {**outer_sums, nest.position(loop): loop}
        return (_for(loop, visited, self.body(loop.body, _inside(loop, visited), outer_sums)),)

    def tile(
        self, node: nest.Staged | nest.RegisterTile, visited: Visited, outer_sums: OuterSums, covered: Visited
    ) -> Body:
        """A register tile, and around it the loops whose workers each hold one (`tiling.loops.lowering.workers`).

        covered: the part of each dim that these workers visit together. They stage the inputs of this part.
        """
        loop = with_workers_outside(node, self.problem.reductions)
        if loop is None:
            start = {dim: along.start for dim, along in visited.items()}
            return TileLowering(self.scheme, start, dict(outer_sums), node, dict(covered)).statements()
        (inner,) = loop.body
        assert isinstance(inner, nest.Staged)
        return (_for(loop, visited, self.tile(inner, _inside(loop, visited), outer_sums, covered)),)


def _inside(loop: nest.Loop, visited: Visited) -> Visited:
    """What one iteration of a loop visits."""
    return {**visited, loop.dim: Along(loop.dim, variable(nest.position(loop)), loop.step)}


def _for(loop: nest.Loop, visited: Visited, body: Body) -> For:
    """The statement of a loop."""
    start = visited[loop.dim].start + loop.start
    return For(nest.position(loop), start, start + loop.points, loop.step, body, loop.worker or "serial", loop.dim)
