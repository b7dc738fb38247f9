"""From a model to files: reads it, makes its kernels, compiles them to one library, and packs the weights.

compile_model("model.onnx") -> CompiledModel
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cffi
import numpy as np

from cpu.runtime.host import host
from cpu.runtime.library import compiled, load_bytes
from cpu.runtime.numbers import ELEMENTS, in_memory
from cpu.runtime.toolchain import Compiler, compile_shared, find_compiler
from graph.compiled import RECORD, CompiledModel, Explained, seal
from graph.kernels import Kernel, kernels_of, predicted_seconds
from graph.library import Library, is_used, library
from graph.model.fuse import fused_maps
from graph.model.group import grouped_maps, is_map
from graph.model.joins import joined_in_place
from graph.model.language import Model, ModelError
from graph.model.layouts import with_layouts
from graph.model.regions import in_blocks, kernel_steps
from tiling.problem import Problem

if TYPE_CHECKING:
    import onnx
    from torch.export import ExportedProgram

MODELS = "whole models need onnx: pip install 'tilewright[models]'"


def compile_model(
    model: str | os.PathLike[str] | onnx.ModelProto | ExportedProgram,
    *,
    dims: Mapping[str, int | Sequence[int]] | None = None,
    known: Mapping[str, Any] | None = None,
    threads: int = 1,
    tune: str = "model",
    budget: float = 60.0,
    name: str | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, all: None,
) -> CompiledModel:
    """A model as a function of NumPy arrays.

    model: a path of an ONNX file, what `onnx.load` gives, or what `torch.export.export` gives. dims: extents of dims
    that the model leaves open, or by the name of an input its whole shape, or how many elements a sequence has. known:
    inputs that are the same at every call, which are then no inputs any more: arrays, lists of them for sequences, None
    for an optional without an element. tune: "model" trusts the model of data movement; "measure"
    searches for about `budget` seconds, shared by all products. name: of the C function, by default that of the file.

    Raises ModelError for what cannot be compiled, ToolchainError without a C compiler, CacheError where files cannot be
    kept.
    """
    try:
        from graph.onnx.load import load
        from graph.onnx.read import read
    except ModuleNotFoundError as error:
        raise ModelError(MODELS) from error
    if tune not in ("model", "measure"):
        raise ModelError(f'tune={tune!r} must be "model" or "measure"')
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ModelError(f"threads={threads!r} must be a whole number of at least 1")
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not 0 < budget < inf:
        raise ModelError(f"budget={budget!r} must be a number of seconds above 0")
    proto: Any  # an ONNX model or what is made one: the exporter's types are not always installed
    if isinstance(model, (str, os.PathLike)):
        proto, stem = load(model), Path(model).stem
    elif hasattr(model, "graph") and hasattr(model, "opset_import"):
        proto, stem = model, "model"
    elif type(model).__module__.startswith("torch.export"):
        from graph.exported import exported

        proto, stem = exported(model), "model"
    else:
        raise ModelError(
            f"model is a {type(model).__name__}: give the path of an ONNX file, or what onnx.load or torch.export gives"
        )
    graph = joined_in_place(with_layouts(fused(read(proto, dims, known)), predicted_seconds(threads)))
    kernels = kernels_of(tuple(kernel_steps(graph.steps)), threads, tune, budget, progress)
    made = library(graph, kernels, name or c_name(stem))
    return CompiledModel.of_files(files_of(graph, made))


def fused(model: Model) -> Model:
    """The model with its maps in the products before them, else in the programs after them."""
    # An activation of several nodes reads a product's output several times: as one program it reads it once.
    joined = partial(grouped_maps, readers=is_map)
    for change in (fused_maps, joined, fused_maps, grouped_maps):
        model = in_blocks(change, model)
    return model


def c_name(text: str) -> str:
    """A name in C that resembles a text."""
    found = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:40]
    return found if found[:1].isalpha() and not is_used(found) else f"model_{found}".rstrip("_")


def files_of(model: Model, made: Library) -> dict[str, bytes]:
    """The files of a compiled model, by name. Raises what compiling raises."""
    shared = _compiled(made)
    record = {
        "name": made.name,
        "inputs": [[array.name, array.dtype, list(array.shape)] for array in made.inputs],
        "outputs": [[array.name, array.dtype, list(array.shape)] for array in made.outputs],
        "explained": [asdict(each) for each in explained(model)],
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


def explained(model: Model) -> list[Explained]:
    """What each step computes, and by what."""
    found = []
    for step in kernel_steps(model.steps):
        product = isinstance(step.work, Problem)
        flops = step.work.flops if isinstance(step.work, Problem) else 0
        found.append(Explained(step.node, step.text, product, flops, step.unfused))
    return found


def _compiled(made: Library) -> bytes:
    """The shared library: every kernel compiled by itself, side by side, unless the cache has it; then linked."""
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as temporary:
        folder = Path(temporary)
        (folder / f"{made.name}.h").write_text(made.header, encoding="utf-8")

        def compile_one(kernel: Kernel) -> Path:
            output = folder / f"{kernel.symbol}.o"
            output.write_bytes(compiled(kernel.text, (*kernel.flags, "-c"), kernel.openmp))
            return output

        with ThreadPoolExecutor(host().cores) as pool:
            objects = list(pool.map(compile_one, made.kernels))
        return _linked(compiler, made, folder, objects)


def _linked(compiler: Compiler, made: Library, folder: Path, objects: list[Path]) -> bytes:
    output = folder / f"{made.name}.so"
    openmp = any(kernel.openmp for kernel in made.kernels)
    compile_shared(compiler, made.source, output, (f"-I{folder}", *map(str, objects)), openmp)
    return output.read_bytes()


def _weights(model: Model, made: Library, shared: bytes) -> bytes:
    """The file of weights: packed by the library's own functions."""
    ffi = cffi.FFI()
    packing = sorted({weight.packed for weight in made.weights if weight.packed})
    ffi.cdef("".join(f"void {symbol}_pack(const float *, float *);" for symbol in packing) or "typedef int none;")

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
            source, target = ffi.from_buffer("float[]", array), ffi.from_buffer("float[]", place)
            getattr(loaded, weight.packed + "_pack")(source, target)
        else:
            place[:] = array.reshape(-1).view(np.uint8)
    return whole.tobytes()
