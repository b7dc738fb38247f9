"""Random inputs of a compiled model."""

from __future__ import annotations

from math import prod

import numpy as np

from cpu.runtime.numbers import ELEMENTS, to_bits
from graph.calls.arguments import Argument
from graph.calls.compiled import CompiledModel
from graph.model.errors import ModelError

# Bits of each dtype: the first, and the one after the last. Those of floats are finite, and near 1 where they can be.
_BITS = {
    "u8": (0, 256),
    "s8": (-128, 128),
    "u4": (0, 16),
    "s4": (-8, 8),
    "u2": (0, 4),
    "s2": (-2, 2),
    "f4e2m1": (0, 16),
    "f8e8m0": (0x78, 0x88),
} | dict.fromkeys(("f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"), (1, 0x40))


def random_inputs(model: CompiledModel, seed: int) -> list[np.ndarray]:
    """Floats between -1 and 1, bytes of their whole range, other whole numbers 0 or 1, as indices and masks may be.

    One that is alone in its array is 0: a loop whose condition stays true would never end. All whole numbers are 0
    where one of them would index outside of an array.
    """
    random = np.random.default_rng(seed)
    found = [_numbers(random, array) for array in model.inputs]
    if all(_is_float(array) for array in model.inputs):
        return found
    try:
        model(*found)
    except ModelError:
        return [x if _is_float(array) else np.zeros_like(x) for x, array in zip(found, model.inputs)]
    return found


def _numbers(random: np.random.Generator, array: Argument) -> np.ndarray:
    dtype = ELEMENTS[array.dtype].numpy
    if array.dtype == "bf16":
        return to_bits(random.uniform(-1, 1, array.shape), "bf16")
    if dtype.kind == "f":
        return np.asarray(random.uniform(-1, 1, array.shape), dtype)
    if array.dtype not in _BITS and prod(array.shape) == 1:
        return np.zeros(array.shape, dtype)
    return np.asarray(random.integers(*_BITS.get(array.dtype, (0, 2)), array.shape), dtype)


def _is_float(array: Argument) -> bool:
    return array.dtype == "bf16" or ELEMENTS[array.dtype].numpy.kind == "f"
