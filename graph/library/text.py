"""The texts of a model's library: the function that calls its kernels in order, its header, an example, a Makefile.

    library(model, kernels, name) -> Library

Decisions are made before: the templates only put names and numbers into their places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from math import prod
from pathlib import Path

from cpu.runtime.compiler.makefile import makefile
from cpu.runtime.frames import frames
from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.taken_names import is_taken
from cpu.runtime.team import TEAM
from graph.library.kernels import KernelFile
from graph.library.places import Places, Weight, bytes_of
from graph.library.steps import Lines, in_comment
from graph.model.language import Model, ModelError
from graph.model.regions import kernel_steps
from graph.passes.memory import ArenaPlan
from tiling.dtypes.formats import FLOATS, FORMATS
from tiling.problem import Problem
from tiling.program.infer import Array, Sized

_TEMPLATES = frames(Path(__file__).with_name("templates"))


# What the example fills inputs with: whole numbers with 0 and 1, which indices, tokens and masks may be;
# floats that C has are -2 to 2. 0x3f80 is 1 as bf16.
_VALUES = {name: "i % 5 - 2" for name in FLOATS if not FORMATS[name].named} | {"bf16": "i % 2 * 0x3f80"}


@dataclass(frozen=True)
class Library:
    """The texts of a library, and the contents of its files. fingerprint: identifies the model and the texts."""

    name: str
    fingerprint: str
    source: str
    header: str
    example: str
    makefile: str
    kernels: tuple[KernelFile, ...]
    weights: tuple[Weight, ...]
    weight_bytes: int
    arena: ArenaPlan
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def library(model: Model, kernels: Mapping[Problem | Sized, KernelFile], name: str) -> Library:
    """The library of a model. Raises ModelError for a name that is not a C name."""
    if name in {kernel.symbol for kernel in kernels.values()}:
        raise _taken(name)
    places = Places(model, kernels)
    threads = max((kernel.threads for kernel in kernels.values()), default=1)
    lines = Lines(places, threads)
    written = lines.whole()
    called = tuple(dict.fromkeys(places.kernel(step) for step in kernel_steps(model.steps)))
    inputs = tuple(model.arrays[name] for name in model.inputs)
    outputs = tuple(model.arrays[name] for name in model.outputs)
    parameters = [
        *(f"const {ELEMENTS[array.dtype].c} *input_{place}" for place, array in enumerate(inputs)),
        *(f"{ELEMENTS[array.dtype].c} *output_{place}" for place, array in enumerate(outputs)),
    ]
    fingerprint = _fingerprint(name, (*inputs, *outputs), places, written, called)
    facts = {
        "name": name,
        "fingerprint": fingerprint,
        "inputs": [_told(array) for array in inputs],
        "outputs": [_told(array) for array in outputs],
        "parameters": parameters,
        "weight_bytes": places.weight_bytes,
        "arena": places.arena,
        "declarations": [line for kernel in called for line in _declarations(kernel)],
        # One kernel for each set of CPU flags.
        "symbols": list({kernel.flags: kernel.symbol for kernel in called}.values()),
        "arguments": [parameter.rpartition("*")[2] for parameter in parameters],
        "lines": written,
        "copies": any("copy_share(" in line for line in written),
        "unread": [read for read in places.given.values() if not re.search(rf"\b{read}\b", "\n".join(written))],
        "laps": lines.laps,
        "threads": threads,
        "team": TEAM,
        "input_bytes": [bytes_of(array) for array in inputs],
        "output_bytes": [bytes_of(array) for array in outputs],
        "types": [ELEMENTS[array.dtype].c for array in (*inputs, *outputs)],
        "elements": [prod(array.shape) for array in (*inputs, *outputs)],
        "values": [_VALUES.get(array.dtype, "i % 2") for array in inputs],
        "stored": [f" (bits of {a.dtype})" if ELEMENTS[a.dtype].named else "" for a in (*inputs, *outputs)],
    }
    texts = {file: _TEMPLATES.get_template(f"{file}.j2").render(**facts) for file in _FILES}
    return Library(
        name,
        fingerprint,
        texts["model.c"],
        texts["model.h"],
        texts["example.c"],
        makefile(
            name,
            {name: (), **{kernel.symbol: kernel.flags for kernel in called}},
            threads > 1,
            (f"{name}.so", "example"),
            "example",
        ),
        called,
        tuple(places.weights.values()),
        places.weight_bytes,
        places.arena,
        inputs,
        outputs,
    )


def _fingerprint(
    name: str, arrays: Sequence[Array], places: Places, lines: Sequence[str], kernels: Sequence[KernelFile]
) -> str:
    """A digest of the inputs and outputs, of the places and the packing of the weights, and of all texts."""
    told = [
        name,
        *((array.dtype, array.shape) for array in arrays),
        *((weight.packed, weight.offset, weight.bytes) for weight in places.weights.values()),
        places.arena.bytes,
        *lines,
        *(kernel.text for kernel in kernels),
    ]
    return sha256("\0".join(map(str, told)).encode()).hexdigest()[:32]


def check_name(name: object) -> None:
    """Raises ModelError for a name that a model's C function cannot have."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name):
        raise ModelError(f"{name!r} is no name in C: give letters, digits and _, a letter first")
    if is_used(name):
        raise _taken(name)


def _taken(name: str) -> ModelError:
    return ModelError(f"{name!r} is taken in C, in its library, or in the model's own text: give another name")


def is_used(name: str) -> bool:
    """Whether a model's texts use a name for something else."""
    return is_taken(name) or name in _words() or bool(re.fullmatch(r"(input|output|iteration)_\d+", name))


@cache
def _words() -> frozenset[str]:
    """The words of the C templates, and the file of the example."""
    loader = _TEMPLATES.loader
    assert loader is not None
    texts = [loader.get_source(_TEMPLATES, f"{name}.j2")[0] for name in _FILES]
    code = re.sub(r"/\*%.*?%\*/|{{.*?}}", " ", " ".join((*texts, TEAM)), flags=re.DOTALL)
    found = re.findall(r"[A-Za-z_]\w*", re.sub(r"/\*.*?\*/|\".*?\"", " ", code, flags=re.DOTALL))
    return frozenset((*found, "example"))


_FILES = ("model.c", "model.h", "example.c")


def _declarations(kernel: KernelFile) -> list[str]:
    gives = "void" if kernel.packed else "int"
    lines = [
        f"{gives} {kernel.symbol}_run({', '.join(kernel.parameters) or 'void'});",
        f"int {kernel.symbol}_supported(void);",
    ]
    return [*lines, f"void {kernel.symbol}_pack_run({', '.join(kernel.packing)});"] if kernel.packed else lines


def _told(array: Array) -> str:
    return in_comment(f"{array.name}: {array.dtype}[{', '.join(map(str, array.shape))}]")
