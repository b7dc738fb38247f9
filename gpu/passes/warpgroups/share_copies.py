"""Has the blocks of a cluster share the copies of tiles that all of them need: each brings a part to every block.

    open empty for 8 arrivals
    …
    barrier of threads
    the first 8 warps:
      …
          for member in 0..1, lane:
            arrive at empty + […]
      …
    the others, beside them:
      …
      copy a swizzled box of 128 x 64 to W_tile[…, 0, 0] from W[n, k], counted at full + […]
    ->
    open empty for 16 arrivals
    …
    barrier of blocks
    the first 8 warps:
      …
          for member in 0..2, lane:
            arrive at empty + […] of block member
      …
    the others, beside them:
      …
      copy a swizzled box of 64 x 64 to W_tile[…, 64*rank, 0] from W[n + 64*rank, k], counted at full + […] of 2 blocks
      …
      for later in 0..3:
        wait for phase … of empty + […]

A tile is needed by all where its place does not tell the blocks of a cluster apart. A stage is empty once the warps of
all blocks are done with it, since each block copies to all. No block copies before the others have opened their
mbarriers. None ends before all its stages are empty: by then every block has what it copied, and has arrived here for
the last time. Source: TMA multicast of CUTLASS, and the tail of its producers.
"""

# A barrier of blocks at the end would do too. It cost 1 µs of every kernel on an H200, together with a barrier at the
# beginning that publishes writes: 5.15 against 6.21 µs for one image of ResNet-50's P4, 4.91 against 5.92 for P9.

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu.passes.facts.rings import is_turn
from gpu.passes.facts.workers import BLOCKS, MEMBER, RANK, cluster_of, with_launches
from gpu.passes.warpgroups.specialise_warps import EMPTY
from tiling.loops.index import ZERO, Index, Operation, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Barrier, Body, Define, For, Statement
from tiling.loops.machines import Arrive, Await, Beside, CopyBox, Open
from tiling.loops.walk import walk, with_blocks, with_statements

_LATER = "later"


def share_copies(kernel: Kernel) -> Kernel:
    """The kernel, whose blocks share copies."""
    apart = {RANK}
    for place in (s for s in walk(kernel.body) if isinstance(s, Define)):
        apart |= {place.name} if not apart.isdisjoint(place.index.names()) else set()
    sharing = _Sharing(cluster_of(kernel), frozenset(apart))
    return with_launches(kernel, lambda launch: replace(launch, body=sharing.body(launch.body)))


@dataclass(frozen=True)
class _Sharing:
    """size: the blocks of a cluster. apart: variables that differ between its blocks."""

    size: int
    apart: frozenset[str]

    def body(self, body: Body) -> Body:
        """The block, where the blocks of a cluster know of each other: behind the opening all of them meet."""
        found: list[Statement] = []
        opened = False
        for statement in body:
            meeting = opened and isinstance(statement, Barrier)
            found.append(Barrier(BLOCKS) if meeting else self.statement(statement))
            opens = isinstance(statement, For) and any(isinstance(s, Open) for s in statement.body)
            opened = opens or (opened and not meeting)
        return tuple(found)

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case Beside():
                copying = self.body(statement.otherwise)
                return replace(
                    statement, body=self.body(statement.body), otherwise=with_statements(copying, _until_empty)
                )
            case Open(barrier, arrivals) if barrier.buffer == EMPTY:
                return Open(barrier, arrivals * self.size)
            case CopyBox() if self.apart.isdisjoint(name for at in statement.source.at for name in at.names()):
                return self.part(statement)
            case For(body=(Arrive() as release,)) if release.barrier.buffer == EMPTY:
                body = (replace(release, rank=variable(MEMBER)),)
                return replace(statement, stop=constant(self.size), body=body)
        return with_blocks(statement, self.body)

    def part(self, copy: CopyBox) -> CopyBox:
        """The block's part of a copy: some of the rows, to all blocks."""
        axis = max(n for n, extent in enumerate(copy.extents[:-1]) if extent > 1)
        rows = copy.extents[axis] // self.size
        extents = (*copy.extents[:axis], rows, *copy.extents[axis + 1 :])
        source = _later(copy.source, rows) if copy.windows else _moved(copy.source, axis, rows)
        return replace(copy, target=_moved(copy.target, -2, rows), source=source, extents=extents, blocks=self.size)


def _until_empty(statement: Statement) -> Body | None:
    """The loop over tiles of the warp that copies, with a wait for every stage behind it."""
    return (statement, _emptied(statement)) if isinstance(statement, For) and is_turn(statement) else None


def _emptied(turns: For) -> For:
    """Waits until every stage is empty, as the first steps of one more tile would wait, before they copy."""
    (steps,) = (s for s in turns.body if isinstance(s, For))
    (wait,) = (s for s in steps.body if isinstance(s, Await))
    (stages,) = (term.right.offset for term, _ in wait.barrier.at[0].terms if isinstance(term, Operation))
    later = {turns.name: turns.stop, steps.name: steps.start + variable(_LATER) * steps.step}
    stage = Address(wait.barrier.buffer, tuple(index.replaced(later) for index in wait.barrier.at))
    return For(_LATER, ZERO, constant(stages), 1, (Await(stage, wait.phase.replaced(later)),))


def _later(address: Address, rows: int) -> Address:
    """The address as a block of the cluster reads it: each block begins `rows` windows after the one before.

    The image's number is a quotient of the window's number.
    """
    (window,) = set(address.at[0].names())
    later = {window: variable(window) + variable(RANK) * rows}
    return Address(address.buffer, tuple(index.replaced(later) for index in address.at))


def _moved(address: Address, axis: int, rows: int) -> Address:
    """The place so many rows further on for each rank."""
    at: list[Index] = list(address.at)
    at[axis] = at[axis] + variable(RANK) * rows
    return Address(address.buffer, tuple(at))
