"""Gives products to the matrix instructions of warpgroups, which read tiles in shared memory.

    for warpgroup in 0..2, warpgroup:
      m = 64*warpgroup + m_1
      for k_u in 0..64, unrolled:
        for m_u in 0..64, unrolled:
          for n_u in 0..128, unrolled:
            acc[warpgroup, m_u, n_u, 0] += …
    ->
    for warpgroup in 0..2, warpgroup:
      m = 64*warpgroup + m_1
      …
      wgmma_fence()
      for k_u in 0..64 by 16, unrolled:
        for m_u in 0..64 by 64, unrolled:
          for n_u in 0..128 by 128, unrolled:
            wgmma_m64n128k16_f16(to: acc + […], a: X_tile + […], b: W_tile + […], part: k_u)
      wgmma_commit()
      wgmma_wait_0()
      …

The instruction runs beside the threads. So each sum is pinned between the threads' own use of it and the instructions'.
What the loops do with the sums, each lane does with its own, as with those of a warp's instruction: a warp holds 16 of
the 64 rows. Source: wgmma of CUTLASS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu.passes.facts.workers import (
    A_WARP,
    WARP,
    WARP_SIZE,
    WARPGROUP,
    WARPGROUPS_OF_BLOCK,
    WARPS_OF_GROUP,
    over,
)
from gpu.passes.matrices.instructions import COLUMNS
from gpu.passes.matrices.multiply_matrices import WarpTile, at, factors_of
from gpu.passes.warpgroups.cut_tiles import BLOCKS
from gpu.passes.warpgroups.instructions import COMMIT, FENCE, PIN, ROWS, wait, wgmma
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, Define, Do, For, Immediate, Instruction, Invoke, Load, Statement
from tiling.loops.lowering.nest import counter
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.rewrite import substituted
from tiling.loops.walk import walk, with_statements
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix

_OF_WARP = variable(WARP) // WARPS_OF_GROUP  # the warpgroup of a warp


def multiply_warpgroups(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose products are matrix instructions of warpgroups."""
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    rows, columns, depth = map(counter, matrix.factors)
    (sums,) = (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.name == ACCUMULATORS)
    _, width, deep = matrix.factors.values()
    groups, *_ = sums.shape
    tile = _Tile(rows, columns, depth, scheme.problem.dtype, ROWS, variable(WARP) % WARPS_OF_GROUP * 16, width, deep)
    held = tile.sums(replace(sums, shape=(groups * WARPS_OF_GROUP, *sums.shape[1:])))
    blocks = frozenset(s.buffer.name for s in walk(kernel.body) if isinstance(s, Alloc) and BLOCKS in s.buffer.axes)
    tile = replace(tile, held_sums=held, in_blocks=blocks)

    def multiplied(statement: Statement) -> Body | None:
        if isinstance(statement, Alloc) and statement.buffer.name == ACCUMULATORS:
            return (Alloc(held),)
        groups = isinstance(statement, For) and statement.kind == WARPGROUPS_OF_BLOCK
        return tile.of_warpgroup(statement) if groups else None  # type: ignore[arg-type]

    return replace(kernel, body=with_statements(kernel.body, multiplied))


def parts_of_products(groups: For) -> tuple[Body, Statement, Body, Statement]:
    """A loop over warpgroups that multiply, in parts: its places, the pins of sums, the products, and the last pins.

    The wait for all products, which stands before the last pins, is left out.
    """
    places = tuple(s for s in groups.body if isinstance(s, Define))
    begin, *products, last, pins = (s for s in groups.body if s not in places)
    assert last == do(wait(0))
    return places, begin, tuple(products), pins


def do(instruction: Instruction) -> Do:
    """An instruction without operands."""
    return Do(Invoke(instruction, ()))


@dataclass(frozen=True)
class _Tile(WarpTile):
    """A warpgroup's tile.

    width, deep: columns and depth of an instruction. held_sums: all sums as lanes hold them. in_blocks: the tiles of
    inputs that lie across the depth.
    """

    width: int = 0
    deep: int = 0
    held_sums: Buffer | None = None
    in_blocks: frozenset[str] = frozenset()

    def of_warpgroup(self, team: For) -> Body:
        """The statements of the warpgroups: matrix instructions, or what each lane of their warps does."""
        places = tuple(s for s in team.body if isinstance(s, Define))
        found: list[Statement] = []
        for statement in (s for s in team.body if s not in places):
            if self.is_product(statement):
                around = (do(FENCE), self.multiplied(statement), do(COMMIT), do(wait(0)))
                found.append(replace(team, body=(*places, self.pins(), *around, self.pins())))
            else:
                here = substituted((*places, A_WARP.each((self.of_lane(statement),))), {WARPGROUP: _OF_WARP})
                found.append(over(WARP, team.stop.offset * WARPS_OF_GROUP, here))
        return tuple(found)

    def pins(self) -> Statement:
        """Pins every sum of a warpgroup's lanes."""
        assert self.held_sums is not None
        *_, rows, columns, sums = self.held_sums.shape
        names = ("row", "column", "number")
        place = (variable(WARPGROUP) * WARPS_OF_GROUP, ZERO, *map(variable, names))
        found: Statement = Do(Invoke(PIN, (("to", Address(ACCUMULATORS, place)),)))
        for name, count in zip(reversed(names), (sums, columns, rows)):
            found = For(name, ZERO, constant(count), 1, (found,), "unrolled")
        return found

    def multiplied(self, statement: Statement) -> Statement:
        """The loops over the products of a tile, as matrix instructions."""
        loops, (a, b) = factors_of(statement)
        across = (a.buffer in self.in_blocks, b.buffer in self.in_blocks)
        quarter, member = LANE // WARP_SIZE, LANE % WARP_SIZE
        group = variable(WARPGROUP) * WARPS_OF_GROUP
        to = (group + quarter, member, at(self.rows, self.step), at(self.columns, COLUMNS), ZERO)
        operands = (("a", self.begin(a)), ("b", self.begin(b)), ("part", Immediate(variable(self.depth))))
        given = (("to", Address(ACCUMULATORS, to)), *operands)
        found: Statement = Do(Invoke(wgmma(self.dtype, self.width, across), given))
        for name, step in ((self.columns, self.width), (self.rows, self.step), (self.depth, self.deep)):
            found = replace(loops[name], step=step, body=(found,))
        return found

    def begin(self, load: Load) -> Address:
        """Where the rows of an instruction begin, at the step's first depth. Across it that is in the first block."""
        first = tuple(index.replaced({self.depth: ZERO}) for index in load.at[:-1])
        return Address(load.buffer, (*first, ZERO))
