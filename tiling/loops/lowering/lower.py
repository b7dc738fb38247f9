"""A problem and its scheme as plain loops over scalars: the first form of every kernel.

    lower_scheme(scheme) -> Kernel

The loops follow the scheme: one `For` for each iteration that it names, also those of U and V, and accumulators where
S(output) stands. Nothing is packed, clipped or vectorised yet. Source of the nest: `tiling.loops.lowering.nest`.
"""

#     R(m) S(c) T(k,60) U(m,10) V(n,16)        ->      for m in 0..100 by 10:
#                                                        acc[10, 1, 16] in registers
#                                                        for m_u in 0..10, unrolled:  …  acc[m_u, 0, lane] = 0
#                                                        for k in 0..60:  …  acc[…] = acc[…] + X[m + m_u, k] * W[k, n]
#                                                        for m_u in 0..10, unrolled:  …  Y[m + m_u, n] = acc[…]
#
# Variables are positions: `h` runs over 0, 14, 28 …, and the loops over h outside it are h_1, h_2 … The loops inside
# S(output), and the unrolled ones, h_u, count from 0.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from tiling.arrays.flat_pixels import without_strips
from tiling.loops.index import ZERO, variable
from tiling.loops.language import Along, Body, Decide, For, Kernel, Statement
from tiling.loops.lowering import nest
from tiling.loops.lowering.arrays import arrays
from tiling.loops.lowering.tile import TileLowering, staged_part
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme


@lru_cache(maxsize=1)  # the loops that pack the weights begin with those of the kernel
def lower_scheme(scheme: Scheme) -> Kernel:
    """The kernel of a scheme as plain loops. It says what is computed and in which order, for any machine."""
    scheme = replace(scheme, problem=without_strips(scheme.problem))
    problem = scheme.problem
    nodes = nest.nest_of(scheme)
    whole = {dim: Along(dim, ZERO, scheme.visited(dim)) for dim in scheme.extents}
    return Kernel(arrays(problem), _Lowering(scheme).body(nodes, whole, {}))


@dataclass(frozen=True)
class _Lowering:
    """Walks the nest of a scheme. What lies inside S(output) is the matter of `TileLowering`."""

    scheme: Scheme

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    def body(
        self,
        nodes: tuple[nest.Node, ...],
        at: Mapping[str, Along],
        sums: Mapping[str, nest.Loop],
        team: Mapping[str, Along] | None = None,
    ) -> Body:
        """The statements of `nodes`. at: the part of each dim that they visit. sums: the loops over summed dims
        outside. team: the part that workers have together who each hold accumulators of their own.
        """
        found: list[Statement] = []
        for node in nodes:
            if isinstance(node, nest.Loop):
                inside = self.loop(node, at, sums, team)
            elif isinstance(node, nest.Staged) and not node.sums:
                inside = (staged_part(self.problem, node, at, self.body(node.body, at, sums, team)),)
            elif isinstance(node, nest.Staged) and (loop := self.shared(node)):
                inside = self.loop(loop, at, sums, team or at)
            else:
                here = {dim: along.start for dim, along in at.items()}
                inside = TileLowering(self.scheme, here, dict(sums), node, dict(team or at)).statements()
            # Tiles side by side, the branches of a λ, have the same flags.
            found += [s for s in inside if not (isinstance(s, Decide) and s in found)]
        return tuple(found)

    def shared(self, node: nest.Staged) -> nest.Loop | None:
        """The outermost loop of a tile that hands its outputs to workers, now around it; None where there is none.

        Each worker holds the accumulators of its own part, so such a loop may as well stand outside S(output).
        """

        def without(inner: nest.Node) -> tuple[nest.Loop | None, nest.Node]:
            if isinstance(inner, nest.RegisterTile):
                return None, inner
            if isinstance(inner, nest.Loop) and inner.worker and inner.dim[0] not in self.problem.reductions:
                return inner, inner.body[0]
            found, body = without(inner.body[0])
            return found, replace(inner, body=(body,))

        loop, rest = without(node)
        return replace(loop, body=(rest,)) if loop else None

    def loop(
        self,
        loop: nest.Loop,
        at: Mapping[str, Along],
        sums: Mapping[str, nest.Loop],
        team: Mapping[str, Along] | None,
    ) -> Body:
        """The loop; only its body where it has a single iteration and no workers."""
        start = at[loop.dim].start + loop.start
        if not loop.written:
            return self.body(loop.body, {**at, loop.dim: Along(loop.dim, start, loop.step)}, sums, team)
        name = nest.position(loop)
        summed = all(dim in self.problem.reductions for dim in loop.dim)
        here = {**at, loop.dim: Along(loop.dim, variable(name), loop.step)}
        inside = self.body(loop.body, here, {**sums, name: loop} if summed else sums, team)
        return (For(name, start, start + loop.points, loop.step, inside, loop.worker or "serial", loop.dim),)
