"""The arrays of a kernel: in the number formats of its problem, and their types in C."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cpu.runtime.numbers import ELEMENTS, to_bits
from tiling.dtypes.products import OPERAND_DTYPES
from tiling.loops.facts.writes import written
from tiling.loops.kernel import Kernel
from tiling.loops.walk import named_buffers
from tiling.problem import Problem


def elements_of(problem: Problem) -> tuple[str, str, str]:
    """The elements of x, of the weights and of the output, as names in ELEMENTS."""
    return (*OPERAND_DTYPES[problem.dtype], problem.output_dtype)


def stored(problem: Problem, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The arrays that a kernel takes, from values: x and w in the problem's dtype, then the epilogue's in float32."""
    x, w, *arrays = values
    return *(to_bits(array, dtype) for array, dtype in zip((x, w), elements_of(problem))), *arrays


@dataclass(frozen=True)
class Types:
    """The C types of the arrays of a kernel, by name.

    elements: the type of its elements. pointers: the type of a pointer to them, constant where the kernel only reads
    the array.
    """

    elements: Mapping[str, str]
    pointers: Mapping[str, str]

    def cast(self, of: str, to: str) -> str:
        """What C writes to see the memory of one array as another: nothing where their elements have one type."""
        return "" if self.elements[of] == self.elements[to] else f"({self.pointers[to]})"


def types_of(kernel: Kernel, word: str = "", overlapping: Collection[str] = ()) -> Types:
    """The types of all arrays that a kernel and its functions name.

    word: the C type of several numbers side by side in a lane. overlapping: the arrays whose words share numbers.
    """
    changed = written(kernel)
    dtypes = {buffer.name: buffer.dtype for buffer in named_buffers(kernel)} | dict.fromkeys(overlapping, "u32")
    elements = {name: ELEMENTS[dtype].c if dtype in ELEMENTS else word for name, dtype in dtypes.items()}
    pointers = {name: f"{'' if name in changed else 'const '}{element} *" for name, element in elements.items()}
    return Types(elements, pointers)
