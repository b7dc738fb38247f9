"""The kernel that copies inputs to rows where the copy engine finds them, as plain loops and passes.

copier(program) -> Program
with_copier(program) -> (Program, …)
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import accumulate

from gpu.codegen.loops.emit import emit_launch
from gpu.codegen.program import CudaProgram
from gpu.passes.facts.accesses import moved
from gpu.passes.facts.reading import flat
from gpu.passes.facts.workers import launches
from gpu.passes.order import copy_forms
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Choose, For, Load, Number, Statement, Store
from tiling.loops.rewrite import with_buffers
from tiling.rewrite.copied import Axes, Copied

_ROOM = "copied"
_STORED = {2: "u16", 4: "f32"}  # what elements are copied as, by their bytes


def copier(program: CudaProgram) -> CudaProgram:
    """The program that makes the copies that `program` needs: input arrays in, the memory of all copies out."""
    copies = program.copied
    dtype = _STORED[copies[0].element_bytes]
    given = tuple(_array(copy.name, copy.given, dtype) for copy in copies)
    made = tuple(_array(f"{copy.name}_rows", copy.axes, dtype) for copy in copies)
    *_, (_, kernel) = copy_forms(Kernel((*given, *made), tuple(map(_copied, copies, given, made))))
    starts = (0, *accumulate(copy.size for copy in copies))
    body = kernel.body
    for array, start in zip(made, starts):
        body = moved(body, {array.name}, partial(_of_room, array, start))
    body = tuple(with_buffers(s, {array.name: _ROOM for array in made}) for s in body)
    kernel = replace(kernel, arrays=(*given, Buffer(_ROOM, (starts[-1],), ("element",), dtype)), body=body)
    (loop,) = launches(kernel)
    symbol = f"{program.symbol}_rows"
    launch, lines = emit_launch(kernel, loop, symbol)
    named = " and ".join(copy.name for copy in copies)
    heading = f"/* Copies {named} for {program.symbol}, which says how the copies lie. */"
    text = "\n".join([heading, *lines, ""])
    sizes = (launch.grid.offset, launch.threads, launch.shared_bytes)
    return CudaProgram(symbol, text, *sizes, len(kernel.arrays), elements=True)


def with_copier(program: CudaProgram) -> tuple[CudaProgram, ...]:
    """All programs that one launch runs: the program itself, and the one that copies its inputs, if there is one."""
    return (program, copier(program)) if program.copied else (program,)


def _array(name: str, axes: Axes, dtype: str) -> Buffer:
    return Buffer(name, tuple(extent for _, extent in axes), tuple(axis for axis, _ in axes), dtype)


def _of_room(array: Buffer, start: int, at: tuple[Index, ...]) -> tuple[Index, ...]:
    """Where an element of a copy is in the memory of all copies."""
    return (flat(array, at) + start,)


def _copied(copy: Copied, given: Buffer, made: Buffer) -> Statement:
    """The loops that make a copy."""
    value = Choose(copy.within, Load(given.name, copy.at), Number(0, given.dtype))
    found: Statement = Store(made.name, tuple(map(variable, made.axes)), value)
    for name, extent in reversed(copy.axes):
        found = For(name, ZERO, constant(extent), 1, (found,))
    return found
