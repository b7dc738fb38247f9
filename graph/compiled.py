"""A compiled model as a function of NumPy arrays, and the folder that it is saved in."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cffi
import numpy as np

from cpu.runtime.library import load_bytes
from cpu.runtime.numbers import ELEMENTS, in_memory
from graph.model.language import ModelError
from tiling.program.infer import Array

RECORD = "model.json"
_PAGE = 4096  # weights that are mapped begin on a page; read ones too


@dataclass(frozen=True)
class Explained:
    """A step, for readers. flops: of a product. unfused: what kept its maps apart."""

    node: str
    work: str
    product: bool
    flops: int
    unfused: str


class CompiledModel:
    """`model(x)` gives the outputs as a list, `model.run({"x": x})` as a dict by name."""

    def __init__(self, record: Mapping[str, Any], shared: bytes, weights: np.ndarray, files: Mapping[str, bytes]):
        """weights: bytes that begin on a cache line. files: what `save` writes beside them."""
        self.name: str = record["name"]
        self.inputs = tuple(Array(name, dtype, tuple(shape)) for name, dtype, shape in record["inputs"])
        self.outputs = tuple(Array(name, dtype, tuple(shape)) for name, dtype, shape in record["outputs"])
        self.explained = tuple(Explained(**each) for each in record["explained"])
        self.arena_bytes, self.arena_least = record["arena_bytes"], record["arena_least"]
        self.weight_bytes: int = record["weight_bytes"]
        self._files = dict(files)
        self._weights = weights
        ffi = self._ffi = cffi.FFI()
        arrays = ["const void *"] * len(self.inputs) + ["void *"] * len(self.outputs)
        ffi.cdef(
            f"int {self.name}({', '.join(['const void *', 'void *', *arrays])});"
            f"int {self.name}_timed({', '.join(['const void *', 'void *', 'double *', *arrays])});"
            f"int {self.name}_supported(void);"
        )

        def opened(path: str) -> Any:  # cffi has no types of its own
            return ffi.dlopen(path, os.RTLD_NOW | os.RTLD_NODELETE)

        self._loaded = load_bytes(shared, opened)
        if not getattr(self._loaded, f"{self.name}_supported")():
            raise ModelError(f"this CPU does not run the kernels of {self.name}: compile the model on this machine")
        self._run = getattr(self._loaded, self.name)
        self._local = threading.local()

    @classmethod
    def of_files(cls, files: Mapping[str, bytes]) -> CompiledModel:
        """The model whose files these are."""
        record = json.loads(files[RECORD])
        weights = _page_aligned(record["weight_bytes"])
        binary = f"{record['name']}.bin"
        weights[:] = np.frombuffer(files[binary], np.uint8)
        return cls(record, files[f"{record['name']}.so"], weights, {n: f for n, f in files.items() if n != binary})

    def __repr__(self) -> str:
        return f"<CompiledModel {self.name}: {len(self.explained)} kernels>"

    def __call__(self, *arrays: object, out: list[np.ndarray] | None = None) -> list[np.ndarray]:
        """The outputs, in the model's order. Raises ModelError for a wrong array.

        arrays: the inputs in the model's order, or one dict of them by name. out: arrays for the outputs.
        """
        if len(arrays) == 1 and isinstance(arrays[0], Mapping):
            named = arrays[0]
            names = [array.name for array in self.inputs]
            for name in named:
                if name not in names:
                    raise ModelError(f"there is no input {name!r}; the inputs are {', '.join(names)}")
            missing = [name for name in names if name not in named]
            if missing:
                raise ModelError(f"input {missing[0]!r} is missing; the inputs are {', '.join(names)}")
            arrays = tuple(named[name] for name in names)
        if len(arrays) != len(self.inputs):
            names = [array.name for array in self.inputs]
            raise ModelError(f"{len(arrays)} arrays are given for {len(names)} inputs: {', '.join(names) or 'none'}")
        given = [_checked(x, array) for x, array in zip(arrays, self.inputs)]
        found = (
            self.empty()
            if out is None
            else [_checked(y, array, True) for y, array in zip(out, self.outputs, strict=True)]
        )
        if out is not None and _overlap(given, found):
            raise ModelError("an array of out overlaps an input or another output: pass memory of its own")
        memory = (self._ffi.from_buffer(self._weights), self._ffi.from_buffer(self._arena))
        if self._run(*memory, *self._pointers((*given, *found))):
            raise ModelError("an index that the model reads from an array lies outside of the array that it indexes")
        return found

    def _pointers(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        return [self._ffi.from_buffer(array.reshape(-1).view(np.uint8)) for array in arrays]

    def times(self, *arrays: np.ndarray, out: list[np.ndarray]) -> np.ndarray:
        """The seconds of each step of one call: of `explained`, in order. Arrays are as in a call."""
        seconds = np.zeros(len(self.explained))
        memory = (self._ffi.from_buffer(self._weights), self._ffi.from_buffer(self._arena))
        given = [_checked(x, array) for x, array in zip(arrays, self.inputs, strict=True)]
        found = [_checked(y, array, True) for y, array in zip(out, self.outputs, strict=True)]
        noted = self._ffi.from_buffer("double[]", seconds)
        getattr(self._loaded, f"{self.name}_timed")(*memory, noted, *self._pointers((*given, *found)))
        return seconds

    def run(self, inputs: Mapping[str, object]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        return dict(zip([array.name for array in self.outputs], self(inputs)))

    @property
    def _arena(self) -> np.ndarray:
        """The arena of this thread: calls of several threads may run at once."""
        if not hasattr(self._local, "arena"):
            self._local.arena = _page_aligned(self.arena_bytes)
        arena: np.ndarray = self._local.arena
        return arena

    def empty(self) -> list[np.ndarray]:
        """Uninitialised outputs."""
        return [np.empty(array.shape, ELEMENTS[array.dtype].numpy) for array in self.outputs]

    def empty_inputs(self) -> list[np.ndarray]:
        """Uninitialised inputs."""
        return [np.empty(array.shape, ELEMENTS[array.dtype].numpy) for array in self.inputs]

    @property
    def source(self) -> str:
        """The C text that calls the kernels."""
        return self._files[f"{self.name}.c"].decode()

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Writes the library and its C texts, which need no Python. Returns the paths. Raises ModelError."""
        return placed(Path(folder), {**self._files, f"{self.name}.bin": self._weights.data})


