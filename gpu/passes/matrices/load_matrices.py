"""Loads the words of several lanes at once: four 8x8 matrices of shared memory in one instruction of the warp.

    for member in 0..32, lane:
      for m_u in 0..32 by 16, unrolled:
        for word in 0..4, unrolled:
          X_part[member, m_u / 16, word] = word(X_tile[…], X_tile[…])
    ->
    for m_u in 0..32 by 16, unrolled:
      get_matrices(to: X_part + [lane, m_u / 16, 0], p: X_tile + […])

One instruction loads the four words of a, or two words each of two neighbours of b. Each lane gives the place of a row
of one matrix. Where the tile's rows are the depth, matrices are taken across; 32-bit numbers cannot be, and are loaded
one by one. Source: ldmatrix of CUTLASS.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.workers import MEMBER, THREADS_OF_WARP
from gpu.passes.matrices.instructions import MATRIX_ROWS, WORDS, get_matrices
from gpu.passes.matrices.multiply_matrices import PART, WORD
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Body, Do, For, Invoke, Load, Operand, Statement, Store
from tiling.loops.rewrite import parts_of
from tiling.loops.walk import with_statements
from tiling.scheme.scheme import Scheme

_MATRIX, _ROW = applied("/", LANE, constant(MATRIX_ROWS)), applied("%", LANE, constant(MATRIX_ROWS))


def load_matrices(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, whose warps load matrices."""
    dtype = scheme.problem.dtype

    def loaded(statement: Statement) -> Body | None:
        found = _loaded(statement, dtype)
        return (found,) if found else None

    return replace(kernel, body=with_statements(kernel.body, loaded))


def _loaded(statement: Statement, dtype: str) -> Statement | None:
    """The loop over lanes that loads fragments, by instructions; None where a statement is no such loop."""
    if not isinstance(statement, For) or statement.kind != THREADS_OF_WARP:
        return None
    (along,) = statement.body
    if not (isinstance(along, For) and isinstance(along.body[0], For) and along.body[0].name == WORD):
        return None
    (store,) = along.body[0].body
    assert isinstance(store, Store) and store.buffer.endswith(PART)
    first = next(part for part in parts_of(store.value) if isinstance(part, Load))
    # The axis along which the words of a lane's neighbours lie: the depth, whose points come in words.
    across = _operation(first.at[-1]) == "/"
    if across and WORDS[dtype].per_word == 1:
        return None
    words = along.body[0].stop.offset
    many = 4 // words
    if along.stop.offset // along.step % many:
        return None
    by = {WORD: _MATRIX if many == 1 else applied("%", _MATRIX, constant(words)), MEMBER: ZERO}
    if many > 1:
        by[along.name] = variable(along.name) + applied("/", _MATRIX, constant(words)) * along.step
    *others, row, last = (index.replaced(by) for index in first.at)
    place = Address(first.buffer, (*others, row + _ROW, last))
    to = Address(store.buffer, (LANE, applied("/", variable(along.name), constant(along.step)), ZERO))
    given: tuple[tuple[str, Operand], ...] = (("to", to), ("p", place))
    body = (Do(Invoke(get_matrices(dtype, across), given)),)
    return replace(along, step=along.step * many, body=body)


def _operation(index: Index) -> str:
    """What moves an index with the lane: `/` for the lane's group, `%` for its place in the group."""
    return next(term.operation for term, _ in index.terms if not isinstance(term, str) and MEMBER in term.names())
