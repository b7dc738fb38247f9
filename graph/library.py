"""The C text that calls a model's kernels in order, with a place for every array.

    library(model, kernels, name) -> Library

Arithmetic happens here; the templates lay out names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import jinja2

from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.taken_names import is_taken
from graph.kernels import Kernel
from graph.model.language import Model, ModelError, Step
from graph.model.memory import Life, Plan, aligned, plan
from tiling.problem import Problem
from tiling.program.infer import Array, Sized

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    block_start_string="/*%",
    block_end_string="%*/",
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)


@dataclass(frozen=True)
class Weight:
    """Numbers in the file of weights. packed: by which kernel; "" for an array as it is."""

    array: str
    packed: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Library:
    """The texts of a library, and what its files hold."""

    name: str
    source: str
    header: str
    example: str
    makefile: str
    kernels: tuple[Kernel, ...]
    weights: tuple[Weight, ...]
    weight_bytes: int
    arena: Plan
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def bytes_of(array: Array) -> int:
    """Bytes of an array. Raises ModelError for a dtype that no kernel has."""
    if array.dtype not in ELEMENTS:
        raise ModelError(f"{array.name} is made of {array.dtype}, which is not supported")
    return prod(array.shape) * ELEMENTS[array.dtype].numpy.itemsize


def library(model: Model, kernels: Mapping[Problem | Sized, Kernel], name: str, threads: int) -> Library:
    """The library of a model. Raises ModelError for a name that is none in C."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name):
        raise ModelError(f"{name!r} is no name in C: give letters, digits and _, a letter first")
    if is_taken(name):
        raise ModelError(f"{name!r} is taken in C or in its library: give another name")
    return _Layout(model, kernels, name, threads).whole()


