"""Lets the copy engine bring what an epilogue adds at each point of the output, z in `relu(y + b + z)`.

        for m_u in 0..128 by 64, unrolled:
          for member in 0..1, lane:
            wait until 1 boxes are still to be read
          for member in 0..32, lane:
            …
                    Y_box[warp, …] = as_f16(relu(acc[…] + as_f32(E_z[…])))
            fence_proxy_async()
          for member in 0..1, lane:
            store a box of 16 x 64 to Y[…] from Y_box[…]
    ->
    for warp in 0..4, warp:
      …
      for member in 0..1, lane:
        wait until no boxes are still to be read
        arrive at loaded + [2*warp], expect 2048 bytes
        copy a box of 16 x 64 to Y_box[…] from E_z[…], counted at loaded + [2*warp]
        …
        for m_u in 0..128 by 64, unrolled:
          for member in 0..32, lane:
            wait for phase … of loaded + […]
            …
                    Y_box[warp, …] = as_f16(relu(acc[…] + as_f32(Y_box[warp, …])))
            fence_proxy_async()
          for member in 0..1, lane:
            store a box of 16 x 64 to Y[…] from Y_box[…]
            if …:
              wait until no boxes are still to be read
              arrive at loaded + […], expect 2048 bytes
              copy a box of 16 x 64 to Y_box[…] from E_z[…], counted at loaded + […]

A box comes to the buffer from which its sums are stored: for the first ones while the tile is summed, if it is sure
that it is stored, for others as soon as the store before has read the buffer. So no thread waits for memory, and memory
is read in whole lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from gpu.passes.facts.reading import WIDTH, loads_of, touched
from gpu.passes.facts.workers import A_WARP, MEMBER, WARP, WARPS_OF_BLOCK
from gpu.passes.matrices.multiply_matrices import PAIR
from gpu.passes.warpgroups.store_boxes import (
    HALF,
    OUTPUT,
    buffer_of,
    counted,
    has_box,
    number_of_box,
    of_all,
    turn_of,
)
from tiling.loops.buffer import Buffer
from tiling.loops.facts.nests import steps_of
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, Define, For, If, Inside, Load, Operand, Statement, Store
from tiling.loops.lowering.tile import ACCUMULATORS
from tiling.loops.machines import MBARRIER, Arrive, Await, CopyBox, Open, StoreBox, WaitStores
from tiling.loops.rewrite import with_values
from tiling.loops.walk import buffers_of, free_name, walk, with_blocks
from tiling.scheme.scheme import Scheme

_LOADED = "loaded"


def load_residual(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose first array of the epilogue that lies as the output does comes in boxes."""
    buffers = buffers_of(kernel)
    found = next((s for s in walk(kernel.body) if _is_storing(s) and _residual(s, buffers)), None)
    if not isinstance(found, For):
        return kernel
    load = _residual(found, buffers)
    assert load is not None
    warps, of_warp, *_ = buffers[_box(found).source.buffer].shape
    loaded = Buffer(free_name(_LOADED, touched(kernel.body)), (warps * of_warp,), ("box",), MBARRIER, "shared")
    residual = _Residual(load, loaded, of_warp, buffers, turn_of(kernel, scheme))
    return replace(kernel, body=residual.body(kernel.body))


def _is_storing(statement: Statement) -> bool:
    """Whether a statement is the loop over warps that store boxes."""
    if not isinstance(statement, For) or statement.kind != WARPS_OF_BLOCK:
        return False
    return any(map(has_box, statement.body))


def _box(warp: For) -> StoreBox:
    (box,) = (s for s in walk(warp.body) if isinstance(s, StoreBox))
    return box


def _loops(warp: For) -> tuple[For, For]:
    """The loops of a warp over boxes: over columns, and over rows."""
    columns = next(s for s in walk(warp.body) if isinstance(s, For) and has_box(s))
    (rows,) = columns.body
    assert isinstance(rows, For)
    return columns, rows


def _boxes(warp: For) -> int:
    """How many boxes of a tile a warp stores."""
    columns, rows = _loops(warp)
    return steps_of(columns) * steps_of(rows)


def _chosen(warp: For) -> If | None:
    """The choice whether the tile is stored, where blocks share its sums."""
    return next((s for s in warp.body if isinstance(s, If)), None)


def _residual(warp: Statement, buffers: Mapping[str, Buffer]) -> Load | None:
    """The load of an array that lies as the output does."""
    assert isinstance(warp, For)
    box = _box(warp)
    output = buffers[OUTPUT]
    (columns,) = (s for s in walk(warp.body) if isinstance(s, For) and s.start.terms)
    first = {MEMBER: ZERO, HALF: ZERO, PAIR: ZERO, columns.name: columns.start}
    for store in (s for s in walk(warp.body) if isinstance(s, Store) and s.buffer == box.source.buffer):
        for load in loads_of(store):
            array = buffers[load.buffer]
            alike = array.memory == "global" and (array.shape, array.dtype) == (output.shape, output.dtype)
            if alike and tuple(index.replaced(first) for index in load.at) == box.target.at:
                return load
    return None


