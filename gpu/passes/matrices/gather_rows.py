"""Lets a thread fill eight neighbours of a tile at once, of 16 bits each, where no asynchronous copy may: in odd rows.

    for ahead in 0..64 by 32:
      for element in thread..4096 by 128:
        X_tile[ahead / 32 % 3, element / 32, element % 32] = (X[m_1 + element / 32, ahead + element % 32] if … else 0)
      …
    ->
    for ahead in 0..64 by 32:
      X_chunk[4, 4] of f16x2 in registers
      for chunk in 0..4, unrolled:
        for word in 0..4, unrolled:
          X_chunk[chunk, word] = 0
        gather(to: X_chunk + [chunk, 0], p: X + […, ahead + 8*thread % 32], first: 0, end: 255 - ahead - 8*thread % 32)
      for chunk in 0..4, unrolled:
        put_chunk(to: X_tile + [ahead / 32 % 3, 8*thread / 32 + 32*chunk, 8*thread % 32], v: X_chunk + [chunk, 0])
      …

Such rows begin at any even byte, so a gather takes the aligned 16 bytes on both sides and shifts them. The loads of
several chunks are under way at once. Pixels may lie in several runs (`gpu.passes.facts.runs`): each turn gathers what a
chunk has of one, cut where the image ends. Source: copies through registers of CUTLASS, where `cp.async` may not copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce

from gpu.passes.facts.accesses import taken
from gpu.passes.facts.divisors import Divisors, apart, with_loops
from gpu.passes.facts.neighbours import ELEMENT, ROUND
from gpu.passes.facts.reading import WIDTH
from gpu.passes.facts.runs import BEFORE, RUN, Run, run_of
from gpu.passes.facts.workers import THREAD
from gpu.passes.matrices.instructions import CHUNK_WORDS, gather, put_chunk
from tiling.dtypes.products import word_of
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, Operation, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Address,
    Alloc,
    Body,
    Choose,
    Define,
    Do,
    For,
    Invoke,
    Load,
    Number,
    Position,
    Statement,
    Store,
    Value,
)
from tiling.loops.rewrite import with_indices
from tiling.loops.walk import buffers_of, free_name

COUNT, _BYTES = 8, 2  # neighbours of a chunk, and the size of each
_MOST = 4  # gathers that a thread has under way at once; each takes eight registers until it is shifted
_CHUNK, _WORD, _TURN = "chunk", "word", "turn"


def gather_rows(kernel: Kernel) -> Kernel:
    """The kernel, whose threads gather what they would copy one by one."""
    buffers = buffers_of(kernel)

    def gathered(loop: For, threads: int, known: Divisors) -> Body | None:
        chunks = _chunks_of(loop, buffers)
        return chunks.gathered(threads, known) if chunks else None

    return replace(kernel, body=with_loops(kernel.body, gathered))


def _chunks_of(loop: For, buffers: Mapping[str, Buffer]) -> _Chunks | None:
    """The chunks that a loop over the elements of a tile copies; None where it copies otherwise, or no runs."""
    store = loop.body[0]
    if loop.name != ELEMENT or not isinstance(store, Store):
        return None
    tile = buffers[store.buffer]
    value, tests = taken(store)
    if not isinstance(value, Load) or WIDTH[tile.dtype] != _BYTES or tile.shape[-1] % COUNT:
        return None
    run = run_of(buffers[value.buffer], value.at, tests, _column(store.at[-1]))
    name = free_name(f"{value.buffer}_{_CHUNK}", buffers)
    return _Chunks(loop, tile, store.at, value.buffer, run, name) if run else None


def _column(at: Index) -> Index:
    """The column of an element in its whole tile, also where the tile is cut into blocks of columns."""
    ((term, _),) = at.terms
    within = isinstance(term, Operation) and len(term.left.terms) == 1 and not isinstance(term.left.terms[0][0], str)
    return term.left if within else at  # type: ignore[union-attr]


@dataclass(frozen=True)
class _Chunks:
    """The chunks of a tile that the threads of a block fill by a loop. at: where an element lies in the tile."""

    loop: For
    tile: Buffer
    at: tuple[Index, ...]
    array: str
    run: Run
    name: str

    @property
    def size(self) -> int:
        return self.loop.stop.offset

    def gathered(self, threads: int, known: Divisors) -> Body:
        """The loop, by chunks: several at a time where all threads fill equally many."""
        every = COUNT * threads
        if self.size % every:
            each = replace(self.loop, start=self.loop.start * COUNT, step=every)
            return (replace(each, body=self.filled(variable(ELEMENT), 1, {**known, ELEMENT: COUNT})),)
        most = max(1, _MOST // self.run.turns(COUNT))
        together = max(n for n in range(1, most + 1) if self.size // every % n == 0)
        first = variable(THREAD) * COUNT + variable(_CHUNK) * every
        if self.size == every * together:
            return self.filled(first, together, known)
        body = self.filled(first + variable(ROUND), together, {**known, ROUND: every * together})
        return (For(ROUND, ZERO, constant(self.size), every * together, body),)

    def filled(self, element: Index, together: int, known: Divisors) -> Body:
        """Some chunks are gathered, then stored. element: the first one of a chunk."""
        words = Buffer(self.name, (together, CHUNK_WORDS), (_CHUNK, _WORD), word_of(self.tile.dtype, 2), "registers")
        here = variable(_CHUNK) if together > 1 else ZERO
        clear = Store(self.name, (here, variable(_WORD)), Number(0, words.dtype))
        zeros = For(_WORD, ZERO, constant(CHUNK_WORDS), 1, (clear,), "unrolled")
        chunk = Address(self.name, (here, ZERO))
        given = (("to", Address(self.tile.name, self.at)), ("v", chunk))
        put: Statement = Do(Invoke(put_chunk(self.tile.dtype), given))
        place = element if together > 1 else element.replaced({_CHUNK: ZERO})

        def at(index: Index) -> Index:
            return apart(index.replaced({ELEMENT: place}), known)

        def each(body: Body) -> Body:
            body = tuple(with_indices(statement, at) for statement in body)
            return (For(_CHUNK, ZERO, constant(together), 1, body, "unrolled"),) if together > 1 else body

        return (Alloc(words), *each((zeros, *self.taken(chunk))), *each((put,)))

    def taken(self, chunk: Address) -> Body:
        """The elements of a chunk, run by run."""
        run, turns = self.run, self.run.turns(COUNT)
        end: Value = Position(reduce(partial(applied, "min"), run.ends)) if run.ends else Number(COUNT, "s64")
        if run.tests:
            end = Choose(run.tests, end, Number(0, "s64"))
        first: Value = Position(reduce(partial(applied, "max"), run.firsts)) if run.length else Number(0, "s64")
        given = (("to", chunk), ("p", Address(self.array, run.at)), ("first", first), ("end", end))
        take: Body = (Do(Invoke(gather(self.tile.dtype), given)),)
        if not run.length:
            return take
        turn = variable(_TURN) if turns > 1 else ZERO
        number = Define(RUN, run.point // run.length + turn)
        before = Define(BEFORE, run.point % run.length - turn * run.length)
        take = (number, before, *take)
        return (For(_TURN, ZERO, constant(turns), 1, take, "unrolled"),) if turns > 1 else take
