"""Places of arrays, and their strides, as C text.

Strides have names, X_h for the axis h of X, so an address reads as the element that it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tiling.loops.buffer import Buffer
from tiling.loops.c_text import number
from tiling.loops.index import Index
from tiling.loops.kernel import Kernel
from tiling.loops.walk import named_buffers

_IN_MEMORY = ("global", "own")


def in_scratch(at: Index) -> str:
    """A place in the memory that the caller hands over for this call."""
    return f"(scratch + {number(at)})" if at != Index(()) else "scratch"


def stepped(index: Index, buffer: Buffer, axis: int) -> str:
    """`2 * X_w`: how far an index along one axis moves an address, or "" for 0. Packed numbers need no stride."""
    if index == Index(()):
        return ""
    text = number(index)
    if buffer.packed:
        return text
    stride = _stride(buffer, axis)
    if text == "1":
        return stride
    return f"({text}) * {stride}" if " + " in text or " - " in text else f"{text} * {stride}"


def strides(kernel: Kernel, lines: Iterable[str]) -> list[tuple[str, int]]:
    """(name, elements) of every stride that lines of the kernel's C name."""
    named, words = _named(kernel).values(), words_of(lines)
    found = [(_stride(b, axis), stride) for b in named for axis, stride in enumerate(b.strides)]
    return [(name, stride) for name, stride in found if name in words]


def local_strides(kernel: Kernel, lines: Iterable[str]) -> list[str]:
    """The declaration of the strides that lines of a kernel's C name, for loops in a function of their own."""
    named = [f"{name} = {elements}" for name, elements in strides(kernel, lines)]
    return [f"const long {', '.join(named)};"] if named else []


def words_of(lines: Iterable[str]) -> frozenset[str]:
    """The names in lines of C, without comments: a compiler warns of what is defined and stands nowhere else."""
    code = (line for line in lines if not line.lstrip().startswith("/*"))
    return frozenset(re.findall(r"[A-Za-z_]\w*", "\n".join(code)))


def _named(kernel: Kernel) -> dict[str, Buffer]:
    """The arrays of a kernel and those that it makes for itself, by their names. Packed ones have no strides."""
    in_memory = (buffer for buffer in named_buffers(kernel) if buffer.memory in _IN_MEMORY)
    return {buffer.name: buffer for buffer in in_memory if not buffer.packed}


def _stride(buffer: Buffer, axis: int) -> str:
    """The name of the stride along an axis, such as `X_h`.

    For an array `E_b` of an epilogue it is `STEP_b_k`. Such an array may have any name, so another one may be called
    `E_b_k`. For the panel of a worker it is `PANEL_w`, since `panel_w` is a pointer into the panel.
    """
    name = buffer.name.upper() if buffer.memory == "own" else buffer.name.replace("E_", "STEP_", 1)
    return f"{name}_{buffer.axes[axis]}"
