"""The C text that calls a model's kernels in order, with a place for every array.

    library(model, kernels, name) -> Library

Arithmetic happens here; the templates lay out names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

import jinja2

from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.taken_names import is_taken
from graph.kernels import Kernel
from graph.model.language import Branch, Copy, Loop, Model, ModelError, Step
from graph.model.memory import Life, Plan, aligned, plan
from graph.model.regions import every, kernel_steps, spans
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
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name):
        raise ModelError(f"{name!r} is no name in C: give letters, digits and _, a letter first")
    if is_used(name) or name in {kernel.symbol for kernel in kernels.values()}:
        raise ModelError(f"{name!r} is taken in C, in its library, or in the model's own text: give another name")
    return _Layout(model, kernels, name, threads).whole()


def is_used(name: str) -> bool:
    """Whether a name stands for something else in a model's texts."""
    return is_taken(name) or name in _words() or bool(re.fullmatch(r"(input|output|turn)_\d+", name))


@cache
def _words() -> frozenset[str]:
    """The words of the C templates, and the file of the example."""
    loader = _TEMPLATES.loader
    assert loader is not None
    texts = [loader.get_source(_TEMPLATES, f"{name}.j2")[0] for name in _FILES if name.endswith((".c", ".h"))]
    code = re.sub(r"/\*%.*?%\*/|{{.*?}}", " ", " ".join(texts), flags=re.DOTALL)
    return frozenset(re.findall(r"[A-Za-z_]\w*", re.sub(r"/\*.*?\*/|\".*?\"", " ", code, flags=re.DOTALL))) | {
        "example"
    }


