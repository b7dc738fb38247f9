"""The arrays of a call: in order, with the wanted dtypes and shapes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cpu.runtime.numbers import ELEMENTS, in_memory, masked
from cpu.runtime.plural import plural
from graph.model.errors import ModelError

_BYTES = ctypes.c_char * 0


@dataclass(frozen=True)
class Argument:
    """An array of a call: row-major."""

    name: str
    dtype: str
    shape: tuple[int, ...]


def given_arrays(arrays: tuple[object, ...], names: tuple[str, ...]) -> tuple[object, ...]:
    """The arrays of a call in the order of the inputs, from arrays in this order or one dict. Raises ModelError."""
    if len(arrays) == 1 and isinstance(arrays[0], Mapping):
        named = arrays[0]
        for name in named:
            if name not in names:
                raise ModelError(f"there is no input {name!r}; the inputs are {', '.join(names)}")
        missing = [name for name in names if name not in named]
        if missing:
            raise ModelError(f"input {missing[0]!r} is missing; the inputs are {', '.join(names)}")
        return tuple(named[name] for name in names)
    if len(arrays) != len(names):
        raise ModelError(f"{given_for(len(arrays), len(names))}: {', '.join(names) or 'none'}")
    return arrays


def given_for(arrays: int, inputs: int) -> str:
    """The words of a message on how many arrays are given, and how many inputs there are."""
    return f"{plural(arrays, 'arrays')} {'is' if arrays == 1 else 'are'} given for {plural(inputs, 'inputs')}"


def as_array(given: object, name: str) -> np.ndarray:
    """A caller's value as a plain NumPy array. Raises ModelError."""
    if type(given) is np.ndarray:
        return given
    if wrong := masked(given, name):
        raise ModelError(wrong)
    try:  # subclasses of NumPy's array may make views of their own
        return np.asarray(given)
    except Exception as error:  # another library's array may raise any error, such as a tensor on a GPU
        raise ModelError(f"{name} cannot be read as an array: {error}") from None


def checked(given: object, array: Argument) -> np.ndarray:
    """An input of a call, with the wanted dtype and shape; one that is not contiguous is copied."""
    dtype = ELEMENTS[array.dtype].numpy
    if type(given) is np.ndarray and given.dtype == dtype and given.shape == array.shape and given.flags.c_contiguous:
        return given  # each test takes a visible part of a small model's call
    given = in_memory(as_array(given, array.name), array.dtype)
    if given.dtype != dtype:
        raise ModelError(f"{array.name} is {given.dtype}, and the model takes {dtype}: convert it first")
    if given.shape != array.shape:
        raise ModelError(f"{array.name} has shape {given.shape}, and the model was compiled for {array.shape}")
    # NumPy's own function would give a scalar an axis.
    return given if given.flags.c_contiguous else np.ascontiguousarray(given)


def writable(given: object, array: Argument) -> np.ndarray:
    """An array for an output: the caller's own memory."""
    if not isinstance(given, np.ndarray):
        raise ModelError(f"{array.name}: an array for an output must be one of NumPy, not a {type(given).__name__}")
    if not (given.flags.c_contiguous and given.flags.writeable):
        raise ModelError(f"{array.name}: an array for an output must be contiguous and writable")
    found = checked(given, array)
    if is_copied(found, given):
        raise ModelError(f"{array.name} is {given.dtype}, and the model gives {found.dtype}")
    return found


def is_copied(found: np.ndarray, given: np.ndarray) -> bool:
    """Whether a checked array is a copy, with memory of its own."""
    return found is not given and given.size > 0 and not np.may_share_memory(found, given)


# Each microsecond matters in a call of a small model, and NumPy's `ctypes.data` takes two for each array.
def address(array: np.ndarray) -> int:
    """Where a contiguous array begins in memory."""
    if not array.flags.writeable:
        return int(array.ctypes.data)
    return ctypes.addressof(_BYTES.from_buffer(array.data))