def load_model(folder: str | os.PathLike[str]) -> CompiledModel:
    """The model that `save` wrote. It needs no compiler. Raises ModelError.

    A saved model is a program: load only what you trust.
    """
    path = Path(folder)
    try:
        names = {"c", "h", "json"}
        files = {
            file.name: file.read_bytes()
            for file in path.iterdir()
            if file.suffix[1:] in names or file.name == "Makefile"
        }
        record = json.loads(files[RECORD])
        name = record["name"]
        files[f"{name}.so"] = (path / f"{name}.so").read_bytes()
        weights = np.memmap(path / f"{name}.bin", np.uint8, "r") if record["weight_bytes"] else _page_aligned(0)
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"{path} holds no saved model ({error})") from None
    if weights.size != record["weight_bytes"]:
        raise ModelError(f"{path / f'{name}.bin'} has {weights.size} bytes, and the model has {record['weight_bytes']}")
    try:
        return CompiledModel(record, files[f"{name}.so"], weights, files)
    except (OSError, KeyError, TypeError, ValueError, AttributeError, cffi.CDefError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{path} holds a damaged model: save it again ({error})") from None


def placed(folder: Path, files: Mapping[str, bytes | memoryview]) -> tuple[Path, ...]:
    """Writes files, each whole or not at all. Raises ModelError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            partial = folder / f".{name}.{os.getpid()}"
            partial.write_bytes(content)
            partial.replace(folder / name)
    except OSError as error:
        raise ModelError(f"{folder} cannot be written: {error.strerror or error}") from None
    return tuple(folder / name for name in files)


def _page_aligned(size: int) -> np.ndarray:
    raw = np.empty(size + _PAGE, np.uint8)
    start = -raw.ctypes.data % _PAGE
    return raw[start : start + size]


def _overlap(inputs: list[np.ndarray], outputs: list[np.ndarray]) -> bool:
    """Whether an output lies where another array does: kernels read inputs after they have written."""
    others = [[*inputs, *outputs[:number]] for number in range(len(outputs))]
    return any(np.may_share_memory(y, x) for y, before in zip(outputs, others) for x in before)


def _checked(given: object, array: Array, written: bool = False) -> np.ndarray:
    """An array of a call: the wanted dtype and shape; one that is not contiguous is copied, if it is only read."""
    dtype = ELEMENTS[array.dtype].numpy
    if not isinstance(given, np.ndarray):
        given = np.asarray(given)
    given = in_memory(given, array.dtype)
    if given.dtype != dtype:
        raise ModelError(f"{array.name} is {given.dtype}, and the model takes {dtype}: convert it first")
    if given.shape != array.shape:
        raise ModelError(f"{array.name} has shape {given.shape}, and the model was compiled for {array.shape}")
    if written and not (given.flags.c_contiguous and given.flags.writeable):
        raise ModelError(f"{array.name}: an array for an output must be contiguous and writable")
    # NumPy's own function would give a scalar an axis.
    return given if given.flags.c_contiguous else np.ascontiguousarray(given)
