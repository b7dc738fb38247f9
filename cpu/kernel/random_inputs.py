"""Random inputs of a program, to measure and check its kernel with."""

from __future__ import annotations

import numpy as np

from cpu.runtime.numbers import ELEMENTS, to_bits
from tiling.dtypes.formats import FLOATS
from tiling.program.infer import Sized
from tiling.program.language import Access, parts


def random_inputs(program: Sized, seed: int) -> list[np.ndarray]:
    """Arrays to measure and check with. Floats are normal; whole numbers are small, and inside where they index."""
    random = np.random.default_rng(seed)
    found = []
    for array in program.inputs:
        if array.dtype in FLOATS:
            values = random.standard_normal(array.shape, np.float32)
            bits = to_bits(values, "bf16") if array.dtype == "bf16" else values.astype(ELEMENTS[array.dtype].numpy)
            found.append(bits.reshape(array.shape))
            continue
        most = min(2 if array.dtype == "bool" else 100, _indexed(program, array.name))
        found.append(random.integers(0, most, array.shape).astype(ELEMENTS[array.dtype].numpy))
    return found


def _indexed(program: Sized, name: str) -> int:
    """The smallest extent of the axes that an array is an index of."""
    extents = [
        extent
        for statement in program.program.statements
        for access in statement.accesses
        for index, extent in zip(access.at, program.array(access.array).shape)
        if any(isinstance(part, Access) and part.array == name for part in parts(index))
    ]
    return min(extents, default=1 << 30)