class _Layout:
    """Decides where each array lies, and writes the calls."""

    def __init__(self, model: Model, kernels: Mapping[Problem | Sized, Kernel], name: str, threads: int):
        self.model, self.kernels, self.name, self.threads = model, kernels, name, threads
        # What a caller hands over, by the array that lies there. Names of models are no names of C.
        self.given = {input_: f"input_{place}" for place, input_ in enumerate(model.inputs)}
        self.results: dict[str, str] = {}
        self.copied: list[tuple[str, str]] = []
        for place, output in enumerate(model.outputs):
            root = model.root(output)
            written = any(root in map(model.root, step.outputs) for step in model.steps)
            if written and root not in self.results:
                self.results[root] = f"output_{place}"
            else:
                self.copied.append((output, f"output_{place}"))
        self.weights, self.weight_bytes = self.weight_places()
        self.arena = plan(self.lives())

    def kernel(self, step: Step) -> Kernel:
        return self.kernels[step.work]

    def weight_places(self) -> tuple[dict[tuple[str, str], Weight], int]:
        """A place in the file of weights for each constant that is read, packed where a product reads it."""
        wanted: dict[tuple[str, str], int] = {}
        for step in self.model.steps:
            kernel = self.kernel(step)
            for place, name in enumerate(step.inputs):
                root = self.model.root(name)
                if root not in self.model.constants:
                    continue
                if isinstance(step.work, Problem) and place == 1:
                    wanted[root, kernel.symbol] = 4 * kernel.packed
                else:
                    wanted[root, ""] = bytes_of(self.model.arrays[root])
        for output, _ in self.copied:
            root = self.model.root(output)
            if root in self.model.constants:
                wanted[root, ""] = bytes_of(self.model.arrays[root])
        found, at = {}, 0
        for (array, packed), size in wanted.items():
            found[array, packed] = Weight(array, packed, at, size)
            at += aligned(size)
        return found, at

    def lives(self) -> list[Life]:
        """When each array in between lives, and the memory for weights that are packed during the call."""
        model, first, last = self.model, {}, {}
        for number, step in enumerate(model.steps):
            for name in step.outputs:
                first[model.root(name)] = last[model.root(name)] = number
            for name in step.inputs:
                if model.root(name) in first:
                    last[model.root(name)] = number
        end = len(model.steps)
        for output, _ in self.copied:
            if model.root(output) in first:
                last[model.root(output)] = end
        lives = [
            Life(name, bytes_of(model.arrays[name]), first[name], last[name])
            for name in first
            if name not in self.results
        ]
        for number, step in enumerate(model.steps):
            if self.packs(step):
                lives.append(Life(_panel(number), 4 * self.kernel(step).packed, number, number))
        return lives

    def packs(self, step: Step) -> bool:
        """Whether a product's second factor is computed, so that it is packed during the call."""
        return isinstance(step.work, Problem) and self.model.root(step.inputs[1]) not in self.model.constants

    def address(self, name: str, packed: str = "") -> str:
        """Where an array lies, as C text without a type."""
        root = self.model.root(name)
        if root in self.model.constants:
            return f"weights + {self.weights[root, packed].offset}"
        if root in self.results:
            return self.results[root]
        if root in self.given:
            return self.given[root]
        return f"arena + {self.arena.offsets[root]}"

    def call(self, number: int, step: Step) -> list[str]:
        """The lines of a step."""
        kernel = self.kernel(step)
        lines = [f"/* {_comment(step)} */"]
        if not isinstance(step.work, Problem):
            places = [self.address(name) for name in (*step.inputs, *step.outputs)]
            return [*lines, f"outside |= {kernel.symbol}({_arguments(kernel, places)});"]
        x, w, *rest = step.inputs
        packed = self.address(w, kernel.symbol)
        if self.packs(step):
            panel = f"arena + {self.arena.offsets[_panel(number)]}"
            lines.append(f"{kernel.symbol}_pack((const float *)({packed}), (float *)({panel}));")
            packed = panel
        places = [self.address(x), packed, self.address(step.outputs[0]), *map(self.address, rest)]
        return [*lines, f"{kernel.symbol}({_arguments(kernel, places)});"]

    def whole(self) -> Library:
        model = self.model
        lines = [line for number, step in enumerate(model.steps) for line in self.call(number, step)]
        for output, result in self.copied:
            lines += [f"memcpy({result}, {self.address(output)}, {bytes_of(model.arrays[output])});"]
        kernels = tuple(dict.fromkeys(self.kernel(step) for step in model.steps))
        inputs = tuple(model.arrays[name] for name in model.inputs)
        outputs = tuple(model.arrays[name] for name in model.outputs)
        parameters = [
            *(f"const {ELEMENTS[array.dtype].c} *input_{place}" for place, array in enumerate(inputs)),
            *(f"{ELEMENTS[array.dtype].c} *output_{place}" for place, array in enumerate(outputs)),
        ]
        facts = {
            "name": self.name,
            "inputs": [_told(array) for array in inputs],
            "outputs": [_told(array) for array in outputs],
            "parameters": parameters,
            "weight_bytes": self.weight_bytes,
            "arena": self.arena,
            "declarations": [line for kernel in kernels for line in _declarations(kernel)],
            "symbols": [kernel.symbol for kernel in kernels],
            "lines": lines,
            "threads": self.threads,
            "input_bytes": [bytes_of(array) for array in inputs],
            "output_bytes": [bytes_of(array) for array in outputs],
            "types": [ELEMENTS[array.dtype].c for array in (*inputs, *outputs)],
            "files": [(kernel.symbol, " ".join(kernel.flags)) for kernel in kernels],
        }
        texts = {name: _TEMPLATES.get_template(f"{name}.j2").render(**facts) for name in _FILES}
        return Library(
            self.name,
            texts["model.c"],
            texts["model.h"],
            texts["example.c"],
            texts["Makefile"],
            kernels,
            tuple(self.weights.values()),
            self.weight_bytes,
            self.arena,
            inputs,
            outputs,
        )


_FILES = ("model.c", "model.h", "example.c", "Makefile")


def _panel(number: int) -> str:
    """The name of the memory for weights that step `number` packs: no array of a model has it."""
    return f"\0{number}"


def _comment(step: Step) -> str:
    work = str(step.work) if isinstance(step.work, Problem) else str(step.work.program)
    return _in_comment(f"{step.node}: {work}")


def _in_comment(text: str) -> str:
    """A text in one line that neither ends a comment nor begins one."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")


def _arguments(kernel: Kernel, places: list[str]) -> str:
    return ", ".join(f"({type_})({place})" for type_, place in zip(kernel.parameters, places, strict=True))


def _declarations(kernel: Kernel) -> list[str]:
    gives = "void" if kernel.packed else "int"
    lines = [
        f"{gives} {kernel.symbol}({', '.join(kernel.parameters) or 'void'});",
        f"int {kernel.symbol}_supported(void);",
    ]
    return [*lines, f"void {kernel.symbol}_pack(const float *, float *);"] if kernel.packed else lines


def _told(array: Array) -> str:
    return _in_comment(f"{array.name}: {array.dtype}[{', '.join(map(str, array.shape))}]")
