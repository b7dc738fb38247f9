"""Makes the loops that pack the weights, from what `pack_weights` has changed.

    acc[…] += X[…] * W[n + lane, k]                        for n in 0..80 by 16:
    acc[…] += X[…] * W'[60*n + 16*k + lane]      ->          for k in 0..60:
                                                               for lane in 0..16:
                                                                 if n + lane < 70: packed[60*n + 16*k + lane] = W[…]
                                                                 else:             packed[60*n + 16*k + lane] = 0

Every product reads a weight at one place before the pass, and at another one after it. So the same loops copy every
weight to its place, without loops that move neither. Loops over panels stand outside, so memory is written in order.
Where lanes are neighbours in W, it is read in order instead: eight of its rows at a time go to all panels:

    for n in 0..80 by 16:            for k_rows in 0..64 by 8:
      for k in 0..64:          ->      for n in 0..80 by 16:
                                         for k in k_rows..(k_rows + 8):

The numbers of a dot group are copied one by one, and zeros fill it (`tiling.rewrite.weight_groups`):

    packed[16*k + lane] = W[n + lane, k]         for number in 0..2:
                                         ->        if 2*k + number < 59: packed[32*k + 2*lane + number] = W[…]
                                                   else:                 packed[32*k + 2*lane + number] = 0
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cpu.passes.memory.pack_weights import WEIGHTS
from tiling.loops.buffer import PACKED as PACKED_AXES
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Inside, Load, Number, Statement, Store
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import free_name, inside, walk
from tiling.rewrite.weight_groups import WeightGroups

PACKED = "packed"
# Rows of W that go to all panels at a time, since a CPU reads ahead along rows. 768 x 768 f32 on a Zen 3, after a
# product, one panel after the other and by 4, 8, 16 and 32 rows: 522, 404, 386, 453 and 535 µs, where a copy takes 278.
ROWS = 8


@dataclass(frozen=True)
class _Read:
    """A product's weight, the loops around it, and the tests that it stands behind."""

    load: Load
    loops: tuple[For, ...]
    tests: tuple[Inside, ...]


def packing(before: Kernel, after: Kernel, groups: WeightGroups) -> Kernel:
    """The kernel that packs: arrays W and `packed`, both of numbers.

    before, after: a kernel without and with packed weights. groups: what each of its weights holds.
    """
    summed, reads = _summed(before), zip(_reads(before.body), _reads(after.body), strict=True)
    nests = (_nest(read, there, summed, groups) for read, there in reads)
    (lanes,) = next(b.shape for b in after.arrays if b.name == WEIGHTS)
    packed = Buffer(PACKED, (lanes * groups.numbers,), PACKED_AXES, groups.weights.dtype)
    # The branches of a λ over rows read the same panels.
    return Kernel((groups.weights, packed), tuple(dict.fromkeys(nests)))


def _reads(body: Body, loops: tuple[For, ...] = (), tests: tuple[Inside, ...] = ()) -> Iterator[_Read]:
    """Every weight that the products of a block read."""
    for statement in body:
        if isinstance(statement, Store):
            loads = [part for part in parts_of(statement.value) if isinstance(part, Load) and part.buffer == WEIGHTS]
            yield from (_Read(load, loops, tests) for load in loads)
        here = (*loops, statement) if isinstance(statement, For) else loops
        passed = tests
        if isinstance(statement, If):
            passed = (*tests, *(c for c in statement.conditions if isinstance(c, Inside)))
        for block in inside(statement):
            yield from _reads(block, here, passed)


def _summed(kernel: Kernel) -> frozenset[str]:
    """The loops that move no output: those over summed dims."""
    stores = [s for s in walk(kernel.body) if isinstance(s, Store) and s.buffer == "Y"]
    moving = {name for store in stores for index in store.at for name in index.names()}
    loops = {loop.name: loop.dim for read in _reads(kernel.body) for loop in read.loops}
    dims = {dim for name, dim in loops.items() if name in moving}
    return frozenset(name for name, dim in loops.items() if dim not in dims)


def _nest(read: _Read, there: _Read, summed: frozenset[str], groups: WeightGroups) -> Statement:
    """The loops that copy the weights of one product."""
    names = {name for index in (*read.load.at, *there.load.at) for name in index.names()}
    loops: list[For] = []
    for loop in reversed(read.loops):
        if loop.name in names:
            names |= {*loop.start.names()}
            loops.insert(0, loop)
    # One test of a product may say whether the column of its lane exists. The others are about its x.
    moving = {name for index in read.load.at for name in index.names()}
    on_lane = (test for test in read.tests if test.index.coefficient("lane"))
    beyond = tuple(test for test in on_lane if moving.issuperset(test.index.names()))
    numbers = [For("number", ZERO, constant(groups.numbers), 1, ())] if groups.numbers > 1 else []
    number = variable("number") if numbers else ZERO
    (lane,) = there.load.at
    place = (lane * groups.numbers + number,)
    source, held = groups.element(read.load.at, number)
    tests = beyond + held
    copied = Store(PACKED, place, Load(WEIGHTS, source))
    body: Body = (If(tests, (copied,), (Store(PACKED, place, Number(0)),)) if tests else copied,)
    serial = [loop for loop in loops if loop.kind not in ("unrolled", "vector")]
    inner = [loop for loop in loops if loop.kind in ("unrolled", "vector")]
    points = [loop for loop in inner if loop.name in summed]
    columns = sorted((s for s in inner if s.name not in summed), key=lambda loop: -lane.coefficient(loop.name))
    panels = [loop for loop in serial if loop.name not in summed]
    steps = [loop for loop in serial if loop.name in summed]
    outer = [*panels, *steps]
    if panels and steps and source[-1].coefficient("lane") == 1 and _in_rows(steps[-1]):
        *before, last = steps
        name = free_name(f"{last.name}_rows", {loop.name for loop in read.loops})
        within = replace(last, start=variable(name), stop=variable(name) + ROWS)
        outer = [*before, replace(last, name=name, step=ROWS), *panels, within]
    for loop in reversed([*outer, *points, *columns, *numbers]):
        body = (replace(loop, body=body, kind="serial"),)
    return body[0]


def _in_rows(steps: For) -> bool:
    """Whether a loop over summed dims always has the same number of steps, which is several times `ROWS`."""
    trips = steps.stop - steps.start
    return steps.step == 1 and trips.is_constant and trips.offset > ROWS and trips.offset % ROWS == 0
