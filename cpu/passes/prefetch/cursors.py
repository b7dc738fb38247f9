"""The loops around tiles aim a cursor at what comes next: the next weights, the next rows of x, or the next strip.

The tiles inside then advance it, a line at a time, while they multiply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from cpu.passes.prefetch.addresses import TileStep, unrolled
from tiling.arrays.access import access_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.language import Address, Body, If, Inside, Load, Statement
from tiling.loops.lowering.arrays import in_words, shape_of, words_per_group
from tiling.loops.lowering.nest import position, positions
from tiling.loops.lowering.prefetch.pieces import Piece, strip_around
from tiling.loops.lowering.prefetch.plan import PrefetchPlan
from tiling.loops.machines import Advance, Aim
from tiling.loops.rewrite import places
from tiling.problem import Problem
from tiling.rewrite.copies.laid_out import row_of


@dataclass(frozen=True)
class CursorAims:
    """Writes the statements that aim cursors. x: the array that tiles read x from."""

    problem: Problem
    x: Buffer

    def statements(self, tiles: Sequence[tuple[PrefetchPlan, Body]], depth: int, looping: bool) -> Body:
        """The statements that aim cursors at the piece after this one.

        depth: how many loops stand around. looping: the pieces belong to iterations of the loop at that depth; else to
        its only iteration, such as a branch of a λ, for which the kernel has no loop.
        """
        found: list[Statement] = []
        for array, at in (("x", self.rows_of_piece), ("w", self.weights_of_piece)):
            for plan, body in tiles:
                piece = next((p for p in plan.pieces if (p.array, *_depth(plan, p)) == (array, depth, looping)), None)
                if piece and array == "x" and (strip := strip_around(self.problem, plan.tile)):
                    here = positions(plan.tile.outer[: plan.tile.outer.index(piece.loop) + 1])
                    found.append(self.rows_of_strip(here, strip))
                    break
                if piece:
                    tensor = self.problem.broadcast if array == "x" else access_of(self.problem).packed
                    # The loops count the words of a dot group.
                    words = prod(shape_of(self.problem, tensor)) // tensor.elements
                    found.append(
                        Aim(array, Address(array.upper(), at(piece, plan, body)), constant(piece.elements * words))
                    )
                    break
        return tuple(found)

    def rows_of_strip(self, here: Mapping[str, Index], strip: int) -> Aim:
        """The cursor of x goes to the rows of x that the strip after this one is the first to copy."""
        flat = self.problem.flat_pixels
        assert flat
        point, (image, *_) = here[flat.dim] + (strip + flat.reach), self.x.axes
        first, end = row_of(flat, point), row_of(flat, point + strip)
        rows = (end - first) * self.x.strides[1]
        return Aim("x", Address(self.x.name, (here.get(image, ZERO), first, ZERO, ZERO)), rows)

    def weights_of_piece(self, piece: Piece, plan: PrefetchPlan, body: Body) -> tuple[Index, ...]:
        """Where the packed weights begin that the next iteration reads."""
        load = next(place for place in places(body) if isinstance(place, Load) and place.buffer == "W")
        (at,) = _first(load.at, body)
        loops = [loop for loop in plan.tile.outer if loop.written or loop is piece.loop]
        for inner in reversed(loops[loops.index(piece.loop) + 1 :]):
            outside = positions(plan.tile.outer[: plan.tile.outer.index(inner)])
            at = at.replaced({position(inner): outside.get(inner.dim, ZERO) + inner.start})
        if not piece.loop.written:  # its position is a number: a branch of a λ, which is over panels
            words = words_per_group(self.problem, access_of(self.problem).packed) or 1
            return (at + piece.loop.step * self.problem.reduction_length * words,)
        name = position(piece.loop)
        return (at.replaced({name: variable(name) + piece.loop.step}),)

    def rows_of_piece(self, piece: Piece, plan: PrefetchPlan, body: Body) -> tuple[Index, ...]:
        """Where the rows of x begin that only the next iteration reads first: the last rows of its windows."""
        x, loop, outer = self.problem.broadcast, piece.loop, plan.tile.outer
        here = positions(outer[: outer.index(loop) + 1])
        here[loop.dim] = here[loop.dim] + loop.step
        rows = {dim: at for dim, at in here.items() if dim in self.problem.row_dims}
        found = []
        for index in x.indices:
            terms = (rows[dim] * step for dim, step in index.terms if dim in rows)
            found.append(sum(terms, ZERO) + index.offset)
        for window in self.problem.windows:
            taps = self.problem.extents[window.tap]
            axis = next(i for i, index in enumerate(x.indices) if index.coefficient(window.tap))
            if window.dim == loop.dim:
                found[axis] = found[axis] + (taps - 1) * window.dilation - (window.stride - 1)
        return in_words(self.problem, x, tuple(found), ZERO)


def advances(step: TileStep) -> Body:
    """The advances of cursors in one step: so many lines of each, or one in every few steps."""
    return tuple(advance for piece in step.plan.pieces for advance in _advances(piece))


def _advances(piece: Piece) -> Body:
    advance: Statement = Advance(piece.array)
    if piece.dim:
        advance = If((Inside(variable(piece.dim) % piece.every, 0, 1),), (advance,))
    return (advance,) * piece.lines


def _depth(plan: PrefetchPlan, piece: Piece) -> tuple[int, bool]:
    """How many loops stand around the loop of a piece, and whether that is a loop itself."""
    outer = plan.tile.outer
    return sum(loop.written for loop in outer[: outer.index(piece.loop)]), piece.loop.written


def _first(at: tuple[Index, ...], body: Body) -> tuple[Index, ...]:
    """An index where all loops of a tile begin."""
    own = unrolled(body)
    return tuple(index.replaced(own) for index in at)
