"""Texts of instructions, compiled as functions of a library, and their meanings, run on the same arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Do, Instruction, Invoke, Load, Operand, Store

Arrays = dict[str, np.ndarray]


def c_function(name: str, text: str, vectors: Mapping[str, str], pointers: Mapping[str, str], value: str = "") -> str:
    """A C function that carries out a text on arrays: those of `vectors`, by C types, are loaded first.

    value: the type of what the text gives, which goes to the last array; empty where it only stores.
    """
    lines = [f"void {name}(void **arrays)", "{"]
    for place, (operand, dtype) in enumerate(vectors.items()):
        lines += [f"    {dtype} {operand};", f"    __builtin_memcpy(&{operand}, arrays[{place}], sizeof {operand});"]
    for place, (operand, dtype) in enumerate(pointers.items(), len(vectors)):
        lines.append(f"    {dtype} *{operand} = ({dtype} *)arrays[{place}];")
    if value:
        lines += [f"    {value} value = {text};"]
        lines += [f"    __builtin_memcpy(arrays[{len(vectors) + len(pointers)}], &value, sizeof value);"]
    else:
        lines.append(f"    {text};")
    return "\n".join([*lines, "}"])


def call(library: ctypes.CDLL, name: str, *arrays: np.ndarray) -> None:
    """Calls such a function: `vectors`, `pointers`, and where there is one the value, in this order."""
    getattr(library, name)((ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)))


def mean(
    instruction: Instruction, vectors: Arrays, pointers: Arrays, out: np.ndarray | None = None, **more: Operand
) -> None:
    """Has the interpreter do what an instruction means, on these arrays. more: operands of other kinds."""
    operands: dict[str, Operand] = {name: Load(name, (LANE,)) for name in vectors}
    operands |= {name: Address(name, (ZERO,)) for name in pointers}
    invoke = Invoke(instruction, tuple((operands | more).items()))
    arrays = vectors | pointers | ({} if out is None else {"out": out})
    buffers = tuple(Buffer(name, array.shape, ("at",)) for name, array in arrays.items())
    interpret(Kernel(buffers, (Do(invoke) if out is None else Store("out", (LANE,), invoke),)), arrays)
