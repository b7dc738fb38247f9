"""A compiled model as a function of NumPy arrays."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cpu.runtime.compiler.loading import is_damage, load_bytes, why_not_loaded
from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.plural import plural
from cpu.runtime.saved_files import content, of_others
from graph.calls.arguments import Argument, address, as_array, checked, given_arrays, is_copied, writable
from graph.calls.saved_folder import RECORD, alone, folder_of, mapped, placed, seal
from graph.model.errors import ModelError
from tilewright_entry import TilewrightWarning

_OUTSIDE = "an index that the model reads from an array lies outside of the array that it indexes"
_PAGE = 4096  # the alignment of weights, mapped or read


@dataclass(frozen=True)
class Explained:
    """A step, for readers. flops: operations of a product, each time. unfused: why the maps after it are not fused.

    scheme: the text of a product's scheme. tuned: whether the scheme was chosen by times inside a model. bytes: the
    size of all arrays that it reads and writes, each whole: a gather may touch little of its table. layout: what a
    convolution takes in either layout, and what a conversion takes. turns: how often a call computes it.
    """

    node: str
    work: str
    product: bool
    flops: int
    unfused: str
    scheme: str = ""
    tuned: bool = False
    bytes: int = 0
    layout: str = ""
    turns: int = 1


class CompiledModel:
    """`model(x)` gives the outputs as a list, `model.run({"x": x})` as a dict by name."""

    def __init__(self, record: Mapping[str, Any], shared: bytes, weights: np.ndarray, files: Mapping[str, bytes]):
        """weights: bytes that begin on a cache line. files: what `save` writes beside them."""
        self.name: str = record["name"]
        self.inputs = tuple(Argument(name, dtype, tuple(shape)) for name, dtype, shape in record["inputs"])
        self.outputs = tuple(Argument(name, dtype, tuple(shape)) for name, dtype, shape in record["outputs"])
        self.explained = tuple(Explained(**each) for each in record["explained"])
        self.layouts: str = record.get("layouts", "")  # how they were chosen; "" in folders of earlier versions
        self.arena_bytes, self.arena_least = record["arena_bytes"], record["arena_least"]
        self.weight_bytes: int = record["weight_bytes"]
        self._files = dict(files)
        self._weights, self._weights_at = weights, address(weights)
        # ctypes and not cffi, whose parser takes longer to load than the rest.
        self._loaded = load_bytes(shared, lambda path: ctypes.CDLL(path, os.RTLD_NOW | os.RTLD_NODELETE))
        self._check(record.get("fingerprint", ""))  # "" in a folder that an earlier version saved
        if not self._function("_supported", 0)():
            raise ModelError(f"this CPU does not run the kernels of {self.name}: compile the model on this machine")
        arrays = len(self.inputs) + len(self.outputs)
        self._run, self._run_timed = self._function("", 2 + arrays), self._function("_timed", 3 + arrays)
        self._local = threading.local()

    @classmethod
    def of_files(cls, files: Mapping[str, bytes]) -> CompiledModel:
        """The model whose files these are."""
        record = json.loads(files[RECORD])
        weights = _page_aligned(record["weight_bytes"])
        binary = f"{record['name']}.bin"
        weights[:] = np.frombuffer(files[binary], np.uint8)
        return cls(record, files[f"{record['name']}.so"], weights, {n: f for n, f in files.items() if n != binary})

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles are loaded from the same files."""
        return CompiledModel.of_files, ({**self._files, f"{self.name}.bin": self._weights.tobytes()},)

    def __repr__(self) -> str:
        return f"<CompiledModel {self.name}: {plural(len(self.explained), 'kernels')}>"

    def __call__(self, *arrays: object, out: list[np.ndarray] | None = None) -> list[np.ndarray]:
        """The outputs, in the model's order. Raises ModelError for a wrong array.

        arrays: the inputs in the model's order, or one dict of them by name. out: arrays for the outputs.
        """
        arrays = given_arrays(arrays, tuple(array.name for array in self.inputs))
        given = [checked(x, array) for x, array in zip(arrays, self.inputs)]
        found = self.empty() if out is None else self._writable(out)
        if self._run(self._weights_at, self._arena_at, *self._addresses(given, found)):
            raise ModelError(_OUTSIDE)
        return found

    def bound(self, *arrays: object, out: list[np.ndarray] | None = None) -> BoundCall:
        """A function without arguments for these arrays. They are checked once, now, and read at each call.

        arrays, out: as in a call. The function returns the same arrays every time. Raises ModelError, also for an array
        that would have to be copied.
        """
        arrays = given_arrays(arrays, tuple(array.name for array in self.inputs))
        given = [checked(x, array) for x, array in zip(arrays, self.inputs)]
        for x, found, array in zip(arrays, given, self.inputs):
            if is_copied(found, as_array(x, array.name)):
                raise ModelError(f"{array.name} would be copied: bind a contiguous array of {found.dtype}")
        outputs = self.empty() if out is None else self._writable(out)
        return BoundCall(self, tuple(given), tuple(outputs), tuple(self._addresses(given, outputs)))

    def _writable(self, out: object) -> list[np.ndarray]:
        """The arrays that a caller gives for the outputs. Raises ModelError."""
        names = ", ".join(array.name for array in self.outputs)
        if not isinstance(out, (list, tuple)) or len(out) != len(self.outputs):
            wanted = plural(len(self.outputs), "arrays")
            raise ModelError(f"out must be a list of {wanted}, in the order of the outputs: {names}")
        return [writable(y, array) for y, array in zip(out, self.outputs)]

    def _addresses(self, given: list[np.ndarray], found: list[np.ndarray]) -> list[int]:
        """Where the arrays of a call lie, which their owners keep alive.

        Raises ModelError where outputs overlap others: kernels read inputs after they have written.
        """
        starts = [address(array) for array in (*given, *found)]
        stops = [start + array.nbytes for start, array in zip(starts, (*given, *found))]
        for number in range(len(given), len(starts)):
            first, end = starts[number], stops[number]
            for start, stop in zip(starts[:number], stops):
                if max(first, start) < min(end, stop):
                    raise ModelError("an array of out overlaps an input or another output: pass memory of its own")
        return starts

    def _check(self, wanted: str) -> None:
        """Raises ModelError where the library belongs to another model: it would read and write other arrays."""
        told = getattr(self._loaded, f"{self.name}_fingerprint", None)
        if told is not None:
            told.restype = ctypes.c_char_p
        if told is None or told() != wanted.encode():
            raise ModelError(
                f"{self.name}.so is not the library of the model that {RECORD} describes: build it again with make, or "
                "save the model again"
            )

    def _function(self, suffix: str, pointers: int) -> Any:
        """A function of the library that takes so many pointers."""
        found = getattr(self._loaded, f"{self.name}{suffix}")
        found.argtypes, found.restype = [ctypes.c_void_p] * pointers, ctypes.c_int
        return found

    def times(self, *arrays: np.ndarray, out: list[np.ndarray]) -> np.ndarray:
        """The seconds of each step of one call: those of `explained`, in order. Arrays are as in a call."""
        seconds = np.zeros(len(self.explained))
        given = [checked(x, array) for x, array in zip(arrays, self.inputs, strict=True)]
        addresses = self._addresses(given, self._writable(out))
        self._run_timed(self._weights_at, self._arena_at, address(seconds), *addresses)
        return seconds

    def run(self, inputs: Mapping[str, object]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        return dict(zip([array.name for array in self.outputs], self(inputs)))

    @property
    def _arena_at(self) -> int:
        """Where the arena of this thread lies: calls of several threads may run at once."""
        if not hasattr(self._local, "arena"):
            try:
                arena = _page_aligned(self.arena_bytes)
            except MemoryError:
                raise ModelError(f"{self.name} needs {self.arena_bytes:,} bytes for arrays in between") from None
            self._local.arena, self._local.arena_at = arena, address(arena)
        found: int = self._local.arena_at
        return found

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
        return placed(folder, {**self._files, f"{self.name}.bin": self._weights.data})


class BoundCall:
    """`call()` gives the outputs of a model for the current numbers of its arrays. A copy has its own arrays."""

    __slots__ = ("_addresses", "_inputs", "_model", "_outputs")

    def __init__(
        self,
        model: CompiledModel,
        inputs: tuple[np.ndarray, ...],
        outputs: tuple[np.ndarray, ...],
        addresses: tuple[int, ...],
    ):
        """inputs, outputs: kept alive as long as the bound call."""
        self._model, self._inputs, self._outputs, self._addresses = model, inputs, outputs, addresses

    def __call__(self) -> list[np.ndarray]:
        model = self._model
        if model._run(model._weights_at, model._arena_at, *self._addresses):
            raise ModelError(_OUTSIDE)
        return list(self._outputs)

    def __reduce__(self) -> tuple[object, ...]:
        return _bound_again, (self._model, self._inputs, self._outputs)


def _bound_again(model: CompiledModel, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> BoundCall:
    """Binds copies of the arrays."""
    return model.bound(*inputs, out=list(outputs))


def load_model(folder: str | os.PathLike[str]) -> CompiledModel:
    """The model that `save` wrote. It needs no compiler. Raises ModelError.

    A saved model is a program: load only what you trust. Warns where others may have written the folder.
    """
    path = folder_of(folder, "holds no saved model")
    try:
        with alone(path):
            whole = content(path / RECORD)
            record = json.loads(whole)
            name = record["name"]
            files = {file: content(path / file) for file in (*record["files"], f"{name}.so")} | {RECORD: whole}
            weights = mapped(path / f"{name}.bin") if record["weight_bytes"] else _page_aligned(0)
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        why = f"{Path(error.filename or '').name}: {error.strerror}" if isinstance(error, OSError) else str(error)
        why += (
            ": make builds it" if isinstance(error, FileNotFoundError) and str(error.filename).endswith(".so") else ""
        )
        if isinstance(error, json.JSONDecodeError):
            why = f"{RECORD} is cut short or damaged ({error}): save the model again"
        raise ModelError(f"{folder} holds no saved model: {why}{_instead(folder)}") from None
    if whose := of_others(path, path / RECORD):
        warnings.warn(
            f"{whose}: a saved model is a program, so load only what you trust", TilewrightWarning, stacklevel=2
        )
    if record.get("sha256") != seal(record):
        raise ModelError(f"{path} holds a damaged model: save it again ({RECORD} was changed)")
    if weights.size != record["weight_bytes"]:
        raise ModelError(f"{path / f'{name}.bin'} has {weights.size} bytes, and the model has {record['weight_bytes']}")
    try:
        return CompiledModel(record, files[f"{name}.so"], weights, files)
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ModelError):
            raise
        if isinstance(error, OSError):
            holds = "a damaged model" if is_damage(error) else "a model that this system does not load"
            why = why_not_loaded(
                error, "delete it and run make, or save the model again", "compile the model on this machine"
            )
            raise ModelError(f"{path} holds {holds}: {name}.so cannot be loaded {why}") from None
        raise ModelError(f"{path} holds a damaged model: save it again ({error})") from None


def _instead(folder: str | os.PathLike[str]) -> str:
    """What to do where the folder holds a kernel, whose record names the function and its problem."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        if any(Path(folder).glob("*_example.c")):
            return ", but a kernel: load_kernel of the package search loads it"
    return ""


def _page_aligned(size: int) -> np.ndarray:
    raw = np.empty(size + _PAGE, np.uint8)
    start = -raw.ctypes.data % _PAGE
    return raw[start : start + size]
