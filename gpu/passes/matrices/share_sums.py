"""Lets blocks share a sum: each leaves its part, and the last of them adds up all parts and stores the result.

    for block in 0..8, block:
      k_1 = 64*(block / 4)
      …
      acc[4, 32, 1, 2, 4] in registers
      for warp in 0..4, warp:
        …
              acc[warp, …] = as_f32(Y[…])
      …
      for k in 0..64 by 32:
        …
      for warp in 0..4, warp:
        …
              Y[…] = as_f16(acc[warp, …])
    ->
    parts[4, 2, 1, 2, 4, 32, 4] in global memory
    for block in 0..8, block:
      …
      for k in 0..64 by 32:
        …
      for warp in 0..4, warp:
        …
            put_sums(to: parts + [block % 4, block / 4, row, column, warp, member, 0], v: acc + […])
      last[1] of s64 in shared memory
      for thread in 0..1, thread:
        before = how often counts[block % 4] was taken before, of 2 times
        last[0] = before
      taken = last[0]
      if taken == 1:
        for warp in 0..4, warp:
          …
                acc[warp, member, row, column, number] = 0
        for part in 0..2, rolled:
          for warp in 0..4, warp:
            …
                add_sums(to: acc + […], p: parts + [block % 4, part, row, column, warp, member, 0])
        for warp in 0..4, warp:
          …
                Y[…] = as_f16(acc[warp, …])

The parts are added in their order, whoever comes last, so the result is the same in every run. A lane's four sums lie
side by side, and those of the lanes of a warp too. Where a warp of its own copies, no barrier of the block could stand:
there each warp counts and adds up for itself. Source: split-K with semaphores, as in CUTLASS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from gpu.passes.facts.rings import is_turn
from gpu.passes.facts.workers import (
    A_WARP,
    BLOCK,
    LAUNCHED,
    MEMBER,
    RANK,
    THREAD,
    TILE,
    WARP,
    WARPS_OF_BLOCK,
    cluster_of,
    launches,
    over,
    with_launches,
)
from gpu.passes.matrices.instructions import SUMS
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Apply,
    Body,
    Define,
    Do,
    For,
    If,
    Inside,
    Instruction,
    Invoke,
    Load,
    Number,
    Operand,
    Position,
    Read,
    Statement,
    Store,
)
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.machines import Take
from tiling.loops.rewrite import with_own_values
from tiling.loops.walk import walk, with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile

PARTS, COUNTS = "parts", "counts"
_LAST, _BEFORE, _TAKEN, _PART = "last", "before", "taken", "part"


def parts_of(scheme: Scheme) -> int:
    """How many blocks or clusters share each sum."""
    count = 1
    for s in scheme.specifiers:
        if isinstance(s, Tile) and s.worker in ("block", "cluster") and s.dim[0] in scheme.problem.reductions:
            count *= s.trips
    return count


def share_sums(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose blocks leave parts of sums for the last of them."""
    (launch,) = launches(kernel)
    (sums,) = (s.buffer for s in walk(launch.body) if isinstance(s, Alloc) and s.buffer.name == ACCUMULATORS)
    turn = next(filter(is_turn, launch.body), None)
    body = turn.body if isinstance(turn, For) else launch.body
    names = {s.name for s in body if isinstance(s, Define) and s.name[0] in scheme.problem.reductions}
    size = cluster_of(kernel)
    tasks = dict(kernel.numbers)[LAUNCHED] // size if turn else launch.stop.offset
    tiles = tasks // parts_of(scheme)
    task = variable(TILE if turn else BLOCK)
    tile = task % tiles * size + variable(RANK) if size > 1 else task % tiles
    sharing = _Sharing(sums, parts_of(scheme), tiles * size, tile, task // tiles, names, bool(turn))
    shared = sharing.statements(body)
    if isinstance(turn, For):
        rest = tuple(replace(turn, body=shared) if s is turn else s for s in launch.body)
        shared = (Alloc(sharing.last), *rest)
    counts = Buffer(COUNTS, (sharing.tiles, *sharing.groups), ("tile", *((WARP,) if turn else ())), "u32")
    kernel = with_launches(kernel, lambda launch: replace(launch, body=shared))
    return replace(kernel, arrays=(*kernel.arrays, counts), body=(Alloc(sharing.left), *kernel.body))


@dataclass(frozen=True)
class _Sharing:
    """Sums that blocks share in parts.

    sums: the registers of a block's sums. parts: how many parts a sum has. tiles: how many sums there are. tile, part:
    which sum a block adds to, and which part of it. names: the variables that tell parts apart. by_warps: whether each
    warp shares its sums alone, as no barrier of a block stands where others copy.
    """

    sums: Buffer
    parts: int
    tiles: int
    tile: Index
    part: Index
    names: set[str]
    by_warps: bool

    @property
    def groups(self) -> tuple[int, ...]:
        """How many warps of a block share sums alone."""
        return self.sums.shape[:1] if self.by_warps else ()

    @property
    def group(self) -> tuple[Index, ...]:
        """Which of them a warp is."""
        return (variable(WARP),) if self.by_warps else ()

    @property
    def left(self) -> Buffer:
        """What all blocks leave: the four sums of a lane last."""
        warps, lanes, rows, columns, numbers = self.sums.shape
        shape = (self.tiles, self.parts, rows, columns, warps, lanes, numbers)
        return Buffer(PARTS, shape, ("tile", _PART, "row", "column", WARP, MEMBER, "number"))

    @property
    def last(self) -> Buffer:
        """Where all threads learn how many came before."""
        return Buffer(_LAST, self.groups or (1,), (WARP,) if self.by_warps else ("one",), "s64", "shared")

    def statements(self, body: Body) -> Body:
        """The statements of a block."""
        warps = [place for place, s in enumerate(body) if isinstance(s, For) and s.kind == WARPS_OF_BLOCK]
        begin, end = warps[0], warps[-1]
        first, last = body[begin], body[end]
        assert isinstance(last, For) and end == len(body) - 1
        if self.by_warps:
            places = tuple(s for s in last.body if isinstance(s, Define))
            stored = self.chosen(tuple(s for s in last.body if s not in places), last=True)
            finish: Body = (replace(last, body=(*places, *self.shared(stored))),)
        else:
            left, *rest = self.shared((replace(last, body=self.chosen(last.body, last=True)),))
            finish = (left, Alloc(self.last), *rest)
        return (
            *body[:begin],
            with_blocks(first, partial(self.chosen, last=False)),
            *body[begin + 1 : end],
            *finish,
        )

    def shared(self, stored: Body) -> Body:
        """A block, or a warp, leaves its part. If it comes last, it adds up all parts, in their order, and stores."""
        leader = A_WARP.each(self.count(), 1) if self.by_warps else over(THREAD, 1, self.count())
        clear = self.each(self.cleared)
        more = self.each(lambda here: self.move(here, variable(_PART), out=False))
        added = (clear, For(_PART, ZERO, constant(self.parts), 1, (more,), "rolled"))
        return (
            self.each(lambda here: self.move(here, self.part, out=True)),
            leader,
            Read(_TAKEN, Load(_LAST, self.group or (ZERO,))),
            If((Inside(variable(_TAKEN), self.parts - 1, self.parts),), (*added, *stored)),
        )

    def count(self) -> Body:
        """One thread finds out how many came before."""
        take = Take(_BEFORE, Address(COUNTS, (self.tile, *self.group)), self.parts)
        return (take, Store(_LAST, self.group or (ZERO,), Position(variable(_BEFORE))))

    def cleared(self, here: tuple[Index, ...]) -> Statement:
        """A lane's four sums are 0."""
        store = Store(ACCUMULATORS, (*here, variable("number")), Number(0))
        return For("number", ZERO, constant(SUMS), 1, (store,), "unrolled")

    def move(self, here: tuple[Index, ...], part: Index, out: bool) -> Statement:
        """A lane's four sums go to memory, or those of memory are added to them."""
        warp, lane, row, column = here
        sums = Address(ACCUMULATORS, (*here, ZERO))
        memory = Address(PARTS, (self.tile, part, row, column, warp, lane, ZERO))
        given = (("to", memory), ("v", sums)) if out else (("to", sums), ("p", memory))
        return Do(Invoke((put_sums if out else add_sums)(), given))

    def each(self, statement: Callable[[tuple[Index, ...]], Statement]) -> For:
        """A statement for every four sums of every lane. Its argument is where they are."""
        warps, _, rows, columns, _ = self.sums.shape
        body = statement((variable(WARP), variable(MEMBER), variable("row"), variable("column")))
        for name, count in (("column", columns), ("row", rows)):
            body = For(name, ZERO, constant(count), 1, (body,), "unrolled")
        lanes = A_WARP.each((body,))
        return lanes if self.by_warps else over(WARP, warps, (lanes,))

    def chosen(self, body: Body, last: bool) -> Body:
        """The block as the last part runs it, or at the beginning of a part, which finds no earlier sums in Y."""
        found: list[Statement] = []
        for statement in body:
            if last and isinstance(statement, If) and self.is_of_parts(statement):
                found += statement.body
                continue
            if not last:
                statement = with_own_values(statement, _without_output)
            statement = with_blocks(statement, partial(self.chosen, last=last))
            same = isinstance(statement, If) and statement.body == statement.otherwise
            found += statement.body if same else (statement,)  # type: ignore[union-attr]
        return tuple(found)

    def is_of_parts(self, choice: If) -> bool:
        """Whether it tells parts apart."""
        return all(isinstance(c, Inside) and self.names.issuperset(c.index.names()) for c in choice.conditions)


def _without_output(operand: Operand) -> Operand | None:
    """0 for what an earlier part has stored."""
    inner = operand.arguments[0] if isinstance(operand, Apply) and len(operand.arguments) == 1 else operand
    return Number(0) if isinstance(inner, Load) and inner.buffer == "Y" else None


@lru_cache(maxsize=1)
def put_sums() -> Instruction:
    """Four sums to memory, past the caches that no other block sees."""
    number = variable("lane")
    one = Store("to", (number,), Load("v", (number,)))
    return Instruction("put_sums", "store_sums({to}, {v})", (For("lane", ZERO, constant(SUMS), 1, (one,), "vector"),))


@lru_cache(maxsize=1)
def add_sums() -> Instruction:
    """Four sums from memory are added to those of a lane."""
    number = variable("lane")
    one = Store("to", (number,), Apply("add", (Load("to", (number,)), Load("p", (number,)))))
    return Instruction("add_sums", "add_sums({to}, {p})", (For("lane", ZERO, constant(SUMS), 1, (one,), "vector"),))
