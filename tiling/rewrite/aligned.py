"""Inputs whose rows a copy engine does not find, as copies that are made before: rows of whole sectors.

    a[203] of f16, rows of 406 bytes     ->      rows of 416 bytes, with zeros behind the numbers
    b (K,N) of tf32                      ->      (N,K), since wgmma reads 32-bit numbers only along the sum

Hopper's copy engine finds rows that are a multiple of 16 bytes apart (`gpu.codegen.copies.tensor_map`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod

from tiling.arrays.pixel_blocks import COPIED_BYTES
from tiling.dtypes.products import DTYPE_BYTES
from tiling.loops.index import variable
from tiling.loops.language import Inside
from tiling.problem import Problem
from tiling.rewrite.copied import Copied
from tiling.tensor import Tensor

# Bytes; the rows of a copy are a multiple of it. It is a sector of the L2, so a row touches only sectors that it fills.
_ROW = 32
_LARGEST_ACROSS = 2  # bytes of a number that wgmma reads across the sum


@lru_cache(maxsize=256)
def copies_of(problem: Problem) -> tuple[Copied, ...]:
    """The copies that are made of the inputs of a product."""
    found = []
    for place, tensor in enumerate((problem.broadcast, problem.vector)):
        transposed, number = _lies_across(tensor, problem), DTYPE_BYTES[problem.dtype]
        *matrices, rows, elements = _along_the_sum(tensor, problem).shape
        if transposed or elements * number % COPIED_BYTES:
            pitch = -(-elements * number // _ROW) * _ROW // number
            found.append(_rows(place, tensor.name, (prod(matrices), rows, elements), pitch, number, transposed))
    return tuple(found)


@lru_cache(maxsize=256)
def with_aligned_rows(problem: Problem) -> Problem:
    """The problem whose inputs are the copies."""
    pitches = {copy.name: copy.shape[-1] for copy in copies_of(problem)}

    def copied(tensor: Tensor) -> Tensor:
        along = _along_the_sum(tensor, problem)
        return replace(along, shape=(*along.shape[:-1], pitches[tensor.name]))

    tensors = tuple(copied(t) if t.role != "output" and t.name in pitches else t for t in problem.tensors)
    return replace(problem, tensors=tensors) if pitches else problem


def _rows(array: int, name: str, sizes: tuple[int, int, int], pitch: int, element_bytes: int, across: bool) -> Copied:
    """A copy of an input of so many matrices, rows and elements, with rows `pitch` elements apart.

    across: the copy's rows are the input's columns.
    """
    matrices, rows, elements = sizes
    given, made = {"row": rows, "column": elements}, {"row": rows, "column": pitch}
    given = {axis: given[axis] for axis in (("column", "row") if across else ("row", "column"))}
    if matrices > 1:
        given, made = {"matrix": matrices} | given, {"matrix": matrices} | made
    column = Inside(variable("column"), None, elements)
    at = tuple(map(variable, given))
    kind = "transposed copy" if across else "copy"
    read = f"a {kind}, rows {pitch} elements apart"
    return Copied(array, name, tuple(given.items()), tuple(made.items()), at, (column,), element_bytes, read)


def _along_the_sum(tensor: Tensor, problem: Problem) -> Tensor:
    """An input as wgmma reads it."""
    if not _lies_across(tensor, problem):
        return tensor
    indices, shape = ((*of[:-2], of[-1], of[-2]) for of in (tensor.indices, tensor.shape))
    return replace(tensor, indices=indices, shape=shape)


def _lies_across(tensor: Tensor, problem: Problem) -> bool:
    """Whether an input lies across the sum, and numbers are too long to be read so."""
    return DTYPE_BYTES[problem.dtype] > _LARGEST_ACROSS and tensor.indices[-1].terms[-1][0] not in problem.reductions