@dataclass(frozen=True)
class _Residual:
    """load: what reads the array. loaded: the mbarriers of all warps, one a buffer. of_warp: how many buffers a
    warp has. turn: how many tiles it has had before.
    """

    load: Load
    loaded: Buffer
    of_warp: int
    buffers: Mapping[str, Buffer]
    turn: Index | None

    def body(self, block: Body) -> Body:
        found: list[Statement] = []
        storing = next((s for s in block if _is_storing(s)), None)
        for statement in block:
            if isinstance(storing, For) and isinstance(statement, For):
                found += _Warp(self, storing).ahead()
                storing = None
            if _is_storing(statement):
                assert isinstance(statement, For)
                statement = _Warp(self, statement).storing()
            elif isinstance(statement, For) and any(isinstance(s, Open) for s in statement.body):
                opens = tuple(Open(self.place(constant(n)), 1) for n in range(self.loaded.shape[0]))
                found.append(Alloc(self.loaded))
                statement = replace(statement, body=(*statement.body[:-1], *opens, statement.body[-1]))
            else:
                statement = with_blocks(statement, self.body)
            found.append(statement)
        return tuple(found)

    def place(self, number: Index) -> Address:
        return Address(self.loaded.name, (number,))


@dataclass(frozen=True)
class _Warp:
    """What a warp does with the boxes of a tile."""

    residual: _Residual
    warp: For

    @property
    def box(self) -> StoreBox:
        return _box(self.warp)

    @property
    def boxes(self) -> int:
        """How many boxes a tile has."""
        return _boxes(self.warp)

    @property
    def counted(self) -> int:
        """How many of them turns count."""
        return counted(self.boxes, _chosen(self.warp) is None, self.residual.of_warp)

    def buffer(self, number: Index) -> Index:
        return buffer_of(number, self.counted, self.residual.turn, self.residual.of_warp)

    def barrier(self, number: Index) -> Address:
        return self.residual.place(variable(WARP) * self.residual.of_warp + self.buffer(number))

    def phase(self, number: Index) -> Index:
        """How often the buffer of a box was filled before."""
        return of_all(number, self.counted, self.residual.turn) // self.residual.of_warp

    def copied(self, number: Index) -> Body:
        """Brings a box of the array by its number."""
        columns, rows = _loops(self.warp)
        at_row = number % steps_of(rows) if steps_of(rows) > 1 else ZERO
        where = {columns.name: number // steps_of(rows) * columns.step, rows.name: at_row * rows.step}
        box, barrier = self.box, self.barrier(number)
        at = tuple(index.replaced(where) for index in box.target.at)
        target = Address(box.source.buffer, (variable(WARP), self.buffer(number), ZERO, ZERO))
        size = prod(box.extents) * WIDTH[self.residual.buffers[box.source.buffer].dtype]
        copy = CopyBox(target, Address(self.residual.load.buffer, at), box.extents, barrier, joined=box.joined)
        return (Arrive(barrier, size), copy)

    def first(self) -> For:
        """The boxes of the first stores."""
        before = (WaitStores(0),) if self.residual.turn is not None else ()
        copies = tuple(
            s for number in range(min(self.residual.of_warp, self.boxes)) for s in self.copied(constant(number))
        )
        return A_WARP.each((*before, *copies), 1)

    def ahead(self) -> Body:
        """The boxes of the first stores while the tile is summed, where it is sure that it is stored."""
        places = tuple(s for s in self.warp.body if isinstance(s, Define))
        return () if _chosen(self.warp) else (replace(self.warp, body=(*places, self.first())),)

    @property
    def absent(self) -> range:
        """The numbers of boxes that turns count though no tile has them, in buffers that other boxes come to."""
        return range(max(self.boxes, self.residual.of_warp), self.counted)

    def ended(self, numbers: Iterable[int]) -> Body:
        """Ends a phase for each box that does not come, since turns count it."""
        arrivals = tuple(Arrive(self.barrier(constant(number))) for number in numbers)
        return (A_WARP.each(arrivals, 1),) if arrivals else ()

    def storing(self) -> For:
        """The stores, each of which waits for its box, and brings that of the store after the next."""
        columns, rows = _loops(self.warp)
        _, lanes, store = rows.body
        assert isinstance(lanes, For) and isinstance(store, For)
        here = next(s for s in walk(lanes.body) if isinstance(s, Store) and s.buffer == self.box.source.buffer)

        def near(operand: Operand) -> Operand | None:
            return Load(here.buffer, here.at) if operand == self.residual.load else None

        kept = tuple(_unguarded(with_values(each, near), here.buffer) for each in lanes.body)
        number, of_warp = number_of_box(columns, rows), self.residual.of_warp
        later = number + of_warp
        more = (If((Inside(later, None, self.boxes),), (WaitStores(0), *self.copied(later))),)
        steps = (
            replace(lanes, body=(Await(self.barrier(number), self.phase(number)), *kept)),
            replace(store, body=(*store.body, *(more if self.boxes > of_warp else ()))),
        )
        inside = replace(columns, body=(replace(rows, body=steps),))
        choice = _chosen(self.warp)
        if choice is None:
            return replace(self.warp, body=(*self.warp.body[:-1], inside))
        taken = replace(
            choice,
            body=(self.first(), *choice.body[:-1], inside, *self.ended(self.absent)),
            otherwise=self.ended((*range(self.boxes), *self.absent)),
        )
        return replace(self.warp, body=tuple(taken if s is choice else s for s in self.warp.body))


def _unguarded(statement: Statement, box: str) -> Statement:
    """The statement without tests that a point exists, where it reads nothing else that lies in memory."""
    if isinstance(statement, If) and all(
        {load.buffer for load in loads_of(each)} <= {box, ACCUMULATORS} for each in statement.body
    ):
        (statement,) = statement.body
    return with_blocks(statement, lambda body: tuple(_unguarded(each, box) for each in body))
