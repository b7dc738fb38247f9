"""From a model and its kernels to files: compiles them to one library, and packs the weights."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import cffi
import numpy as np

from cpu.runtime.compiler.loading import load_bytes
from cpu.runtime.compiler.toolchain import ToolchainError, compile_shared, find_compiler
from cpu.runtime.numbers import ELEMENTS, in_memory
from graph.calls.compiled import Explained
from graph.calls.saved_folder import RECORD, seal
from graph.library.kernels import KernelFile, Work, object_of
from graph.library.places import bytes_of
from graph.library.text import Library, is_used
from graph.model.language import Model
from graph.model.regions import in_blocks, kernel_turns
from graph.passes.fuse import fused_maps
from graph.passes.group import grouped_maps, is_map
from graph.passes.repeated import without_repetitions
from graph.passes.strided import read_where_they_lie
from tiling.problem import Problem


def fused(model: Model) -> Model:
    """The model with each map in the product before it, else in the program after it, and without repeated steps.

    Steps that only move numbers to or from a product become part of it.
    """
    # An activation of several nodes reads a product's output several times. As one program it reads the output once.
    joined = partial(grouped_maps, readers=is_map)
    model = read_where_they_lie(in_blocks(fused_maps, without_repetitions(model)))
    for change in (joined, fused_maps, grouped_maps):
        model = in_blocks(change, model)
    return model


def c_name(text: str) -> str:
    """A name in C that resembles a text."""
    found = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:40]
    return found if found[:1].isalpha() and not is_used(found) else f"model_{found}".rstrip("_")


def files_of(
    model: Model,
    made: Library,
    kernels: Mapping[Work, KernelFile],
    tuned_: frozenset[Problem],
    of_steps: Mapping[tuple[str, ...], str],
    layouts: str,
) -> dict[str, bytes]:
    """The files of a compiled model, by name. Raises as compiling.

    tuned_: the products whose kernels tuning chose. of_steps: what layouts take (`told`). layouts: how they were found.
    """
    shared = _compiled(made)
    record = {
        "name": made.name,
        "fingerprint": made.fingerprint,
        "inputs": [[array.name, array.dtype, list(array.shape)] for array in made.inputs],
        "outputs": [[array.name, array.dtype, list(array.shape)] for array in made.outputs],
        "explained": [asdict(each) for each in explained(model, kernels, tuned_, of_steps)],
        "layouts": layouts,
        "arena_bytes": made.arena.bytes,
        "arena_least": made.arena.least,
        "weight_bytes": made.weight_bytes,
    }
    texts = {
        f"{made.name}.c": made.source,
        f"{made.name}.h": made.header,
        "example.c": made.example,
        "Makefile": made.makefile,
        **{f"{kernel.symbol}.c": kernel.text for kernel in made.kernels},
    }
    files = {**{name: text.encode() for name, text in texts.items()}, f"{made.name}.so": shared}
    record["files"] = list(files)
    record["sha256"] = seal(record)
    return {
        **files,
        RECORD: json.dumps(record, indent=1).encode(),
        f"{made.name}.bin": _weights(model, made, shared),
    }


def explained(
    model: Model,
    kernels: Mapping[Work, KernelFile],
    tuned_: frozenset[Problem],
    layouts: Mapping[tuple[str, ...], str],
) -> list[Explained]:
    """What each step computes, and with which kernel."""
    found = []
    for step, turns in kernel_turns(model.steps):
        layout = layouts.get(step.outputs, "")
        whole = sum(bytes_of(model.arrays[name]) for name in dict.fromkeys((*step.inputs, *step.outputs)))
        told = step.node, step.text, isinstance(step.work, Problem)
        if isinstance(step.work, Problem):
            work, scheme = step.work, kernels[step.work].scheme
            layout = layout or layouts.get(step.inputs[:2], "")
            found.append(Explained(*told, work.flops, step.unfused, scheme, work in tuned_, whole, layout, turns))
        else:
            found.append(Explained(*told, 0, step.unfused, bytes=whole, layout=layout, turns=turns))
    return found


def _compiled(made: Library) -> bytes:
    """The shared library: every kernel is compiled by itself and kept, then all are linked."""
    compiler = find_compiler()
    contents = {f"{kernel.symbol}.o": object_of(kernel) for kernel in made.kernels}
    openmp = any(kernel.openmp for kernel in made.kernels)
    try:
        with tempfile.TemporaryDirectory(prefix="tilewright-") as temporary:
            folder = Path(temporary)
            (folder / f"{made.name}.h").write_text(made.header, encoding="utf-8")
            for name, content in contents.items():
                (folder / name).write_bytes(content)
            output, objects = folder / f"{made.name}.so", [str(folder / name) for name in contents]
            compile_shared(compiler, made.source, output, (f"-I{folder}", *objects), openmp)
            return output.read_bytes()
    except OSError as error:
        raise ToolchainError(
            f"the library of {made.name} cannot be linked in the folder for temporary files "
            f"({error.strerror or error}): make room there, or set TMPDIR to another"
        ) from error


def _weights(model: Model, made: Library, shared: bytes) -> bytes:
    """The file of weights: packed by the library's own functions."""
    ffi = cffi.FFI()
    packing = {kernel.symbol: kernel.packing for kernel in made.kernels if kernel.packed}
    declared = (f"void {symbol}_pack_run({', '.join(types)});" for symbol, types in packing.items())
    ffi.cdef("".join(declared) or "typedef int none;")

    def opened(path: str) -> Any:
        return ffi.dlopen(path, os.RTLD_NOW | os.RTLD_NODELETE)

    loaded = load_bytes(shared, opened)
    whole = np.zeros(made.weight_bytes, np.uint8)
    for weight in made.weights:
        numbers = model.constants[weight.array]
        dtype = model.arrays[weight.array].dtype
        array = np.ascontiguousarray(in_memory(numbers, dtype), ELEMENTS[dtype].numpy)
        place = whole[weight.offset : weight.offset + weight.bytes]
        if weight.packed:
            one_thread = ffi.from_buffer(array), ffi.from_buffer(place), 0, 1
            getattr(loaded, weight.packed + "_pack_run")(*map(ffi.cast, packing[weight.packed], one_thread))
        else:
            place[:] = array.reshape(-1).view(np.uint8)
    return whole.tobytes()