class _Layout:
    """Decides where each array lies, and writes the calls."""

    def __init__(self, model: Model, kernels: Mapping[Problem | Sized, Kernel], name: str, threads: int):
        self.model, self.kernels, self.name, self.threads = model, kernels, name, threads
        # What a caller hands over, by the array that lies there. Names of models are no names of C.
        self.given = {input_: f"input_{place}" for place, input_ in enumerate(model.inputs)}
        self.results: dict[str, str] = {}
        self.laps = 0  # kernels whose seconds a timed call notes
        self.turns: dict[str, str] = {}  # the C name of each loop's number of the turn
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
        assert isinstance(step.work, (Problem, Sized))
        return self.kernels[step.work]

    def weight_places(self) -> tuple[dict[tuple[str, str], Weight], int]:
        """A place in the file of weights for each constant that is read, packed where a product reads it."""
        wanted: dict[tuple[str, str], int] = {}
        for step in every(self.model.steps):
            for place, name in enumerate(step.inputs):
                root = self.model.root(name)
                if root not in self.model.constants or isinstance(step.work, (Branch, Loop)):
                    continue
                if isinstance(step.work, Problem) and place == 1 and not self.packs(step):
                    kernel = self.kernel(step)
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
        model = self.model
        found = {root: span for root, span in spans(model).items() if root not in self.results}
        positions = tuple(every(model.steps))
        for output, _ in self.copied:
            root = model.root(output)
            if root in found:
                found[root] = found[root][0], len(positions)
        lives = [Life(name, bytes_of(model.arrays[name]), *span) for name, span in found.items()]
        for number, step in enumerate(positions):
            if self.packs(step):
                lives.append(Life(_panel(number), 4 * self.kernel(step).packed, number, number))
        return lives

    def packs(self, step: Step) -> bool:
        """Whether a product's second factor is computed, so that it is packed during the call."""
        return isinstance(step.work, Problem) and self.model.known(step.inputs[1]) is None

    def address(self, name: str, packed: str = "") -> str:
        """Where an array lies, as C text without a type."""
        *_, root = chain = self.model.chain(name)
        if root in self.model.constants:
            whole = f"weights + {self.weights[root, packed].offset}"
        elif root in self.results or root in self.given:
            whole = self.results.get(root) or self.given[root]
        else:
            whole = f"arena + {self.arena.offsets[root]}"
        slices = [(each, self.model.slices[each]) for each in chain if each in self.model.slices]
        if not slices:
            return whole
        text = f"(const char *)({whole})"
        for part, slice_ in slices:
            turn = self.turns[slice_.turn]
            text += f" + {f'({slice_.count - 1} - {turn})' if slice_.backward else turn} * "
            text += f"{bytes_of(self.model.arrays[part])}"
        return text

    def lines(self, steps: tuple[Step, ...], position: int = 0) -> list[str]:
        """The lines of a block whose first step has this position."""
        found = []
        for step in steps:
            found += self.region(position, step) if isinstance(step.work, (Branch, Loop)) else self.call(position, step)
            position += sum(1 for _ in every((step,)))
        return found

    def region(self, position: int, step: Step) -> list[str]:
        """The lines of a branch or a loop."""
        work, head = step.work, f"/* {_in_comment(step.node)} */"
        if isinstance(work, Branch):
            otherwise = position + 1 + sum(1 for _ in every(work.then))
            return [
                head,
                f"if (*(const {ELEMENTS['bool'].c} *)({self.address(work.condition)})) {{",
                *_indented(self.lines(work.then, position + 1)),
                "} else {",
                *_indented(self.lines(work.otherwise, otherwise)),
                "}",
            ]
        assert isinstance(work, Loop)
        turn = self.turns[work.turn] = f"turn_{position}"
        turns = work.turns if isinstance(work.turns, int) else f"*(const int64_t *)({self.address(work.turns)})"
        bound = f"{turn} < {turns}"
        if work.going:
            bound += f" && *(const {ELEMENTS['bool'].c} *)({self.address(work.going)})"
        count = [f"*(int64_t *)({self.address(work.counter)}) = {turn};"] if work.counter else []
        body = _indented([*count, *self.lines(work.body, position + 1)])
        return [head, f"for (int64_t {turn} = 0; {bound}; ++{turn}) {{", *body, "}"]

    def call(self, number: int, step: Step) -> list[str]:
        """The lines of a kernel or a copy."""
        if isinstance(step.work, Copy):
            source, target = self.address(step.inputs[0]), self.address(step.outputs[0])
            size = bytes_of(self.model.arrays[step.outputs[0]])
            return [f"memcpy((void *)({target}), {source}, {size});"]
        kernel = self.kernel(step)
        lines, lap = [f"/* {_comment(step)} */"], f"lap(seconds, {self.laps}, &since);"
        self.laps += 1
        if not isinstance(step.work, Problem):
            places = [self.address(name) for name in (*step.inputs, *step.outputs)]
            return [*lines, f"outside |= {kernel.symbol}({_arguments(kernel, places)});", lap]
        x, w, *rest = step.inputs
        packed = self.address(w, kernel.symbol)
        if self.packs(step):
            panel = f"arena + {self.arena.offsets[_panel(number)]}"
            lines.append(f"{kernel.symbol}_pack((const float *)({packed}), (float *)({panel}));")
            packed = panel
        places = [self.address(x), packed, self.address(step.outputs[0]), *map(self.address, rest)]
        return [*lines, f"{kernel.symbol}({_arguments(kernel, places)});", lap]

    def whole(self) -> Library:
        model = self.model
        lines = self.lines(model.steps)
        for output, result in self.copied:
            lines += [f"memcpy({result}, {self.address(output)}, {bytes_of(model.arrays[output])});"]
        kernels = tuple(dict.fromkeys(self.kernel(step) for step in kernel_steps(model.steps)))
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
            "arguments": [parameter.rpartition("*")[2] for parameter in parameters],
            "lines": lines,
            "unread": [name for name in self.given.values() if not re.search(rf"\b{name}\b", "\n".join(lines))],
            "laps": self.laps,
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


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _comment(step: Step) -> str:
    return _in_comment(f"{step.node}: {step.text}")


def _in_comment(text: str) -> str:
    """A text in one line that neither ends a comment nor begins one, without what compilers or terminals act on."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return plain.replace("*/", "* /").replace("/*", "/ *")


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
