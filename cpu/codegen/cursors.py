"""Cursors as C: pointers to the lines that are prefetched into L2 next. Printed kernels call these definitions.

Cursors                struct cursors all = {0, 0, 0, 0}, *const cursors = &all;
Aim(x, …)              cursors->x = place(X, next_x * sizeof *X, X_BYTES);
Advance(x)             x_next = l2_prefetch(x_next, x_end);
"""

from __future__ import annotations

from math import prod

import numpy as np

from tiling.loops.kernel import Kernel
from tiling.loops.language import LINE
from tiling.loops.machines import Aim
from tiling.loops.meaning.memory import NUMPY
from tiling.loops.walk import bodies, named_buffers, walk

_STRUCT = """\
/* The operands of what is multiplied next: the lines of x and of the packed weights to prefetch into L2 meanwhile. */
struct cursors { const char *x, *x_end, *w, *w_end; };"""

_FUNCTIONS = f"""\

/* Byte `at` of an array of `bytes` bytes, or the nearest end where `at` lies outside. */
static inline const char *place(const void *array, long at, long bytes)
{{
    return (const char *)array + (at < 0 ? 0 : at < bytes ? at : bytes);
}}

/* Prefetches the next line, if one is left. */
static inline const char *l2_prefetch(const char *next, const char *end)
{{
    if (next >= end) return next;
    __builtin_prefetch(next, 0, 2);
    return next + {LINE};
}}"""

BEGIN = "struct cursors all = {0, 0, 0, 0}, *const cursors = &all;"
PARAMETER = "struct cursors *cursors"
ARGUMENT = "cursors"


def definitions(kernel: Kernel) -> str:
    """The C text that a kernel with cursors needs: their struct, the sizes of their arrays, and their functions."""
    aimed = {s.address.buffer for body in bodies(kernel) for s in walk(body) if isinstance(s, Aim)}
    walked = {buffer.name: buffer for buffer in named_buffers(kernel) if buffer.name in aimed}
    sizes = {name: prod(b.shape) * np.dtype(NUMPY[b.dtype]).itemsize for name, b in walked.items()}
    lines = (f"static const long {size(name)} = {bytes};" for name, bytes in sizes.items())
    return "\n".join([_STRUCT, *lines, _FUNCTIONS])


def size(array: str) -> str:
    """The name of the C constant with the size of an array in bytes."""
    return f"{array}_BYTES"


def aimed(cursor: str, array: str, first: str, elements: str) -> list[str]:
    """The C lines that aim a cursor at so many elements of an array, from `first` on."""
    begin, bytes = f"next_{cursor}", f"sizeof *{array}, {size(array)}"
    return [
        "{",
        f"    const long {begin} = {first};",
        f"    cursors->{cursor} = place({array}, {begin} * {bytes});",
        f"    cursors->{cursor}_end = place({array}, ({begin} + {elements}) * {bytes});",
        "}",
    ]


def advanced(cursor: str) -> str:
    """The C line that prefetches the next cache line."""
    return f"{cursor}_next = l2_prefetch({cursor}_next, {cursor}_end);"


def taken(cursor: str) -> str:
    """The C line that loads a cursor into registers while a tile runs."""
    return f"const char *{cursor}_next = cursors->{cursor}, *{cursor}_end = cursors->{cursor}_end;"


def left(cursor: str) -> str:
    """The C line that stores a cursor for the next tile."""
    return f"cursors->{cursor} = {cursor}_next;"
