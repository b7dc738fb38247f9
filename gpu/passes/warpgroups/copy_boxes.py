"""Lets the copy engine fill tiles: one thread asks for a box of an array, and the bytes are counted at an mbarrier.

    for k in 0..256 by 64:
      X_tile[128, 64] of f16 in shared memory
      for thread in 0..256, thread:
        for element in thread..8192 by 256:
          X_tile[element / 64, element % 64] = X[m_1 + element / 64, k + element % 64]
      …
    ->
    arrived[1] of mbarrier in shared memory
    for thread in 0..1, thread:
      open arrived for 1 arrivals
      …
    for k in 0..256 by 64:
      X_tile[128, 64] of f16 in shared memory
      …
      for thread in 0..1, thread:
        arrive at arrived, expect 32768 bytes
        copy a box of 128 x 64 to X_tile[0, 0] from X[m_1, k], counted at arrived
        …
      for thread in 0..256, thread:
        wait for phase k / 64 of arrived
      …

What lies beyond an edge arrives as 0, so no condition is left, and f32 arrive as tf32. The rows of a tile have 128
bytes, as wgmma reads them: a tile across the depth is cut into blocks of columns. A tile of pixels is a box of a pixel
of each window, in the order of the output, with zeros on padding. Source: TMA of CUTLASS, and its im2col mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from gpu.passes.facts.accesses import moved, taken
from gpu.passes.facts.neighbours import ELEMENT
from gpu.passes.facts.reading import WIDTH, touched
from gpu.passes.facts.rings import is_turn, number_of
from gpu.passes.facts.workers import THREAD, RowTeam, launches, over, threads_of, with_launches
from gpu.passes.matrices.copy_asynchronously import fills
from gpu.passes.memory.stage_tiles import place_of_element
from gpu.passes.warpgroups.cut_tiles import in_blocks, lies_across, of_block, row_of
from gpu.passes.warpgroups.instructions import PUBLISH
from gpu.passes.warpgroups.pixels import pixels_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Body,
    Condition,
    Define,
    Do,
    For,
    Inside,
    Invoke,
    Load,
    Statement,
    Store,
)
from tiling.loops.machines import MBARRIER, Arrive, Await, CopyBox, Open, Windows
from tiling.loops.walk import buffers_of, free_name, with_blocks
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix

ARRIVED = "arrived"
_BARRIER = Address(ARRIVED, (ZERO,))


def copy_boxes(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel with copies of boxes."""
    (launch,) = launches(kernel)
    matrix = scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    *_, depth = matrix.factors
    name, several = free_name(depth, touched(kernel.body)), any(map(is_turn, launch.body))
    filling = _Filling(scheme, depth, name, buffers_of(kernel), RowTeam(THREAD, threads_of(launch)), several)
    return with_launches(replace(kernel, body=filling.body(kernel.body)), _opened)


def _opened(launch: For) -> For:
    """The launch, in which one thread opens the mbarrier first."""
    places = tuple(s for s in launch.body if isinstance(s, Define))
    rest = tuple(s for s in launch.body if s not in places)
    barrier = Buffer(ARRIVED, (1,), ("stage",), MBARRIER, "shared")
    return replace(launch, body=(*places, Alloc(barrier), open_all((barrier,), (1,)), *rest))


@dataclass(frozen=True)
class _Filling:
    """Has the copy engine fill the tiles of each step.

    depth: the summed dim of a step. name: the variable of a single step. threads: those of a block. several: whether a
    block takes several tiles, one after the other.
    """

    scheme: Scheme
    depth: str
    name: str
    buffers: Mapping[str, Buffer]
    threads: RowTeam
    several: bool

    def body(self, block: Body) -> Body:
        """The block, whose loops over steps begin with copies."""
        found: list[Statement] = []
        for statement in _with_a_loop(block, self.depth, self.name):
            if isinstance(statement, For) and _has_steps(statement) and any(map(fills, statement.body)):
                found.append(self.step(statement))
            else:
                found.append(with_blocks(statement, self.body))
        return tuple(found)

    def step(self, loop: For) -> For:
        """The loop over steps: its tiles, one thread that asks for all boxes, the wait for them, and the work."""
        filled = [box for s in loop.body if fills(s) for box in (_box(s, self.buffers, self.scheme),)]
        boxes = {box.tile.name: box for box in filled}
        rest = [s for s in loop.body if not fills(s)]
        made = [s for s in rest if isinstance(s, Alloc) and s.buffer.name in boxes]
        tiles = [Alloc(boxes[s.buffer.name].buffer) for s in made]
        asked = Arrive(_BARRIER, sum(box.bytes for box in boxes.values()))
        copies = tuple(copy for box in boxes.values() for copy in box.copies())
        arrived = Await(_BARRIER, number_of(loop, self.several))
        work: Body = tuple(s for s in rest if s not in made)
        for box in boxes.values():
            work = moved(work, {box.tile.name}, box.place)
        return replace(
            loop, body=(*tiles, self.threads.each((asked, *copies), 1), self.threads.each((arrived,)), *work)
        )


