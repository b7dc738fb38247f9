"""The workers of a GPU in loops: a variable for each kind, and how many there are.

    for cluster in 0..100 by 2, cluster: the clusters of a launch, where blocks share what they copy
    for block in 0..100, block:          the blocks of a launch, or those of a cluster
      for thread in 0..256, thread:      the threads of a block
      for warp in 0..8, warp:            the warps of a block
      for warpgroup in 0..2, warpgroup:  four warps each, the first ones of a block
        for quarter in 0..4, warp:       the warps of a warpgroup
        for member in 0..32, lane:       the threads of a warp

A team is the threads that share a row: a block, or a warp. Where two loops over a team follow each other, the first
ends before the second begins. A register of each thread has an axis with the name of the team's variable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from gpu.passes.facts.accesses import moved
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, Statement
from tiling.loops.walk import walk, with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Stage, Tile

BLOCK, WARP, THREAD, MEMBER, WARPGROUP, QUARTER = "block", "warp", "thread", "member", "warpgroup", "quarter"
CLUSTER, RANK = "cluster", "rank"  # a block has a rank in its cluster
TILE = "tile"  # that a cluster takes, or a part of one
LAUNCHED = "blocks"  # a number of kernels whose blocks take tiles in turns: how many blocks there are
KIND = {BLOCK: "block", WARP: "warp", THREAD: "thread", MEMBER: "lane", WARPGROUP: "warpgroup", QUARTER: "warp"}
KIND |= {CLUSTER: "cluster"}
WARP_SIZE, WARPS_OF_GROUP = 32, 4
BLOCK_THREADS = 256  # threads of a block, unless a pass chooses another number
WARPS = 4  # of a block whose teams are warps

BLOCKS, WARPS_OF_BLOCK, THREADS_OF_BLOCK, THREADS_OF_WARP, WARPGROUPS_OF_BLOCK, CLUSTERS = (
    KIND[name] for name in (BLOCK, WARP, THREAD, MEMBER, WARPGROUP, CLUSTER)
)
WORKERS = frozenset(KIND)


@dataclass(frozen=True)
class RowTeam:
    """The threads that share a row. name: the variable that counts them."""

    name: str
    size: int

    @property
    def kind(self) -> str:
        return KIND[self.name]

    @property
    def number(self) -> Index:
        """The number of a thread in its team."""
        return variable(self.name)

    def each(self, body: Body, stop: int = 0) -> For:
        """The threads of the team, or the first ones, at work."""
        return over(self.name, stop or self.size, body)


A_WARP = RowTeam(MEMBER, WARP_SIZE)


def over(name: str, count: int | Index, body: Body) -> For:
    """A loop over workers."""
    return For(name, ZERO, constant(count) if isinstance(count, int) else count, 1, body, KIND[name])


def of_each(name: str, team: RowTeam, dtype: str) -> Buffer:
    """A register of each thread of a team."""
    return Buffer(name, (team.size,), (team.name,), dtype, "registers")


def with_axis(body: Body, worker: str, names: Collection[str]) -> Body:
    """The block where these buffers have a first axis for workers: each works with a part of its own."""

    return moved(body, names, lambda at: (variable(worker), *at))


def launches(kernel: Kernel) -> list[For]:
    """The launches of a kernel, once all are bound to blocks: the loop over blocks of each."""
    outside = (s.body if isinstance(s, For) and s.kind == CLUSTERS else (s,) for s in kernel.body)
    return [s for body in outside for s in body if isinstance(s, For) and s.kind == BLOCKS]


def with_launches(kernel: Kernel, change: Callable[[For], For]) -> Kernel:
    """The kernel with `change` applied to the loop over blocks of each launch."""

    def changed(statement: Statement) -> Statement:
        if isinstance(statement, For) and statement.kind == CLUSTERS:
            return with_blocks(statement, lambda body: tuple(map(changed, body)))
        return change(statement) if isinstance(statement, For) and statement.kind == BLOCKS else statement

    return replace(kernel, body=tuple(map(changed, kernel.body)))


def cluster_of(kernel: Kernel) -> int:
    """The blocks of a cluster."""
    return next((s.step for s in kernel.body if isinstance(s, For) and s.kind == CLUSTERS), 1)


def takers_of(scheme: Scheme) -> tuple[Tile, ...]:
    """The loops by which warpgroups of a block have tiles of their own, which they take in turns."""
    output = scheme.problem.output.name
    found: list[Tile] = []
    for s in scheme.specifiers:
        if isinstance(s, Stage) and s.tensor == output:
            return tuple(found)
        if isinstance(s, Tile) and s.worker == WARPGROUPS_OF_BLOCK:
            found.append(s)
    return ()


def teams_are_warps(launch: For) -> bool:
    """Whether the warps of a launch have rows of their own."""
    kinds = {s.kind for s in walk(launch.body) if isinstance(s, For)}
    return WARPS_OF_BLOCK in kinds and THREADS_OF_BLOCK not in kinds


def threads_of(launch: For) -> int:
    """The threads of each block of a launch."""
    found = WARP_SIZE
    for loop in (s for s in walk(launch.body) if isinstance(s, For)):
        if loop.kind == THREADS_OF_BLOCK:
            found = max(found, loop.stop.offset)
        elif loop.kind in (WARPS_OF_BLOCK, WARPGROUPS_OF_BLOCK):
            size = WARP_SIZE * (WARPS_OF_GROUP if loop.kind == WARPGROUPS_OF_BLOCK else 1)
            found = max(found, size * loop.stop.offset)
    return -(-found // WARP_SIZE) * WARP_SIZE