def _has_steps(loop: For) -> bool:
    return loop.kind == "serial" and not is_turn(loop)


def _with_a_loop(block: Body, depth: str, name: str) -> Body:
    """The block, where a single step is a loop of one iteration too. name: its variable."""
    filling = [number for number, s in enumerate(block) if fills(s)]
    if not filling or not any(isinstance(s, Alloc) and s.buffer.memory == "registers" for s in block):
        return block
    first = next(n for n, s in enumerate(block) if isinstance(s, Alloc) and s.buffer.memory == "shared")
    end = filling[-1] + 2  # those who multiply follow
    return (*block[:first], For(name, ZERO, constant(1), 1, block[first:end], dim=depth), *block[end:])


def open_all(barriers: tuple[Buffer, ...], arrivals: tuple[int, ...]) -> For:
    """One thread opens mbarriers, and tells the copy engine."""
    found: list[Statement] = []
    for buffer, count in zip(barriers, arrivals):
        found += [Open(Address(buffer.name, (constant(stage),)), count) for stage in range(buffer.shape[0])]
    return over(THREAD, 1, (*found, Do(Invoke(PUBLISH, ()))))


def _box(statement: Statement, buffers: Mapping[str, Buffer], scheme: Scheme) -> _Box:
    """What a loop over threads fills, as a box."""
    matrix, problem = scheme.specifiers[-1], scheme.problem
    assert isinstance(matrix, Matrix)
    *_, depth = matrix.factors
    assert isinstance(statement, For) and isinstance(statement.body[0], For)
    (store,) = statement.body[0].body
    assert isinstance(store, Store)
    value, tests = taken(store)
    assert isinstance(value, Load)
    tile, array = buffers[store.buffer], buffers[value.buffer]
    if problem.windows and array.shape == problem.broadcast.shape and tile.axes[0] not in array.axes:
        pixels = pixels_of(value.at, problem)
        return _Box(tile, array, pixels.begin, tile.shape, depth, pixels.windows)
    begin = tuple(index.replaced({ELEMENT: ZERO}) for index in value.at)
    ends = dict(zip("XW", problem.tensors))[array.name].reached(problem.extents)
    assert all(_is_edge(test, value.at, ends) for test in tests), f"{tests} is no edge of {array.name}"
    # Which axis of the tile an axis of the array is, if any.
    places, extents = dict(zip(place_of_element(tile), tile.shape)), []
    for at, first in zip(value.at, begin):
        extents.append(1 if at == first else places[at - first])
    assert prod(extents) == prod(tile.shape), f"{tile.name} is no box of {array.name}"
    return _Box(tile, array, begin, tuple(extents), depth)


def _is_edge(test: Condition, at: tuple[Index, ...], ends: tuple[int, ...]) -> bool:
    """Whether a condition asks for no more than that an element lies in the array. Behind the ends of rows that are
    copies lie zeros.
    """
    if not isinstance(test, Inside) or test.index not in at or test.low not in (None, 0):
        return False
    return test.high in (None, ends[at.index(test.index)])


@dataclass(frozen=True)
class _Box:
    """The box of an array that a tile is. begin: where. extents: on each axis of the array. depth: the summed dim.

    windows: those whose pixels it has.
    """

    tile: Buffer
    array: Buffer
    begin: tuple[Index, ...]
    extents: tuple[int, ...]
    depth: str
    windows: tuple[Windows, ...] = ()

    @property
    def across(self) -> bool:
        """Whether the rows lie across the depth, so that the tile is cut into blocks."""
        return lies_across(self.tile, self.depth)

    @property
    def buffer(self) -> Buffer:
        """The tile as the copy engine fills it."""
        dtype = "tf32" if self.tile.dtype == "f32" else self.tile.dtype
        return replace(in_blocks(self.tile) if self.across else self.tile, dtype=dtype)

    @property
    def bytes(self) -> int:
        return prod(self.tile.shape) * WIDTH[self.tile.dtype]

    def place(self, at: tuple[Index, ...]) -> tuple[Index, ...]:
        """Where the element at a place of the tile is in that of the copy engine."""
        return of_block(self.tile, at) if self.across else at

    def copies(self) -> Body:
        """The copies of the box: one, or one for each block."""
        function = "as_tf32" if self.tile.dtype == "f32" else ""
        found: list[Statement] = []
        for block in range(self.buffer.shape[0] if self.across else 1):
            target = (constant(block),) * self.across + (ZERO,) * len(self.tile.shape)
            source = (*self.begin[:-1], self.begin[-1] + block * row_of(self.tile))
            extents = (*self.extents[:-1], row_of(self.tile))
            places = Address(self.tile.name, target), Address(self.array.name, source)
            found.append(CopyBox(*places, extents, _BARRIER, function, windows=self.windows))
        return tuple(found)
